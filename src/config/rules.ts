/**
 * Rules for the text of a setting, and the value that it stands for. The message of each rule ends a sentence that begins
 * with the setting's name.
 */

import { isIP } from 'node:net';
import { resolve } from 'node:path';
import * as v from 'valibot';
import { durationMs, durationRule } from '../core/time.ts';

export const integer = (min: number, max: number) =>
  v.pipe(
    v.string(),
    v.regex(/^\d{1,9}$/, `must be a whole number from ${min} to ${max}`),
    v.transform(Number),
    v.minValue(min, `must be a whole number from ${min} to ${max}`),
    v.maxValue(max, `must be a whole number from ${min} to ${max}`),
  );

export const duration = v.pipe(
  v.string(),
  v.check((text) => durationMs(text) !== undefined, durationRule),
  v.transform((text) => durationMs(text) ?? 0),
);

export const urlOf = (...protocols: string[]) =>
  v.pipe(
    v.string(),
    v.check(
      (text) => {
        return URL.canParse(text) && protocols.includes(new URL(text).protocol);
      },
      `must be a URL that begins with ${protocols.map((p) => `${p}//`).join(' or ')}`,
    ),
  );

/** The parameters that a mail server's URL may have: none that turns TLS off by another name. */
const smtpParameters =
  /^(tls|name|pool|maxConnections|maxMessages|rateDelta|rateLimit|localAddress|authMethod|tls\.(rejectUnauthorized|servername|minVersion|ciphers))$/;

export const smtpUrl = v.pipe(
  urlOf('smtp:', 'smtps:'),
  v.check((text) => !URL.canParse(text) || new URL(text).hostname !== '', 'must name a host'),
  v.check((text) => {
    const keys = URL.canParse(text) ? [...new URL(text).searchParams.keys()] : [];
    return keys.every((key, i) => smtpParameters.test(key) && keys.indexOf(key) === i);
  }, 'must have no parameters but tls=optional and those of docs/OPERATIONS.md, each once'),
  v.check((text) => {
    if (!URL.canParse(text)) return true;
    const { protocol, searchParams } = new URL(text);
    const tls = searchParams.get('tls');
    return tls === null || (tls === 'optional' && protocol === 'smtp:');
  }, 'must have tls=optional or no tls at all; with smtps:// none'),
);

/** Several hosts are no URL to a browser, so it is read by its parts alone. Nothing of it is quoted. */
export const databaseUrl = v.pipe(
  v.string(),
  v.regex(
    /^postgres(ql)?:\/\/[^\s/?#]*\/[^\s/?#]+(\?\S*)?$/,
    'must be like postgres://user:password@host:5432/name',
  ),
);

/** Scheme, host and port alone: links are made by appending a path. */
export const origin = v.pipe(
  urlOf('http:', 'https:'),
  v.check((text) => {
    // Every check runs: what is no URL at all has been told of above.
    if (!URL.canParse(text)) return true;
    const url = new URL(text);
    return url.pathname === '/' && !url.search && !url.hash && !url.username && !url.password;
  }, 'must be scheme, host and port alone, without a path'),
  v.transform((text) => new URL(text).origin),
);

export const path = v.pipe(
  v.string(),
  v.check((text) => !text.includes('\0'), 'must not hold a NUL character'),
  v.transform((text) => resolve(text)),
);

/** Text that stands in headers and pages. */
export function oneLine(max: number) {
  return v.pipe(
    v.string(),
    v.transform((text) => text.trim()),
    v.check(
      (text) => text !== '' && [...text].length <= max && !/[\p{Cc}\p{Cf}\u2028\u2029]/u.test(text),
      `must be one line of 1 to ${max} characters`,
    ),
  );
}

/** The operator's mail address, or a page with the ways to reach them. */
export const contact = v.pipe(
  v.string(),
  v.regex(
    /^([^\s<>"@]{1,64}@[^\s<>"@]{1,253}|https:\/\/[^\s<>"]{1,290})$/,
    'must be a mail address or an https address',
  ),
);

export const list = v.pipe(
  v.string(),
  v.transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  ),
  v.maxLength(256, 'must list at most 256 addresses or prefixes'),
);

/** A leading dot and capitals are how people write them: `.internal` is `internal`. */
export const suffixList = v.pipe(
  v.string(),
  v.transform((text) =>
    text
      .split(',')
      .map((part) => part.trim().toLowerCase())
      .map((part) => part.replace(/^\.(?=[^.])/, ''))
      .filter((part) => part !== ''),
  ),
  v.maxLength(64, 'must list at most 64 suffixes'),
);

/** Public keys of age; whether one is right is seen where it is used. */
export const recipientList = v.pipe(
  list,
  v.array(
    v.pipe(
      v.string(),
      v.regex(/^age1[02-9ac-hj-np-z]{50,4000}$/, 'must list public keys of age (age1…)'),
    ),
  ),
  v.maxLength(16, 'must list at most 16 public keys'),
);

export const countryList = v.pipe(
  v.string(),
  v.regex(
    /^(\*|[A-Z]{2}(\s*,\s*[A-Z]{2}){0,249})$/,
    'must be * or codes of countries such as FR,BE (ISO 3166-1)',
  ),
  v.transform((text) => text.split(',').map((code) => code.trim())),
);

/** The listening address of a protocol without keys: it admits everybody on this machine. */
export const loopbackEndpoint = v.pipe(
  v.string(),
  v.regex(
    /^(127(\.(0|[1-9]\d?|1\d\d|2[0-4]\d|25[0-5])){3}|\[::1\]):\d{1,5}$/,
    'must be a loopback address with a port, such as 127.0.0.1:9002',
  ),
  v.check(
    (text) => Number(text.slice(text.lastIndexOf(':') + 1)) <= 65_535,
    'must end with a port',
  ),
);

/** A port, which is one of loopback then, or an address with one; brackets around IPv6. */
export const listenPlace = v.pipe(
  v.string(),
  v.regex(
    /^(?:(?:\[([0-9a-fA-F:.]+)\]|(\d{1,3}(?:\.\d{1,3}){3})):)?\d{1,5}$/,
    'must be a port, or an address with a port, such as 127.0.0.1:9090',
  ),
  v.transform((text) => {
    const colon = text.lastIndexOf(':');
    const host = colon < 0 ? '127.0.0.1' : text.slice(0, colon).replace(/^\[|\]$/g, '');
    return { host, port: Number(text.slice(colon + 1)) };
  }),
  v.check(({ host }) => isIP(host) !== 0, 'must have an address before its port'),
  v.check(({ port }) => port <= 65_535, 'must end with a port'),
);

const labelPattern = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** Names of the DNS, of at most so many characters that every answer has room for some of them. */
export const domainName = v.pipe(
  v.string(),
  v.transform((text) => text.toLowerCase().replace(/\.$/, '')),
  v.check(
    (text) => text.length <= 100 && text.split('.').every((label) => labelPattern.test(label)),
    'must be a name of the DNS of at most 100 characters',
  ),
);

export const domainList = v.pipe(
  list,
  v.array(domainName),
  v.maxLength(4, 'must list at most 4 names'),
);
