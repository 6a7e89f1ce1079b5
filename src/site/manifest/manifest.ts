/**
 * GET /manifest: the service as a program reads it. Every value comes from the table that the code
 * itself works by, so it can't say anything else than what is done.
 */

import * as v from 'valibot';
import { readQuota, writeQuota } from '../../access/quota/points.ts';
import { receiptLifeMs } from '../../captcha/receipts.ts';
import { type ClientLimit, type ClientLimitName, clientLimits } from '../../config/limits.ts';
import { captchaBounds } from '../../config.ts';
import { languages } from '../../core/language.ts';
import type { AnswerLimitName } from '../../http/limits/admission.ts';
import {
  alertsEndpoint,
  heartbeatEndpoint,
  loginEndpoint,
} from '../../integrations/crowdsec/agents.route.ts';
import { streamEndpoint, usageEndpoint } from '../../integrations/crowdsec/bouncers.route.ts';
import { liveEndpoint } from '../../integrations/crowdsec/live.route.ts';
import { policyEndpoint } from '../../integrations/dovecot/policy.route.ts';
import { challengePath, gateEndpoint } from '../../integrations/forward-auth/check.route.ts';
import { policyDefaults } from '../../integrations/forward-auth/policy.ts';
import { spoeNames } from '../../integrations/haproxy/session.ts';
import { choicesOf, feeds, scoreTiers } from '../../reputation/blocklists/feed-definitions.ts';
import { maliciousScore } from '../../reputation/check/score.ts';
import { statsEndpoint } from '../../reputation/counts/stats.route.ts';
import { categoryNames } from '../../reputation/reports/categories.ts';
import { profileFields, profileFieldsOf } from '../../signon/people/profile/profile.ts';
import {
  authorizeErrors,
  codeChallengeMethod,
  loginHintCharsMax,
  prompts,
  responseType,
  stateCharsMax,
} from '../../signon/sites/authorize.ts';
import { codeLifeMs } from '../../signon/sites/codes.ts';
import { exchangeParameters, exchangePath } from '../../signon/sites/exchange.route.ts';
import { redirectUriCharsMax } from '../../signon/sites/redirect-uri.ts';
import { scopeNames } from '../../signon/sites/scopes.ts';
import { type Endpoint, limitsOf } from '../../web/guard/endpoint.ts';
import type { Json, JsonMembers } from '../../web/openapi.ts';
import { exchangeErrors } from '../../web/shape.ts';

// The limits per client that are published: each one that an endpoint declares, with the endpoints
// that it holds for, and those of the transport. A limit that nothing enforces is in no declaration, so nobody
// reads of it.

interface PublishedLimit extends ClientLimit {
  readonly name: ClientLimitName;
  /** Method and path of each, such as `POST /signin`; undefined: all others, and paths that nobody has. */
  readonly endpoints: readonly string[] | undefined;
}

/** The transport (http/limits/admission.ts) applies these, even where no endpoint is, so none declares them. */
const everywhere: readonly ClientLimitName[] = [
  'answers',
  'answersNear',
] satisfies AnswerLimitName[];
const ofProbes: ClientLimitName = 'probes' satisfies AnswerLimitName;

/** Returns them in the order of the table in config.ts. */
export function publishedLimits(endpoints: readonly Endpoint[]): readonly PublishedLimit[] {
  const names = Object.keys(clientLimits) as ClientLimitName[];
  const all = names.map((name) => {
    const held = endpoints.filter((declared) =>
      name === ofProbes ? declared.isProbe === true : limitsOf(declared).includes(name),
    );
    const lines = held.map(({ method, path }) => `${method} ${path}`);
    const isEverywhere = everywhere.includes(name);
    return { name, ...clientLimits[name], endpoints: isEverywhere ? undefined : lines };
  });
  return all.filter(({ endpoints: lines }) => lines === undefined || lines.length > 0);
}

// JSON Schema (2020-12) of the manifest: what programs may rely on. Closed: no other members.

const text: JsonMembers = { type: 'string', minLength: 1 };
const url: JsonMembers = { type: 'string', format: 'uri' };
const whole: JsonMembers = { type: 'integer', minimum: 0 };
const yesNo: JsonMembers = { type: 'boolean' };
const texts = list(text);

function list(items: JsonMembers): JsonMembers {
  return { type: 'array', items, minItems: 1 };
}

function closed(properties: JsonMembers, described: JsonMembers = {}): JsonMembers {
  const required: Json = Object.keys(properties);
  return { type: 'object', properties, required, additionalProperties: false, ...described };
}

function urls(...names: readonly string[]): JsonMembers {
  return closed(Object.fromEntries(names.map((name) => [name, url])));
}

const endpointNames = [
  'authorization',
  'exchange',
  'documentation',
  'manifest',
  'manifest_schema',
  'openapi',
  'llms',
  'check',
  'report',
  'captcha_demo',
] as const;

export const manifestSchema: JsonMembers = closed(
  {
    $schema: url,
    name: text,
    version: text,
    issuer: url,
    protocol: { const: 'portcullis-sign-on' },
    openid_connect: { const: false },
    not_available: list({ type: 'string' }),
    endpoints: urls(...endpointNames),
    response_types: { const: ['code'] },
    response_modes: { const: ['query'] },
    authorization_response_iss_parameter_supported: { const: true },
    scopes: list(closed({ name: text, fields: list(closed({ name: text, description: text })) })),
    authorization_code: closed({
      lifetime_seconds: { type: 'integer', minimum: 1 },
      single_use: { const: true },
      exchange_methods: texts,
      exchange_parameters: texts,
    }),
    code_challenge: closed({ methods: { const: ['S256'] }, required: yesNo }),
    client: closed({
      registration: { const: false },
      secret: { const: false },
      client_id: text,
      redirect_uri: text,
      redirect_uri_characters_max: whole,
      state_characters_max: whole,
      login_hint_characters_max: whole,
    }),
    prompts: texts,
    errors: closed({ authorization: texts, exchange: texts }),
    ip_reputation: closed({
      base_url: url,
      key_header: text,
      statistics: url,
      score: closed({ minimum: whole, maximum: whole, malicious_from: whole }),
      quotas: closed({ reads_per_minute: whole, writes_per_minute: whole, grow_with_trust: yesNo }),
      categories: list(closed({ number: { type: 'integer', minimum: 1 }, name: text })),
    }),
    bouncers: closed({
      protocol: { const: 'crowdsec-local-api-v1' },
      url,
      key_header: text,
      stream: url,
      decisions: url,
      usage_metrics: url,
      agents: closed({ login: url, heartbeat: url, alerts: url }),
    }),
    gate: closed({
      check: url,
      challenge_path: text,
      defaults: closed({ challenge: whole, block: whole, anon: text, pass: whole, mode: text }),
      haproxy: {
        anyOf: [closed({ protocol: text, message: text, variables: list(text) }), { type: 'null' }],
      },
    }),
    dovecot_policy: closed({ url, key_header: text }),
    dns_block_list: {
      anyOf: [closed({ malicious: text, scores: text, anonymous_exits: text }), { type: 'null' }],
    },
    feeds: closed({
      changes: url,
      minimum_score: whole,
      lists: list(
        closed({
          url,
          title: text,
          media_type: text,
          ip_versions: list({ enum: [4, 6] }),
          minimum_scores: list(whole),
          aggregate: yesNo,
        }),
      ),
    }),
    captcha: closed({
      new: url,
      verify: url,
      receipt: url,
      siteverify: url,
      widget: url,
      other_names: url,
      challenge_lifetime_seconds: whole,
      receipt_lifetime_seconds: whole,
      single_use: { const: true },
      alternative: { const: 'audio' },
    }),
    limits: list(closed({ name: text, requests: whole, window_seconds: whole })),
    kit: {
      anyOf: [
        closed({ url, version: text, sha256: { type: 'string', pattern: '^[0-9a-f]{64}$' } }),
        { type: 'null' },
      ],
    },
    languages: list({ type: 'string', pattern: '^[a-z]{2}$' }),
    contacts: urls('website', 'security'),
  },
  { title: 'Manifest of a Portcullis service' },
);

/** As it is published, under its own address. */
export function publishedManifestSchema(address: string): JsonMembers {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: address,
    ...manifestSchema,
  };
}

/** The archive for sites, as it is served. */
export interface PublishedKit {
  readonly path: string;
  readonly version: string;
  /** Hexadecimal, of the bytes. */
  readonly sha256: string;
}

interface ManifestOptions {
  readonly version: string;
  readonly baseUrl: string;
  readonly secureUrl: string;
  readonly endpoints: readonly Endpoint[];
  readonly kit: PublishedKit | undefined;
  /** The zone of the DNS block list; undefined: none is served. */
  readonly dnsZone?: string | undefined;
  /** HAProxy asks the gate at this address and port; undefined: it can't. */
  readonly spoeListen?: string | undefined;
}

/** People who take this for OpenID Connect look for these. */
const notAvailable = [
  'id_token',
  '/token',
  'client_secret',
  'refresh_token',
  '/userinfo',
  '/.well-known/openid-configuration',
];

export const publishedPaths = {
  manifest: '/manifest',
  manifestSchema: '/manifest.schema.json',
  openapi: '/openapi.json',
  llms: '/llms.txt',
} as const;

export function manifestOf(options: ManifestOptions): JsonMembers {
  const { version, baseUrl, secureUrl, kit, dnsZone, spoeListen } = options;
  const api = `${secureUrl}/api/v2`;
  const endpoints: Record<(typeof endpointNames)[number], string> = {
    authorization: `${baseUrl}/authorize.php`,
    exchange: `${baseUrl}${exchangePath}`,
    documentation: `${baseUrl}/docs`,
    manifest: `${baseUrl}${publishedPaths.manifest}`,
    manifest_schema: `${baseUrl}${publishedPaths.manifestSchema}`,
    openapi: `${secureUrl}${publishedPaths.openapi}`,
    llms: `${baseUrl}${publishedPaths.llms}`,
    check: `${api}/check`,
    report: `${api}/report`,
    captcha_demo: `${secureUrl}/captcha/`,
  };
  return {
    $schema: endpoints.manifest_schema,
    name: 'Portcullis',
    version,
    issuer: baseUrl,
    protocol: 'portcullis-sign-on',
    openid_connect: false,
    not_available: notAvailable,
    endpoints,
    response_types: [responseType],
    response_modes: ['query'],
    authorization_response_iss_parameter_supported: true,
    scopes: scopeNames.map((name) => ({
      name,
      fields: profileFieldsOf(name).map((field) => ({
        name: field,
        description: v.getDescription(profileFields[field].schema) ?? '',
      })),
    })),
    authorization_code: {
      lifetime_seconds: codeLifeMs / 1_000,
      single_use: true,
      exchange_methods: ['GET', 'POST'],
      exchange_parameters: exchangeParameters,
    },
    code_challenge: { methods: [codeChallengeMethod], required: false },
    client: {
      registration: false,
      secret: false,
      client_id:
        'The domain of the site: lower case, no scheme, port or path, no public suffix; a name of an intranet if the operator allows its suffix.',
      redirect_uri:
        'An https address on the domain of the client_id or a sub-domain of it; no user info, port or fragment.',
      redirect_uri_characters_max: redirectUriCharsMax,
      state_characters_max: stateCharsMax,
      login_hint_characters_max: loginHintCharsMax,
    },
    prompts,
    errors: { authorization: authorizeErrors, exchange: exchangeErrors },
    ip_reputation: {
      base_url: api,
      key_header: 'Key',
      statistics: `${secureUrl}${statsEndpoint.path}`,
      score: { minimum: 0, maximum: 100, malicious_from: maliciousScore },
      quotas: {
        reads_per_minute: readQuota(0),
        writes_per_minute: writeQuota(0),
        grow_with_trust: true,
      },
      categories: categoryNames.map((name, i) => ({ number: i + 1, name })),
    },
    bouncers: {
      protocol: 'crowdsec-local-api-v1',
      url: `${secureUrl}/`,
      key_header: 'X-Api-Key',
      stream: `${secureUrl}${streamEndpoint.path}`,
      decisions: `${secureUrl}${liveEndpoint.path}`,
      usage_metrics: `${secureUrl}${usageEndpoint.path}`,
      agents: {
        login: `${secureUrl}${loginEndpoint.path}`,
        heartbeat: `${secureUrl}${heartbeatEndpoint.path}`,
        alerts: `${secureUrl}${alertsEndpoint.path}`,
      },
    },
    gate: {
      check: `${secureUrl}${gateEndpoint.path}`,
      challenge_path: challengePath,
      defaults: policyDefaults,
      haproxy:
        spoeListen === undefined
          ? null
          : { protocol: 'SPOP 2.0', message: spoeNames.message, variables: spoeNames.variables },
    },
    dovecot_policy: { url: `${secureUrl}${policyEndpoint.path}`, key_header: 'X-Api-Key' },
    dns_block_list:
      dnsZone === undefined
        ? null
        : { malicious: dnsZone, scores: `score.${dnsZone}`, anonymous_exits: `anon.${dnsZone}` },
    feeds: feedsOf(secureUrl),
    captcha: {
      new: `${secureUrl}/captcha/new`,
      verify: `${secureUrl}/captcha/verify`,
      receipt: `${secureUrl}/captcha/receipt`,
      siteverify: `${secureUrl}/captcha/siteverify`,
      widget: `${secureUrl}/captcha/widget.js`,
      other_names: `${secureUrl}/captcha/api.js`,
      challenge_lifetime_seconds: captchaBounds.lifetimeMs / 1_000,
      receipt_lifetime_seconds: receiptLifeMs / 1_000,
      single_use: true,
      alternative: 'audio',
    },
    limits: publishedLimits(options.endpoints).map(({ name, max, windowMs }) => ({
      name,
      requests: max,
      window_seconds: windowMs / 1_000,
    })),
    kit:
      kit === undefined
        ? null
        : { url: `${baseUrl}${kit.path}`, version: kit.version, sha256: kit.sha256 },
    languages,
    contacts: { website: baseUrl, security: `${baseUrl}/.well-known/security.txt` },
  };
}

function feedsOf(secureUrl: string): JsonMembers {
  return {
    changes: `${secureUrl}/feeds/changes.json`,
    minimum_score: scoreTiers[0],
    lists: feeds.map((feed) => {
      const choices = choicesOf(feed);
      return {
        url: `${secureUrl}/feeds/${feed.name}`,
        title: feed.title,
        media_type: feed.type,
        ip_versions: feed.families,
        minimum_scores: [...new Set(choices.map(({ scoreMin }) => scoreMin))],
        aggregate: choices.some(({ aggregated }) => aggregated),
      };
    }),
  };
}
