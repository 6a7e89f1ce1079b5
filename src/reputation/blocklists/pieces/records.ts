/**
 * The list as records, CSV and JSON, by the score: the highest first. Rows of one score and one
 * family are a segment; a feed with a cut-off or one family is a choice of segments, so all of
 * them share the memory of one list.
 */

import { isoSecondsBytes, writeIsoSeconds } from '../../../core/dates.ts';
import type { IpFamily } from '../../../ip/address.ts';
import { writeNumber } from '../../../ip/address-writer.ts';
import {
  copyRow,
  FEED_ROW,
  flagsOfRow,
  geoOf,
  lastReportedAtOfRow,
  type Rows,
  reportsOfRow,
  rowFlags,
  scoreOf,
} from '../builder/rows.ts';
import { type FixedText, fixedText, type TextSink, writeFixed, writePrefix } from './lines.ts';

export type RecordStyle = 'csv' | 'json';

/** The text between two records, and between two segments. */
export const separators: Readonly<Record<RecordStyle, string>> = { csv: '\r\n', json: ',\n' };

const fixedSeparators = texts(separators);

export interface Segment {
  readonly score: number;
  readonly family: IpFamily;
  readonly rows: Rows;
}

/** Sorts stably: within a score IPv4 before IPv6, then address order, as the rows come. */
export function segmentsByScore(rows: Rows, firstSix: number, scoreMin: number): Segment[] {
  const groups = 2 * 101;
  const counts = new Uint32Array(groups);
  const groupOf = (at: number) => 2 * (100 - scoreOf(rows, at)) + (at < firstSix ? 0 : 1);
  for (let at = 0; at < rows.length; at += FEED_ROW) counts[groupOf(at)]! += 1;
  const ends = new Uint32Array(groups);
  let end = 0;
  for (let group = 0; group < groups; group++) {
    ends[group] = end;
    end += counts[group]!;
  }
  const sorted = new Uint32Array(rows.length);
  for (let at = 0; at < rows.length; at += FEED_ROW) {
    const to = ends[groupOf(at)]!++ * FEED_ROW;
    copyRow(rows, at, sorted, to);
  }
  const segments: Segment[] = [];
  for (let group = 0; group < groups; group++) {
    const score = 100 - (group >> 1);
    if (counts[group] === 0 || score < scoreMin) continue;
    const part = sorted.subarray(
      (ends[group]! - counts[group]!) * FEED_ROW,
      ends[group]! * FEED_ROW,
    );
    segments.push({ score, family: (group & 1) === 0 ? 4 : 6, rows: part });
  }
  return segments;
}

/**
 * Names come from third parties: a spreadsheet runs a field that begins with one of these as a
 * formula, unless an apostrophe stands before it.
 */
export function csvText(text: string): string {
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** Names by the ids in a row's geo word. */
export interface GeoNames {
  country(geo: number): string;
  provider(geo: number): string;
}

export type RecordRenderer = ReturnType<typeof createRecordRenderer>;

/** Around the values of a record. */
const around = {
  csv: texts({ open: '', score: ',', last: ',', never: '', dayOpen: '', dayClose: '', close: '' }),
  json: texts({
    open: '{"ipAddress":"',
    score: '","abuseConfidenceScore":',
    last: ',"lastReportedAt":',
    never: 'null',
    dayOpen: '"',
    dayClose: '"',
    close: '}',
  }),
};
/** A record but for country and provider. */
const recordBytesMax = 256;
/** Texts of countries and providers that are kept. */
const middlesMax = 200_000;
/** Four numbers a cell: key, offset in words and bytes of the text, 0 for a free cell; one to align. */
const cellWords = 4;
const cellsAtFirst = 1 << 12;

function texts<Name extends string>(from: Readonly<Record<Name, string>>): Record<Name, FixedText> {
  const entries = Object.entries<string>(from).map(([name, text]) => [name, fixedText(text)]);
  return Object.fromEntries(entries);
}

export function createRecordRenderer(names: GeoNames) {
  const byStyle = { csv: createMiddles(names, 'csv'), json: createMiddles(names, 'json') };

  /** Renders records, without a separator at the ends. */
  function render(rows: Rows, style: RecordStyle, sink: TextSink): void {
    const { open, score, last, never, dayOpen, dayClose, close } = around[style];
    const separator = fixedSeparators[style];
    const middles = byStyle[style];
    let view = sink.reserve(recordBytesMax);
    let at = sink.length;
    for (let row = 0; row < rows.length; row += FEED_ROW) {
      const isAnon = (flagsOfRow(rows, row) & rowFlags.anon) !== 0;
      const middle = middles.find(geoOf(rows, row), isAnon);
      const middleBytes = middles.bytesOf(middle);
      if (at + recordBytesMax + middleBytes > view.byteLength) {
        sink.length = at;
        view = sink.reserve(recordBytesMax + middleBytes);
      }
      if (row > 0) at = writeFixed(view, at, separator);
      at = writeFixed(view, at, open);
      at = writePrefix(view, at, rows, row);
      at = writeFixed(view, at, score);
      at = writeNumber(view, at, scoreOf(rows, row));
      at = middles.write(view, at, middle);
      at = writeNumber(view, at, reportsOfRow(rows, row));
      at = writeFixed(view, at, last);
      const seconds = lastReportedAtOfRow(rows, row);
      if (seconds === 0) at = writeFixed(view, at, never);
      else {
        at = writeFixed(view, at, dayOpen);
        writeIsoSeconds(view, at, seconds);
        at = writeFixed(view, at + isoSecondsBytes, dayClose);
      }
      at = writeFixed(view, at, close);
    }
    sink.length = at;
  }

  return { render };
}

/**
 * Holds country, provider and isAnon, up to the number of reports, by the geo word of a row. A million rows
 * have tens of thousands of them, which no processor's cache holds as objects: table and texts are flat.
 */
function createMiddles(names: GeoNames, style: RecordStyle) {
  let table = new Uint32Array(cellWords * cellsAtFirst);
  let texts = new Int32Array(1 << 14);
  let count = 0;
  let textWords = 0;

  function make(geo: number, isAnon: boolean): FixedText {
    const country = names.country(geo);
    const provider = names.provider(geo);
    return fixedText(
      style === 'csv'
        ? `,${csvText(country)},${csvText(provider)},${isAnon},`
        : `,"countryCode":${JSON.stringify(country)},"isp":${JSON.stringify(provider)},"isAnon":${isAnon},"totalReports":`,
    );
  }

  /** Returns the cell of the key, or the free one where it belongs. */
  function cellOf(key: number): number {
    const mask = table.length - 1;
    let at = (Math.imul(key, 0x9e37_79b1) >>> 8) * cellWords;
    for (at &= mask; table[at + 2] !== 0 && table[at] !== key; ) at = (at + cellWords) & mask;
    return at;
  }

  function makeRoom(words: number): void {
    if (count >= middlesMax) {
      table.fill(0);
      count = 0;
      textWords = 0;
    }
    if (textWords + words > texts.length) {
      const larger = new Int32Array(2 * (textWords + words));
      larger.set(texts);
      texts = larger;
    }
    if (2 * cellWords * (count + 1) <= table.length) return;
    const before = table;
    table = new Uint32Array(2 * before.length);
    for (let at = 0; at < before.length; at += cellWords) {
      if (before[at + 2] !== 0) table.set(before.subarray(at, at + 3), cellOf(before[at]!));
    }
  }

  function add(key: number, { words, bytes }: FixedText): number {
    makeRoom(words.length);
    const at = cellOf(key);
    table[at] = key;
    table[at + 1] = textWords;
    table[at + 2] = bytes;
    texts.set(words, textWords);
    textWords += words.length;
    count++;
    return at;
  }

  return {
    /** Returns the cell of a text, good until the next call. */
    find(geo: number, isAnon: boolean): number {
      // A geo word has 31 bits.
      const key = (2 * geo + (isAnon ? 1 : 0)) >>> 0;
      const at = cellOf(key);
      return table[at + 2] === 0 ? add(key, make(geo, isAnon)) : at;
    },
    bytesOf: (cell: number): number => table[cell + 2]!,
    /** Returns the offset behind the text. */
    write(view: DataView, at: number, cell: number): number {
      const bytes = table[cell + 2]!;
      let word = table[cell + 1]!;
      for (let to = at; to < at + bytes; to += 4) view.setInt32(to, texts[word++]!, true);
      return at + bytes;
    },
  };
}

const csvHeader =
  'ipAddress,abuseConfidenceScore,countryCode,isp,isAnon,totalReports,lastReportedAt\r\n';

/** Before and behind the records of a feed. */
export function recordFrame(
  style: RecordStyle,
  facts: { changedAt: string; version: number; count: number; scoreMin: number },
): { head: string; foot: string } {
  const { changedAt, version, count, scoreMin } = facts;
  if (style === 'csv') return { head: csvHeader, foot: count === 0 ? '' : '\r\n' };
  const meta = { generatedAt: changedAt, count, minimumScore: scoreMin, version };
  return { head: `{"meta":${JSON.stringify(meta)},"data":[\n`, foot: '\n]}\n' };
}
