/**
 * The list as records, CSV and JSON, by the score: the highest first. Rows of one score and one
 * family are a segment; a feed with a cut-off or one family is a choice of segments, so all of
 * them share the memory of one list.
 */

import {
  flagsOf,
  geoOf,
  lastReportedAtOf,
  ROW,
  type Rows,
  reportsOf,
  rowCount,
  rowFlags,
  scoreOf,
} from './rows.ts';
import type { TextSink } from './text.ts';

export type RecordStyle = 'csv' | 'json';

/** What stands between two records, and between two segments. */
export const separators: Readonly<Record<RecordStyle, string>> = { csv: '\r\n', json: ',\n' };

export interface Segment {
  readonly score: number;
  readonly family: 4 | 6;
  readonly rows: Rows;
}

/** Stable: within a score IPv4 before IPv6, then address order, as the rows come. */
export function segmentsByScore(rows: Rows, firstSix: number, scoreMin: number): Segment[] {
  const groups = 2 * 101;
  const counts = new Uint32Array(groups);
  const groupOf = (at: number) => 2 * (100 - scoreOf(rows, at)) + (at < firstSix ? 0 : 1);
  for (let at = 0; at < rows.length; at += ROW) counts[groupOf(at)]! += 1;
  const ends = new Uint32Array(groups);
  let end = 0;
  for (let group = 0; group < groups; group++) {
    ends[group] = end;
    end += counts[group]!;
  }
  const sorted = new Uint32Array(rows.length);
  for (let at = 0; at < rows.length; at += ROW) {
    const to = ends[groupOf(at)]!++ * ROW;
    for (let word = 0; word < ROW; word++) sorted[to + word] = rows[at + word]!;
  }
  const segments: Segment[] = [];
  for (let group = 0; group < groups; group++) {
    const score = 100 - (group >> 1);
    if (counts[group] === 0 || score < scoreMin) continue;
    const part = sorted.subarray((ends[group]! - counts[group]!) * ROW, ends[group]! * ROW);
    segments.push({ score, family: (group & 1) === 0 ? 4 : 6, rows: part });
  }
  return segments;
}

/** `2026-11-21T09:30:00+00:00` */
export function isoSeconds(seconds: number): string {
  return `${new Date(seconds * 1_000).toISOString().slice(0, 19)}+00:00`;
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

export interface RecordRenderer {
  /** Without a separator at the ends. */
  render(rows: Rows, style: RecordStyle, sink: TextSink): void;
}

/** Around the values of a record. */
const words = {
  csv: { open: '', score: ',', last: ',', close: '' },
  json: {
    open: '{"ipAddress":"',
    score: '","abuseConfidenceScore":',
    last: ',"lastReportedAt":',
    close: '}',
  },
};
const recordBytesMax = 256;
const datesMax = 400;
const middlesMax = 200_000;

export function createRecordRenderer(names: GeoNames): RecordRenderer {
  /** Country, provider and isAnon of a geo word, as bytes up to the number of reports. */
  const middles = { csv: new Map<number, Uint8Array>(), json: new Map<number, Uint8Array>() };
  const days = new Map<number, Uint8Array>();
  const parts = { csv: encoded(words.csv), json: encoded(words.json) };
  const empty = Buffer.from('null');

  function middleOf(style: RecordStyle, geo: number, isAnon: boolean): Uint8Array {
    // A geo word has 31 bits.
    const key = 2 * geo + (isAnon ? 1 : 0);
    const known = middles[style].get(key);
    if (known !== undefined) return known;
    const country = names.country(geo);
    const provider = names.provider(geo);
    const text =
      style === 'csv'
        ? `,${csvText(country)},${csvText(provider)},${isAnon},`
        : `,"countryCode":${JSON.stringify(country)},"isp":${JSON.stringify(provider)},"isAnon":${isAnon},"totalReports":`;
    const bytes = Buffer.from(text);
    if (middles[style].size >= middlesMax) middles[style].clear();
    middles[style].set(key, bytes);
    return bytes;
  }

  function putDate(seconds: number, sink: TextSink): void {
    const day = Math.floor(seconds / 86_400);
    let date = days.get(day);
    if (date === undefined) {
      if (days.size >= datesMax) days.clear();
      date = Buffer.from(isoSeconds(day * 86_400).slice(0, 11));
      days.set(day, date);
    }
    sink.put(date);
    const rest = seconds - day * 86_400;
    const minutes = Math.floor(rest / 60);
    putTwo(Math.floor(minutes / 60), 0x3a, sink);
    putTwo(minutes % 60, 0x3a, sink);
    putTwo(rest % 60, 0x2b, sink);
    sink.ascii('00:00');
  }

  function render(rows: Rows, style: RecordStyle, sink: TextSink): void {
    const { open, score, last, close } = parts[style];
    const separator = Buffer.from(separators[style]);
    for (let at = 0; at < rows.length; at += ROW) {
      const middle = middleOf(style, geoOf(rows, at), (flagsOf(rows, at) & rowFlags.anon) !== 0);
      sink.reserve(recordBytesMax + middle.length);
      if (at > 0) sink.put(separator);
      sink.put(open);
      sink.prefix(rows, at);
      sink.put(score);
      sink.number(scoreOf(rows, at));
      sink.put(middle);
      sink.number(reportsOf(rows, at));
      sink.put(last);
      const seconds = lastReportedAtOf(rows, at);
      const quote = style === 'json';
      if (seconds === 0 && quote) sink.put(empty);
      else if (seconds !== 0) {
        if (quote) sink.ascii('"');
        putDate(seconds, sink);
        if (quote) sink.ascii('"');
      }
      sink.put(close);
    }
  }

  return { render };
}

function encoded(texts: (typeof words)[RecordStyle]) {
  return {
    open: Buffer.from(texts.open),
    score: Buffer.from(texts.score),
    last: Buffer.from(texts.last),
    close: Buffer.from(texts.close),
  };
}

function putTwo(value: number, behind: number, sink: TextSink): void {
  sink.bytes[sink.length++] = 48 + Math.floor(value / 10);
  sink.bytes[sink.length++] = 48 + (value % 10);
  sink.bytes[sink.length++] = behind;
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

export function countRows(segments: readonly Segment[]): number {
  return segments.reduce((sum, { rows }) => sum + rowCount(rows), 0);
}
