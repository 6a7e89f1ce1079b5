/**
 * GET /manifest: the service as a program reads it. Every value comes from the table that the code
 * itself works by, so it can't say anything else than what is done.
 */

import { readQuota, writeQuota } from '../../access/quota/points.ts';
import { receiptLifeMs } from '../../captcha/receipt/receipts.ts';
import { captchaBounds } from '../../config.ts';
import {
  alertsEndpoint,
  heartbeatEndpoint,
  loginEndpoint,
} from '../../integrations/crowdsec/agents.route.ts';
import { streamEndpoint, usageEndpoint } from '../../integrations/crowdsec/bouncers.route.ts';
import { liveEndpoint } from '../../integrations/crowdsec/live.route.ts';
import { policyEndpoint } from '../../integrations/dovecot/policy.route.ts';
import { gateEndpoint } from '../../integrations/forward-auth/check.route.ts';
import { policyDefaults } from '../../integrations/forward-auth/policy.ts';
import { challengePath } from '../../integrations/forward-auth/way-back.ts';
import { spoeNames } from '../../integrations/haproxy/session.ts';
import { choicesOf, feeds, scoreTiers } from '../../reputation/blocklists/catalog.ts';
import { maliciousScore } from '../../reputation/check/score.ts';
import { statsEndpoint } from '../../reputation/counts/stats.route.ts';
import { categoryNames } from '../../reputation/reports/categories.ts';
import {
  authorizeErrors,
  codeChallengeMethod,
  loginHintCharsMax,
  prompts,
  responseType,
  stateCharsMax,
} from '../../signon/sites/authorize.ts';
import { codeLifeMs } from '../../signon/sites/codes.ts';
import {
  exchangeParameters,
  exchangePath,
  profileFields,
} from '../../signon/sites/exchange.route.ts';
import { redirectUriCharsMax } from '../../signon/sites/redirect-uri.ts';
import { scopeFields, scopeNames } from '../../signon/sites/scopes.ts';
import type { Endpoint } from '../../web/guard/endpoint.ts';
import { languages } from '../../web/language.ts';
import type { JsonMembers } from '../../web/openapi.ts';
import { exchangeErrors } from '../../web/shape.ts';
import { publishedLimits } from '../limits.ts';

import type { endpointNames } from './manifest-schema.ts';

/** The archive for sites, as it is served. */
export interface PublishedKit {
  readonly path: string;
  readonly version: string;
  /** Hexadecimal, of the bytes. */
  readonly sha256: string;
}

export interface ManifestOptions {
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
      fields: scopeFields[name].map((field) => ({
        name: field,
        description: profileFields[field].description,
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
    kit: kit === undefined ? null : { url: `${baseUrl}${kit.path}`, ...withoutPath(kit) },
    languages,
    contacts: { website: baseUrl, security: `${baseUrl}/.well-known/security.txt` },
  };
}

function withoutPath({ version, sha256 }: PublishedKit): JsonMembers {
  return { version, sha256 };
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
