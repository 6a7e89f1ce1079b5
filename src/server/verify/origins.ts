/**
 * Has each row that came with an event of the journal its event? A report is tied to it by account, address
 * and second, what an exchanged code leaves by the event's id, and a consent by its account, which an event made.
 *
 * Invariant: versions are given in the order of the commits, whatever a clock says. So a row whose event is
 * not there is older than the journal only if it is older than each row whose event is.
 */

import { decodeAccessEvent } from '../../access/accounts/events.ts';
import { fnv1a } from '../../core/digest.ts';
import { everybody, isWholeIndex } from '../../reputation/reports/store/account-index.ts';
import { addressBytes, decodeIdRow, keysOf } from '../../reputation/reports/store/report-rows.ts';
import {
  type AddedReport,
  decodeEvent as decodeReputationEvent,
} from '../../reputation/state/events.ts';
import { decodeCode } from '../../signon/sites/code-row.ts';
import { readConsentUse } from '../../signon/sites/consents.ts';
import {
  accountKey,
  erasedKey,
  eventIdRowKey,
  namespaces,
  reportsIndexedKey,
} from '../../store/keys.ts';
import { readEventIdSeq } from '../../store/lmdb-tables.ts';
import { DamagedRowError, decodeEvent, isExpired, readEntry } from '../../store/rows.ts';
import type { StoreEvent } from '../../store/store.ts';
import type { Findings } from '../../store/verify/findings.ts';
import { batchesOf, type View } from '../../store/view.ts';

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
  /** Ties of all reports. */
  readonly ties: TieTable;
  /** Ties of reports sent within 15 minutes: an older row can't have the same tie. */
  readonly anchors: TieTable;
  /** Ids of accounts that the journal's events created. */
  readonly accounts: ReadonlySet<string>;
}

const batchBytes = 1024 * 1024;
/** The same account reports an address again only after this time. */
const atOnceMs = 15 * 60_000;

export async function verifyOrigins(check: OriginCheck): Promise<void> {
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
      const event = whole(() => decodeEvent(Buffer.from(key).readBigUInt64BE(), value));
      if (event?.kind === 'account.created') {
        const made = decodeAccessEvent(event.kind, event.version, event.body);
        if (made !== undefined) accounts.add(made.account);
      }
      const report = event?.kind === 'report.added' ? reportIn(event) : undefined;
      if (event === undefined || report === undefined) continue;
      ties.push(...tiesOf(report, event.at));
      if (!('reportedSecond' in report)) continue;
      const isAtOnce = Math.abs(event.at - report.reportedSecond * 1_000) < atOnceMs;
      if (isAtOnce) anchors.push(...tiesOf(report, event.at));
    }
    await new Promise(setImmediate);
  }
  return { ties: createTieTable(ties), anchors: createTieTable(anchors), accounts };
}

function reportIn({ kind, version, body }: StoreEvent): AddedReport | undefined {
  const event = decodeReputationEvent(kind, version, body);
  return event?.kind === 'report.added' ? event : undefined;
}

/** An event of version 1 falls beside the second of its row by up to one. */
function tiesOf(report: AddedReport, atMs: number): number[] {
  const address = addressBytes(report.family, report.words);
  if ('reportedSecond' in report) return [tieOf(report.account, address, report.reportedSecond)];
  const second = Math.floor(atMs / 1_000) - report.ageSeconds;
  return [-1, 0, 1].map((beside) => tieOf(report.account, address, second + beside));
}

/** A number of 53 bits: of two reports that have the same one by chance, one could be missed. */
function tieOf(account: string, address: Uint8Array, second: number): number {
  const text = `${account} ${Buffer.from(address).toString('latin1')} ${second}`;
  return (fnv1a(text) >>> 0) * 2 ** 21 + (fnv1a(text, 0x5bd1_e995) >>> 11);
}

interface TieTable {
  /** Returns how many events have the tie. */
  count(tie: number): number;
}

/** A sorted array: journals are long, and a map of them would be large. */
function createTieTable(ties: readonly number[]): TieTable {
  const sorted = Float64Array.from(ties).sort();
  /** The first place of a tie that is not less. */
  function placeOf(tie: number): number {
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
    count(tie) {
      const first = placeOf(tie);
      let end = first;
      while (sorted[end] === tie) end += 1;
      return end - first;
    },
  };
}

/** The least version of a row whose event is in the journal. */
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
  /** Reports of one second, by their tie. */
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
  for await (const { key, version, value } of rowsUnder(view, namespaces.reportById)) {
    const row = decodeIdRow(value);
    if (row === undefined) continue;
    const second = Math.floor(Buffer.from(key).readUIntBE(1, 6) / 1_000);
    const tie = tieOf(row.account, row.address, second);
    yield { key, version, tie, second, isThere: undefined };
  }
  for await (const { key, version, value, expiresAt } of rowsUnder(
    view,
    namespaces.authorizationCode,
  )) {
    const code = decodeCode(value);
    const isTombstone = code?.kind === 'tombstone' && !isExpired({ version, expiresAt }, nowMs);
    if (!isTombstone || code.event === undefined) continue;
    yield { key, version, tie: undefined, second: 0, isThere: isThere(view, code.event) };
  }
  for await (const { key, version, value } of rowsUnder(view, namespaces.consentUse)) {
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
  for await (const { key } of rowsUnder(view, namespaces.consent)) {
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
  const since = row && whole(() => readEntry(key, row).value);
  if (since === undefined || !isWholeIndex(since)) return;
  for await (const { key: idKey, value } of rowsUnder(view, namespaces.reportById)) {
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

/** Rows that can be read; the others have been told of. */
async function* rowsUnder(view: View, space: number) {
  for (const batch of batchesOf(view, 'entries', batchBytes, Uint8Array.of(space))) {
    for (const { key, value: row } of batch) {
      if (key[0] !== space) return;
      const entry = whole(() => readEntry(key, row));
      if (entry !== undefined) yield { key, ...entry };
    }
    await new Promise(setImmediate);
  }
}

function whole<T>(read: () => T): T | undefined {
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
