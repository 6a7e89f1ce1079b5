/** GET /llms.txt in the form of llmstxt.org: what this is not first, then where to read. */

import { codeLifeMs } from '../../signon/sites/codes.ts';
import { scopeNames } from '../../signon/sites/scopes.ts';
import { type DocGroup, type DocPage, markdownPath } from '../docs/library.ts';
import { publishedPaths } from './manifest.ts';

export function llmsText(options: {
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
        ({ slug, article }) =>
          `- [${article.title}](${baseUrl}${markdownPath(slug)}): ${article.summary}`,
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
    ...linksOf('reputation'),
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
