/**
 * Does what memory would be agree with the store? The state is loaded as at a start, and brought up to
 * the journal's end, over a view of the store: nothing is written.
 */

import { existsSync } from 'node:fs';
import { capacities } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { bitsOf } from '../../index/prefix.ts';
import type { IndexView } from '../../index/reader.ts';
import {
  firstReportedAtOf,
  lastReportedAtOf,
  metaOf,
  reportersOf,
  reportsOf,
  strengthOf,
} from '../../index/records.ts';
import { loadSnapshot } from '../../index/snapshot.ts';
import { formatPrefix } from '../../ip/prefix.ts';
import { refusalKinds } from '../../reputation/reports/refusals.ts';
import { addressOf } from '../../reputation/reports/store/report-rows.ts';
import { countSince, decodeTail } from '../../reputation/reports/store/tails.ts';
import { namespaces } from '../../store/keys.ts';
import { readEntry } from '../../store/rows.ts';
import type { Findings } from '../../store/verify/findings.ts';
import { viewStore } from '../../store/verify/view-store.ts';
import { batchesOf, type RawRow, type View } from '../../store/view.ts';
import type { State } from '../state.ts';
import { stateBeside } from './beside.ts';
import { verifyFeeds } from './feeds.ts';

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

export async function verifyState(check: StateCheck): Promise<void> {
  const { view, findings } = check;
  const { prunedThrough, lastSeq } = view.counters;
  const state = await loaded(check, () => false);
  if (state === undefined) return;
  if (state.isMended) {
    findings.note(
      'reports of NAT64 addresses count for all of them, by a rule of before: the next start mends it; index.snapshot and the feeds are not compared',
    );
  } else verifySnapshot(check, state);
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
  if (!state.isMended) {
    const store = viewStore(view, check.clock.now());
    await verifyFeeds({ ...check, store, index: state.index });
  }
  await state.follower.stop();
}

async function loaded(
  check: StateCheck,
  hides: (key: Uint8Array) => boolean,
): Promise<State | undefined> {
  const { view, findings, clock, random } = check;
  try {
    const store = viewStore(view, clock.now(), hides);
    return await stateBeside({ store, clock, random });
  } catch (error) {
    findings.add('projection', `the projection can't be read: ${(error as Error).message}`);
    return undefined;
  }
}

async function caughtUp({ view, findings }: StateCheck, state: State): Promise<boolean> {
  state.follower.start();
  try {
    await state.follower.catchUpTo(BigInt(view.counters.lastSeq));
    return true;
  } catch (error) {
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
  const found = loadSnapshot(snapshotPath, { entriesMax: capacities.entries });
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

type Facts = (index: IndexView, entry: number) => string;

/** Returns facts that no scoring rule touches: rules change between versions, the journal stays. */
function factsOfJournal(index: IndexView, entry: number): string {
  const { records } = index;
  const withoutCeiling = metaOf(records, entry) & 0xff00_ffff;
  const times = [firstReportedAtOf(records, entry), lastReportedAtOf(records, entry)];
  return [withoutCeiling, reportsOf(records, entry), reportersOf(records, entry), ...times].join(
    ' ',
  );
}

function factsOfAll(index: IndexView, entry: number): string {
  const { records } = index;
  return `${factsOfJournal(index, entry)} ${metaOf(records, entry)} ${strengthOf(records, entry)}`;
}

function compare(
  findings: Findings,
  own: IndexView,
  other: IndexView,
  name: string,
  facts: Facts,
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

function walkAll(index: IndexView, visit: (entry: number) => void): void {
  for (const family of [4, 6] as const) index.walk({ family, words: rootWords, length: 0 }, visit);
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
    if (length === bitsOf(family)) left += reportsOf(index.records, entry);
  });
  const inTails = reportsInTails(view);
  function settle(address: Buffer, rows: number): void {
    const { family, words } = addressOf(address);
    const prefix = { family, words, length: bitsOf(family) };
    const entry = index.get(prefix);
    const counted = entry === 0 ? 0 : reportsOf(index.records, entry);
    left -= counted;
    if (counted === rows) return;
    const text = formatPrefix(prefix);
    findings.add('reports', `${text} has ${rows} reports in the store, ${counted} in the index`);
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

/** By the address, in hexadecimal. */
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
    const rows = [...rowsUnder(view, space)].length;
    if (rows === inIndex) return;
    findings.add('rules', `${what} ${rows} ${unit} in the store, ${inIndex} in the index`);
  };
  compareCounts('the allowlist has', namespaces.allow, contributions.rules(), 'rules');
  compareCounts('the operator has', namespaces.ownEntry, contributions.own.size, 'own entries');
}

/** Yields the rows of one namespace. */
function* rowsUnder(view: View, space: number): Generator<RawRow> {
  for (const batch of batchesOf(view, 'entries', batchBytes, Uint8Array.of(space))) {
    for (const row of batch) {
      if (row.key[0] !== space) return;
      yield row;
    }
  }
}
