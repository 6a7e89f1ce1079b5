/**
 * Answers what a proxy asks for each request of its visitors, in the turn in which it comes, from
 * shared memory: GET /gate/check (nginx: auth_request; Caddy and Traefik: forward_auth), and
 * /gate/envoy/<policy>/* for Envoy, which asks by the visitor's own method and path. `policy.ts`
 * says what becomes of him.
 */

import * as v from 'valibot';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { score } from '../../core/schema.ts';
import { minuteMs } from '../../core/time.ts';
import { type Head, numberField, renderHead, withNumber } from '../../http/answer/head.ts';
import type { ResolvedClient } from '../../http/request/client-ip.ts';
import type { Header } from '../../http/request/message.ts';
import { parseQuery } from '../../http/request/query.ts';
import type { HotRequest, HotRoute } from '../../http/router.ts';
import { parseIp } from '../../ip/address.ts';
import { endpoint, routeFacts } from '../../web/guard/endpoint.ts';
import { pickLanguage } from '../../web/language.ts';
import { answer, type JsonMembers, media } from '../../web/openapi.ts';
import { apiErrorBody, jsonType, noStore } from '../../web/shape.ts';
import type { IntegrationOutcome } from '../counters.ts';
import type { BlockedPage } from './blocked.page.ts';
import { hostOf } from './pass.ts';
import {
  createDecider,
  type DeciderOptions,
  type GatePolicy,
  type GateVerdict,
  policyParameters,
} from './policy.ts';

// Determines where a visitor goes after the challenge: to a path of the site that sent him, and
// nothing else, so that no link to the challenge leads on to another site.

/** Proxied to this service under the site's own host. */
export const guestPath = '/.portcullis/';
export const challengePath = `${guestPath}challenge`;

const lengthMax = 2_048;
/** No backslash anywhere, which browsers read as a slash; no second slash; printable ASCII. */
const shape = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/;
const home = '/';
const self = 'http://self.invalid';

/** The root of the site for what is no such path. */
export function returnPath(text: string | undefined): string {
  if (text === undefined || text.length > lengthMax || !shape.test(text)) return home;
  let url: URL;
  try {
    url = new URL(text, self);
  } catch {
    return home;
  }
  if (url.origin !== self || url.pathname.startsWith('//')) return home;
  const path = `${url.pathname}${url.search}`;
  // Back at the challenge there would be another one.
  return path.length > lengthMax || url.pathname.startsWith(guestPath) ? home : path;
}

/** Writes the target of a proxy's redirection; a way back too long for small proxies becomes the root. */
export function challengeHref(uri: string | undefined): string {
  const encoded = encodeURIComponent(returnPath(uri));
  return `${challengePath}?rd=${encoded.length > lengthMax ? encodeURIComponent(home) : encoded}`;
}

export interface GateOptions extends Pick<DeciderOptions, 'check' | 'passes' | 'noteMark'> {
  readonly blocked: BlockedPage;
  /** True if TRUSTED_PROXIES names anybody; the advice in an error depends on it. */
  readonly hasProxies: boolean;
  readonly count: (outcome: IntegrationOutcome<'gate'>) => void;
  readonly log: Pick<Log, 'warn'>;
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
}

/** A gate that can't judge keeps visitors out or lets them in by what its proxy does then: the log says so. */
const warnEveryMs = minuteMs;

/** In the order in which the handler reads them. */
const headers = [
  'cookie',
  'accept',
  'accept-language',
  'host',
  'sec-fetch-mode',
  'x-forwarded-host',
  'x-forwarded-method',
  'x-forwarded-uri',
] as const;

const always: JsonMembers = {
  'X-Portcullis-Verdict': { required: true, schema: v.picklist(['allow', 'challenge', 'block']) },
  'X-Portcullis-Score': { required: true, schema: score },
};
const toChallengeHeaders = { ...always, Location: { required: true, schema: v.string() } };

export const gateEndpoint = endpoint({
  method: 'GET',
  path: '/gate/check',
  who: 'anyone',
  shape: 'api',
  thread: 'any',
  headers,
  errors: ['invalid_parameter'],
  robots: 'disallow',
  docs: {
    id: 'gateCheck',
    tag: 'Gate',
    summary: 'Whether a proxy lets a visitor in, by the policy in the query.',
    query: policyParameters,
    answers: {
      200: { description: 'Let in.', headers: always },
      302: { description: 'A visitor who goes to the challenge.', headers: toChallengeHeaders },
      401: { description: 'The same for nginx.', headers: toChallengeHeaders },
      403: answer(
        'Blocked, or a request that no challenge can be shown to.',
        {
          ...media(
            v.union([
              v.strictObject({ error: v.literal('blocked') }),
              v.strictObject({ error: v.literal('challenge_required'), url: v.string() }),
            ]),
          ),
          'text/html; charset=utf-8': {},
        },
        always,
      ),
    },
  },
});

export const envoyEndpoint = endpoint({
  method: 'GET',
  path: '/gate/envoy/*',
  who: 'anyone',
  shape: 'api',
  thread: 'any',
  headers,
  errors: ['invalid_parameter'],
  robots: 'disallow',
  docs: 'text',
});

const scoreField = numberField('X-Portcullis-Score');
const verdictHeaders = (verdict: GateVerdict): Header[] => [
  noStore,
  ['X-Portcullis-Verdict', verdict],
];

const allowHead = renderHead(200, verdictHeaders('allow'));
const blockHead = renderHead(403, [jsonType, ...verdictHeaders('block')]);
const challengeHead = renderHead(403, [jsonType, ...verdictHeaders('challenge')]);
const badHead = renderHead(422, [jsonType, noStore]);
const blockBody = '{"error":"blocked"}';
const mend =
  'Let it set one of X-Forwarded-For and Forwarded to the address, and remove the other.';

/** The mark of a policy that can't be read. */
const markIn = /(?:^|&)mark=([0-9a-f]{40})(?:&|$)/;
const nobody = { family: 0, words: new Uint32Array(4) } as const;

/** Why nobody knows whom a question is about, for who sets the proxy up. */
function unnamed({ ip, standing }: ResolvedClient, hasProxies: boolean): string | undefined {
  switch (standing) {
    case 'named':
      return undefined;
    case 'untrusted':
      return hasProxies
        ? `The gate judges whom a proxy of TRUSTED_PROXIES names, and ${ip} is none of them.`
        : 'The gate judges whom a proxy names: set TRUSTED_PROXIES to the address that it asks from.';
    case 'silent':
      return `The proxy at ${ip} does not say who visits. ${mend}`;
    case 'unreadable':
      return `What the proxy at ${ip} passes on as its visitor is no address. ${mend}`;
    case 'contradictory':
      return `X-Forwarded-For and Forwarded from the proxy at ${ip} name different visitors. ${mend}`;
  }
}

/** The visitor's request of the site, as the proxy describes it. */
interface GateQuestion {
  /** As the query of /gate/check has it. */
  readonly policy: string;
  readonly method: string | undefined;
  /** Path and query. */
  readonly uri: string | undefined;
  readonly host: () => string;
}

export function gateRoutes({ blocked, hasProxies, count, log, ...given }: GateOptions): HotRoute[] {
  const { clock } = given;
  const blockPageHead = renderHead(403, [...blocked.headers, ...verdictHeaders('block')]);
  const { policyOf, decide, refuse } = createDecider({ ...given, readParams: parseQuery });
  const words = new Uint32Array(4);
  let warnAtMs = 0;

  function warn(why: string, id: string): void {
    const nowMs = given.clock.monotonicMs();
    if (nowMs < warnAtMs) return;
    warnAtMs = nowMs + warnEveryMs;
    log.warn({ fault: why, request: id }, 'gate: a request got no verdict');
  }

  function respond(request: HotRequest, asked: GateQuestion): void {
    const { values } = request;
    const read = policyOf(asked.policy);
    if (!read.ok) {
      count('bad_policy');
      const [, mark] = markIn.exec(asked.policy) ?? [];
      refuse({ mark }, nobody, `policy ${read.parameter ?? ''}`);
      request.id();
      request.answer(badHead, apiErrorBody(422, read.detail ?? '', read.parameter));
      return;
    }
    const client = request.client();
    const why = unnamed(client, hasProxies);
    const family = parseIp(client.ip, words);
    if (why !== undefined) {
      count('no_address');
      refuse(read.value, { family, words }, `${client.standing} ${client.ip}`);
      warn(why, request.id());
      request.answer(badHead, apiErrorBody(422, why));
      return;
    }
    const visit = {
      family,
      words,
      get host() {
        return asked.host();
      },
      cookies: values[0],
    };
    const { outcome, score } = decide(read.value, visit);
    count(outcome);
    if (outcome === 'block') block(request, client.ip, score);
    else if (outcome === 'allow' || outcome === 'pass') {
      request.answer(withNumber(allowHead, scoreField, score), '');
    } else toChallenge(request, asked, read.value, score);
  }

  function block({ values, answer, id: idOf }: HotRequest, address: string, score: number): void {
    const id = idOf();
    if (values[1]?.includes('text/html') !== true) {
      answer(withNumber(blockHead, scoreField, score), blockBody);
      return;
    }
    const visit = { language: pickLanguage(values[2]), address, atMs: clock.now(), id };
    answer(withNumber(blockPageHead, scoreField, score), blocked.render(visit));
  }

  function handle(request: HotRequest): void {
    const { values, query } = request;
    const host = () => hostOf(values[5], values[3]);
    respond(request, { policy: query, method: values[6], uri: values[7], host });
  }

  /** The host is the visitor's own: Envoy keeps it. No header but those of the visit is believed. */
  function handleBelow(request: HotRequest): void {
    const { values, method, path, query } = request;
    const start = envoyEndpoint.path.length - 1;
    const slash = path.indexOf('/', start);
    const end = slash < 0 ? path.length : slash;
    const uri = `${path.slice(end) || '/'}${query === '' ? '' : `?${query}`}`;
    const host = () => hostOf(undefined, values[3]);
    respond(request, { policy: path.slice(start, end), method, uri, host });
  }

  const base = { kind: 'hot', method: 'GET' } as const;
  return [
    { ...base, ...routeFacts(gateEndpoint), method: 'GET', handle },
    {
      ...base,
      ...routeFacts(envoyEndpoint),
      method: 'GET',
      takesAllBelow: true,
      handle: handleBelow,
    },
  ];
}

/** Sends the visitor to the challenge. Only a browser that opens a page can show it; others get its URL. */
function toChallenge(
  { values, answer }: HotRequest,
  { method, uri }: GateQuestion,
  { mode }: GatePolicy,
  score: number,
): void {
  const isNavigation =
    (method === 'GET' || method === 'HEAD') &&
    values[1]?.includes('text/html') === true &&
    (values[4] === undefined || values[4] === 'navigate');
  const url = challengeHref(uri);
  if (!isNavigation) {
    const body = JSON.stringify({ error: 'challenge_required', url });
    answer(withNumber(challengeHead, scoreField, score), body);
    return;
  }
  const status = mode === 'nginx' ? 401 : 302;
  const head: Head = renderHead(status, [['Location', url], ...verdictHeaders('challenge')]);
  answer(withNumber(head, scoreField, score), '');
}
