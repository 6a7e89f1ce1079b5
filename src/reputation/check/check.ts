/**
 * The answer to "can this address be trusted?", from shared memory alone: no await, no store.
 *
 * The score is the highest over all entries that cover the address (a fresh host entry must not
 * hide a bad network), and so are the flags. Reports are those of the most specific entry that
 * was reported; what lists add to them is added up over all entries. Above a known-good range only
 * lists count. An allowlist entry anywhere above wins over all of it. What is said of the IPv4 address that
 * stands behind an IPv6 one (ip/embedded-ipv4.ts) is said of both.
 */

import { entryFlags, type Verdict } from '../../contracts/reputation.ts';
import type { GeoFragments } from '../../geo/reader.ts';
import type { IndexView } from '../../index/reader.ts';
import { META, REPORTS, REPORTS_MASK, ROW_SHIFT, STRENGTH } from '../../index/records.ts';
import { COVERING_MAX } from '../../index/trie/layout.ts';
import { type IpFamily, parseIp } from '../../ip/address.ts';
import { publicEmbeddedIpv4 } from '../../ip/embedded-ipv4.ts';
import { createCheckBody, createSummaryWriter } from './check-body.ts';
import { entryScore, halfLivesAt, maliciousScore } from './score.ts';

export type Check = ReturnType<typeof openCheck>;

export function openCheck(options: {
  index: Pick<IndexView, 'covering' | 'records' | 'listTimes'>;
  geo: GeoFragments;
}) {
  const { index, geo } = options;
  const { records, listTimes } = index;
  const { word, float } = records;
  const write = createCheckBody(geo, records);
  const writeJudged = createSummaryWriter(geo);
  const address = new Uint32Array(4);
  const covering = new Int32Array(2 * COVERING_MAX);
  const ipv6Covering = new Int32Array(COVERING_MAX);
  const embedded = new Uint32Array(4);
  const verdict: Verdict = {
    score: 0,
    anonymousExit: false,
    allowlisted: false,
    knownGood: false,
    malicious: false,
    reports: 0,
    reportedEntry: 0,
    listReports: 0,
    listedAt: 0,
    decidedBy: 0,
  };

  /** Fills `covering`, that of the IPv4 address behind it first. @returns how many entries */
  function entriesOf(family: IpFamily, words: Uint32Array): number {
    const embeddedIpv4 = publicEmbeddedIpv4(family, words);
    if (embeddedIpv4 < 0) return index.covering(family, words, covering);
    embedded[0] = embeddedIpv4;
    const count = index.covering(4, embedded, covering);
    const more = index.covering(6, words, ipv6Covering);
    for (let i = 0; i < more; i++) covering[count + i] = ipv6Covering[i]!;
    return count + more;
  }

  function judge(family: IpFamily, words: Uint32Array, nowMs: number): Verdict {
    return verdictOver(entriesOf(family, words), nowMs);
  }

  /** Judges an address that one entry alone covers. @param entry 0 where none does */
  function judgeSole(entry: number, nowMs: number): Verdict {
    covering[0] = entry;
    return verdictOver(entry === 0 ? 0 : 1, nowMs);
  }

  function verdictOver(count: number, nowMs: number): Verdict {
    const nowHalfLives = halfLivesAt(nowMs);
    let flags = 0;
    /** By all that is said, and by lists alone: which one counts is known at the end. */
    let best = -1;
    let decidedBy = 0;
    let listed = -1;
    let listedBy = 0;
    verdict.reports = 0;
    verdict.reportedEntry = 0;
    verdict.listReports = 0;
    verdict.listedAt = 0;
    for (let i = 0; i < count; i++) {
      const entry = covering[i]!;
      const row = entry << ROW_SHIFT;
      const meta = word[row + META]!;
      flags |= meta >>> 8;
      const listScore = meta & 0xff;
      const reportsWord = word[row + REPORTS]!;
      if (verdict.reportedEntry === 0 && (reportsWord & REPORTS_MASK) !== 0) {
        verdict.reports = reportsWord & REPORTS_MASK;
        verdict.reportedEntry = entry;
      }
      verdict.listReports += meta >>> 24;
      const listedAt = listTimes[reportsWord >>> 24]!;
      if (listedAt > verdict.listedAt) verdict.listedAt = listedAt;
      const strength = float[row + STRENGTH]!;
      const score = entryScore(listScore, (meta >>> 16) & 0xff, strength, nowHalfLives);
      if (score > best) {
        best = score;
        decidedBy = entry;
      }
      if (listScore > listed) {
        listed = listScore;
        listedBy = entry;
      }
    }
    if ((flags & entryFlags.knownGood) !== 0) {
      best = listed;
      decidedBy = listedBy;
    }
    const allowlisted = (flags & entryFlags.allowlisted) !== 0;
    verdict.decidedBy = decidedBy;
    verdict.anonymousExit = (flags & entryFlags.anonymousExit) !== 0;
    verdict.allowlisted = allowlisted;
    verdict.knownGood = (flags & entryFlags.knownGood) !== 0;
    verdict.score = allowlisted || best < 0 ? 0 : best;
    verdict.malicious = verdict.score >= maliciousScore;
    return verdict;
  }

  /**
   * Writes the members of `checkSummary` as an object. `view` has room for `checkBytesMax` from `at` on.
   * @param nowMs wall clock: community evidence decays
   * @returns the offset behind it
   */
  function writeSummary(
    view: DataView,
    at: number,
    family: IpFamily,
    words: Uint32Array,
    nowMs: number,
  ): number {
    return writeJudged(view, at, family, words, judge(family, words, nowMs));
  }

  /**
   * Returns all fields of a check that needs no store, as JSON; undefined when `text` is not an address.
   */
  function toJson(text: string, nowMs: number): string | undefined {
    const family = parseIp(text, address);
    if (family === 0) return undefined;
    const bytes = write(family, address, judge(family, address, nowMs)) as Buffer;
    return bytes.toString('utf8', 8, bytes.length - 1);
  }

  /** Returns the body of an answer, `{"data":` and that object, which the next call of any kind overwrites. */
  function answerBody(text: string, nowMs: number): Uint8Array | undefined {
    const family = parseIp(text, address);
    return family === 0 ? undefined : write(family, address, judge(family, address, nowMs));
  }

  return { judge, judgeSole, writeJudged, writeSummary, toJson, answerBody };
}
