/**
 * GET /v1/decisions: what a bouncer asks for each visitor, answered in the turn in which it comes, from
 * shared memory; a question without an address, of what agents decided, goes to the main thread. Nothing known is exactly `null`: some clients take anything else for a broken answer and
 * refuse the visitor. So is a key beyond its budget, and a look-up that fails: some plugins ban the visitor
 * on any other status, and no limit and no error ever bans anybody.
 */

import { bitsFor, keyIdOf } from '../../access/keys/key-format.ts';
import type { QuotaGuard } from '../../access/quota/quota.ts';
import type { Judge, Verdict } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { renderHead } from '../../http/answer/head.ts';
import type { Reply } from '../../http/request/message.ts';
import { parseQuery } from '../../http/request/query.ts';
import type { HotRequest, HotRoute, PlainRoute } from '../../http/router.ts';
import type { IndexView } from '../../index/reader.ts';
import { COVERING_MAX } from '../../index/trie/layout.ts';
import { formatIp, parseIp } from '../../ip/address.ts';
import { lookBehind, networkBehind } from '../../ip/behind.ts';
import { formatNetwork, maskWords, type Prefix, parsePrefix, widthOf } from '../../ip/prefix.ts';
import { endpoint, routeFacts } from '../../web/guard/endpoint.ts';
import { answer, type Described, list, media, object, query, string } from '../../web/openapi.ts';
import { bouncerErrorBody, jsonType, noStore } from '../../web/shape.ts';
import type { IntegrationOutcome } from '../counters.ts';
import { isListable } from '../listable.ts';
import type { BanReader } from './ban-table.ts';
import {
  decisionText,
  durationText,
  type Filter,
  isBanWanted,
  isListWanted,
  letsNoListThrough,
  letsNothingThrough,
  readFilter,
  saidByAgent,
  sayerOf,
} from './decisions.ts';

// The OpenAPI documentation for bouncers: look-ups, the stream, usage metrics, health.

/** As clients know it. */
export const forbiddenDetail = 'access forbidden';

const tag = 'Bouncers';
const Decision = object({
  id: { type: 'integer' },
  origin: string,
  type: { enum: ['ban', 'captcha'] },
  scope: { enum: ['Ip', 'Range'] },
  value: string,
  duration: string,
  scenario: string,
});
const schemas = { Decision };
const decisions = list({ $ref: '#/components/schemas/Decision' });
const decisionsOrNull = { anyOf: [decisions, { type: 'null' }] };

const filters = [
  query('scopes', string, '`ip`, `range` or both, with a comma.'),
  query(
    'origins',
    string,
    '`lists`; `cscli` for what the operator says by hand; `crowdsec` and others for what agents of the account decided.',
  ),
  query('types', string, '`ban`, `captcha` or both; others have no decisions.'),
  query(
    'scenarios_containing',
    string,
    'Parts of a scenario: that of an alert, the name of a list, `portcullis` for reports; `portcullis-ipv4` or `-ipv6` names a family.',
  ),
  query('scenarios_not_containing', string, 'Parts that a scenario must not have.'),
];

export const streamDocs: Described = {
  id: 'decisionStream',
  tag,
  summary: 'The whole list as decisions, or what changed since the client asked last.',
  parameters: [query('startup', string, '`true`: the whole list.'), ...filters],
  answers: {
    200: answer(
      'The decisions.',
      media(object({ new: decisionsOrNull, deleted: decisionsOrNull })),
    ),
  },
  schemas,
};

const liveDocs: Described = {
  id: 'decisions',
  tag,
  summary: 'The decisions on an address or a network, or null.',
  parameters: [
    query('ip', string, 'An address.'),
    query('range', string, 'A network.'),
    query('scope', string, '`ip` or `range`, with `value`.'),
    query('value', string, 'An address or a network, with `scope`.'),
    query('type', string, 'As `types`.'),
    ...filters,
  ],
  answers: {
    200: answer('The decisions.', media(decisionsOrNull)),
  },
};

export const usageDocs: Described = {
  id: 'usageMetrics',
  tag,
  summary: 'What a bouncer saw and stopped, or what an agent read.',
  description: 'An agent sends its token as bearer instead of the key of a bouncer.',
  requestBody: { required: true, content: media({ type: 'object' }) },
  answers: {
    201: { description: 'Noted.' },
    401: answer('A wrong token.', media(object({ code: { const: 401 }, message: string }))),
  },
};

const upDocs: Described = {
  id: 'health',
  tag,
  summary: 'Whether the server answers.',
  answers: { 200: answer('It does.', media(object({ status: { const: 'up' } }))) },
};

export interface LiveOptions {
  readonly gate: QuotaGuard;
  readonly check: {
    judge(
      ...asked: Parameters<Judge>
    ): Pick<Verdict, 'malicious' | 'decidedBy' | 'allowlisted' | 'knownGood'>;
  };
  readonly index: Pick<IndexView, 'readPrefix' | 'walk' | 'covering' | 'listNames'>;
  /** Returns the number of the list that makes an entry malicious by itself, 0 where reports do. */
  readonly maliciousBy: (entry: number) => number;
  /**
   * Returns whether an entry of the index is allowlisted or known to be good: it is never blocked.
   */
  readonly spares: (entry: number) => boolean;
  /** Reads the decisions of agents; each account's bouncers get those of its own agents alone. */
  readonly bans: BanReader;
  readonly clock: Clock;
  readonly log: Pick<Log, 'error'>;
  /** Counts one look-up of a key; true: it is beyond its budget. */
  readonly isSpent: (keyId: string) => boolean;
  readonly count: (outcome: IntegrationOutcome<'decisions'>) => void;
}

export const liveEndpoint = endpoint({
  method: 'GET',
  path: '/v1/decisions',
  who: 'bouncer',
  shape: 'bouncer',
  thread: 'any',
  headers: ['x-api-key'],
  handlerLimits: ['decisions', 'decisionsStream'],
  errors: [],
  robots: 'disallow',
  docs: liveDocs,
});

const okHead = renderHead(200, [jsonType, noStore]);
export const limitedHeader = ['X-Portcullis-Limited', '1'] as const;
const limitedHead = renderHead(200, [jsonType, noStore, limitedHeader]);
const forbiddenHead = renderHead(403, [jsonType, noStore]);
const badHead = renderHead(400, [jsonType, noStore]);
const forbiddenBody = bouncerErrorBody(forbiddenDetail);
const badBody = bouncerErrorBody('ip, range or value must be an address or a network');
const plainAddress = /^ip=([0-9A-Fa-f:.]{2,45})$/;
const unknown = 'null';
const entriesLookedAt = 256;
const allOfAgents = Symbol('all of agents');

export function liveRoute(options: LiveOptions): HotRoute {
  const { gate, check, index, maliciousBy, spares, bans, clock, log, isSpent, count } = options;
  const address = new Uint32Array(4);
  const network = new Uint32Array(4);
  const covering = new Int32Array(COVERING_MAX);
  const saidOf = sayerOf(index, maliciousBy);
  const around = new Uint32Array(4);

  /** The decision on a prefix, or `null`. */
  function decide(family: 4 | 6, words: Uint32Array, length: number, filter?: Filter): string {
    if (!isListable(family, words)) return unknown;
    const verdict = check.judge(family, words, clock.now());
    if (!verdict.malicious) return unknown;
    const known = tell(verdict.decidedBy, family, words, length, filter);
    if (known !== unknown || filter === undefined) return known;
    // Others say the same, perhaps one that is wanted.
    const count = index.covering(family, words, covering);
    for (let at = 0; at < count; at++) {
      const entry = covering[at]!;
      if (maliciousBy(entry) === 0) continue;
      const other = tell(entry, family, words, length, filter);
      if (other !== unknown) return other;
    }
    return unknown;
  }

  /** Returns an entry's decision on a prefix, or `null`. */
  function tell(
    entry: number,
    family: 4 | 6,
    words: Uint32Array,
    length: number,
    filter?: Filter,
  ): string {
    network.fill(0);
    const covers = index.readPrefix(entry, network);
    // An entry for a part of the network says nothing of the whole.
    if (covers < 0 || covers > length) return unknown;
    const whole = { family, words: network, length: covers };
    const said = saidOf(entry);
    const told = (value: string) =>
      filter === undefined || isListWanted(filter, value, said)
        ? `[${decisionText(value, undefined, said)}]`
        : unknown;
    if (covers === widthOf(family) || !hasHole(whole)) return told(formatNetwork(whole));
    // Clients keep what they are given: a network would block those in it that the operator vouches for.
    return length === widthOf(family) ? told(formatIp(family, words)) : unknown;
  }

  /** Somebody in it is never blocked, or there are too many to look at. */
  function hasHole(prefix: Prefix): boolean {
    let found = false;
    const position = index.walk(
      prefix,
      (entry) => {
        if (spares(entry)) found = true;
      },
      { limit: entriesLookedAt },
    );
    return found || position !== undefined;
  }

  /** By what everybody may know, else by what the account's own agents decided. */
  function ofAddress(text: string, slot: number, filter?: Filter): string | undefined {
    const family = lookBehind(parseIp(text, address), address);
    if (family === 0) return undefined;
    const length = widthOf(family);
    const known = decide(family, address, length, filter);
    return known === unknown ? ofAgents(slot, { family, words: address, length }, filter) : known;
  }

  function ofNetwork(text: string, slot: number, filter: Filter): string | undefined {
    const prefix = parsePrefix(text, 'mask');
    if (!prefix.ok) return undefined;
    const asked = networkBehind(prefix.value);
    const known = decide(asked.family, asked.words, asked.length, filter);
    return known === unknown ? ofAgents(slot, asked, filter) : known;
  }

  /** Their decisions on all of a prefix, bans first and then the closest, or `null`. */
  function ofAgents(slot: number, { family, words, length }: Prefix, filter?: Filter): string {
    const nowMs = clock.now();
    const rows = { ban: '', captcha: '' };
    around.set(words);
    for (let bits = length; bits >= 0; bits = bans.lengthBelow(family, bits)) {
      maskWords(family, around, bits);
      const untilMs = bans.endOf(slot, family, around, bits);
      if (untilMs <= nowMs) continue;
      const value = formatNetwork({ family, words: around, length: bits });
      if (filter !== undefined && !isBanWanted(filter, value, bans)) continue;
      const row = decisionText(value, durationText(untilMs - nowMs), saidByAgent(bans));
      rows[bans.type] += rows[bans.type] === '' ? row : `,${row}`;
    }
    const { ban, captcha } = rows;
    if (ban === '' && captcha === '') return unknown;
    if (!isListable(family, words)) return unknown;
    const { allowlisted, knownGood } = check.judge(family, words, nowMs);
    if (allowlisted || knownGood) return unknown;
    return `[${ban}${ban !== '' && captcha !== '' ? ',' : ''}${captcha}]`;
  }

  /** Undefined: a bad request. `allOfAgents`: whatever the account's own agents decided. */
  function bodyOf(query: string, slot: number): string | undefined | typeof allOfAgents {
    const plain = plainAddress.exec(query);
    if (plain !== null) return ofAddress(plain[1]!, slot);
    const params = parseQuery(query);
    if (!params.ok) return undefined;
    const { value: given } = params;
    const filter = readFilter(given);
    const [ip, range, scope] = ['ip', 'range', 'scope'].map((name) => given.get(name));
    const value = given.get('value') ?? '';
    if (ip !== undefined) return ofAddress(ip, slot, filter);
    if (range !== undefined) return ofNetwork(range, slot, filter);
    if (scope?.toLowerCase() === 'ip') return ofAddress(value, slot, filter);
    if (scope?.toLowerCase() === 'range') return ofNetwork(value, slot, filter);
    // No decision has another scope or passes such a filter, so the list of all of them is empty.
    if (scope !== undefined || letsNothingThrough(filter)) return unknown;
    return letsNoListThrough(filter, index) ? allOfAgents : undefined;
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
    const slot = gate.authenticate(keyText, bitsFor('decisions'));
    if (keyText === undefined || slot < 0) {
      count('forbidden');
      request.answer(forbiddenHead, forbiddenBody);
      return;
    }
    if (isSpent(keyIdOf(keyText))) {
      count('over_limit');
      request.answer(limitedHead, unknown);
      return;
    }
    const body = bodyOf(request.query, slot);
    if (body === allOfAgents) {
      count('listed');
      request.defer();
      return;
    }
    if (body === undefined) {
      count('bad_request');
      request.answer(badHead, badBody);
      return;
    }
    count(body === unknown ? 'unlisted' : 'listed');
    request.answer(okHead, body);
  }

  return { kind: 'hot', ...routeFacts(liveEndpoint), method: 'GET', handle };
}

export const upEndpoint = endpoint({
  method: 'GET',
  path: '/health',
  who: 'anyone',
  shape: 'bouncer',
  thread: 'any',
  isProbe: true,
  errors: [],
  docs: upDocs,
});

const up: Reply = { status: 200, headers: [jsonType, noStore], body: '{"status":"up"}' };

export function upRoute(): PlainRoute {
  return { kind: 'plain', ...routeFacts(upEndpoint), handle: () => up };
}
