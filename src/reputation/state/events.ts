/**
 * The journal events that change reputation. They hold pseudonymous ids and numbers only: no mail address, no
 * comment, nothing of a person that would have to be deleted later.
 */

import { lastHour32 } from '../../core/time.ts';
import { hostMask, type IndexPrefix } from '../../index/prefix.ts';
import { type IpFamily, type IpWords, wordCountOf } from '../../ip/address.ts';
import { formatPrefix, widthOf } from '../../ip/prefix.ts';
import type { Reader, Writer } from '../../storage/codec.ts';
import { defineEvent, type RewoundRows } from '../../storage/journal/define-event.ts';
import {
  allowKey,
  allowPrefix,
  listRowKey,
  manualEntryKey,
  manualEntryPrefix,
  peerCursorKey,
  reportByAddressPrefix,
  reportGuardKey,
} from '../../storage/keys.ts';
import {
  bareRecord,
  both,
  checked,
  type Decoded,
  type Field,
  type FieldValue,
  flag,
  group,
  onlySince,
  record,
  text,
  time,
  u8,
  u16,
  u32,
  varint,
} from '../../storage/record.ts';
import { pagesUnder } from '../../storage/store.ts';
import { categoryMax } from '../reports/categories.ts';
import { addressBytes, decodeRow, keysOfStored } from '../reports/store/report-rows.ts';
import { changeTail, tailOf, withoutReport } from '../reports/store/tails.ts';
import {
  type PeerRow,
  type PeerTerms,
  peersMax,
  readTerms,
  writeTerms,
} from '../votes/peer-votes.ts';
import { groupsAgree, type Policy } from '../votes/quorum.ts';
import { peerDetail } from './contributions.ts';

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
   * its service (lists/import/rows.ts). Absent: 1 each.
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

/**
 * Bad addresses, anonymous exits, addresses that no report may touch, and the networks of a group of networks
 * that is on the allowlist.
 */
export type ListKind = 'seed' | 'anon' | 'good' | 'allow';

export type ListRef = FieldValue<typeof ref>;

export interface ManualEntryFacts extends IndexPrefix {
  /** 1..100 */
  readonly score: number;
  /** Number of a report's category, 0 for none. */
  readonly category: number;
  /** Seconds since 1970; `endSecond` 0: it does not end. */
  readonly setSecond: number;
  readonly endSecond: number;
}

export interface ReportOrigin extends IpWords {
  readonly account: string;
}

export interface AddedReport extends ReportOrigin {
  /** Seconds since 1970: when it happened. */
  readonly reportedSecond: number;
  /** The account's network when it reported, a number (reports/report.ts). */
  readonly network: number;
  /** Bit n for category n. */
  readonly categories: number;
}

export interface WithdrawnReports extends ReportOrigin {
  /** They were false, and cost trust. */
  readonly penalty: boolean;
  /** The number of reports; undefined: all of the account on the address. */
  readonly reports?: number | undefined;
}

export interface ExpiredReports extends ReportOrigin {
  readonly reports: number;
}

/** A peer's new rows, and those that it takes back. */
export interface PeerRows {
  /** Number of the peer. */
  readonly peer: number;
  /** The peer's own number of what it published; 0 in a first load, which says nothing of who was first. */
  readonly seq: number;
  readonly added: RowSequence<PeerRow>;
  readonly removed: RowSequence<IndexPrefix>;
}

/** An array, or rows that are packed: then each `at` gives the same object, and nothing of it may be kept. */
export interface RowSequence<T> {
  readonly length: number;
  at(i: number): T | undefined;
}

/** The addresses in memory, as the events change them. `at`: the event's own time, ms. */
export interface ReputationInMemory {
  beginList(ref: ListRef, at: number, holdDays: number): void;
  addRows(ref: ListRef, rows: RowBatch, at: number): Promise<void> | undefined;
  endList(ref: ListRef, at: number): Promise<void> | undefined;
  expireList(ref: ListRef, at: number): Promise<void> | undefined;
  allow(prefix: IndexPrefix): void;
  disallow(prefix: IndexPrefix): void;
  setEntry(entry: ManualEntryFacts, at: number): void;
  removeEntry(prefix: IndexPrefix): void;
  addReport(report: AddedReport, at: number): void;
  withdrawReports(reports: WithdrawnReports, at: number): void;
  expireReports(reports: ExpiredReports): void;
  changePolicy(policy: Policy): Promise<void>;
  setPeer(terms: PeerTerms, at: number): void | Promise<void>;
  changePeerRows(rows: PeerRows, at: number): void | Promise<void>;
  clearPeer(peer: number): Promise<void>;
}

/** Rows of one event: few enough that another commit never waits long for it. */
export const rowsPerEventMax = 2_000;

const listNumbers = { seed: 1, anon: 2, good: 3, allow: 4 } as const satisfies Record<
  ListKind,
  number
>;
const listKinds = Object.keys(listNumbers) as ListKind[];

export function writeListKind(out: Writer, list: ListKind): void {
  out.u8(listNumbers[list]);
}

export function readListKind(input: Reader): ListKind {
  const number = input.u8();
  const kind = listKinds.find((each) => listNumbers[each] === number);
  if (kind === undefined) input.reject();
  return kind ?? 'seed';
}

const ref = group({
  list: { write: writeListKind, read: readListKind },
  source: text,
  /** Made by the loader for one run; rows of a run that was overtaken by another are ignored. */
  run: text,
});

const prefix: Field<IndexPrefix> = {
  write: (out, { family, words, length }) => writePrefix(out, family, words, 0, length),
  read(input) {
    const words = new Uint32Array(4);
    const { family, length } = decodePrefix(input, words, 0);
    return { family, words, length };
  },
};

const reported: Field<ReportOrigin> = {
  write(out, { account, family, words }) {
    out.text(account);
    writePrefix(out, family, words, 0, widthOf(family));
  },
  read(input) {
    const account = input.text();
    const words = new Uint32Array(4);
    const { family, length } = decodePrefix(input, words, 0);
    if (length !== widthOf(family)) input.reject();
    return { account, family, words };
  },
};

/** @param newer the version of a body about a list of the kind `allow`, which older programs do not know */
function versionFor({ list }: ListRef, newer: number): number {
  return list === 'allow' ? newer : 1;
}

export const listBegun = defineEvent({
  kind: 'list.begun',
  since: { 1: 1, 2: 2 },
  fields: group<{ readonly ref: ListRef; readonly holdDays: number }>({ ref, holdDays: u16 }),
  versionOf: ({ ref }) => versionFor(ref, 2),
  apply: (state: ReputationInMemory, { ref, holdDays }, at) => state.beginList(ref, at, holdDays),
  /** The list is unknown until it is loaded anew. */
  undo: (rows, { ref: { list, source } }) => rows.remove(listRowKey(list, source)),
});

export const listRows = defineEvent({
  kind: 'list.rows',
  since: { 1: 1, 2: 1, 3: 2 },
  fields: group<{ readonly ref: ListRef; readonly rows: RowBatch }>({
    ref,
    rows: { write: writeRows, read: (input, { layout }) => readRows(input, layout === 2) },
  }),
  versionOf: ({ ref, rows }) => (rows.reports === undefined ? versionFor(ref, 3) : 2),
  indexRows: ({ rows }) => rows.count,
  apply: (state: ReputationInMemory, { ref, rows }, at) => state.addRows(ref, rows, at),
  undo: 'dropped',
});

export const listEnded = defineEvent({
  kind: 'list.ended',
  since: { 1: 1, 2: 2 },
  fields: group({ ref }),
  versionOf: ({ ref }) => versionFor(ref, 2),
  apply: (state: ReputationInMemory, { ref }, at) => state.endList(ref, at),
  undo: 'dropped',
});

export const listExpired = defineEvent({
  kind: 'list.expired',
  since: { 1: 1, 2: 2 },
  fields: group({ ref }),
  versionOf: ({ ref }) => versionFor(ref, 2),
  apply: (state: ReputationInMemory, { ref }, at) => state.expireList(ref, at),
  undo: 'dropped',
});

/** Notes on ranges were lost with their rows. */
const restored = 'restored from a backup';

export const allowAdded = defineEvent({
  kind: 'allow.added',
  since: { 1: 1 },
  fields: prefix,
  indexRows: 1,
  apply: (state: ReputationInMemory, rule) => state.allow(rule),
  undo: (rows, rule) => undoRule(rows, rule, undefined),
});

export const allowRemoved = defineEvent({
  kind: 'allow.removed',
  since: { 1: 1 },
  fields: prefix,
  apply: (state: ReputationInMemory, rule) => state.disallow(rule),
  undo: (rows, rule) => undoRule(rows, rule, allowRow.encode({ addedAt: 0, reason: restored })),
});

/** @param before the row that there was before the event */
async function undoRule(
  rows: RewoundRows,
  rule: IndexPrefix,
  before: Uint8Array | undefined,
): Promise<void> {
  const key = allowKey(formatPrefix(rule));
  if (!rows.isFirst(key)) return;
  rows.recount('allow_rules', allowPrefix());
  await (before === undefined ? rows.remove(key) : rows.put(key, before));
}

const entryFacts = both(
  prefix,
  group({
    score: checked(u8, (score) => score >= 1 && score <= 100),
    category: checked(u8, (category) => category <= categoryMax),
    setSecond: u32,
    endSecond: u32,
  }),
);

export const entrySet = defineEvent({
  kind: 'entry.set',
  since: { 1: 1 },
  fields: entryFacts,
  indexRows: 1,
  apply: (state: ReputationInMemory, entry, at) => state.setEntry(entry, at),
  undo: (rows, entry) => undoEntry(rows, entry, undefined),
});

/** The operator removes a manual entry; the facts are those that it had. */
export const entryRemoved = defineEvent({
  kind: 'entry.removed',
  since: { 1: 1 },
  fields: entryFacts,
  apply: (state: ReputationInMemory, entry) => state.removeEntry(entry),
  undo(rows, entry) {
    const { score, category, setSecond, endSecond } = entry;
    const times = { setAt: setSecond * 1_000, endsAt: endSecond * 1_000 };
    return undoEntry(
      rows,
      entry,
      manualEntryRow.encode({ score, category, ...times, note: restored }),
    );
  },
});

/** @param before the row that there was before the event */
async function undoEntry(
  rows: RewoundRows,
  entry: IndexPrefix,
  before: Uint8Array | undefined,
): Promise<void> {
  const key = manualEntryKey(formatPrefix(entry));
  if (!rows.isFirst(key)) return;
  rows.recount('own_entries', manualEntryPrefix());
  await (before === undefined ? rows.remove(key) : rows.put(key, before));
}

/** The most frequent event is read with few objects in between. */
export const reportAdded = defineEvent({
  kind: 'report.added',
  since: { 3: 1 },
  fields: {
    write(out, report: AddedReport) {
      reported.write(out, report);
      out.u32(report.reportedSecond).u32(report.network).u32(report.categories);
    },
    read(input, found): AddedReport {
      const { account, family, words } = reported.read(input, found);
      return {
        account,
        family,
        words,
        reportedSecond: input.u32(),
        network: input.u32(),
        categories: input.u32(),
      };
    },
  },
  indexRows: 2,
  apply: (state: ReputationInMemory, report, at) => state.addReport(report, at),
  async undo(rows, { account, family, words, reportedSecond }) {
    const address = addressBytes(family, words);
    for await (const page of pagesUnder(rows.store, reportByAddressPrefix(address))) {
      for (const { key, value } of page) {
        const report = decodeRow(key, value);
        if (report?.account !== account) continue;
        if (Math.floor(report.reportedAt / 1_000) !== reportedSecond) continue;
        return rows.remove(...keysOfStored(address, report), reportGuardKey(account, address));
      }
    }
    const row = await tailOf(rows.store, account, address);
    if (row.tail === undefined) return;
    await rows.write(changeTail(row, withoutReport(row.tail, reportedSecond * 1_000)));
  },
});

/** An account's reports of an address are withdrawn: so many of them, or all. */
export const reportsWithdrawn = defineEvent({
  kind: 'reports.withdrawn',
  since: { 1: 1, 2: 1 },
  fields: both(
    reported,
    group<Pick<WithdrawnReports, 'penalty' | 'reports'>>({
      penalty: flag,
      reports: onlySince(2, varint),
    }),
  ),
  versionOf: ({ reports }) => (reports === undefined ? 1 : 2),
  apply: (state: ReputationInMemory, reports, at) => state.withdrawReports(reports, at),
  undo: 'dropped',
});

/** Reports that became older than a year: they no longer count in `totalReports`. */
export const reportsExpired = defineEvent({
  kind: 'reports.expired',
  since: { 1: 1 },
  fields: both(reported, group({ reports: varint })),
  apply: (state: ReputationInMemory, reports) => state.expireReports(reports),
  undo: 'dropped',
});

/** Rows of one event that a peer adds and takes back, together. */
export const peerRowsPerEventMax = 1_000;

/** The operator or the maintenance sets the worth of a peer's rows; the reducer looks nothing up. */
export const peerSet = defineEvent({
  kind: 'peer.set',
  since: { 1: 2 },
  fields: { write: writeTerms, read: readTerms },
  apply: (state: ReputationInMemory, terms, at) => state.setPeer(terms, at),
  undo: 'dropped',
});

export const peerRows = defineEvent({
  kind: 'peer.rows',
  since: { 1: 2 },
  fields: { write: writePeerRows, read: readPeerRows },
  indexRows: ({ added }) => added.length,
  apply: (state: ReputationInMemory, rows, at) => state.changePeerRows(rows, at),
  /** The peer's rows are read whole again. */
  undo: (rows, { peer }) => rows.remove(peerCursorKey(peer)),
});

/** A peer was removed: all that it said goes. */
export const peerCleared = defineEvent({
  kind: 'peer.cleared',
  since: { 1: 2 },
  fields: group({ peer: peerNumber() }),
  apply: (state: ReputationInMemory, { peer }) => state.clearPeer(peer),
  undo: 'dropped',
});

/** The policy of votes has changed; written when the server starts with other settings. */
export const policyChanged = defineEvent({
  kind: 'policy.changed',
  since: { 1: 1, 2: 2 },
  fields: { write: writePolicy, read: decodePolicy },
  versionOf: (policy) => (policyBits(policy) > 3 ? 2 : 1),
  apply: (state: ReputationInMemory, policy) => state.changePolicy(policy),
  undo: 'dropped',
});

export const reputationEvents = [
  listBegun,
  listRows,
  listEnded,
  listExpired,
  allowAdded,
  allowRemoved,
  entrySet,
  entryRemoved,
  reportAdded,
  reportsWithdrawn,
  reportsExpired,
  policyChanged,
  peerSet,
  peerRows,
  peerCleared,
];

/** The bit of networks that rise. */
const risingBit = 64;

/** Two bits, then three that stand for what peers may do and one for networks that rise; those are 0 by default. */
export function policyBits(policy: Policy): number {
  const { isPrivate, isAnchored, agree = groupsAgree.least, neverByPeers = false } = policy;
  const ofPeers = (neverByPeers ? 4 : 0) | ((agree - groupsAgree.least) << 3);
  const ofNetworks = policy.isRising ? risingBit : 0;
  return (isPrivate ? 1 : 0) | (isAnchored ? 2 : 0) | ofPeers | ofNetworks;
}

/** Writes one byte; the header of the checkpoint holds the same. */
export function writePolicy(out: Writer, policy: Policy): void {
  out.u8(policyBits(policy));
}

export function decodePolicy(input: Reader): Policy {
  const bits = input.u8();
  const ofPeers = bits & ~risingBit;
  const agree = groupsAgree.least + (ofPeers >>> 3);
  if (agree > groupsAgree.most) input.reject();
  const ours = {
    isPrivate: (bits & 1) !== 0,
    isAnchored: (bits & 2) !== 0,
    ...((bits & risingBit) === 0 ? {} : { isRising: true }),
  };
  return ofPeers <= 3 ? ours : { ...ours, agree, neverByPeers: (bits & 4) !== 0 };
}

function peerNumber(): Field<number> {
  return checked(u8, (peer) => peer >= 1 && peer <= peersMax);
}

function writePeerRows(out: Writer, { peer, seq, added, removed }: PeerRows): void {
  if (added.length + removed.length > peerRowsPerEventMax) {
    throw new RangeError(`${added.length + removed.length} rows of a peer in one event`);
  }
  out.u8(peer).varint(seq).u16(added.length);
  for (let i = 0; i < added.length; i++) {
    const { family, words, length, firstHour, lastHour, categories } = added.at(i)!;
    // An event that can't be read would stop every node for good.
    if (lastHour > lastHour32) throw new RangeError(`a peer's row of hour ${lastHour}`);
    writePrefix(out, family, words, 0, length);
    out.varint(lastHour).varint(lastHour - firstHour);
    out.varint(categories);
  }
  out.u16(removed.length);
  for (let i = 0; i < removed.length; i++) {
    const { family, words, length } = removed.at(i)!;
    writePrefix(out, family, words, 0, length);
  }
}

function readPeerRows(input: Reader): PeerRows {
  const peer = input.u8();
  if (peer < 1 || peer > peersMax) input.reject();
  const seq = input.varint();
  const count = countOfRows(input);
  const words = new Uint32Array(7 * count);
  const lengths = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    const { family, length } = decodePrefix(input, words, 7 * i);
    if (!isPeerPrefix(family, length)) input.reject();
    const lastHour = input.varint();
    const firstHour = lastHour - input.varint();
    const categories = input.varint();
    if (firstHour < 0 || lastHour > lastHour32 || categories > peerDetail.categories)
      input.reject();
    lengths[i] = length;
    words[7 * i + 4] = firstHour;
    words[7 * i + 5] = lastHour;
    words[7 * i + 6] = categories;
  }
  const removed = Array.from({ length: countOfRows(input) }, () => {
    const address = new Uint32Array(4);
    return { ...decodePrefix(input, address, 0), words: address };
  });
  return { peer, seq, added: packedRows(words, lengths), removed };
}

/** A million objects, each with words of its own, would be seconds of work for the garbage collector. */
function packedRows(words: Uint32Array, lengths: Uint8Array): RowSequence<PeerRow> {
  const place = { family: 4 as IpFamily, words: new Uint32Array(4), length: 0 };
  const row = { ...place, firstHour: 0, lastHour: 0, categories: 0 };
  return {
    length: lengths.length,
    at(i) {
      const from = 7 * i;
      row.length = lengths[i]!;
      row.family = row.length === 32 ? 4 : 6;
      for (let word = 0; word < 4; word++) row.words[word] = words[from + word]!;
      row.firstHour = words[from + 4]!;
      row.lastHour = words[from + 5]!;
      row.categories = words[from + 6]!;
      return row;
    },
  };
}

/** Returns true for a host and for an IPv6 /64, which are all that a peer may name. */
function isPeerPrefix(family: IpFamily, length: number): boolean {
  return length === widthOf(family) || (family === 6 && length === 64);
}

function countOfRows(input: Reader): number {
  const count = input.u16();
  // A row has five bytes at least: a count beyond what is there must not reserve memory.
  if (count > peerRowsPerEventMax || count > input.remaining() / 5) input.reject();
  return input.failed() ? 0 : count;
}

/** One byte: 0..32 is an IPv4 length, 64 + 0..128 an IPv6 one; then the 4 or 16 address bytes. */
function writePrefix(
  out: Writer,
  family: IpFamily,
  words: Uint32Array,
  at: number,
  length: number,
): void {
  out.u8(family === 4 ? length : 64 + length);
  const count = wordCountOf(family);
  for (let i = 0; i < count; i++) out.u32(words[at + i]!);
}

/**
 * Reads what `writePrefix` wrote into `words` from `at`. The input fails for a length that does
 * not exist and for bits beyond the length: the index refuses such a prefix, and must never meet it.
 */
function decodePrefix(
  input: Reader,
  words: Uint32Array,
  at: number,
): { family: IpFamily; length: number } {
  const first = input.u8();
  const family = first < 64 ? 4 : 6;
  const length = family === 4 ? first : first - 64;
  const count = wordCountOf(family);
  let stray = 0;
  for (let i = 0; i < count; i++) {
    const word = input.u32();
    words[at + i] = word;
    stray |= word & hostMask(length - 32 * i);
  }
  if (stray !== 0 || length > widthOf(family)) input.reject();
  return { family, length };
}

function writeRows(out: Writer, rows: RowBatch): void {
  if (rows.count > rowsPerEventMax) throw new RangeError(`${rows.count} rows in one event`);
  out.u16(rows.count);
  for (let i = 0; i < rows.count; i++) {
    writePrefix(out, rows.families[i] as IpFamily, rows.words, 4 * i, rows.lengths[i]!);
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
    const { family, length } = decodePrefix(input, rows.words, 4 * i);
    rows.families[i] = family;
    rows.lengths[i] = length;
    const score = input.u8();
    if (score > 100) input.reject();
    rows.scores[i] = score;
    if (rows.reports !== undefined) rows.reports[i] = input.u8();
  }
  return rows;
}

// The stored rows of the operator's ranges: rules of the allowlist and manual entries.

export type AllowRow = Decoded<typeof allowRow.decode>;

export const allowRow = bareRecord({
  /** Milliseconds since 1970. */
  addedAt: time,
  reason: text,
});

export interface ManualEntryTerms {
  /** 1 to 100. */
  readonly score: number;
  /** Number of a report's category; 0: none. */
  readonly category: number;
  readonly note: string;
  /** Milliseconds since 1970, whole seconds; 0: it does not end. */
  readonly endsAt: number;
}

export interface ManualEntryRow extends ManualEntryTerms {
  /** Milliseconds since 1970, whole seconds. */
  readonly setAt: number;
}

export const manualEntryRow = record<ManualEntryRow>(1, {
  score: u8,
  category: u8,
  setAt: time,
  endsAt: time,
  note: text,
});
