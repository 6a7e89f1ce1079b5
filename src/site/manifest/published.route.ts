/** All that is published about the service: documentation, manifest, llms.txt, OpenAPI. Made once each. */

import { newAddressQuota, pointRules, readQuota, writeQuota } from '../../access/quota/points.ts';
import { receiptLifeMs } from '../../captcha/receipts.ts';
import { packageVersion } from '../../config/environment.ts';
import { captchaBrowserLimits } from '../../config/limits.ts';
import { captchaBounds } from '../../config.ts';
import type { Language } from '../../core/language.ts';
import type { PlainRoute } from '../../http/router.ts';
import { bulkAddressesMax } from '../../reputation/check/check-bulk.route.ts';
import { maliciousScore } from '../../reputation/check/score.ts';
import { bulkRowsMax } from '../../reputation/reports/bulk-reports.ts';
import { categoryNames } from '../../reputation/reports/categories.ts';
import { chosenInFormPerDay, delayMinutesMax, promptPerDay } from '../../signon/people/pacing.ts';
import { stateCharsMax } from '../../signon/sites/authorize.ts';
import { codeLifeMs } from '../../signon/sites/codes.ts';
import { scopeNames } from '../../signon/sites/scopes.ts';
import type { Endpoint } from '../../web/guard/endpoint.ts';
import type { Guard } from '../../web/guard/guard.ts';
import type { PageTools } from '../../web/page-tools.ts';
import { jsonType } from '../../web/shape.ts';
import type { SearchScreen } from '../docs/docs.page.tsx';
import { docsRoutes } from '../docs/docs.route.ts';
import {
  type DocGroup,
  type DocPage,
  docsFolder,
  loadDocs,
  markdownPath,
  type Substitutions,
} from '../docs/library.ts';
import { openApiDocument } from '../openapi.ts';
import { translationsFor } from '../words.ts';
import {
  manifestOf,
  type PublishedKit,
  publishedLimits,
  publishedManifestSchema,
  publishedPaths,
} from './manifest.ts';
import {
  manifestDocs,
  manifestSchemaDocs,
  openapiDocs,
  readyEndpoint,
  readyRoute,
} from './ready-text.route.ts';

// Numbers and tables that the documentation speaks of, from the tables that the code works by.

function factsOf(
  options: { baseUrl: string; secureUrl: string; endpoints: readonly Endpoint[] },
  language: Language,
): Substitutions {
  const { limits } = translationsFor(language).docs;
  const { accepted, confirmed, retracted } = pointRules;
  const numbers = {
    reads_per_minute: readQuota(0),
    writes_per_minute: writeQuota(0),
    new_addresses_day: newAddressQuota(writeQuota(0)),
    new_addresses_day_max: newAddressQuota(writeQuota(100)),
    malicious_score: maliciousScore,
    code_seconds: codeLifeMs / 1_000,
    captcha_browser_new: captchaBrowserLimits.captchaNew.max,
    captcha_browser_images: captchaBrowserLimits.captchaImage.max,
    captcha_browser_sounds: captchaBrowserLimits.captchaAudio.max,
    captcha_browser_answers: captchaBrowserLimits.captchaVerify.max,
    challenge_seconds: captchaBounds.lifetimeMs / 1_000,
    receipt_seconds: receiptLifeMs / 1_000,
    state_characters: stateCharsMax,
    bulk_addresses: bulkAddressesMax,
    bulk_rows: bulkRowsMax,
    points_accepted: accepted.points,
    points_accepted_day: accepted.perDayMax,
    points_confirmed: confirmed.points / 2,
    points_confirmed_day: confirmed.perDayMax,
    points_retracted: retracted,
    registrations_prompt_day: promptPerDay,
    registrations_in_form_day: chosenInFormPerDay,
    registration_delay_minutes: delayMinutesMax,
  };
  const grouped = Object.entries(numbers).map(([name, n]) => [name, n.toLocaleString(language)]);
  return {
    base_url: options.baseUrl,
    secure_url: options.secureUrl,
    ...Object.fromEntries(grouped),
    category_table: tableOf(
      ['Number', 'Category'],
      categoryNames.map((name, i) => [String(i + 1), name]),
    ),
    key_costs: tableOf(
      limits.costHead,
      options.endpoints.flatMap(({ method, path, cost }) =>
        cost === undefined ? [] : [[`\`${method} ${path}\``, limits.cost(cost)]],
      ),
    ),
    client_limits: tableOf(
      limits.head,
      publishedLimits(options.endpoints).map(({ name, max, windowMs, endpoints }) => [
        limits.names[name],
        max.toLocaleString(language),
        limits.windows[windowMs] ?? limits.seconds(windowMs / 1_000),
        endpoints?.map((line) => `\`${line}\``).join(', ') ?? limits.everywhere,
      ]),
    ),
  };
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

const ready = {
  manifest: readyEndpoint(publishedPaths.manifest, manifestDocs),
  schema: readyEndpoint(publishedPaths.manifestSchema, manifestSchemaDocs),
  openapi: readyEndpoint(publishedPaths.openapi, openapiDocs),
  llms: readyEndpoint(publishedPaths.llms, 'text'),
} as const;

export const publishedEndpoints: readonly Endpoint[] = Object.values(ready);

interface PublishedOptions {
  readonly guard: Guard;
  /** All of the service. */
  readonly endpoints: readonly Endpoint[];
  readonly tools: PageTools;
  readonly baseUrl: string;
  readonly secureUrl: string;
  /** The archive for sites, when one is served. */
  readonly kit?: PublishedKit | undefined;
  /** The zone of the DNS block list; undefined: none is served. */
  readonly dnsZone?: string | undefined;
  /** HAProxy asks the gate at this address and port; undefined: it can't. */
  readonly spoeListen?: string | undefined;
  /** Pages to connect something, for the search; none by default. */
  readonly screens?: ((language: Language) => readonly SearchScreen[]) | undefined;
}

export function publishedRoutes(options: PublishedOptions): PlainRoute[] {
  const { guard, tools, baseUrl, secureUrl, kit } = options;
  const version = packageVersion();
  const described = { ...options, version };
  const facts = { en: factsOf(options, 'en'), fr: factsOf(options, 'fr') };
  const pages = loadDocs(docsFolder, baseUrl, (language) => facts[language]);
  const [, json] = jsonType;
  const schema = publishedManifestSchema(`${baseUrl}${publishedPaths.manifestSchema}`);
  return [
    ...docsRoutes({ guard, tools, pages, screens: options.screens ?? (() => []) }),
    readyRoute(guard, ready.manifest, json, () => jsonText(manifestOf({ ...described, kit }))),
    readyRoute(guard, ready.schema, 'application/schema+json', () => jsonText(schema)),
    readyRoute(guard, ready.openapi, json, () => jsonText(openApiDocument(described))),
    readyRoute(guard, ready.llms, 'text/plain; charset=utf-8', () =>
      llmsText({ baseUrl, secureUrl, pages, kitPath: kit?.path }),
    ),
  ];
}

/** People look at it, too. */
function jsonText(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** Writes llms.txt in the form of llmstxt.org: what this is not first, then where to read. */
function llmsText(options: {
  baseUrl: string;
  secureUrl: string;
  pages: readonly DocPage[];
  /** Path of the archive for sites. */
  kitPath: string | undefined;
}): string {
  const { baseUrl, secureUrl, pages, kitPath } = options;
  const linksOf = (group: DocGroup) =>
    pages
      .filter((page) => page.group === group)
      .map(
        ({ slug, english: { intro } }) =>
          `- [${intro.title}](${baseUrl}${markdownPath(slug)}): ${intro.summary}`,
      );
  return [
    '# Portcullis',
    '',
    '> Sign-on for web sites (a code for a profile) and IP reputation (API, blocklists, CAPTCHA), self-hosted. It is not OpenID Connect: no `id_token`, no `/token` endpoint, no client secret.',
    '',
    'Before writing code against the sign-on:',
    '',
    '- NOT OpenID Connect and not a full OAuth 2.0 server. No `id_token`, no JWT, no `/token`, no `/userinfo`, no `client_secret`, no refresh token, no discovery document, no client registration. Do not use a library for OpenID Connect.',
    `- A site is its domain: \`client_id=example.com\`. \`redirect_uri\` is https on that domain or a sub-domain of it.`,
    `- The browser goes to \`${baseUrl}/authorize.php\` with \`client_id\`, \`redirect_uri\`, \`response_type=code\`, \`scope\`, \`state\`, and best \`code_challenge\` with \`code_challenge_method=S256\`.`,
    `- The site's server then calls \`GET ${baseUrl}/api.php?code=…&client_id=…&redirect_uri=…&code_verifier=…\` and gets the profile as JSON. The code works once, for ${codeLifeMs / 1_000} seconds. Never from a browser.`,
    '- Make a random `state`, keep it in the session, compare it on return, and answer 400 when it differs.',
    `- Each answer has \`iss=${baseUrl}\` (RFC 9207), errors too. A site that knows several services compares it, and answers 400 when it differs or is missing.`,
    `- Scopes: \`${scopeNames.join(' ')}\`. A field that was refused or is empty is absent from the profile. Key users by \`service_id\`.`,
    `- The IP API at \`${secureUrl}/api/v2/\` wants an API key in the header \`Key\`; its names are those of AbuseIPDB v2. CrowdSec bouncers take \`${secureUrl}/\` as their local API, with a key of their own in \`X-Api-Key\`; its agents report there, with a key that was made for an agent as password. Proxies ask \`${secureUrl}/gate/check\` by forward authentication, HAProxy over SPOE, Dovecot \`${secureUrl}/policy/dovecot\` as its auth policy. Feeds, \`/api/v2/stats\` and the CAPTCHA's calls want none.`,
    '',
    '## Sign-on',
    '',
    ...linksOf('signOn'),
    '',
    '## IP reputation',
    '',
    ...(['api', 'block', 'scores', 'forms'] as const).flatMap(linksOf),
    '',
    '## Machine-readable',
    '',
    `- [Manifest](${baseUrl}${publishedPaths.manifest}): addresses, scopes with their fields, lifetimes, rules and limits as JSON`,
    `- [OpenAPI](${secureUrl}${publishedPaths.openapi}): every JSON route with its answers and errors`,
    ...(kitPath === undefined
      ? []
      : [`- [Integration kit](${baseUrl}${kitPath}): WordPress plugin, PHP SDK, HTML button`]),
    '',
    '## Optional',
    '',
    ...linksOf('start'),
    '',
  ].join('\n');
}
