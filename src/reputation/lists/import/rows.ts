/**
 * Rows of a list: the text of one entry becomes prefixes, the rules below are applied, and the
 * rows gather in compact batches. One place for the rules, so that every format obeys them:
 *
 * - host bits behind a prefix length are cleared and the entry counts as normalised;
 * - a prefix or range that would cover a large part of the Internet is refused as bad;
 * - an address or network in the form of a translator or tunnel is the IPv4 one that stands behind it;
 * - special-use addresses (private, loopback, reserved …), and prefixes that hold some, are left
 *   out and counted apart; documentation ranges pass when asked for;
 * - the same prefix may come more than once: `collectRows` keeps its highest score, and of that
 *   the highest number of reports.
 */

import type { Failure } from '../../../core/result.ts';
import type { GeoSource } from '../../../geo/sources.ts';
import { type IpFamily, parseIp, readIp } from '../../../ip/address.ts';
import { embeddedBits, embeddedNetwork, replaceByEmbedded } from '../../../ip/embedded-ipv4.ts';
import {
  contains,
  halfOf,
  type IpRange,
  type Prefix,
  parsePrefix,
  parseRange,
  rangeToPrefixes,
  widthOf,
} from '../../../ip/prefix.ts';
import { specialUse } from '../../../ip/special.ts';
import { typedBytes } from '../../../ip/typed-address.ts';
import type { RowBatch } from '../../state/events.ts';
import { splitLines, type TextReader } from './lines.ts';

export const batchRowsMax = 2_000;
/** The most reports that a row of the index can count. */
const rowReportsMax = 255;

/** The shortest prefix that is taken. Real lists stay far above; a typing slip must not block all. */
const prefixLengthMin = { 4: 8, 6: 16 } as const;

type FullBatch = Required<Pick<RowBatch, 'families' | 'words' | 'lengths' | 'scores' | 'reports'>>;

interface RowScore {
  score: number;
  reports: number;
}

/** Counts while a list is read; final once its iteration has ended. */
export interface ImportStats {
  /** Rows yielded, duplicates within the list included. */
  rows: number;
  badLines: number;
  /** The first few bad lines. */
  samples: BadLine[];
  /** Entries taken after their host bits were cleared. */
  normalised: number;
  /** Prefixes left out because they are, or hold, special-use addresses. */
  notPublic: number;
  /** Ranges left out because rented machines are in them, or nobody says whose they are. */
  rented: number;
}

export type RowSink = ReturnType<typeof createRowSink>;

/**
 * First addresses of ranges of special use inside otherwise public space: a public network address is
 * not enough, 172.0.0.0/8 would take 172.16.0.0/12 along. (Ranges of /8 and wider, and those at
 * the start of an IPv6 /16, need no anchor: the bound on the length leaves nothing above them.)
 */
export const specialAnchors: readonly string[] = [
  '100.64.0.0',
  '169.254.0.0',
  '172.16.0.0',
  '192.0.2.0',
  '192.88.99.0',
  '192.168.0.0',
  '198.18.0.0',
  '198.51.100.0',
  '203.0.113.0',
  '2001:db8::',
];
const anchors = specialAnchors.map((text) => readIp(text)!);

export function createRowSink(options: { allowDocumentation: boolean }) {
  const none = { rows: 0, badLines: 0, normalised: 0, notPublic: 0, rented: 0 };
  const stats: ImportStats = { ...none, samples: [] };
  const scratch = new Uint32Array(4);
  /** Values of the entry being taken: one object for millions of them. */
  const row: RowScore = { score: 0, reports: 1 };
  let batch = emptyBatch();
  let count = 0;
  let full: RowBatch[] = [];

  function isUsable(family: IpFamily, words: Uint32Array): boolean {
    const use = specialUse(family, words);
    if (use === undefined || use.globallyReachable) return true;
    return use.documentation && options.allowDocumentation;
  }

  function put(family: IpFamily, words: Uint32Array, length: number, row: RowScore): void {
    const at = 4 * count;
    batch.families[count] = family;
    batch.words[at] = words[0]!;
    if (family === 6) {
      batch.words[at + 1] = words[1]!;
      batch.words[at + 2] = words[2]!;
      batch.words[at + 3] = words[3]!;
    }
    batch.lengths[count] = length;
    batch.scores[count] = row.score;
    batch.reports[count] = row.reports;
    stats.rows++;
    if (++count === batchRowsMax) {
      full.push({ ...batch, count });
      batch = emptyBatch();
      count = 0;
    }
  }

  function putPrefix(prefix: Prefix, row: RowScore): void {
    if (isUsable(prefix.family, prefix.words) && !coversSpecialUse(prefix)) {
      put(prefix.family, prefix.words, prefix.length, row);
    } else {
      stats.notPublic++;
    }
  }

  function prefixEntry(text: string, row: RowScore): string | undefined {
    let prefix = parsePrefix(text, 'refuse');
    let masked = false;
    if (!prefix.ok && prefix.error === 'prefix_host_bits') {
      prefix = parsePrefix(text, 'mask');
      masked = true;
    }
    if (!prefix.ok)
      return prefix.detail?.startsWith('The mask') ? maskFaultOf(prefix) : 'not a prefix';
    if (isPrefixTooWide(prefix.value)) return tooWide;
    if (masked) stats.normalised++;
    putPrefix(embeddedNetwork(prefix.value), row);
    return undefined;
  }

  function rangeEntry(text: string, row: RowScore): string | undefined {
    const range = parseRange(text);
    if (!range.ok) return range.detail ?? 'not a range';
    if (isTooWide(range.value)) return tooWide;
    const { family, first, last } = range.value;
    for (const prefix of rangeToPrefixes(family, first, last)) {
      putPrefix(embeddedNetwork(prefix), row);
    }
    return undefined;
  }

  /**
   * Takes a range of a group of networks, which may be as large as it is: what is too wide for a row becomes
   * several. What stands for IPv4 addresses is left out, since their own ranges say whose they are.
   */
  function range({ family, first, last }: IpRange, score: number): void {
    row.score = score;
    row.reports = 1;
    function putParts(prefix: Prefix): void {
      if (prefix.length >= prefixLengthMin[prefix.family] && !coversSpecialUse(prefix)) {
        putPrefix(prefix, row);
        return;
      }
      putParts(halfOf(prefix, 0));
      putParts(halfOf(prefix, 1));
    }
    for (const prefix of rangeToPrefixes(family, first, last)) {
      if (embeddedBits(prefix) < 0) putParts(prefix);
    }
  }

  /** Returns false for a text that is no plain address. */
  function putAddress(text: string, row: RowScore): boolean {
    const family = replaceByEmbedded(parseIp(text, scratch), scratch);
    if (family === 0) return false;
    if (isUsable(family, scratch)) put(family, scratch, widthOf(family), row);
    else stats.notPublic++;
    return true;
  }

  /** Takes an entry that is no plain address. @returns the reason when it is no entry at all */
  function otherEntry(raw: string, row: RowScore): string | undefined {
    const text = typedBytes(raw);
    if (text !== raw && putAddress(text, row)) return undefined;
    if (text.includes('/')) return prefixEntry(text, row);
    if (text.includes('-')) return rangeEntry(text, row);
    return 'not an address';
  }

  /**
   * Takes an address, a CIDR or a range. Returns why it is refused, or undefined.
   * @param reports as how many reports it counts; 255 at most are kept
   */
  function entry(text: string, score: number, reports = 1): string | undefined {
    row.score = score;
    row.reports = Math.max(1, Math.min(reports, rowReportsMax));
    return putAddress(text, row) ? undefined : otherEntry(text, row);
  }

  /** Counts a bad line (or, in JSON, the element of that number). `text` is a byte string. */
  function bad(number: number, reason: string, text: string): void {
    stats.badLines++;
    if (stats.samples.length < samplesMax) {
      stats.samples.push(describeBadLine(number, reason, text));
    }
  }

  /** Returns the rows of full batches since the last call; with `flush` the last, partial one too. */
  function take(flush: boolean): RowBatch[] {
    const taken = full;
    full = [];
    if (flush && count > 0) {
      taken.push(cut(batch, count));
      batch = emptyBatch();
      count = 0;
    }
    return taken;
  }

  return { stats, entry, range, bad, take };
}

/** Returns it as the reason of a bad line: without the article and the full stop. */
function maskFaultOf({ detail = '' }: Failure): string {
  return detail.replace(/^The /, 'the ').replace(/\.$/, '');
}

/** The reason to refuse such a prefix, behind its name. */
export const tooWide = `covers too much (IPv4 shorter than /${prefixLengthMin[4]} or IPv6 shorter than /${prefixLengthMin[6]})`;

function emptyBatch(): FullBatch {
  return {
    families: new Uint8Array(batchRowsMax),
    words: new Uint32Array(4 * batchRowsMax),
    lengths: new Uint8Array(batchRowsMax),
    scores: new Uint8Array(batchRowsMax),
    reports: new Uint8Array(batchRowsMax),
  };
}

function cut(batch: FullBatch, count: number): RowBatch {
  return {
    count,
    families: batch.families.subarray(0, count),
    words: batch.words.subarray(0, 4 * count),
    lengths: batch.lengths.subarray(0, count),
    scores: batch.scores.subarray(0, count),
    reports: batch.reports.subarray(0, count),
  };
}

function coversSpecialUse(prefix: Prefix): boolean {
  if (prefix.length === widthOf(prefix.family)) return false;
  for (const anchor of anchors) {
    if (!contains(prefix, anchor.family, anchor.words)) continue;
    // A prefix that begins at the anchor was judged by its own first address.
    if (anchor.words.some((word, i) => word !== prefix.words[i])) return true;
  }
  return false;
}

/** A large part of IPv4 is too much in the form of a translator, too. */
export function isPrefixTooWide(prefix: Prefix): boolean {
  const bits = embeddedBits(prefix);
  return prefix.length < prefixLengthMin[prefix.family] || (bits >= 0 && bits < prefixLengthMin[4]);
}

/** True when the range holds more addresses than the widest prefix that is taken. */
function isTooWide({ family, first, last }: IpRange): boolean {
  if (family === 4) return last[0]! - first[0]! >= 2 ** (32 - prefixLengthMin[4]);
  let size = 0n;
  for (let i = 0; i < 4; i++) size = (size << 32n) + BigInt(last[i]!) - BigInt(first[i]!);
  return size >= 1n << BigInt(128 - prefixLengthMin[6]);
}

// Renders a bad line for messages: cut short and with everything escaped that could move a cursor, hide
// text or reorder it. Lists are foreign text; what is printed from them must be harmless.

const samplesMax = 5;
const sampleCharactersMax = 80;

export interface BadLine {
  /** Counts from 1: the line, or in JSON the element of the list. */
  readonly line: number;
  readonly reason: string;
  /** At most 80 characters before escaping, an ellipsis when cut. */
  readonly text: string;
}

/**
 * `text` is a byte string: one character per byte of UTF-8. More is said behind the reason, which loses its
 * full stop.
 */
export function describeBadLine(line: number, reason: string, text: string): BadLine {
  // Four bytes at most per character: enough is decoded, and no long line is kept alive.
  const head = Buffer.from(text.slice(0, 4 * sampleCharactersMax + 4), 'latin1').toString('utf8');
  const characters = Array.from(head);
  const shown = characters.slice(0, sampleCharactersMax).join('');
  const isCut = characters.length > sampleCharactersMax;
  return {
    line,
    reason: reason.replace(/\.$/, ''),
    text: escapeControls(shown) + (isCut ? '…' : ''),
  };
}

/** C0, DEL, C1, line and paragraph separators, zero-width and bidirectional controls. */
const controls =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

export function escapeControls(text: string): string {
  return text.replace(controls, (character) => {
    const code = character.charCodeAt(0);
    if (code === 0x09) return '\\t';
    return code < 0x100
      ? `\\x${code.toString(16).padStart(2, '0')}`
      : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

// The services that ranges of a known-good list belong to. A row carries the number where rows of other lists
// carry how many reports they count as; 1 says nothing, so a list without services is written as before.

export const serviceNames = ['crawler', 'content', 'updates', 'names'] as const;
export type ServiceName = (typeof serviceNames)[number];

const noService = 1;

/** Never changes for a name: rows of the journal hold it. */
export function serviceNumber(name: ServiceName | undefined): number {
  return name === undefined ? noService : serviceNames.indexOf(name) + 2;
}

/** Returns undefined where the list did not say. */
export function serviceOf(number: number): ServiceName | undefined {
  return serviceNames[number - 2];
}

export interface FormatOptions {
  /** Score 0..100 of a row that brings none. */
  readonly confidence: number;
  /** The member of an element of JSON that holds the address, by names with dots between; absent: it is searched. */
  readonly path?: string | undefined;
  /** Service that the ranges of a known-good list belong to. */
  readonly service?: ServiceName | undefined;
  /** The file of autonomous systems, for lists of them. */
  readonly systems?: GeoSource | undefined;
}

/**
 * Makes a reader for one list. It reports bad lines to the sink and goes on; it throws
 * `BrokenList` when the rest can't be made sense of.
 */
export type ListFormat = (sink: RowSink, options: FormatOptions) => TextReader;

/** The list as a whole is unusable; the message completes "<list>: …". */
export class BrokenList extends Error {
  override readonly name = 'BrokenList';
}

interface LineParser {
  line(text: string, number: number): void;
  /** Is called after the last line. */
  end?(): void;
}

/** A reader for a format whose rows are lines. */
export function lineReader(sink: RowSink, parser: LineParser): TextReader {
  const lines = splitLines({
    line: (text, number) => parser.line(text, number),
    overlong: (head, number) => sink.bad(number, 'line too long', head),
  });
  return {
    push: lines.push,
    end() {
      lines.end();
      parser.end?.();
    },
  };
}

/** A decimal number 0..100, rounded; -1 when the text is anything else. */
export function parseScore(text: string): number {
  if (!/^\d{1,3}(?:\.\d{1,9})?$/.test(text)) return -1;
  const value = Number(text);
  return value <= 100 ? Math.round(value) : -1;
}
