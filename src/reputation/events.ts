/**
 * The journal events that change reputation, and their byte encodings.
 *
 * Events hold pseudonymous ids and numbers only: no mail address, no comment, nothing of a
 * person that would have to be deleted later. Every kind carries a format version; a follower
 * that meets a newer one stops instead of guessing.
 */

import { bitsOf, hostMask } from '../index/prefix.ts';
import { createWriter, decode, type Reader, type Writer } from '../store/codec.ts';
import type { NewEvent } from '../store/store.ts';

/** A list's rows, packed: one array a field, as the parsers make them. */
export interface RowBatch {
  readonly count: number;
  /** 4 or 6. */
  readonly families: Uint8Array;
  /** Four words a row, big-endian; IPv4 in the first. */
  readonly words: Uint32Array;
  readonly lengths: Uint8Array;
  /** 0..100; ignored for anonymous exits. */
  readonly scores: Uint8Array;
}

export type ListKind = 'seed' | 'anon';

export interface ListRef {
  readonly list: ListKind;
  readonly source: string;
  /** Made by the loader for one run; rows of a run that was overtaken by another are ignored. */
  readonly run: string;
}

export type ReputationEvent =
  | { kind: 'list.begun'; ref: ListRef; holdDays: number }
  | { kind: 'list.rows'; ref: ListRef; rows: RowBatch }
  | { kind: 'list.ended'; ref: ListRef }
  | { kind: 'list.expired'; ref: ListRef }
  | { kind: 'allow.added'; family: 4 | 6; words: Uint32Array; length: number }
  | { kind: 'allow.removed'; family: 4 | 6; words: Uint32Array; length: number }
  | ({ kind: 'report.added' } & AddedReport)
  /** All that an account said of an address goes; `penalty`: it was false, and costs trust. */
  | ({ kind: 'reports.withdrawn'; penalty: boolean } & Reported)
  /** Reports that became older than a year: they no longer count in `totalReports`. */
  | ({ kind: 'reports.expired'; reports: number } & Reported);

/** Who said something of which address. */
export interface Reported {
  /** Account id. */
  readonly account: string;
  readonly family: 4 | 6;
  readonly words: Uint32Array;
}

/**
 * A report of an address and when it happened: seconds since 1970, or, in events of version 1,
 * seconds before the event, which falls beside the second of the stored row by up to one.
 */
export type AddedReport = Reported & ({ reportedSecond: number } | { ageSeconds: number });

type EventKind = ReputationEvent['kind'];

export const eventVersion = 1;
/** Of a report that carries its own second. */
const secondVersion = 2;
/** Rows of one event: small enough that a commit beside it never waits long. */
export const rowsPerEventMax = 2_000;

/** @param id makes a retry after an unknown outcome harmless: the store applies an id once */
export function encodeEvent(id: string, event: ReputationEvent): NewEvent {
  const out = createWriter();
  let version = eventVersion;
  switch (event.kind) {
    case 'list.begun':
      writeRef(out, event.ref);
      out.u16(event.holdDays);
      break;
    case 'list.rows':
      writeRef(out, event.ref);
      writeRows(out, event.rows);
      break;
    case 'list.ended':
    case 'list.expired':
      writeRef(out, event.ref);
      break;
    case 'allow.added':
    case 'allow.removed':
      writePrefix(out, event.family, event.words, 0, event.length);
      break;
    case 'report.added':
      writeReported(out, event);
      if ('reportedSecond' in event) version = secondVersion;
      out.u32('reportedSecond' in event ? event.reportedSecond : event.ageSeconds);
      break;
    case 'reports.withdrawn':
      writeReported(out, event);
      out.u8(event.penalty ? 1 : 0);
      break;
    case 'reports.expired':
      writeReported(out, event);
      out.varint(event.reports);
      break;
    default:
      event satisfies never;
  }
  return { id, kind: event.kind, version, body: out.finish() };
}

/**
 * @returns undefined when the bytes are not such an event: a corrupt journal or a newer format.
 * Both must stop the follower; skipping would let two nodes disagree.
 */
export function decodeEvent(
  kind: string,
  version: number,
  body: Uint8Array,
): ReputationEvent | undefined {
  if (version === secondVersion && kind === 'report.added') {
    return decode(body, readAdded);
  }
  if (version !== eventVersion) return undefined;
  return decode(body, (input) => readBody(kind as EventKind, input));
}

function readBody(kind: EventKind, input: Reader): ReputationEvent | undefined {
  switch (kind) {
    case 'list.begun':
      return { kind, ref: readRef(input), holdDays: input.u16() };
    case 'list.rows':
      return { kind, ref: readRef(input), rows: readRows(input) };
    case 'list.ended':
    case 'list.expired':
      return { kind, ref: readRef(input) };
    case 'allow.added':
    case 'allow.removed': {
      const words = new Uint32Array(4);
      const { family, length } = readPrefix(input, words, 0);
      return { kind, family, words, length };
    }
    case 'report.added':
      return { kind, ...readReported(input), ageSeconds: input.u32() };
    case 'reports.withdrawn':
      return { kind, ...readReported(input), penalty: input.u8() === 1 };
    case 'reports.expired':
      return { kind, ...readReported(input), reports: input.varint() };
    default:
      kind satisfies never;
      return undefined;
  }
}

function writeRef(out: Writer, ref: ListRef): void {
  writeListKind(out, ref.list);
  out.text(ref.source);
  out.text(ref.run);
}

function readRef(input: Reader): ListRef {
  return { list: readListKind(input), source: input.text(), run: input.text() };
}

export function writeListKind(out: Writer, list: ListKind): void {
  out.u8(list === 'seed' ? 1 : 2);
}

export function readListKind(input: Reader): ListKind {
  const number = input.u8();
  if (number !== 1 && number !== 2) input.reject();
  return number === 1 ? 'seed' : 'anon';
}

/** The event of which there are most: no object in between. */
function readAdded(input: Reader): ReputationEvent {
  const { account, family, words } = readReported(input);
  return { kind: 'report.added', account, family, words, reportedSecond: input.u32() };
}

function writeReported(out: Writer, { account, family, words }: Reported): void {
  out.text(account);
  writePrefix(out, family, words, 0, family === 4 ? 32 : 128);
}

function readReported(input: Reader): Reported {
  const account = input.text();
  const words = new Uint32Array(4);
  const { family, length } = readPrefix(input, words, 0);
  if (length !== (family === 4 ? 32 : 128)) input.reject();
  return { account, family, words };
}

/** One byte: 0..32 is an IPv4 length, 64 + 0..128 an IPv6 one; then the 4 or 16 address bytes. */
export function writePrefix(
  out: Writer,
  family: number,
  words: Uint32Array,
  at: number,
  length: number,
): void {
  out.u8(family === 4 ? length : 64 + length);
  const count = family === 4 ? 1 : 4;
  for (let i = 0; i < count; i++) out.u32(words[at + i]!);
}

/**
 * Reads what `writePrefix` wrote into `words` from `at`. The input fails for a length that does
 * not exist and for bits beyond the length: the index refuses such a prefix, and must never meet it.
 */
export function readPrefix(
  input: Reader,
  words: Uint32Array,
  at: number,
): { family: 4 | 6; length: number } {
  const first = input.u8();
  const family = first < 64 ? 4 : 6;
  const length = family === 4 ? first : first - 64;
  const count = family === 4 ? 1 : 4;
  let stray = 0;
  for (let i = 0; i < count; i++) {
    const word = input.u32();
    words[at + i] = word;
    stray |= word & hostMask(length - 32 * i);
  }
  if (stray !== 0 || length > bitsOf(family)) input.reject();
  return { family, length };
}

function writeRows(out: Writer, rows: RowBatch): void {
  if (rows.count > rowsPerEventMax) throw new RangeError(`${rows.count} rows in one event`);
  out.u16(rows.count);
  for (let i = 0; i < rows.count; i++) {
    writePrefix(out, rows.families[i]!, rows.words, 4 * i, rows.lengths[i]!);
    out.u8(rows.scores[i]!);
  }
}

function readRows(input: Reader): RowBatch {
  const announced = input.u16();
  // A row has six bytes at least: a count beyond what is there must not reserve memory.
  if (announced > rowsPerEventMax || announced > input.remaining() / 6) input.reject();
  const count = input.failed() ? 0 : announced;
  const rows = {
    count,
    families: new Uint8Array(count),
    words: new Uint32Array(4 * count),
    lengths: new Uint8Array(count),
    scores: new Uint8Array(count),
  };
  for (let i = 0; i < count; i++) {
    const { family, length } = readPrefix(input, rows.words, 4 * i);
    rows.families[i] = family;
    rows.lengths[i] = length;
    const score = input.u8();
    if (score > 100) input.reject();
    rows.scores[i] = score;
  }
  return rows;
}
