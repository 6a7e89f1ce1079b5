/** JSON Schema (2020-12) of the manifest: what programs may rely on. Closed: no other members. */

import type { Json, JsonMembers } from '../../web/openapi.ts';

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

export const endpointNames = [
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
