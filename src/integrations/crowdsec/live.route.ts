/**
 * GET /v1/decisions: what a bouncer asks for each visitor, answered in the turn in which it comes, from
 * shared memory. A question without an address, or about a network, goes to the main thread. An unknown address
 * is answered with exactly `null`: some clients take anything else for a broken answer and refuse the visitor.
 * So is a key beyond its budget, and a look-up that fails: some plugins ban the visitor on any other status,
 * and no limit and no error ever bans anybody.
 */

import * as v from 'valibot';
import { keyIdOf, scopeBitsFor } from '../../access/keys/key-format.ts';
import type { RecordRefusal } from '../../access/keys/refused-keys.ts';
import type { QuotaGuard } from '../../access/quota/quota.ts';
import type { Judge, Verdict } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { optionalText } from '../../core/schema.ts';
import { renderHead } from '../../http/answer/head.ts';
import type { Reply } from '../../http/request/message.ts';
import { parseQuery } from '../../http/request/query.ts';
import type { HotRequest, HotRoute, PlainRoute } from '../../http/router.ts';
import type { IndexView } from '../../index/reader.ts';
import { COVERING_MAX } from '../../index/trie/layout.ts';
import { formatIp, type IpFamily, parseIp } from '../../ip/address.ts';
import { isListable, replaceByEmbedded } from '../../ip/embedded-ipv4.ts';
import { formatNetwork, maskWords, type Prefix, widthOf } from '../../ip/prefix.ts';
import { endpoint, routeFacts } from '../../web/guard/endpoint.ts';
import { jsonAnswer } from '../../web/openapi.ts';
import { bouncerErrorBody, jsonReply, jsonType, noStore } from '../../web/shape.ts';
import type { IntegrationOutcome } from '../counters.ts';
import type { BanReader } from './ban-table.ts';
import {
  attributionsOf,
  badNetwork,
  banMatches,
  byAgent,
  byScore,
  decisionText,
  decisionTypes,
  durationText,
  excludesEverything,
  type Filter,
  listMatches,
  type MaliciousBy,
  parseNetwork,
  readFilter,
} from './decisions.ts';

export interface LiveOptions {
  readonly quotaGuard: QuotaGuard;
  readonly check: {
    judge(
      ...asked: Parameters<Judge>
    ): Pick<Verdict, 'score' | 'malicious' | 'decidedBy' | 'allowlisted' | 'knownGood'>;
  };
  readonly index: Pick<IndexView, 'readPrefix' | 'walk' | 'covering' | 'listNames'>;
  readonly maliciousBy: MaliciousBy;
  /** Returns whether an entry of the index is allowlisted or known to be good: it is never blocked. */
  readonly isExempt: (entry: number) => boolean;
  /** Reads the decisions of agents; each account's bouncers get those of its own agents alone. */
  readonly bans: BanReader;
  /** Score from which an address that is not malicious has a captcha; 0: never. */
  readonly captchaFrom: number;
  readonly clock: Clock;
  readonly log: Pick<Log, 'error'>;
  /** Counts one look-up of a key; false: it is beyond its budget. */
  readonly admitQuestion: (keyId: string) => boolean;
  readonly recordRefusal: RecordRefusal;
  readonly count: (outcome: IntegrationOutcome<'decisions'>) => void;
}

/** As clients know it. */
export const forbiddenDetail = 'access forbidden';

export const bouncersTag = 'Bouncers';
const Decision = v.strictObject({
  id: v.pipe(v.number(), v.integer()),
  origin: v.string(),
  type: v.picklist(decisionTypes),
  scope: v.picklist(['Ip', 'Range', 'Country', 'AS']),
  value: v.string(),
  duration: v.string(),
  scenario: v.string(),
});
export const decisionsOrNull = v.nullable(v.array(Decision));

export const filterParameters = {
  scopes: optionalText(
    '`ip`, `range`, `country` and `as`, with commas; the stream has the first two if absent.',
  ),
  origins: optionalText(
    '`portcullis` for reports, `lists:NAME` for one list and `lists` for all; `cscli` for what the operator says by hand; `crowdsec` and others for what agents of the account decided.',
  ),
  types: optionalText('`ban`, `captcha` or both; others have no decisions.'),
  scenarios_containing: optionalText(
    'Parts of a scenario: that of an alert, the name of a list, `portcullis` for reports; `portcullis-ipv4` or `-ipv6` names a family.',
  ),
  scenarios_not_containing: optionalText('Parts that a scenario must not have.'),
  ip: optionalText('An address.'),
  range: optionalText('A network.'),
  contains: optionalText('`true`: what holds all of `ip` or `range`; `false`: what lies in it.'),
  value: optionalText(
    'An address, a network, a country or the number of a system, as it was decided.',
  ),
};

export const liveEndpoint = endpoint({
  method: 'GET',
  path: '/v1/decisions',
  who: 'bouncer',
  shape: 'bouncer',
  thread: 'any',
  headers: ['x-api-key'],
  handlerLimits: ['decisions', 'decisionsStream', 'decisionsWhole'],
  errors: [],
  robots: 'disallow',
  docs: {
    id: 'decisions',
    tag: bouncersTag,
    summary: 'The decisions on an address or a network, or all of them, or null.',
    query: {
      scope: optionalText('As `scopes`.'),
      type: optionalText('As `types`.'),
      limit: optionalText('At most so many, where no address is asked for.'),
      ...filterParameters,
    },
    answers: { 200: jsonAnswer('The decisions.', decisionsOrNull) },
    schemas: { Decision },
  },
});

const okHead = renderHead(200, [jsonType, noStore]);
export const limitedHeader = ['X-Portcullis-Limited', '1'] as const;
const limitedHead = renderHead(200, [jsonType, noStore, limitedHeader]);
const forbiddenHead = renderHead(403, [jsonType, noStore]);
const badHead = renderHead(400, [jsonType, noStore]);
const forbiddenBody = bouncerErrorBody(forbiddenDetail);
const plainAddress = /^ip=([0-9A-Fa-f:.]{2,45})$/;
const unknown = 'null';
const entriesLookedAt = 256;
const elsewhere = Symbol('the main thread knows');
interface Bad {
  readonly fault: string;
}

export function liveRoute(options: LiveOptions): HotRoute {
  const { quotaGuard, check, index, maliciousBy, isExempt, bans, captchaFrom, clock, log } =
    options;
  const { admitQuestion, recordRefusal, count } = options;
  const address = new Uint32Array(4);
  const network = new Uint32Array(4);
  const covering = new Int32Array(COVERING_MAX);
  const attributionOf = attributionsOf(index, maliciousBy);
  const around = new Uint32Array(4);

  /** Writes the decisions on all of a prefix, those of the entry that decides first; empty: there is none. */
  function listed(family: IpFamily, words: Uint32Array, length: number, filter?: Filter): string {
    if (!isListable(family, words)) return '';
    const { malicious, decidedBy, knownGood } = check.judge(family, words, clock.now());
    if (!malicious) return '';
    const decided = (entry: number) =>
      decisionRows(entry, { family, words, length }, knownGood, filter);
    let rows = decided(decidedBy);
    const count = index.covering(family, words, covering);
    for (let at = 0; at < count; at++) {
      const entry = covering[at]!;
      if (entry !== decidedBy) rows = withComma(rows, decided(entry));
    }
    return rows;
  }

  /** Returns the captcha of an address by its score; empty: it has none that is wanted. */
  function suspected(
    family: IpFamily,
    words: Uint32Array,
    length: number,
    filter?: Filter,
  ): string {
    if (length !== widthOf(family) || !isListable(family, words)) return '';
    const { score, malicious, allowlisted, knownGood } = check.judge(family, words, clock.now());
    if (score < captchaFrom || malicious || allowlisted || knownGood) return '';
    const value = formatIp(family, words);
    const isWanted = filter === undefined || listMatches(filter, value, byScore);
    return isWanted ? decisionText(value, captchaDuration, byScore) : '';
  }

  /** Returns an entry's decisions on a prefix, one of each that makes it malicious; empty: none of them is wanted. */
  function decisionRows(
    entry: number,
    { family, words, length }: Prefix,
    isKnownGood: boolean,
    filter?: Filter,
  ): string {
    const attributions = attributionOf(entry, isKnownGood);
    if (attributions.length === 0) return '';
    network.fill(0);
    const covers = index.readPrefix(entry, network);
    // An entry for a part of the network says nothing of the whole.
    if (covers < 0 || covers > length) return '';
    const whole = { family, words: network, length: covers };
    const textFor = (value: string) =>
      attributions
        .filter((one) => filter === undefined || listMatches(filter, value, one))
        .map((one) => decisionText(value, undefined, one))
        .join();
    if (covers === widthOf(family) || !hasHole(whole)) return textFor(formatNetwork(whole));
    // Clients keep what they are given: a network would block those in it that the operator vouches for.
    const asked = { family, words, length };
    return length === widthOf(family) || !hasHole(asked) ? textFor(formatNetwork(asked)) : '';
  }

  /** Somebody in it is never blocked, or there are too many to look at. */
  function hasHole(prefix: Prefix): boolean {
    let found = false;
    const position = index.walk(
      prefix,
      (entry) => {
        if (isExempt(entry)) found = true;
      },
      { limit: entriesLookedAt },
    );
    return found || position !== undefined;
  }

  /** Returns what everybody may know, and what the account's own agents decided: all that match, bans first. */
  function decided(slot: number, prefix: Prefix, filter?: Filter): string {
    const { family, words, length } = prefix;
    const known = listed(family, words, length, filter);
    const { ban, captcha } = ofAgents(slot, prefix, filter);
    const asked = captchaFrom > 0 && known === '' ? suspected(family, words, length, filter) : '';
    const rows = withComma(withComma(withComma(known, ban), captcha), asked);
    return rows === '' ? unknown : `[${rows}]`;
  }

  function ofAddress(text: string, slot: number, filter?: Filter): string | undefined {
    const family = replaceByEmbedded(parseIp(text, address), address);
    if (family === 0) return undefined;
    return decided(slot, { family, words: address, length: widthOf(family) }, filter);
  }

  /** Their decisions on all of a prefix, the closest first. */
  function ofAgents(slot: number, { family, words, length }: Prefix, filter?: Filter) {
    const nowMs = clock.now();
    const rows = { ban: '', captcha: '' };
    around.set(words);
    for (let bits = length; bits >= 0; bits = bans.lengthBelow(family, bits)) {
      maskWords(family, around, bits);
      const untilMs = bans.endOf(slot, family, around, bits);
      if (untilMs <= nowMs) continue;
      const value = formatNetwork({ family, words: around, length: bits });
      if (filter !== undefined && !banMatches(filter, value, bans)) continue;
      const row = decisionText(value, durationText(untilMs - nowMs), byAgent(bans));
      rows[bans.type] = withComma(rows[bans.type], row);
    }
    if (rows.ban === '' && rows.captcha === '') return none;
    if (!isListable(family, words)) return none;
    const { allowlisted, knownGood } = check.judge(family, words, nowMs);
    return allowlisted || knownGood ? none : rows;
  }

  function bodyOf(query: string, slot: number): string | Bad | typeof elsewhere {
    const plain = plainAddress.exec(query);
    if (plain !== null) return ofAddress(plain[1]!, slot) ?? { fault: badNetwork };
    const params = parseQuery(query);
    if (!params.ok) return { fault: 'the query can’t be read' };
    const filter = readFilter(params.value, { isLookup: true });
    if (typeof filter === 'string') return { fault: filter };
    if (excludesEverything(filter)) return unknown;
    const { networkFilter, value, ...rest } = filter;
    if (networkFilter?.isHeld === false) return elsewhere;
    // A decision on a value is found by the network that the value names.
    const asked = networkFilter?.network ?? (value === undefined ? undefined : parseNetwork(value));
    return asked === undefined ? elsewhere : decided(slot, asked, { ...rest, value });
  }

  function handle(request: HotRequest): void {
    try {
      respond(request);
    } catch (error) {
      count('failed');
      log.error({ err: error }, 'a decision can’t be looked up: nothing is known of the visitor');
      request.answer(okHead, unknown);
    }
  }

  function respond(request: HotRequest): void {
    const keyText = request.values[0];
    const slot = quotaGuard.authenticate(keyText, scopeBitsFor('decisions'));
    if (keyText === undefined || slot < 0) {
      count('forbidden');
      recordRefusal(keyText, request.client().ip, 403, forbiddenBody);
      request.answer(forbiddenHead, forbiddenBody);
      return;
    }
    if (!admitQuestion(keyIdOf(keyText))) {
      count('over_limit');
      request.answer(limitedHead, unknown);
      return;
    }
    const body = bodyOf(request.query, slot);
    if (body === elsewhere) {
      count('listed');
      request.defer();
      return;
    }
    if (typeof body === 'object') {
      count('bad_request');
      request.answer(badHead, bouncerErrorBody(body.fault));
      return;
    }
    count(body === unknown ? 'unlisted' : 'listed');
    request.answer(okHead, body);
  }

  return { kind: 'hot', ...routeFacts(liveEndpoint), method: 'GET', handle };
}

const none = { ban: '', captcha: '' } as const;
/** Short, since scores change and clients keep an answer for this long. */
const captchaDuration = '0h10m0s';

function withComma(rows: string, more: string): string {
  return rows === '' || more === '' ? rows + more : `${rows},${more}`;
}

export const upEndpoint = endpoint({
  method: 'GET',
  path: '/health',
  who: 'anyone',
  shape: 'bouncer',
  thread: 'any',
  isProbe: true,
  errors: [],
  docs: {
    id: 'health',
    tag: bouncersTag,
    summary: 'Whether the server answers.',
    answers: { 200: jsonAnswer('It does.', v.strictObject({ status: v.literal('up') })) },
  },
});

const up: Reply = jsonReply('{"status":"up"}');

export function upRoute(): PlainRoute {
  return { kind: 'plain', ...routeFacts(upEndpoint), handle: () => up };
}
