/**
 * The journal events that change reputation, and their byte encodings.
 *
 * Events hold pseudonymous ids and numbers only: no mail address, no comment, nothing of a
 * person that would have to be deleted later. Every kind carries a format version; a follower
 * that meets a newer one stops instead of guessing.
 */

import { bitsOf, hostMask } from '../../index/prefix.ts';
import { createWriter, decode, type Reader, type Writer } from '../../storage/codec.ts';
import type { NewEvent } from '../../storage/store.ts';
import { categoryMax } from '../reports/categories.ts';
import type { Policy } from '../votes/quorum.ts';

/** A list's rows, packed: one array a field, as the parsers make them. */
export interface RowBatch {
  readonly count: number;
  /** 4 or 6. */
  readonly families: Uint8Array;
  /** Four words a row, big-endian; IPv4 in the first. */
  readonly words: Uint32Array;
  readonly lengths: Uint8Array;
  /** 0..100; of seed lists alone. */
  readonly scores: Uint8Array;
  /**
   * As how many reports a row counts, 1..255: the lists that name it. Of a known-good list the number of
   * its service (known-services.ts). Absent: 1 each.
   */
  readonly reports?: Uint8Array;
}

/** Makes an empty batch of `count` rows, with numbers of reports if some are more than one. */
export function emptyRows(count: number, hasReports: boolean): RowBatch {
  return {
    count,
    families: new Uint8Array(count),
    words: new Uint32Array(4 * count),
    lengths: new Uint8Array(count),
    scores: new Uint8Array(count),
    ...(hasReports ? { reports: new Uint8Array(count) } : {}),
  };
}

/** Bad addresses, anonymous exits, and addresses that no report may touch. */
export type ListKind = 'seed' | 'anon' | 'good';

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
  /** The operator sets a manual entry. */
  | ({ kind: 'entry.set' } & OwnEntryFacts)
  /**
   * The operator removes a manual entry; the facts are those that it had, for an undo of the
   * event.
   */
  | ({ kind: 'entry.removed' } & OwnEntryFacts)
  | ({ kind: 'report.added' } & AddedReport)
  /**
   * An account's reports of an address are withdrawn: so many of them, or all. `penalty`: they were
   * false, and cost trust.
   */
  | ({ kind: 'reports.withdrawn'; penalty: boolean; reports?: number } & Reported)
  /** Reports that became older than a year: they no longer count in `totalReports`. */
  | ({ kind: 'reports.expired'; reports: number } & Reported)
  /** The policy of votes has changed; written when the server starts with other settings. */
  | { kind: 'policy.changed'; policy: Policy };

export interface OwnEntryFacts {
  readonly family: 4 | 6;
  readonly words: Uint32Array;
  readonly length: number;
  /** 1..100 */
  readonly score: number;
  /** Number of a report's category, 0 for none. */
  readonly category: number;
  /** Seconds since 1970; `endSecond` 0: it does not end. */
  readonly setSecond: number;
  readonly endSecond: number;
}

/** An account and the address that it reported. */
export interface Reported {
  /** Account id. */
  readonly account: string;
  readonly family: 4 | 6;
  readonly words: Uint32Array;
}

/**
 * A report of an address and when it happened: seconds since 1970, or, in events of version 1,
 * seconds before the event; the second computed from that differs from the stored row's by up to
 * one.
 *
 * `network`: the account's network when it reported, a number (client-network.ts);
 * `categories`: bit n for category n. Events of versions 1 and 2 bring neither: such a report is
 * evidence and carries no vote.
 */
export type AddedReport = Reported &
  ({ reportedSecond: number; network?: number; categories?: number } | { ageSeconds: number });

type EventKind = ReputationEvent['kind'];

export const eventVersion = 1;
/**
 * Version of reports that carry their own second, and of rows and withdrawals that carry numbers.
 */
const secondVersion = 2;
/** Version of reports that carry the reporter's network and the categories. */
const thirdVersion = 3;
/** Rows of one event: few enough that another commit never waits long for it. */
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
      if (event.rows.reports !== undefined) version = secondVersion;
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
    case 'entry.set':
    case 'entry.removed':
      writePrefix(out, event.family, event.words, 0, event.length);
      out.u8(event.score).u8(event.category).u32(event.setSecond).u32(event.endSecond);
      break;
    case 'report.added':
      version = writeAdded(out, event);
      break;
    case 'reports.withdrawn':
      writeReported(out, event);
      out.u8(event.penalty ? 1 : 0);
      if (event.reports === undefined) break;
      version = secondVersion;
      out.varint(event.reports);
      break;
    case 'reports.expired':
      writeReported(out, event);
      out.varint(event.reports);
      break;
    case 'policy.changed':
      writePolicy(out, event.policy);
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
  if (version === thirdVersion && kind === 'report.added') return decode(body, readAdded);
  if (version === secondVersion) return decode(body, (input) => readSecond(kind, input));
  if (version !== eventVersion) return undefined;
  return decode(body, (input) => readBody(kind as EventKind, input));
}

function readSecond(kind: string, input: Reader): ReputationEvent | undefined {
  switch (kind) {
    case 'report.added':
      return { kind, ...readReported(input), reportedSecond: input.u32() };
    case 'list.rows':
      return { kind, ref: readRef(input), rows: readRows(input, true) };
    case 'reports.withdrawn':
      return {
        kind,
        ...readReported(input),
        penalty: input.u8() === 1,
        reports: input.varint(),
      };
    default:
      input.reject();
      return undefined;
  }
}

function readBody(kind: EventKind, input: Reader): ReputationEvent | undefined {
  switch (kind) {
    case 'list.begun':
      return { kind, ref: readRef(input), holdDays: input.u16() };
    case 'list.rows':
      return { kind, ref: readRef(input), rows: readRows(input, false) };
    case 'list.ended':
    case 'list.expired':
      return { kind, ref: readRef(input) };
    case 'allow.added':
    case 'allow.removed': {
      const words = new Uint32Array(4);
      const { family, length } = readPrefix(input, words, 0);
      return { kind, family, words, length };
    }
    case 'entry.set':
    case 'entry.removed':
      return { kind, ...readOwnEntry(input) };
    case 'report.added':
      return { kind, ...readReported(input), ageSeconds: input.u32() };
    case 'reports.withdrawn':
      return { kind, ...readReported(input), penalty: input.u8() === 1 };
    case 'reports.expired':
      return { kind, ...readReported(input), reports: input.varint() };
    case 'policy.changed':
      return { kind, policy: readPolicy(input) };
    default:
      kind satisfies never;
      return undefined;
  }
}

function readOwnEntry(input: Reader): OwnEntryFacts {
  const words = new Uint32Array(4);
  const { family, length } = readPrefix(input, words, 0);
  const [score, category] = [input.u8(), input.u8()];
  if (score < 1 || score > 100 || category > categoryMax) input.reject();
  return { family, words, length, score, category, setSecond: input.u32(), endSecond: input.u32() };
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
  out.u8(listNumbers[list]);
}

const listNumbers = { seed: 1, anon: 2, good: 3 } as const satisfies Record<ListKind, number>;
const listKinds = Object.keys(listNumbers) as ListKind[];

export function readListKind(input: Reader): ListKind {
  const number = input.u8();
  const kind = listKinds.find((each) => listNumbers[each] === number);
  if (kind === undefined) input.reject();
  return kind ?? 'seed';
}

/** Writes two bits; the header of the checkpoint holds the same. */
export function writePolicy(out: Writer, { isPrivate, isAnchored }: Policy): void {
  out.u8((isPrivate ? 1 : 0) | (isAnchored ? 2 : 0));
}

export function readPolicy(input: Reader): Policy {
  const bits = input.u8();
  if (bits > 3) input.reject();
  return { isPrivate: (bits & 1) !== 0, isAnchored: (bits & 2) !== 0 };
}

/** @returns the version of what was written */
function writeAdded(out: Writer, event: AddedReport): number {
  writeReported(out, event);
  if (!('reportedSecond' in event)) {
    out.u32(event.ageSeconds);
    return eventVersion;
  }
  out.u32(event.reportedSecond);
  if (event.network === undefined || event.categories === undefined) return secondVersion;
  out.u32(event.network).u32(event.categories);
  return thirdVersion;
}

/** Reads the most frequent event, with no object in between. */
function readAdded(input: Reader): ReputationEvent {
  const { account, family, words } = readReported(input);
  return {
    kind: 'report.added',
    account,
    family,
    words,
    reportedSecond: input.u32(),
    network: input.u32(),
    categories: input.u32(),
  };
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
function writePrefix(
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
    if (rows.reports !== undefined) out.u8(rows.reports[i]!);
  }
}

function readRows(input: Reader, hasReports: boolean): RowBatch {
  const announced = input.u16();
  // A row has six bytes at least: a count beyond what is there must not reserve memory.
  if (announced > rowsPerEventMax || announced > input.remaining() / 6) input.reject();
  const count = input.failed() ? 0 : announced;
  const rows = emptyRows(count, hasReports);
  for (let i = 0; i < count; i++) {
    const { family, length } = readPrefix(input, rows.words, 4 * i);
    rows.families[i] = family;
    rows.lengths[i] = length;
    const score = input.u8();
    if (score > 100) input.reject();
    rows.scores[i] = score;
    if (rows.reports !== undefined) rows.reports[i] = input.u8();
  }
  return rows;
}
