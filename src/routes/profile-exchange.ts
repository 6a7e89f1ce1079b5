/**
 * GET and POST /api.php: a code for the profile, once. For servers alone: no CORS, nothing stored
 * on the way, and HEAD and OPTIONS, which programs send on their own, never redeem.
 *
 * Every code that gives nothing has one answer, so nobody learns whether it ever was one.
 */

import { fail, ok, type Result } from '../core/result.ts';
import { mediaType, parseForm } from '../http/body.ts';
import { firstHeader, type Header, type Reply, type Request } from '../http/message.ts';
import { type Params, parseQuery } from '../http/query.ts';
import type { PlainRoute } from '../http/router.ts';
import type { Authorization } from '../signon/authorization.ts';
import type { Callers } from './callers.ts';
import { detailOf, exchangePath, exchangeRefusal, jsonType, noStore } from './problem.ts';

const bodyBytesMax = 8 * 1024;
/** A redirect_uri of 2,000 characters is three times as long when all of it is escaped. */
const queryCharsMax = 8 * 1024;
export const exchangeParameters = ['code', 'client_id', 'redirect_uri', 'code_verifier'] as const;
export type ExchangeParameter = (typeof exchangeParameters)[number];

export function profileExchangeRoutes(options: {
  authorization: Pick<Authorization, 'exchange'>;
  callers: Pick<Callers, 'take'>;
}): PlainRoute[] {
  const { authorization, callers } = options;

  async function handle(request: Request): Promise<Reply> {
    const waitSeconds = callers.take('exchange', request);
    if (waitSeconds > 0) {
      const retry: Header = ['Retry-After', String(waitSeconds)];
      const detail = detailOf('client_limit_exceeded');
      return exchangeRefusal('client_limit_exceeded', 429, detail, [retry]);
    }
    const sent = readParameters(request);
    if (!sent.ok) return exchangeRefusal('invalid_request', 400, sent.detail ?? '');
    const code = sent.value.get('code') ?? '';
    if (code === '') {
      return exchangeRefusal('invalid_request', 400, 'The code parameter is required.');
    }
    const exchanged = await authorization.exchange({
      code,
      clientId: sent.value.get('client_id'),
      redirectUri: sent.value.get('redirect_uri'),
      codeVerifier: sent.value.get('code_verifier'),
    });
    if (exchanged.ok) {
      const { clientId, profile } = exchanged.value;
      return {
        status: 200,
        // Lets a client written by hand see that the code was meant for it.
        headers: [jsonType, noStore, ['X-SSO-Client', clientId]],
        body: JSON.stringify(profile),
      };
    }
    if (exchanged.error === 'invalid_grant') {
      return exchangeRefusal('invalid_grant', 400, detailOf('invalid_grant'));
    }
    const retry: Header = ['Retry-After', '5'];
    return exchangeRefusal(exchanged.error, 503, detailOf('store_unavailable'), [retry]);
  }

  const route = { kind: 'plain', path: exchangePath, queryCharsMax, handle } as const;
  return [
    { ...route, method: 'GET', noHead: true },
    { ...route, method: 'POST', headers: ['content-type'], bodyBytesMax },
  ];
}

/** From query and form together; a name that comes twice is refused, wherever it stands. */
function readParameters(request: Request): Result<ReadonlyMap<ExchangeParameter, string>> {
  const query = parseQuery(request.query, { charsMax: queryCharsMax });
  if (!query.ok) return query;
  const sources: Params[] = [query.value];
  if (request.body.length > 0) {
    const kind = mediaType(firstHeader(request, 'content-type'));
    if (kind !== 'form') {
      return fail('invalid_request', 'Send a form (application/x-www-form-urlencoded).');
    }
    const form = parseForm(request.body);
    if (!form.ok) return form;
    sources.push(form.value);
  }
  const found = new Map<ExchangeParameter, string>();
  for (const source of sources) {
    for (const name of exchangeParameters) {
      const value = source.get(name);
      if (value === undefined) continue;
      if (found.has(name)) {
        return fail('invalid_request', `The ${name} parameter is given more than once.`, name);
      }
      found.set(name, value);
    }
  }
  return ok(found);
}
