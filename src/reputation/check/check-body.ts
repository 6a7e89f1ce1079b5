/**
 * The answer to a check as bytes in one buffer, which the next answer overwrites: the transport takes
 * bytes as they are, where a string is joined, measured and encoded anew for each answer. What stays
 * the same between two members is one piece, copied by words of eight bytes; all writers here store whole words,
 * so what follows a piece is written behind it. 0.3 µs; as a string it was 1.1.
 */

import type { Verdict } from '../../contracts/reputation.ts';
import { isoSecondsBytes, writeIsoSeconds } from '../../core/dates.ts';
import type { GeoFragments } from '../../geo/reader.ts';
import { LAST_REPORTED_AT, type Records, ROW_SHIFT, reportersOf } from '../../index/records.ts';
import type { IpFamily } from '../../ip/address.ts';
import { writeIp4, writeIp6, writeNumber } from '../../ip/address-writer.ts';
import { publicEmbeddedIpv4 } from '../../ip/embedded-ipv4.ts';
import { isPublic } from '../../ip/special.ts';

/** Takes `words` as `parseIp` leaves them. The result is overwritten by the next call. */
type CheckBody = (family: IpFamily, words: Uint32Array, verdict: Verdict) => Uint8Array;

/**
 * Writes the members of `checkSummary` as an object, for answers that have many: 0.2 µs, as a string it was 0.7.
 * `view` has room for `checkBytesMax` from `at` on.
 * @param geoIds what `GeoReader.find` returns, where it is known
 * @returns the offset behind it
 */
type SummaryWriter = (
  view: DataView,
  at: number,
  family: IpFamily,
  words: Uint32Array,
  verdict: Verdict,
  geoIds?: number,
) => number;

interface Piece {
  readonly words: Float64Array;
  readonly length: number;
}

/** ASCII is never a NaN, which might change as it is copied. */
function piece(text: string): Piece {
  const bytes = Buffer.from(text);
  const words = new Float64Array(Math.ceil(bytes.length / 8));
  new Uint8Array(words.buffer).set(bytes);
  return { words, length: bytes.length };
}

function write(view: DataView, at: number, { words, length }: Piece): number {
  for (let i = 0; i < words.length; i++) view.setFloat64(at + 8 * i, words[i]!, true);
  return at + length;
}

const answerStart = piece('{"data":{"ipAddress":"');
const summaryStart = piece('{"ipAddress":"');
const summaryEnd = [false, true].map((is) => piece(`,"malicious":${is}}`));
const score = piece('","abuseConfidenceScore":');
const lastReportedAtKey = piece(',"lastReportedAt":');
const never = piece('null}}');
const quotedEnd = piece('"}}');
const anonymous = [false, true].map((is) => piece(`,"isAnon":${is},"totalReports":`));
/** The text between the number of reports and the use, by the bits of `middleOf`. */
const flagPieces = Array.from({ length: 16 }, (_, bits) => {
  const [isPublicAddress, isWhitelisted, isIp6, isMalicious] = [1, 2, 4, 8].map(
    (bit) => (bits & bit) !== 0,
  );
  return piece(
    `,"malicious":${isMalicious},"isPublic":${isPublicAddress},"ipVersion":${isIp6 ? 6 : 4},` +
      `"isWhitelisted":${isWhitelisted}`,
  );
});
const reserved = piece(',"usageType":"Reserved","domain":null');
/** The text between the use and the number of users. */
const torPieces = [false, true].map((is) =>
  piece(`,"hostnames":[],"isTor":${is},"numDistinctUsers":`),
);

function middleOf(family: IpFamily, isPublicAddress: boolean, verdict: Verdict): Piece {
  return flagPieces[
    (isPublicAddress ? 1 : 0) |
      (verdict.allowlisted || verdict.knownGood ? 2 : 0) |
      (family === 6 ? 4 : 0) |
      (verdict.malicious ? 8 : 0)
  ]!;
}

/** Names of the geo tables have 200 characters at most, all else together 400. */
export const checkBytesMax = 2_048;

export function createSummaryWriter(geo: GeoFragments): SummaryWriter {
  return (view, at, family, words, verdict, geoIds) => {
    let end = write(view, at, summaryStart);
    end = writeBegin(view, end, geo, family, words, verdict, geoIds);
    return write(view, end, summaryEnd[verdict.malicious ? 1 : 0]!);
  };
}

/** Writes from the text of the address to the number of reports. */
function writeBegin(
  view: DataView,
  begun: number,
  geo: GeoFragments,
  family: IpFamily,
  words: Uint32Array,
  verdict: Verdict,
  geoIds?: number,
): number {
  let at = family === 4 ? writeIp4(view, begun, words[0]!) : writeIp6(view, begun, words, 0);
  at = write(view, at, score);
  at = writeNumber(view, at, verdict.score);
  at = writeGeo(view, at, geo, family, words, geoIds);
  at = write(view, at, anonymous[verdict.anonymousExit ? 1 : 0]!);
  return writeNumber(view, at, verdict.reports + verdict.listReports);
}

const embeddedIpv4 = new Uint32Array(4);

/** Writes country and provider, those of the IPv4 address behind an IPv6 one. */
function writeGeo(
  view: DataView,
  at: number,
  geo: GeoFragments,
  family: IpFamily,
  words: Uint32Array,
  geoIds: number | undefined,
): number {
  const quad = publicEmbeddedIpv4(family, words);
  if (quad < 0) return geo.write(view, at, family, words, geoIds);
  embeddedIpv4[0] = quad;
  return geo.write(view, at, 4, embeddedIpv4);
}

export function createCheckBody(geo: GeoFragments, records: Records): CheckBody {
  const { word } = records;
  const bytes = Buffer.alloc(checkBytesMax);
  const view = new DataView(bytes.buffer, bytes.byteOffset, checkBytesMax);
  /** Views by length: a new view for each answer would cost more than writing it. */
  const views = new Array<Uint8Array | undefined>(checkBytesMax).fill(undefined);

  function writeLast(at: number, verdict: Verdict): number {
    const isReported = verdict.reportedEntry !== 0;
    if (!isReported && (verdict.listReports === 0 || verdict.listedAt === 0))
      return write(view, at, never);
    const reportedAt = isReported
      ? word[(verdict.reportedEntry << ROW_SHIFT) + LAST_REPORTED_AT]!
      : 0;
    view.setUint8(at, 0x22);
    writeIsoSeconds(view, at + 1, Math.max(reportedAt, verdict.listedAt));
    return write(view, at + 1 + isoSecondsBytes, quotedEnd);
  }

  return (family, words, verdict) => {
    let at = write(view, 0, answerStart);
    at = writeBegin(view, at, geo, family, words, verdict);
    const isPublicAddress = isPublic(family, words);
    at = write(view, at, middleOf(family, isPublicAddress, verdict));
    at = isPublicAddress ? geo.writeUsage(view, at) : write(view, at, reserved);
    at = write(view, at, torPieces[verdict.anonymousExit ? 1 : 0]!);
    const users = verdict.reportedEntry === 0 ? 0 : reportersOf(records, verdict.reportedEntry);
    at = writeNumber(view, at, users + verdict.listReports);
    at = write(view, at, lastReportedAtKey);
    const length = writeLast(at, verdict);
    const whole = views[length] ?? bytes.subarray(0, length);
    views[length] = whole;
    return whole;
  };
}
