/** Parameters that several checks have, and the first members of their answers. */

import * as v from 'valibot';
import { fail, ok, type Result } from '../../core/result.ts';
import { about, between, count, country, readBy, score } from '../../core/schema.ts';
import { dayMs } from '../../core/time.ts';
import { formatIp, type IpWords, ipTextLengthMax, readIp } from '../../ip/address.ts';
import { replaceByEmbedded } from '../../ip/embedded-ipv4.ts';

export const invalidAddressDetail = `The ip address must be a valid IPv4 or IPv6 address of at most ${ipTextLengthMax} characters.`;
export const addressRequiredDetail = 'The ip address field is required.';

export const checkedAddress = about(readBy(readAddress, addressRequiredDetail), 'IPv4 or IPv6.');
export const days = between('max age in days', 1, 365, /^\d{1,3}$/);
export const daysWithoutLists = about(
  days,
  'Count the reports of so many days, without what lists add.',
);

/** The first members of each check. */
export const checkSummary = {
  ipAddress: v.string(),
  abuseConfidenceScore: score,
  countryCode: country,
  isp: v.string(),
  isAnon: v.boolean(),
  totalReports: count,
  malicious: v.boolean(),
};

/** Reports are kept this long: what no `maxAgeInDays` means. */
const maxAgeDaysDefault = 365;

/** Family and words are of the address behind an IPv6 one: reports name that. */
export interface Address extends IpWords {
  /** Canonical, as it was asked for. */
  readonly text: string;
}

export function readAddress(text: string | undefined): Result<Address> {
  if (text === undefined || text === '') {
    return fail('invalid_parameter', addressRequiredDetail, 'ipAddress');
  }
  const ip = readIp(text);
  if (ip === undefined) return fail('invalid_parameter', invalidAddressDetail, 'ipAddress');
  const { family, words } = ip;
  const canonical = formatIp(family, words);
  return ok({ family: replaceByEmbedded(family, words), words, text: canonical });
}

/** `maxAgeInDays` as the time from which reports count, milliseconds since 1970. */
export function sinceOf(maxAgeDays: number | undefined, nowMs: number): number {
  return nowMs - (maxAgeDays ?? maxAgeDaysDefault) * dayMs;
}
