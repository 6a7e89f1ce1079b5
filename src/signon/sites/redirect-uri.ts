/**
 * The address to which a code may be sent. The URL parser of the platform repairs backslashes, tabs, full-width
 * letters and `%6d` without a word, and so does a browser, each in its own way. So the raw text is
 * filtered first, its authority is matched by hand, and the parser must then have found the very
 * same host. What is sent to the browser is the parser's spelling, never the raw text.
 */

import { fail, ok, type Result } from '../../core/result.ts';
import { type Client, type ClientRules, isDemoClient, registrableDomain } from './client-id.ts';

declare const redirectBrand: unique symbol;

/** A checked address; only `parseRedirectUri` makes it. */
export interface RedirectUri {
  readonly [redirectBrand]: true;
  /** The text that the client sent: the exchange compares with it. */
  readonly text: string;
  /** The address that the browser follows. */
  readonly href: string;
  readonly host: string;
  /** The scheme, host and port: a consent holds for one of these. */
  readonly origin: string;
}

export const redirectUriCharsMax = 2_000;
/** The characters of printable ASCII without space, backslash and `#`. */
const charsPattern = /^[\x21\x22\x24-\x5b\x5d-\x7e]+$/;
const brokenEscape = /%(?![0-9a-f]{2})/i;
/** Some programs end a text at one, others leave it out: `code%00` is `code` to them. */
const escapedControl = /%(?:[01][0-9a-f]|7f|c2%[89][0-9a-f])/i;
const shape = /^(https?):\/\/([^/?]+)(?:[/?]|$)/i;
const httpsAuthority = /^([a-z0-9.-]+?)(?::443)?$/i;
const demoAuthority = /^(localhost|127\.0\.0\.1)(?::([1-9][0-9]{0,4}))?$/;

/** Names that the answer itself carries: a client that reads the first one would be fooled. */
const answerNames: ReadonlySet<string> = new Set([
  'code',
  'state',
  'error',
  'error_description',
  'error_uri',
  'iss',
]);

const decodingsMax = 4;
const invisible = /[\p{C}\p{Default_Ignorable_Code_Point}\p{Z}]/gu;

/** Checks an address. `invalid_redirect_uri`, whose detail does not repeat the text. */
export function parseRedirectUri(
  text: string,
  client: Client,
  rules: ClientRules,
): Result<RedirectUri> {
  if (text === '') return refuse('is missing');
  if (text.length > redirectUriCharsMax)
    return refuse(`is longer than ${redirectUriCharsMax} characters`);
  if (!charsPattern.test(text)) return refuse('holds a character that it cannot');
  if (brokenEscape.test(text)) return refuse('is not validly percent-encoded');
  if (escapedControl.test(text)) return refuse('holds a control character');
  const [, scheme = '', authority = ''] = shape.exec(text) ?? [];
  const host = rules.demo && isDemoClient(client.id) ? demoHost : siteHost;
  const allowed = host(scheme.toLowerCase(), authority, client, rules);
  if (allowed === undefined) return refuse('is not an https address on the domain of the client');
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.host !== allowed || url.username !== '' || url.password !== '') {
    return refuse('is not an address that every program reads alike');
  }
  if (hasAnswerName(url.search)) return refuse('already holds a parameter of the answer');
  return ok({ text, href: url.href, host: url.host, origin: url.origin } as RedirectUri);
}

/** Returns the host that the parser must find, or undefined when the client may not have it. */
function siteHost(
  scheme: string,
  authority: string,
  client: Client,
  { suffixes }: ClientRules,
): string | undefined {
  if (scheme !== 'https') return undefined;
  const host = httpsAuthority.exec(authority)?.[1]?.toLowerCase();
  if (host === undefined) return undefined;
  if (host !== client.id && !host.endsWith(`.${client.id}`)) return undefined;
  // A sub-domain may be somebody else's: evil.s3.amazonaws.com is not Amazon's.
  return registrableDomain(host, suffixes) === client.registrable ? host : undefined;
}

/** Allows plain http on this machine, any port, for a client id that names this machine. */
function demoHost(scheme: string, authority: string, client: Client): string | undefined {
  const [, host, port] = demoAuthority.exec(authority) ?? [];
  if (scheme !== 'http' || host !== client.id) return undefined;
  return port === undefined || port === '80' ? host : `${host}:${port}`;
}

/** Servers differ in what they take for a name: `;` separates, `code[]` and ` code` are `code`. */
function hasAnswerName(search: string): boolean {
  const pairs = search.slice(1).replaceAll(';', '&');
  for (const name of new URLSearchParams(pairs).keys()) {
    if (readings(name).some((reading) => answerNames.has(reading))) return true;
  }
  return false;
}

/** Returns the names that programs may read: bracketed, padded, in other letters, or decoded once more. */
function readings(name: string): string[] {
  const found: string[] = [];
  let text = name;
  for (let depth = 0; depth < decodingsMax; depth++) {
    const letters = text.normalize('NFKC').toLowerCase();
    const plain = letters.replace(invisible, '');
    // PHP takes a dot, a space or an open bracket for an underscore.
    const underscored = letters.trim().replace(/[^a-z]/g, '_');
    found.push(plain.split('[', 1)[0]!.trim(), plain.replace(/[^a-z_]/g, ''), underscored);
    const decoded = decodeOnce(text);
    if (decoded === text) return found;
    text = decoded;
  }
  // A name in more layers of escapes counts as every name of the answer.
  return [...answerNames];
}

function decodeOnce(text: string): string {
  return (
    new URLSearchParams(`x=${text.replaceAll('&', '%26').replaceAll('+', '%2B')}`).get('x') ?? text
  );
}

function refuse(what: string) {
  return fail('invalid_redirect_uri', `The redirect_uri ${what}.`, 'redirect_uri');
}

/** Adds the answer to the address; a query that is there already is kept. */
export function answerAddress(
  redirect: RedirectUri,
  answer: readonly (readonly [name: string, value: string])[],
): string {
  const added = answer.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
  const { href } = redirect;
  const queryAt = href.indexOf('?');
  if (queryAt === -1) return `${href}?${added}`;
  return queryAt === href.length - 1 || href.endsWith('&') ? href + added : `${href}&${added}`;
}
