/** Checks a whole data directory at one moment, next to a running server too: rows, origins, state, feeds. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inflateRawSync } from 'node:zlib';
import { accountCreated } from '../access/accounts/events.ts';
import { capacities } from '../config.ts';
import { duplicateReportMs, entryFlags } from '../contracts/reputation.ts';
import type { Clock } from '../core/clock.ts';
import { fnv1a } from '../core/crypto.ts';
import { memoryFault } from '../core/errors.ts';
import type { Random } from '../core/random.ts';
import { counted } from '../core/text-table.ts';
import { hourMs } from '../core/time.ts';
import type { IndexView } from '../index/reader.ts';
import {
  firstReportedAtOf,
  lastReportedAtOf,
  metaOf,
  reportersOf,
  reportsOf,
  strengthOf,
  withTurn,
} from '../index/records.ts';
import { loadSnapshot } from '../index/snapshot.ts';
import { formatPrefix, widthOf } from '../ip/prefix.ts';
import { listsOf, scoreMin } from '../reputation/blocklists/builder/build.ts';
import { collect } from '../reputation/blocklists/builder/collect.ts';
import {
  decodeHead,
  decodeStep,
  type FeedHead,
  type HistoryStep,
  rebuildList,
} from '../reputation/blocklists/builder/history.ts';
import { compareFeedRows, FEED_ROW, type Rows } from '../reputation/blocklists/builder/rows.ts';
import { entryScore, halfLivesAt } from '../reputation/check/score.ts';
import { isGroup } from '../reputation/ranges/operator-ranges.ts';
import { refusalKinds } from '../reputation/reports/refusals.ts';
import { everybody, isWholeIndex } from '../reputation/reports/store/account-reports.ts';
import {
  addressBytes,
  addressOf,
  decodeIdRow,
  keysOf,
} from '../reputation/reports/store/report-rows.ts';
import { countSince, decodeTail } from '../reputation/reports/store/tails.ts';
import { reportAdded } from '../reputation/state/events.ts';
import { decodeCode } from '../signon/sites/codes.ts';
import { readConsentUse } from '../signon/sites/consents.ts';
import {
  accountKey,
  erasedKey,
  eventIdRowKey,
  feedBasePrefix,
  feedHeadKey,
  feedStepPrefix,
  feedsBehindKey,
  type Key,
  namespaces,
  readFeedVersion,
  reportsIndexedKey,
} from '../storage/keys.ts';
import { openTables } from '../storage/lmdb/environment.ts';
import { idFile, snapshotFile } from '../storage/lmdb/presence.ts';
import { readEventIdSeq } from '../storage/lmdb/tables.ts';
import {
  createFindings,
  type Findings,
  type RowsSeen,
  verifyRows,
} from '../storage/lmdb/verify-rows.ts';
import { batchesOf, openView, type RawRow, type View, viewStore } from '../storage/lmdb/view.ts';
import { DamagedRowError, decodeEvent, isExpired, readEntry } from '../storage/rows.ts';
import { pagesUnder, type Store, type StoredRow } from '../storage/store.ts';
import { openOfflineState } from './data.ts';
import type { State } from './state.ts';

interface VerifiedStore {
  readonly findings: Findings;
  readonly seen: RowsSeen;
  readonly journalPosition: number;
}

export async function verifyDataDir(options: {
  dataDir: string;
  /** The store's directory. */
  path: string;
  clock: Clock;
  random: Random;
  onProgress?: (rows: number, rowsAbout: number) => void;
}): Promise<VerifiedStore> {
  const { dataDir, path, clock, random, onProgress } = options;
  const findings = createFindings();
  const tables = openTables(path);
  const view = openView(tables);
  try {
    const idPath = join(dataDir, idFile);
    const storeId = existsSync(idPath) ? readFileSync(idPath, 'latin1').trim() : undefined;
    const rows = { view, findings, nowMs: clock.now(), storeId };
    const seen = await verifyRows(onProgress === undefined ? rows : { ...rows, onProgress });
    await verifyOrigins(rows);
    const snapshotPath = join(dataDir, snapshotFile);
    await verifyState({ view, findings, clock, random, snapshotPath });
    return { findings, seen, journalPosition: view.counters.lastSeq };
  } finally {
    view.release();
    await tables.root.close();
  }
}

const textBytesMax = 1 << 30;

/**
 * Checks that the stored feeds are consistent with themselves and with the index. The list of a version is the stored
 * base plus the steps after it. If nothing was written since, it equals the list made from the index.
 */
async function verifyFeeds(check: {
  store: Store;
  findings: Findings;
  index: IndexView;
}): Promise<void> {
  const { store, findings, index } = check;
  const row = await store.get(feedHeadKey());
  if (row === undefined) return;
  const head = decodeHead(row.value);
  if (head === undefined) return findings.add('feeds', 'the head of the feeds is damaged');
  const steps = await stepsOf(store, head, findings);
  const base = await baseOf(store, head, findings);
  if (steps === undefined || base === undefined) return;
  verifySteps(base, steps, findings);
  const list = rebuildList(base, steps);
  if (list === undefined) return findings.add('feeds', 'the stored list of the feeds is damaged');
  // The version is the moment of the build.
  const lastSeq = await store.lastSeq();
  // An event that is missing or damaged has been reported already.
  const [last] = lastSeq === 0n ? [] : await store.read(lastSeq - 1n, 1).catch(() => []);
  const isBehind = last !== undefined && last.at > head.version;
  const now = await listNow(index, isBehind ? last.at : head.version);
  if (sameRows(list, now)) return;
  const counts = `${list.length / FEED_ROW} entries, the index gives ${now.length / FEED_ROW}`;
  // A server publishes what changed some time later.
  const takenBack = await store.get(feedsBehindKey());
  const isOther = takenBack !== undefined && Buffer.compare(takenBack.value, row.value) === 0;
  if (isOther) findings.note(`the stored feeds are of before the restore: ${counts}`);
  else if (isBehind) findings.note(`the stored feeds are of before the last change: ${counts}`);
  else findings.add('feeds', `the stored feeds are not what the index gives: ${counts}`);
}

async function stepsOf(store: Store, head: FeedHead, findings: Findings) {
  const steps: HistoryStep[] = [];
  for (const { key, value } of await all(store, feedStepPrefix())) {
    const version = readFeedVersion(key);
    if (version <= head.baseVersion) continue;
    const step = decodeStep(version, value);
    if (step === undefined || version > head.version) {
      findings.add('feeds', `the step ${version} of the feeds is damaged`);
      return undefined;
    }
    steps.push(step);
  }
  return steps;
}

/** Reads the stored base list, one prefix a line. */
async function baseOf(store: Store, head: FeedHead, findings: Findings) {
  const rows = await all(store, feedBasePrefix());
  const parts = rows.filter(({ key }) => readFeedVersion(key) === head.baseVersion);
  if (parts.length !== head.baseParts) {
    findings.add('feeds', `the stored list has ${parts.length} of ${head.baseParts} parts`);
    return undefined;
  }
  try {
    const packed = Buffer.concat(parts.map(({ value }) => value));
    return inflateRawSync(packed, { maxOutputLength: textBytesMax }).toString('latin1');
  } catch {
    findings.add('feeds', 'the stored list of the feeds is damaged');
    return undefined;
  }
}

/**
 * Checks that each step removes only existing entries. It adds one that stays, too, when the operator takes it
 * over.
 */
function verifySteps(base: string, steps: readonly HistoryStep[], findings: Findings): void {
  const present = new Set(base.split('\n').filter((line) => line !== ''));
  for (const { version, added, removed } of steps) {
    const fits = removed.every((text) => present.delete(text));
    for (const text of added) present.add(text);
    if (!fits)
      findings.add('feeds', `the step ${version} of the feeds does not follow the one before`);
  }
}

async function listNow(index: IndexView, builtAtMs: number): Promise<Rows> {
  const nowHalfLives = halfLivesAt(Math.floor(builtAtMs / hourMs) * hourMs);
  const collected = await collect({
    index,
    enter() {},
    leave() {},
    pause: () => new Promise((resolve) => setImmediate(resolve)),
    score: (listScore, ceiling, strength) => entryScore(listScore, ceiling, strength, nowHalfLives),
    flags: entryFlags,
    geo: () => 0,
    scoreMin,
    rowsMax: capacities.entriesOfAnyMachine,
  });
  return listsOf(collected, capacities.feedEntries).block;
}

function sameRows(a: Rows, b: Rows): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at += FEED_ROW)
    if (compareFeedRows(a, at, b, at) !== 0) return false;
  return true;
}

async function all(store: Store, prefix: Key): Promise<StoredRow[]> {
  const rows: StoredRow[] = [];
  for await (const page of pagesUnder(store, prefix)) rows.push(...page);
  return rows;
}

interface OriginCheck {
  readonly view: View;
  readonly findings: Findings;
  readonly nowMs: number;
}

/** A row that came with an event. */
interface TiedRow {
  readonly key: Uint8Array;
  readonly version: number;
  /** Ties a report to its event; undefined for another row. Reports come in the order of their seconds. */
  readonly tie: number | undefined;
  readonly second: number;
  /**
   * False if the event of the row is missing; undefined for a report, and for a pruned event whose id is
   * still known.
   */
  readonly isThere: boolean | undefined;
}

interface JournalFacts {
  readonly ties: TieTable;
  /** Ties of reports sent within 15 minutes: an older row can't have the same tie. */
  readonly anchors: TieTable;
  /** Ids of accounts that the journal's events created. */
  readonly accounts: ReadonlySet<string>;
}

/**
 * Checks that each row that came with an event of the journal has its event. A report is tied to it by account,
 * address and second, what an exchanged code leaves by the event's id, and a consent by its account, which an
 * event made.
 *
 * Invariant: versions are given in the order of the commits, whatever a clock says. So a row whose event is
 * missing is older than the journal only if it is older than each row whose event is there.
 */
async function verifyOrigins(check: OriginCheck): Promise<void> {
  const { view } = check;
  const facts = await factsOf(view);
  const isWhole = view.counters.prunedThrough === 0;
  await findWithoutEvent(check, facts, isWhole ? 0 : await oldestWithEvent(check, facts));
  await verifyConsents(check, isWhole ? facts.accounts : undefined);
  await verifyReportIndex(check);
}

async function factsOf(view: View): Promise<JournalFacts> {
  const ties: number[] = [];
  const anchors: number[] = [];
  const accounts = new Set<string>();
  for (const batch of batchesOf(view, 'journal', batchBytes)) {
    for (const { key, value } of batch) {
      const event = undefinedIfDamaged(() =>
        decodeEvent(Buffer.from(key).readBigUInt64BE(), value),
      );
      if (event?.kind === accountCreated.kind) {
        const made = accountCreated.decode(event.version, event.body);
        if (made !== undefined) accounts.add(made.account);
      }
      if (event?.kind !== reportAdded.kind) continue;
      const report = reportAdded.decode(event.version, event.body);
      if (report === undefined) continue;
      const { account, family, words, reportedSecond } = report;
      const tie = tieOf(account, addressBytes(family, words), reportedSecond);
      ties.push(tie);
      if (Math.abs(event.at - reportedSecond * 1_000) < duplicateReportMs) anchors.push(tie);
    }
    await new Promise(setImmediate);
  }
  return { ties: createTieTable(ties), anchors: createTieTable(anchors), accounts };
}

/** A number of 53 bits: of two reports that have the same one by chance, one could be missed. */
function tieOf(account: string, address: Uint8Array, second: number): number {
  const text = `${account} ${Buffer.from(address).toString('latin1')} ${second}`;
  return (fnv1a(text) >>> 0) * 2 ** 21 + (fnv1a(text, 0x5bd1_e995) >>> 11);
}

/** A sorted array: journals are long, and a map of them would be large. */
function createTieTable(ties: readonly number[]) {
  const sorted = Float64Array.from(ties).sort();
  /** Returns the index of the first tie that is not less. */
  function lowerBound(tie: number): number {
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (sorted[middle]! < tie) low = middle + 1;
      else high = middle;
    }
    return low;
  }
  return {
    /** Returns how many events have the tie. */
    count(tie: number): number {
      const first = lowerBound(tie);
      let end = first;
      while (sorted[end] === tie) end += 1;
      return end - first;
    },
  };
}

type TieTable = ReturnType<typeof createTieTable>;

async function oldestWithEvent(check: OriginCheck, { anchors }: JournalFacts): Promise<number> {
  let oldest = Number.POSITIVE_INFINITY;
  for await (const { version, tie, isThere } of tiedRows(check)) {
    const hasEvent = tie === undefined ? isThere === true : anchors.count(tie) > 0;
    if (hasEvent) oldest = Math.min(oldest, version);
  }
  return oldest;
}

/** @param oldest rows of versions before it may be older than the journal */
async function findWithoutEvent(
  check: OriginCheck,
  { ties }: JournalFacts,
  oldest: number,
): Promise<void> {
  const reports = new Map<number, number>();
  let last = 0;
  for await (const { key, version, tie, second, isThere } of tiedRows(check)) {
    if (version <= oldest) continue;
    if (second !== last) reports.clear();
    last = second;
    let hasEvent = isThere !== false;
    if (tie !== undefined) {
      reports.set(tie, (reports.get(tie) ?? 0) + 1);
      hasEvent = reports.get(tie)! <= ties.count(tie);
    }
    if (hasEvent) continue;
    check.findings.add(
      'origin',
      `the row ${hex(key)} came with an event that is not in the journal`,
    );
  }
}

async function* tiedRows({ view, nowMs }: OriginCheck): AsyncGenerator<TiedRow> {
  for await (const { key, version, value } of readableRows(view, namespaces.reportById)) {
    const row = decodeIdRow(value);
    if (row === undefined) continue;
    const second = Math.floor(Buffer.from(key).readUIntBE(1, 6) / 1_000);
    const tie = tieOf(row.account, row.address, second);
    yield { key, version, tie, second, isThere: undefined };
  }
  for await (const { key, version, value, expiresAt } of readableRows(
    view,
    namespaces.authorizationCode,
  )) {
    const code = decodeCode(value);
    const isTombstone = code?.kind === 'tombstone' && !isExpired({ version, expiresAt }, nowMs);
    if (!isTombstone || code.event === undefined) continue;
    yield { key, version, tie: undefined, second: 0, isThere: isThere(view, code.event) };
  }
  for await (const { key, version, value } of readableRows(view, namespaces.consentUse)) {
    const event = readConsentUse(value)?.event;
    if (event === undefined) continue;
    yield { key, version, tie: undefined, second: 0, isThere: isThere(view, event) };
  }
}

function isThere(view: View, event: string): boolean | undefined {
  const row = view.get('eventIds', eventIdRowKey(event));
  if (row === undefined) return false;
  return readEventIdSeq(row) > view.counters.prunedThrough ? true : undefined;
}

/**
 * A consent is of an account that is there, unless its deletion has begun.
 * @param made accounts that events of the journal made; undefined: it does not begin at the first one
 */
async function verifyConsents(
  { view, findings }: OriginCheck,
  made: ReadonlySet<string> | undefined,
): Promise<void> {
  for await (const { key } of readableRows(view, namespaces.consent)) {
    const account = Buffer.from(key.subarray(1, key.indexOf(0))).toString('utf8');
    if (view.get('entries', erasedKey(account)) !== undefined) continue;
    const hasAccount = view.get('entries', accountKey(account)) !== undefined;
    if (hasAccount && made?.has(account) !== false) continue;
    const what = hasAccount ? 'is of an account that no event made' : 'is of no account';
    findings.add('origin', `the consent ${hex(key)} ${what}`);
  }
}

/** Only reports of deleted accounts may be missing in a complete index of reports by account. */
async function verifyReportIndex({ view, findings }: OriginCheck): Promise<void> {
  const key = reportsIndexedKey(everybody);
  const row = view.get('entries', key);
  const since = row && undefinedIfDamaged(() => readEntry(key, row).value);
  if (since === undefined || !isWholeIndex(since)) return;
  for await (const { key: idKey, value } of readableRows(view, namespaces.reportById)) {
    const report = decodeIdRow(value);
    if (report === undefined) continue;
    const { account, address } = report;
    const reportedAt = Buffer.from(idKey).readUIntBE(1, 6);
    const byAccount = keysOf(address, { account, reportedAt }, idKey.subarray(1))[2];
    if (view.get('entries', byAccount) !== undefined) continue;
    if (view.get('entries', erasedKey(account)) !== undefined) continue;
    findings.add('reference', `the report ${hex(idKey)} is not among those of its account`);
  }
}

/** Yields the rows that can be read; the others have been reported. */
async function* readableRows(view: View, space: number) {
  for (const batch of batchesOf(view, 'entries', batchBytes, Uint8Array.of(space))) {
    for (const { key, value: row } of batch) {
      if (key[0] !== space) return;
      const entry = undefinedIfDamaged(() => readEntry(key, row));
      if (entry !== undefined) yield { key, ...entry };
    }
    await new Promise(setImmediate);
  }
}

function undefinedIfDamaged<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof DamagedRowError) return undefined;
    throw error;
  }
}

function hex(key: Uint8Array): string {
  return Buffer.from(key).toString('hex');
}

interface StateCheck {
  readonly view: View;
  readonly findings: Findings;
  readonly clock: Clock;
  readonly random: Random;
  /** The path of `index.snapshot`, which a running server has removed at its start. */
  readonly snapshotPath: string;
}

const rootWords = new Uint32Array(4);
const batchBytes = 1024 * 1024;

/**
 * Checks that memory would agree with the store. The state is loaded as at a start, and brought up to the
 * journal's end, over a view of the store: nothing is written.
 */
async function verifyState(check: StateCheck): Promise<void> {
  const { view, findings } = check;
  const { prunedThrough, lastSeq } = view.counters;
  const state = await loaded(check, () => false);
  if (state === undefined) return;
  verifySnapshot(check, state);
  if (!(await caughtUp(check, state))) return;
  if (prunedThrough > 0) {
    findings.note(
      `the journal begins at ${prunedThrough + 1}: what the projection holds of before can't be compared with it`,
    );
  } else if (lastSeq > 0 && state.projection.checkpointSeq() > 0n) {
    const isProjection = (key: Uint8Array) =>
      key[0] === namespaces.checkpoint || key[0] === namespaces.projectionPage;
    const anew = await loaded(check, isProjection);
    if (anew !== undefined && (await caughtUp(check, anew))) {
      compare(findings, state.index, anew.index, 'the journal', factsOfJournal);
      await anew.follower.stop();
    }
  }
  verifyReports(check, state);
  verifyRules(check, state);
  const store = viewStore(view, check.clock.now());
  await verifyFeeds({ ...check, store, index: state.index });
  await state.follower.stop();
}

async function loaded(
  check: StateCheck,
  hides: (key: Uint8Array) => boolean,
): Promise<State | undefined> {
  const { view, findings, clock, random } = check;
  try {
    const store = viewStore(view, clock.now(), hides);
    return await openOfflineState({ store, clock, random });
  } catch (error) {
    refuseWithoutMemory(error);
    findings.add('projection', `the projection can't be read: ${(error as Error).message}`);
    return undefined;
  }
}

/** A store is not damaged because this process lacks memory to look at it. */
function refuseWithoutMemory(error: unknown): void {
  const lacking = memoryFault(error);
  if (lacking !== undefined) throw lacking;
}

async function caughtUp({ view, findings }: StateCheck, state: State): Promise<boolean> {
  state.follower.start();
  try {
    await state.follower.catchUpTo(BigInt(view.counters.lastSeq));
    return true;
  } catch (error) {
    refuseWithoutMemory(error);
    const next = state.follower.appliedSeq() + 1n;
    findings.add(
      'journal',
      `event ${next} of the journal can't be applied: ${(error as Error).message}`,
    );
    return false;
  }
}

/** The snapshot counts only at the position of the checkpoint: one of another moment is ignored. */
function verifySnapshot({ findings, snapshotPath }: StateCheck, state: State): void {
  if (!existsSync(snapshotPath)) return;
  const found = loadSnapshot(snapshotPath, { entriesMax: capacities.entriesOfAnyMachine });
  if (!found.ok) {
    findings.note(`index.snapshot is damaged (${found.detail}); the next start does without it`);
    return;
  }
  if (found.value.sequence !== state.projection.checkpointSeq()) {
    findings.note('index.snapshot is of another moment; the next start does without it');
    return;
  }
  compare(findings, state.index, found.value.index, 'index.snapshot', factsOfAll);
}

type FactsOfEntry = (index: IndexView, entry: number) => string;

/** Returns facts that no scoring rule touches: rules change between versions, the journal stays. */
function factsOfJournal(index: IndexView, entry: number): string {
  const { records } = index;
  const withoutCeiling = withTurn(metaOf(records, entry), 0) & 0xff00_ffff;
  const times = [firstReportedAtOf(records, entry), lastReportedAtOf(records, entry)];
  return [withoutCeiling, reportsOf(records, entry), reportersOf(records, entry), ...times].join(
    ' ',
  );
}

function factsOfAll(index: IndexView, entry: number): string {
  const { records } = index;
  return `${factsOfJournal(index, entry)} ${withTurn(metaOf(records, entry), 0)} ${strengthOf(records, entry)}`;
}

function compare(
  findings: Findings,
  own: IndexView,
  other: IndexView,
  name: string,
  facts: FactsOfEntry,
): void {
  if (own.size() !== other.size()) {
    findings.add(name, `the projection has ${own.size()} entries, ${name} ${other.size()}`);
  }
  walkAll(own, (entry) => {
    const prefix = own.prefixOf(entry)!;
    const there = other.get(prefix);
    if (there !== 0 && facts(own, entry) === facts(other, there)) return;
    const what = there === 0 ? 'does not know it' : 'says something else of it';
    findings.add(name, `${formatPrefix(prefix)} is in the projection, ${name} ${what}`);
  });
}

function walkAll(index: IndexView, context: (entry: number) => void): void {
  for (const family of [4, 6] as const)
    index.walk({ family, words: rootWords, length: 0 }, context);
}

/** Rows and tails of reports lie by address: what the index counts of each must be as many. */
function verifyReports({ view, findings }: StateCheck, { index, refusals }: State): void {
  if (refusalKinds.some((kind) => refusals.of(kind) > 0)) {
    findings.note('some reports had no effect because a table was full: they are not compared');
    return;
  }
  let left = 0;
  // A report of an IPv6 address counts for its /64 too.
  walkAll(index, (entry) => {
    const { family, length } = index.prefixOf(entry)!;
    if (length === widthOf(family)) left += reportsOf(index.records, entry);
  });
  const inTails = reportsInTails(view);
  function settle(address: Buffer, rows: number): void {
    const { family, words } = addressOf(address);
    const prefix = { family, words, length: widthOf(family) };
    const entry = index.get(prefix);
    const known = entry === 0 ? 0 : reportsOf(index.records, entry);
    left -= known;
    if (known === rows) return;
    const has = `${formatPrefix(prefix)} has ${counted(rows, 'report')}`;
    findings.add('reports', `${has} in the store, ${known} in the index`);
  }
  function settleWithTail(address: Buffer | undefined, rows: number): void {
    if (address === undefined) return;
    const name = address.toString('hex');
    settle(address, rows + (inTails.get(name) ?? 0));
    inTails.delete(name);
  }
  let address: Buffer | undefined;
  let rows = 0;
  for (const { key } of rowsUnder(view, namespaces.reportByAddress)) {
    const next = Buffer.from(key.subarray(1, 18));
    if (address === undefined || !address.equals(next)) {
      settleWithTail(address, rows);
      address = next;
      rows = 0;
    }
    rows += 1;
  }
  settleWithTail(address, rows);
  for (const [name, reports] of inTails) settle(Buffer.from(name, 'hex'), reports);
  if (left > 0)
    findings.add('reports', `the index counts ${left} reports that the store does not have`);
}

/** The keys are addresses, in hexadecimal. */
function reportsInTails(view: View): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { key, value } of rowsUnder(view, namespaces.reportTail)) {
    const tail = decodeTail(key, readEntry(key, value).value);
    if (tail === undefined) continue;
    const name = Buffer.from(key.subarray(1, 18)).toString('hex');
    counts.set(name, (counts.get(name) ?? 0) + countSince(tail, 0));
  }
  return counts;
}

function verifyRules({ view, findings }: StateCheck, { entries }: State): void {
  const { contributions } = entries;
  const compareCounts = (what: string, space: number, inIndex: number, unit: string) => {
    // Groups of networks are rows too, whose networks stand in lists.
    const isRange = ({ key }: RawRow) => !isGroup(Buffer.from(key.subarray(1)).toString());
    const rows = [...rowsUnder(view, space)].filter(isRange).length;
    if (rows === inIndex) return;
    findings.add('rules', `${what} ${rows} ${unit} in the store, ${inIndex} in the index`);
  };
  compareCounts('the allowlist has', namespaces.allow, contributions.rules(), 'rules');
  compareCounts(
    'the operator has',
    namespaces.ownEntry,
    contributions.manualNodes.size,
    'manual rules',
  );
}

function* rowsUnder(view: View, space: number): Generator<RawRow> {
  for (const batch of batchesOf(view, 'entries', batchBytes, Uint8Array.of(space))) {
    for (const row of batch) {
      if (row.key[0] !== space) return;
      yield row;
    }
  }
}
