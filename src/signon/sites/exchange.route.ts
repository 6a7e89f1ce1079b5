/**
 * GET and POST /api.php: a code for the profile, once. For servers alone: no CORS, nothing stored
 * on the way, and HEAD and OPTIONS, which programs send on their own, never redeem.
 *
 * Every code that gives nothing has one answer, so nobody learns whether it ever was one.
 */

import * as v from 'valibot';
import { fail, ok, type Result } from '../../core/result.ts';
import { type AnySchema, optionalText, text } from '../../core/schema.ts';
import { mediaType, parseForm } from '../../http/request/body.ts';
import { firstHeader, logFieldsOf, type Request } from '../../http/request/message.ts';
import { type Params, parseQuery } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { type Endpoint, endpoint, publicFileEndpoint } from '../../web/guard/endpoint.ts';
import type { Guard, HandlerResult } from '../../web/guard/guard.ts';
import { jsonAnswer, media } from '../../web/openapi.ts';
import { jsonReplyOf, jsonType } from '../../web/shape.ts';
import { postalAddress, profileFields } from '../people/profile/profile.ts';
import type { Authorization } from './authorization.ts';
import type { NoticeSigner } from './notify-sites.ts';
import type { SiteTries } from './tries.ts';

export const exchangeParameters = ['code', 'client_id', 'redirect_uri', 'code_verifier'] as const;
type ExchangeParameter = (typeof exchangeParameters)[number];

const sent = {
  code: text('Works once.'),
  client_id: optionalText('Optional, but send it: a code meant for another site is then refused.'),
  redirect_uri: optionalText('Optional, but send it: the text sent to /authorize.php.'),
  code_verifier: optionalText('Needed if there was a code_challenge, refused if there was none.'),
} satisfies Record<ExchangeParameter, AnySchema>;

/** A site gets the fields of the scopes that were granted alone. */
const Profile = v.strictObject(
  Object.fromEntries(
    Object.entries(profileFields).map(([name, { schema }]) => [name, v.optional(schema)]),
  ),
);

const described = {
  tag: 'Sign-on',
  summary: 'A code for the profile, once, for the server of a site.',
  description:
    'Unknown, used, expired and mismatched codes have one answer, invalid_grant. No credentials: whoever has the code gets the profile.',
  answers: {
    200: jsonAnswer('Fields of the scopes that were asked for and granted.', Profile, {
      'X-SSO-Client': {
        description: 'The client_id that the code was meant for.',
        required: true,
        schema: v.string(),
      },
    }),
  },
  schemas: { PostalAddress: postalAddress, Profile },
} as const;

const bodyBytesMax = 8 * 1024;
/** A redirect_uri of 2,000 characters is three times as long when all of it is escaped. */
const queryCharsMax = 8 * 1024;
export const exchangePath = '/api.php';

const base = {
  path: exchangePath,
  who: 'anyone',
  shape: 'exchange',
  thread: 'main',
  limits: ['exchange'],
  queryCharsMax,
  errors: ['invalid_grant', 'invalid_request', 'store_unavailable'],
} as const;

export const exchangeEndpoint = endpoint({
  ...base,
  method: 'GET',
  noHead: true,
  docs: { ...described, id: 'exchange', query: sent },
});

export const exchangeByFormEndpoint = endpoint({
  ...base,
  method: 'POST',
  headers: ['content-type'],
  body: { types: ['form'], bytesMax: bodyBytesMax },
  docs: {
    ...described,
    id: 'exchangeByForm',
    requestBody: {
      required: true,
      content: media(v.object(sent), 'application/x-www-form-urlencoded'),
    },
  },
});

export function profileExchangeRoutes(options: {
  authorization: Pick<Authorization, 'exchange'>;
  tries: Pick<SiteTries, 'exchanged'>;
  guard: Pick<Guard, 'open'>;
}): PlainRoute[] {
  const { authorization, guard, tries } = options;

  async function exchange(request: Request): Promise<HandlerResult> {
    const sent = readParameters(request);
    if (!sent.ok) return fail('invalid_request', sent.detail ?? '');
    const code = sent.value.get('code') ?? '';
    if (code === '') return fail('invalid_request', 'The code parameter is required.');
    const exchanged = await authorization.exchange({
      code,
      clientId: sent.value.get('client_id'),
      redirectUri: sent.value.get('redirect_uri'),
      codeVerifier: sent.value.get('code_verifier'),
      logFields: logFieldsOf(request),
    });
    if (exchanged.ok || exchanged.error === 'invalid_grant') tries.exchanged(code, exchanged.ok);
    if (!exchanged.ok) {
      const isGrant = exchanged.error === 'invalid_grant';
      return fail(isGrant ? 'invalid_grant' : 'store_unavailable');
    }
    const { clientId, profile } = exchanged.value;
    // The header lets a client written by hand see that the code was meant for it.
    return jsonReplyOf(profile, [['X-SSO-Client', clientId]]);
  }

  return [guard.open(exchangeEndpoint, exchange), guard.open(exchangeByFormEndpoint, exchange)];
}

/** Reads query and form together; a name that comes twice is refused, wherever it stands. */
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

// GET /.well-known/jwks.json: the key with which notices to sites are signed.

export const noticeKeysEndpoint: Endpoint = publicFileEndpoint('/.well-known/jwks.json', {
  docs: 'text',
});

export function noticeKeysRoute(guard: Guard, { keys }: Pick<NoticeSigner, 'keys'>): PlainRoute {
  const body = JSON.stringify(keys);
  return guard.open(noticeKeysEndpoint, () => ({
    status: 200,
    headers: [jsonType, ['Cache-Control', 'public, max-age=3600']],
    body,
  }));
}
