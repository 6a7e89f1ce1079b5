/**
 * The answer to "can this address be trusted?", from shared memory alone: no await, no store.
 *
 * The most specific entry gives the counts. The score is the highest over all entries that
 * cover the address (a fresh host entry must not hide a bad network), and so are the flags.
 * An allowlist entry anywhere above wins over all of it.
 */

import { COVERING_MAX } from '../index/layout.ts';
import type { Lookup } from '../index/lookup.ts';
import { META, REPORTS, type Records, ROW_SHIFT, STRENGTH } from '../index/records.ts';
import { formatIp, parseIp } from '../ip/address.ts';
import { entryFlags } from './entry-flags.ts';

import { entryScore, halfLivesAt, maliciousScore } from './score.ts';

/** What the index says of an address. One object, reused by every call. */
export interface Verdict {
  /** 0..100 */
  score: number;
  anonymousExit: boolean;
  allowlisted: boolean;
  malicious: boolean;
  /** Reports of the last 365 days on the most specific entry. */
  reports: number;
  /** Most specific entry, 0 for none. */
  entry: number;
  /** The entry whose evidence made the score, 0 for none. */
  decidedBy: number;
}

/** Country and provider of an address, as JSON fragments: `"countryCode":"…","isp":"…"`. */
export interface GeoFragments {
  fragment(family: 4 | 6, words: Uint32Array): string;
}

export interface Check {
  judge(family: 4 | 6, words: Uint32Array, nowMs: number): Verdict;
  /**
   * The object of the seven fields as JSON, or undefined when `text` is not an address.
   * @param nowMs wall clock: community evidence decays
   */
  json(text: string, nowMs: number): string | undefined;
}

export function openCheck(options: { lookup: Lookup; records: Records; geo: GeoFragments }): Check {
  const { lookup, geo } = options;
  const { word, float } = options.records;
  const address = new Uint32Array(4);
  const covering = new Int32Array(COVERING_MAX);
  const verdict: Verdict = {
    score: 0,
    anonymousExit: false,
    allowlisted: false,
    malicious: false,
    reports: 0,
    entry: 0,
    decidedBy: 0,
  };

  function judge(family: 4 | 6, words: Uint32Array, nowMs: number): Verdict {
    const count = lookup.covering(family, words, covering);
    const nowHalfLives = halfLivesAt(nowMs);
    let flags = 0;
    let best = -1;
    let decidedBy = 0;
    for (let i = 0; i < count; i++) {
      const entry = covering[i]!;
      const row = entry << ROW_SHIFT;
      const meta = word[row + META]!;
      flags |= meta >>> 8;
      const score = entryScore(meta & 0xff, float[row + STRENGTH]!, nowHalfLives);
      if (score > best) {
        best = score;
        decidedBy = entry;
      }
    }
    const allowlisted = (flags & entryFlags.allowlisted) !== 0;
    verdict.entry = count === 0 ? 0 : covering[0]!;
    verdict.decidedBy = decidedBy;
    verdict.reports = count === 0 ? 0 : word[(covering[0]! << ROW_SHIFT) + REPORTS]!;
    verdict.anonymousExit = (flags & entryFlags.anonymousExit) !== 0;
    verdict.allowlisted = allowlisted;
    verdict.score = allowlisted || best < 0 ? 0 : best;
    verdict.malicious = verdict.score >= maliciousScore;
    return verdict;
  }

  function json(text: string, nowMs: number): string | undefined {
    const family = parseIp(text, address);
    if (family === 0) return undefined;
    const v = judge(family, address, nowMs);
    // Concatenation, not JSON.stringify: every part is a number, a boolean or already JSON.
    return (
      `{"ipAddress":"${formatIp(family, address)}","abuseConfidenceScore":${v.score},` +
      `${geo.fragment(family, address)},"isAnon":${v.anonymousExit},` +
      `"totalReports":${v.reports},"malicious":${v.malicious}}`
    );
  }

  return { judge, json };
}
