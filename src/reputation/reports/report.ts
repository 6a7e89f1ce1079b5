/**
 * Validates and cleans a report. Pure; clock and own addresses are passed in.
 */

import * as v from 'valibot';
import type { AddressName, ReportInput } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import { fnv1a } from '../../core/crypto.ts';
import { duplicateWords } from '../../core/errors.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { count, country, dateTime, integer } from '../../core/schema.ts';
import { dayMs, minuteMs } from '../../core/time.ts';
import { type GeoReader, providerOf } from '../../geo/reader.ts';
import { formatIp, type IpFamily, type IpWords, parseIp } from '../../ip/address.ts';
import { readJudgedIp, replaceByEmbedded } from '../../ip/embedded-ipv4.ts';
import { specialUse } from '../../ip/special.ts';
import type { Check } from '../check/check.ts';
import { categoryMax } from './categories.ts';

export interface Report extends IpWords {
  /** Canonical. */
  readonly ip: string;
  /** Bit n for category n. */
  readonly categories: number;
  /** Cleaned; empty when there was none. */
  readonly comment: string;
  /** Milliseconds since 1970, not in the future. */
  readonly reportedAt: number;
}

export interface ReadReport extends Report {
  /** True for an address with which clients test themselves: the report is accepted and nothing of it is kept. */
  readonly isExample: boolean;
}

export interface ReportRules {
  readonly now: number;
  /** Documentation ranges may be reported: the demo. */
  readonly allowDocumentation: boolean;
  /** Canonical texts of the reporter's own and the server's addresses. */
  readonly ownAddresses: Pick<ReadonlySet<string>, 'has'>;
}

export const commentCharactersMax = 1_024;
export const reportAgeMaxMs = 365 * dayMs;
export const reportCategoriesMax = 30;
/** The number of a category of AbuseIPDB. */
export const category = integer(1, categoryMax);
/** A report as it is shown. */
export const shownReport = v.strictObject({
  reportedAt: dateTime,
  comment: v.string(),
  categories: v.array(category),
  reporterId: count,
  reporterCountryCode: country,
  reporterCountryName: v.string(),
});
/** A sender's clock may run ahead by this much. */
const clockSkewMs = minuteMs;
/** Clients report it to see whether they are connected; it is answered as a duplicate. */
const testAddress = '127.0.0.2';
/** Examples and the tests of clients report addresses of 127.0.0.0/8: they shall work, and mean nothing. */
const exampleOctet = 127;

/** Clients match these words, and `ip` as the parameter, however they named the address. */
export function duplicateDetail(ip: string): string {
  return `${duplicateWords} (\`${ip}\`) once in 15 minutes.`;
}

/** Each failure names its parameter and is shown to the sender. */
export function readReport(input: ReportInput, rules: ReportRules): Result<ReadReport> {
  const words = new Uint32Array(4);
  const text = input.ip?.trim() ?? '';
  const { addressName: name = 'ip' } = input;
  if (text === '') return fail('invalid_parameter', `The ${name} field is required.`, name);
  // Whoever is reported in the form of a translator or tunnel is the IPv4 address.
  const family = replaceByEmbedded(parseIp(text, words), words);
  if (family === 0)
    return fail('invalid_parameter', `The ${name} must be a valid IPv4 or IPv6 address.`, name);
  const ip = formatIp(family, words);
  // Before the other fields: the answer to a client that tests itself never depends on them.
  if (ip === testAddress) {
    return fail('duplicate_report', duplicateDetail(ip), 'ip');
  }
  const categories = readCategories(input.categories);
  if (!categories.ok) return categories;
  const reportedAt = readTimestamp(input.timestamp, rules.now);
  if (!reportedAt.ok) return reportedAt;
  const isExample = family === 4 && words[0]! >>> 24 === exampleOctet;
  const refusal = isExample ? undefined : refusedAddress(name, family, words, ip, rules);
  if (refusal !== undefined) return fail('invalid_parameter', refusal, name);
  return ok({
    family,
    words,
    ip,
    categories: categories.value,
    comment: cleanComment(input.comment ?? ''),
    reportedAt: reportedAt.value,
    isExample,
  });
}

function refusedAddress(
  name: AddressName,
  family: IpFamily,
  words: Uint32Array,
  ip: string,
  rules: ReportRules,
): string | undefined {
  const use = specialUse(family, words);
  if (
    use !== undefined &&
    !use.globallyReachable &&
    !(use.documentation && rules.allowDocumentation)
  ) {
    return `The ${name} lies in a range that can't be reported (${use.name}).`;
  }
  if (rules.ownAddresses.has(ip)) return "You can't report your own address or this server's.";
  return undefined;
}

const noCategories = fail('invalid_parameter', 'The categories field is required.', 'categories');

function readCategories(input: ReportInput['categories']): Result<number> {
  if (input === undefined || input === null || input === '') return noCategories;
  const parts: readonly unknown[] =
    typeof input === 'string'
      ? input.split(',')
      : [input].flat().flatMap((item) => (typeof item === 'string' ? item.split(',') : [item]));
  if (parts.length === 0) return noCategories;
  if (parts.length > reportCategoriesMax) {
    return fail(
      'invalid_parameter',
      `At most ${reportCategoriesMax} categories may be given.`,
      'categories',
    );
  }
  let mask = 0;
  for (const part of parts) {
    const text = typeof part === 'number' || typeof part === 'string' ? String(part).trim() : '';
    const number = /^\d{1,3}$/.test(text) ? Number(text) : 0;
    if (number < 1 || number > categoryMax) {
      return fail(
        'invalid_parameter',
        `The categories must be numbers from 1 to ${categoryMax}.`,
        'categories',
      );
    }
    mask |= 1 << number;
  }
  return ok(mask >>> 0);
}

/** ISO 8601 date and time with an offset; without one it is UTC. */
const isoPattern =
  /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?$/i;

function readTimestamp(text: string | undefined, now: number): Result<number> {
  if (text === undefined) return ok(now);
  // A form reads an unencoded plus as a space: `08:00:00 00:00` was `08:00:00+00:00`.
  const trimmed = text.trim().replace(/(:\d\d(?:\.\d{1,9})?) (\d\d:?\d\d)$/, '$1+$2');
  if (trimmed === '') return ok(now);
  const parsed = isoPattern.test(trimmed) ? parseIso(trimmed) : Number.NaN;
  if (Number.isNaN(parsed)) {
    return fail(
      'invalid_parameter',
      'The timestamp must be a date in ISO 8601 format.',
      'timestamp',
    );
  }
  if (parsed > now + clockSkewMs) {
    return fail('invalid_parameter', 'The timestamp must not be in the future.', 'timestamp');
  }
  if (parsed < now - reportAgeMaxMs) {
    return fail('invalid_parameter', 'The timestamp must not be older than 365 days.', 'timestamp');
  }
  return ok(Math.min(parsed, now));
}

function parseIso(text: string): number {
  const hasOffset = /(?:Z|[+-]\d\d:?\d\d)$/i.test(text) && text.length > 10;
  // The platform takes the 30th of February for a day in March.
  const day = Date.parse(`${text.slice(0, 10)}T00:00:00Z`);
  if (Number.isNaN(day) || new Date(day).getUTCDate() !== Number(text.slice(8, 10))) {
    return Number.NaN;
  }
  const normal = text.replace(' ', 'T').replace(/([+-]\d\d)(\d\d)$/, '$1:$2');
  return Date.parse(text.length > 10 && !hasOffset ? `${normal}Z` : normal);
}

/** Control characters out (line breaks become spaces), lone surrogates replaced, cut by characters. */
export function cleanComment(text: string): string {
  // Enough is looked at for any result; a comment of megabytes costs no more.
  const head = wellFormed(text.slice(0, 4 * commentCharactersMax));
  const clean = head
    .replace(/[\r\n\t\u2028\u2029]+/g, ' ')
    .replace(/[\p{Cc}\p{Cf}]/gu, '')
    .trim();
  return clean.length <= commentCharactersMax
    ? clean
    : Array.from(clean).slice(0, commentCharactersMax).join('');
}

function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd');
}

// The network that an account reports from, as one number: its provider, else the IPv4 /16 or IPv6
// /32; all anonymous exits are one. Earned votes count once per network (quorum.ts), so that one
// provider's customer with many accounts is one vote. The number goes into the journal's event: the
// reducer looks nothing up, and each node reaches the same state whatever its tables say.

interface ClientNetworkOptions {
  readonly geo: GeoReader;
  readonly check: Pick<Check, 'judge'>;
  readonly clock: Clock;
}

/** Returns 0 for what is no address. */
export function clientNetwork(options: ClientNetworkOptions, clientIp: string): number {
  const { geo, check, clock } = options;
  const ip = readJudgedIp(clientIp);
  if (ip === undefined) return 0;
  const { family, words } = ip;
  const provider = providerOf(geo.find(family, words));
  return networkNumber({
    family,
    words,
    isAnonymousExit: check.judge(family, words, clock.now()).anonymousExit,
    provider: provider === 0 ? undefined : geo.provider(provider),
  });
}

/** Bits that the reducer keeps. Two networks with one number count as one, which is harmless. */
const bits = 16;

interface ReporterAddress extends IpWords {
  readonly isAnonymousExit: boolean;
  /** Name of the provider; undefined when unknown. */
  readonly provider: string | undefined;
}

function networkNumber({ family, words, isAnonymousExit, provider }: ReporterAddress): number {
  if (isAnonymousExit) return numberOf('exits');
  if (provider !== undefined) return numberOf(`provider ${provider}`);
  const first = words[0]!;
  return numberOf(family === 4 ? `4 ${first >>> 16}` : `6 ${first}`);
}

/** Returns FNV-1a, folded to 16 bits; never 0, which stands for an unknown network. */
function numberOf(name: string): number {
  const hash = fnv1a(name);
  const folded = ((hash >>> bits) ^ hash) & 0xffff;
  return folded === 0 ? 1 : folded;
}
