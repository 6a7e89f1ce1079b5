/**
 * A third-party list as bytes → batches of rows, one pass, in bounded memory.
 *
 * The contract with whoever stores the rows: **nothing is final until the iteration has ended
 * without a throw.** A download may break off, gzip data may be cut short, and a page of HTML may
 * come instead of a list; all of them throw, perhaps after rows were yielded. So collect the rows
 * (`collectRows`) or stage them, and let them replace the source's former rows only at the end.
 */

import { OperatorError } from '../../../core/errors.ts';
import type { GeoSource } from '../../../geo/sources.ts';
import { emptyRows, type RowBatch } from '../../state/events.ts';
import { abuseipdb } from '../formats/abuseipdb.ts';
import { csv } from '../formats/csv.ts';
import { asn, isP2p, isSystemLine, json, ndjson, p2p } from '../formats/json.ts';
import { anon, drop, ipsum, isAddress, plain } from '../formats/plain.ts';
import { amazon, cloudflare, google, microsoft } from '../formats/published-ranges.ts';
import type { TextReader } from './lines.ts';
import {
  BrokenList,
  batchRowsMax,
  createRowSink,
  describeBadLine,
  type ImportStats,
  type ListFormat,
  type RowSink,
  type ServiceName,
} from './rows.ts';

/** Formats of blocklists, as `portcullis seed --format` names them. */
export const seedFormats = [
  'ipsum',
  'plain',
  'csv',
  'json',
  'ndjson',
  'p2p',
  'abuseipdb',
  'drop',
  'asn',
] as const;
type SeedFormat = (typeof seedFormats)[number];
/** Formats of known-good lists. */
export const goodFormats = ['plain', 'google', 'amazon', 'microsoft', 'cloudflare'] as const;
export type GoodFormat = (typeof goodFormats)[number];
/** A name of JSON may have the path to the address behind a colon: `json:data.ip`. */
export type ListFormatName =
  | SeedFormat
  | GoodFormat
  | 'anon'
  | `json:${string}`
  | `ndjson:${string}`;
type BaseFormat = SeedFormat | GoodFormat | 'anon';

/** Names with dots between. */
export const pathShape = /^[\w-]{1,40}(?:\.[\w-]{1,40}){0,7}$/;

/** Score of a row that brings none, unless the operator says otherwise. */
export const confidenceDefault = 75;

const formats: Readonly<Record<BaseFormat, ListFormat>> = {
  ipsum,
  plain,
  csv,
  abuseipdb,
  drop,
  asn,
  json,
  ndjson,
  p2p,
  google,
  amazon,
  microsoft,
  cloudflare,
  anon,
};

export interface ParseOptions {
  /** `auto`: by how the list begins. */
  readonly format: ListFormatName | 'auto';
  /** Whole number 0..100: the score of rows that bring none. */
  readonly confidence: number;
  /** Service that the ranges of a known-good list belong to, where the format does not say. */
  readonly service?: ServiceName | undefined;
  /** The file of autonomous systems, for lists of them. */
  readonly systems?: GeoSource | undefined;
  /** Take documentation ranges, which the demo data live in. */
  readonly allowDocumentation: boolean;
  /** Name of the list in messages. */
  readonly label: string;
}

interface ListParse extends AsyncIterable<RowBatch> {
  /** Grows while the batches are read; final once the iteration has ended. */
  readonly stats: Readonly<ImportStats>;
  /** The format that it is read in; undefined until it has begun. */
  readonly format: () => ListFormatName | undefined;
}

/** The format of a list is detected from this many characters, or from all if it has fewer. */
const headChars = 8_192;
/** Detection waits for the first text of a list for this many characters of space. */
const spaceMax = 1 << 20;
/** Bound on what is parsed between two batches being handed over, bytes. */
const pieceBytes = 65_536;

/**
 * `chunks` is UTF-8 text as `openList` gives it. Iterate once. The iteration throws `OperatorError`
 * when the source fails, when the list is broken as a whole, or when it ends without a usable row.
 */
export function parseList(chunks: AsyncIterable<Uint8Array>, options: ParseOptions): ListParse {
  const { confidence, label } = options;
  if (!(Number.isInteger(confidence) && confidence >= 0 && confidence <= 100)) {
    throw new RangeError(`confidence ${confidence} is not a whole number from 0 to 100`);
  }
  const sink = createRowSink(options);
  let format = options.format === 'auto' ? undefined : options.format;
  let detected: ListFormatName | undefined;

  /** @throws BrokenList for a list of another format: read in this one it could say what nobody meant */
  function readerOf(head: string): TextReader {
    detected = recognise(head);
    if (format === undefined) {
      if (detected === undefined) {
        const lines = head.split(/[\r\n]+/).filter((one) => one.trim() !== '');
        const line = lines.find((one) => !/^\s*[#;]/.test(one)) ?? lines[0] ?? '';
        if (line === '') throw new BrokenList('is empty');
        const { text } = describeBadLine(1, '', line);
        throw new BrokenList(`is in no format that is known: name one; it begins: ${text}`);
      }
      format = detected;
    }
    if (detected !== undefined && !fits(format, detected, head)) {
      throw new BrokenList(
        `looks like ${detected}, not like ${format}; read it with --format ${detected}`,
      );
    }
    const [base, path] = format.split(':', 2) as [BaseFormat, string | undefined];
    const { service, systems } = options;
    return formats[base](sink, { confidence, path, service, systems });
  }

  return {
    stats: sink.stats,
    format: () => format,
    [Symbol.asyncIterator]: () =>
      readBatches(chunks, readerOf, sink, { label, detected: () => detected }),
  };
}

async function* readBatches(
  chunks: AsyncIterable<Uint8Array>,
  readerOf: (head: string) => TextReader,
  sink: RowSink,
  {
    label,
    detected,
  }: { readonly label: string; readonly detected: () => ListFormatName | undefined },
): AsyncGenerator<RowBatch, void, undefined> {
  try {
    let head = '';
    let reader: TextReader | undefined;
    function begin(): TextReader {
      isListStart(head);
      const begun = readerOf(head);
      begun.push(head);
      return begun;
    }
    for await (const chunk of chunks) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      for (let at = 0; at < bytes.length; at += pieceBytes) {
        const text = bytes.toString('latin1', at, at + pieceBytes);
        if (reader !== undefined) reader.push(text);
        else {
          head += text;
          if (head.length >= headChars && (isListStart(head) || head.length > spaceMax))
            reader = begin();
        }
        yield* sink.take(false);
      }
    }
    reader ??= begin();
    reader.end();
  } catch (error) {
    if (error instanceof BrokenList) throw new OperatorError(`${label}: ${error.message}`);
    throw error;
  }
  if (sink.stats.rows === 0)
    throw new OperatorError(`${label}: ${nothingUsable(sink.stats, detected())}`);
  yield* sink.take(true);
}

/** True at the first text. No list begins with "<"; error pages and sign-in pages do. */
function isListStart(text: string): boolean {
  const first = /\S/.exec(text)?.[0];
  if (first === '<') throw new BrokenList('is a page of HTML or XML, not a list');
  return first !== undefined;
}

function nothingUsable(
  { badLines, notPublic, rented, samples: [first] }: ImportStats,
  detected: ListFormatName | undefined,
): string {
  if (badLines === 0 && rented === 0 && notPublic > 0) {
    return `no usable row; of its ${notPublic} addresses none is public`;
  }
  const sample = first === undefined ? '' : `; line ${first.line}: ${first.reason}: ${first.text}`;
  const left = rented === 0 ? '' : `, ${rented} of rented machines or of nobody named`;
  const format =
    detected === undefined ? 'is --format right?' : `it looks like ${detected}: is --format right?`;
  return `no usable row; ${format} (${badLines} bad lines, ${notPublic} not public${left}${sample})`;
}

// All rows of a list in memory, sorted and each prefix once with its highest score: the form in which a
// source's new rows are compared with its former ones. Nothing leaves here before the list was read to its
// end, so a broken one can't be half stored.

/** 23 bytes a row here and as much again while sorting: 20 million rows stay under 1 GiB. */
const collectedRowsMax = 20_000_000;

export interface CollectedRows {
  /** IPv4 before IPv6, by address, shorter prefixes first; `batchRowsMax` rows at most in each. */
  readonly batches: readonly RowBatch[];
  readonly rows: number;
  /** Rows left out because the same prefix came with the same or a higher score. */
  readonly duplicates: number;
}

/** Throws what the iteration throws, and `OperatorError` when there are more than `maxRows` rows. */
export async function collectRows(
  parse: ListParse,
  options: { label: string; maxRows?: number },
): Promise<CollectedRows> {
  const { label, maxRows = collectedRowsMax } = options;
  const parts: RowBatch[] = [];
  let total = 0;
  for await (const batch of parse) {
    total += batch.count;
    if (total > maxRows) throw new OperatorError(`${label}: has more than ${maxRows} rows`);
    parts.push(batch);
  }
  return sortRows(parts, total);
}

export function sortRows(parts: readonly RowBatch[], total: number): CollectedRows {
  const v4 = sortV4(parts);
  const v6 = sortV6(parts);
  const rows = v4.length + v6.length;
  const hasReports = parts.some(({ reports }) => reports?.some((count) => count > 1) === true);
  const batches: RowBatch[] = [];
  for (let from = 0; from < rows; from += batchRowsMax) {
    const count = Math.min(batchRowsMax, rows - from);
    const batch = emptyRows(count, hasReports);
    for (let i = 0; i < count; i++) {
      const at = from + i;
      if (at < v4.length) fillV4(batch, i, v4[at]!);
      else fillV6(batch, i, v6[at - v4.length]!);
    }
    batches.push(batch);
  }
  return { batches, rows, duplicates: total - rows };
}

/** Puts batches behind one another, as threads send them: thousands of small ones take 60 ms to receive. */
export function joinRows(batches: readonly RowBatch[], rows: number): RowBatch {
  const all = emptyRows(rows, batches[0]?.reports !== undefined);
  let at = 0;
  for (const batch of batches) {
    all.families.set(batch.families, at);
    all.words.set(batch.words, 4 * at);
    all.lengths.set(batch.lengths, at);
    all.scores.set(batch.scores, at);
    if (batch.reports !== undefined) all.reports?.set(batch.reports, at);
    at += batch.count;
  }
  return all;
}

/** Returns views of rows that were joined, `batchRowsMax` in each. */
export function splitRows({ count, families, words, lengths, scores, reports }: RowBatch) {
  return Array.from({ length: Math.ceil(count / batchRowsMax) }, (_, i): RowBatch => {
    const from = i * batchRowsMax;
    const to = Math.min(count, from + batchRowsMax);
    return {
      count: to - from,
      families: families.subarray(from, to),
      words: words.subarray(4 * from, 4 * to),
      lengths: lengths.subarray(from, to),
      scores: scores.subarray(from, to),
      ...(reports === undefined ? {} : { reports: reports.subarray(from, to) }),
    };
  });
}

function reportsOf(part: RowBatch, at: number): number {
  return part.reports?.[at] ?? 1;
}

/** Score and reports in the key of an IPv4 row. */
const factsSize = 2 ** 15;

/**
 * An IPv4 row fits one exact number, and numbers sort ten times faster than rows:
 *
 *     address (32 bits) · length (6) · score (7) · reports (8)      a double's 53 bits, all of them
 *
 * Equal prefixes end up side by side, the highest score last, and of those the most reports.
 */
function sortV4(parts: readonly RowBatch[]): Float64Array {
  let count = 0;
  for (const { families } of parts) for (const family of families) if (family === 4) count++;
  const keys = new Float64Array(count);
  let at = 0;
  for (const part of parts) {
    for (let i = 0; i < part.count; i++) {
      if (part.families[i] !== 4) continue;
      const prefix = part.words[4 * i]! * 64 + part.lengths[i]!;
      keys[at++] = prefix * factsSize + part.scores[i]! * 256 + reportsOf(part, i);
    }
  }
  keys.sort();
  let kept = 0;
  for (let i = 0; i < count; i++) {
    const isLast = i + 1 === count || prefixIn(keys[i]!) !== prefixIn(keys[i + 1]!);
    if (isLast) keys[kept++] = keys[i]!;
  }
  return keys.subarray(0, kept);
}

function prefixIn(key: number): number {
  return Math.floor(key / factsSize);
}

function fillV4(batch: RowBatch, i: number, key: number): void {
  const prefix = prefixIn(key);
  const facts = key % factsSize;
  batch.families[i] = 4;
  batch.words[4 * i] = Math.floor(prefix / 64);
  batch.lengths[i] = prefix % 64;
  batch.scores[i] = facts >>> 8;
  if (batch.reports !== undefined) batch.reports[i] = facts & 0xff;
}

interface RowRef {
  readonly part: RowBatch;
  readonly at: number;
}

function sortV6(parts: readonly RowBatch[]): RowRef[] {
  const refs: RowRef[] = [];
  for (const part of parts) {
    for (let at = 0; at < part.count; at++) if (part.families[at] === 6) refs.push({ part, at });
  }
  refs.sort(
    (a, b) =>
      comparePrefix(a, b) ||
      a.part.scores[a.at]! - b.part.scores[b.at]! ||
      reportsOf(a.part, a.at) - reportsOf(b.part, b.at),
  );
  return refs.filter((ref, i) => {
    const next = refs[i + 1];
    return next === undefined || comparePrefix(ref, next) !== 0;
  });
}

function comparePrefix(a: RowRef, b: RowRef): number {
  for (let i = 0; i < 4; i++) {
    const difference = a.part.words[4 * a.at + i]! - b.part.words[4 * b.at + i]!;
    if (difference !== 0) return difference;
  }
  return a.part.lengths[a.at]! - b.part.lengths[b.at]!;
}

function fillV6(batch: RowBatch, i: number, { part, at }: RowRef): void {
  batch.families[i] = 6;
  batch.words.set(part.words.subarray(4 * at, 4 * at + 4), 4 * i);
  batch.lengths[i] = part.lengths[at]!;
  batch.scores[i] = part.scores[at]!;
  if (batch.reports !== undefined) batch.reports[i] = reportsOf(part, at);
}

// The format of a list is detected from its beginning. So a file read in the wrong format is refused with the name of
// the right one, and a preview needs no format. An unclear beginning is not detected.

/** Lines that are looked at, and how many of them have to agree. */
const sampleMax = 200;
const agreeing = 0.9;
/** IPsum counts lists that hold an address: some thirty, the most first. In another order only counts are so low. */
const listsMax = 40;
const unsortedMax = 20;

const counted = /^(\S+)[\t ]+([1-9]\d{0,2})$/;
const dropLine = /^\S+\s*;\s*SBL\d+/;
const exitLine = /^(?:ExitNode|Published|LastStatus|ExitAddress)[ \t]/;

/** @param head text from the beginning of the list; its last line may be cut */
function recognise(head: string): ListFormatName | undefined {
  const text = head.trimStart();
  if (text.startsWith('{') || text.startsWith('[')) return recogniseJson(text);
  const all = text.split(/\r?\n/, 4 * sampleMax);
  const lines = (all.length > 1 ? all.slice(0, -1) : all)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .slice(0, sampleMax);
  if (lines.length === 0) return undefined;
  const isMost = (test: (line: string) => boolean, of = lines) =>
    of.length > 0 && of.filter(test).length >= agreeing * of.length;
  if (isMost((line) => exitLine.test(line))) return 'anon';
  const rows = lines.filter((line) => !line.startsWith(';'));
  if (isMost((line) => dropLine.test(line), rows)) return 'drop';
  if (isMost(isSystemLine, rows)) return 'asn';
  if (isIpsum(rows)) return 'ipsum';
  if (isMost(isP2p, rows)) return 'p2p';
  const entryOf = (line: string) => line.replace(/(?:#|\s;).*$/, '').trim();
  if (isMost((line) => /^[\d.a-f:/ -]+$/i.test(entryOf(line)) && isEntry(entryOf(line)), rows)) {
    return 'plain';
  }
  const isRow = (line: string) =>
    line.split(/[,;\t|]/).some((field) => isAddress(field.replaceAll('"', '').trim()));
  // A table may begin with its header.
  return isMost((line) => /[,;\t|]/.test(line) && isRow(line), rows.slice(1)) ? 'csv' : undefined;
}

function isEntry(text: string): boolean {
  return isAddress(text) || text.split(/\s*-\s*/).every(isAddress);
}

/** Three rows at least, none with a higher count than the one before: a table of scores begins higher. */
function isIpsum(rows: readonly string[]): boolean {
  const counts = rows.map((row) => {
    const [, address = '', count = ''] = counted.exec(row) ?? [];
    return address !== '' && isAddress(address) ? Number(count) : Number.NaN;
  });
  if (counts.length < 3) return false;
  return (
    counts.every((count, i) => count <= (counts[i - 1] ?? listsMax)) ||
    counts.every((count) => count <= unsortedMax)
  );
}

function recogniseJson(text: string): ListFormatName | undefined {
  if (/^\{"cidr"\s*:/.test(text)) return 'drop';
  const head = text.slice(0, 4_000);
  if (/"ipAddress"\s*:/.test(head)) return 'abuseipdb';
  if (/"ipv4_cidrs"\s*:/.test(head)) return 'cloudflare';
  if (/"syncToken"\s*:/.test(head) && /"ip_prefix"\s*:/.test(head)) return 'amazon';
  if (/"ipv[46]Prefix"\s*:/.test(head)) return 'google';
  if (/"addressPrefixes"\s*:/.test(head)) return 'microsoft';
  if (!quotedAddress.test(head)) return /^\{"asn"\s*:\s*"?\d/.test(text) ? 'asn' : undefined;
  const [first = '', second = ''] = text.split(/\r?\n/, 2).map((line) => line.trim());
  // One object alone may be all of a JSON that holds a list.
  const isLines = isObjectText(first) && (second === '' ? !first.includes('[') : second[0] === '{');
  return isLines ? 'ndjson' : 'json';
}

const quotedAddress = /"\s*(?:[\d.]{7,15}|[\da-f]{1,4}:[\da-f:]+)(?:\/\d{1,3})?\s*"/i;

function isObjectText(line: string): boolean {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** Formats that read a list of another one with the same outcome. */
const alike: Readonly<Partial<Record<ListFormatName, readonly ListFormatName[]>>> = {
  drop: ['plain', 'ndjson'],
  abuseipdb: ['json'],
  google: ['json'],
  amazon: ['json'],
};

/**
 * Returns whether a list that looks like one format may be read in another. Lines that are no entries of a format, as
 * those of a table, are bad lines there anyway.
 */
function fits(format: ListFormatName, detected: ListFormatName, head: string): boolean {
  if (detected === 'plain' || detected === 'csv') return true;
  const base = format.replace(/:.*/, '') as ListFormatName;
  if (base === detected || alike[detected]?.includes(base) === true) return true;
  return isJson(base) && isJson(detected) && isOneObject(head);
}

const isJson = (format: ListFormatName) => format === 'json' || format === 'ndjson';

/** An object alone in its line, or one longer than the beginning, may be a whole list or a row of one. */
function isOneObject(head: string): boolean {
  const text = head.trim();
  return text.startsWith('{') && !text.includes('\n');
}
