/**
 * The answer to a check, written as plainly as can be: an object through JSON.stringify, a head of
 * joined lines. What the service writes as bytes must be this text.
 */

import type { Quotas } from '../../../src/access/quota/quota.ts';
import { countryOf, type GeoReader, providerOf } from '../../../src/geo/reader.ts';
import { usageOf } from '../../../src/geo/usage.ts';
import {
  LAST_REPORTED_AT,
  type Records,
  ROW_WORDS,
  reportersOf,
} from '../../../src/index/records.ts';
import { formatIp, type IpFamily } from '../../../src/ip/address.ts';
import { replaceByEmbedded } from '../../../src/ip/embedded-ipv4.ts';
import { isPublic } from '../../../src/ip/special.ts';
import type { Check } from '../../../src/reputation/check/check.ts';

export function plainBody(
  world: { judge: Check['judge']; geo: GeoReader; records: Records },
  family: IpFamily,
  words: Uint32Array,
  nowMs: number,
): string {
  const { geo, records } = world;
  const verdict = world.judge(family, words, nowMs);
  const place = words.slice();
  const ids = geo.find(replaceByEmbedded(family, place), place);
  const entry = verdict.reportedEntry;
  const reportedAt = entry === 0 ? 0 : records.word[entry * ROW_WORDS + LAST_REPORTED_AT]!;
  const isListed = verdict.listReports > 0 && verdict.listedAt > 0;
  const lastAt = entry === 0 && !isListed ? undefined : Math.max(reportedAt, verdict.listedAt);
  return JSON.stringify({
    data: {
      ipAddress: formatIp(family, words),
      abuseConfidenceScore: verdict.score,
      countryCode: geo.country(countryOf(ids)),
      isp: geo.provider(providerOf(ids)),
      isAnon: verdict.anonymousExit,
      totalReports: verdict.reports + verdict.listReports,
      malicious: verdict.malicious,
      isPublic: isPublic(family, words),
      ipVersion: family,
      isWhitelisted: verdict.allowlisted || verdict.knownGood,
      ...(isPublic(family, words)
        ? usageOf(geo.provider(providerOf(ids)))
        : { usageType: 'Reserved', domain: null }),
      hostnames: [],
      isTor: verdict.anonymousExit,
      numDistinctUsers: (entry === 0 ? 0 : reportersOf(records, entry)) + verdict.listReports,
      lastReportedAt: lastAt === undefined ? null : dateText(lastAt),
    },
  });
}

function dateText(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().replace('.000Z', '+00:00');
}

/** @param ignored names of parameters that a check does not know, as the header has them */
export function plainHead(quotas: Quotas, ignored: string | undefined, fields: string): string {
  const { limit, remaining, resetSecond } = quotas;
  const lines = ['200 OK', 'Content-Type: application/json', 'Cache-Control: no-store'];
  const [own, left, reset] = [
    `X-RateLimit-Limit: ${limit}`,
    `X-RateLimit-Remaining: ${remaining}`,
    `X-RateLimit-Reset: ${resetSecond}`,
  ];
  if (ignored === undefined) lines.push(own, reset, left);
  else lines.push(`X-Ignored-Parameters: ${ignored}`, own, left, reset);
  return lines.join('\r\n') + fields;
}
