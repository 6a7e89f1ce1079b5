/**
 * Keeps the networks of groups, autonomous systems and countries that the operator scored or allowed, in step
 * with the geo tables: each group is a list of the journal, so all nodes have the networks of the one that has
 * the lease.
 *
 * A group is written out when its row is new or changed, and once after each start, since tables change with
 * one. What is in memory already is not written again. A group whose networks have no room is tried again each
 * minute.
 */

import type { CatchUpTo } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { openLoneThread } from '../../core/lone-thread.ts';
import type { Random } from '../../core/random.ts';
import { createScheduler } from '../../core/scheduling.ts';
import { dayMs, minuteMs } from '../../core/time.ts';
import { type NetworkGroup, parseNetworkGroup } from '../../geo/network-groups.ts';
import type { GeoSource } from '../../geo/sources.ts';
import type { RowCheck, Store } from '../../storage/store.ts';
import { splitRows } from '../lists/import/parse.ts';
import { findList, loadList } from '../lists/load-list.ts';
import {
  foreverDays,
  groupOfList,
  listOfGroup,
  type Source,
  type Sources,
} from '../lists/sources.ts';
import { contributionKinds, tagOf } from '../state/contributions.ts';
import type { Entries } from '../state/entries.ts';
import type { RowBatch } from '../state/events.ts';
import type { ExpandJob } from './expand.worker.ts';
import { createAllowlist, createManualEntries, retractGroup } from './operator-ranges.ts';

const againMs = minuteMs;
/** Others get their turn after this long, looked at every so many rows. */
const rowsPerSlice = 64;

/** A group as a row of manual entries or of the allowlist names it. */
interface WantedGroup {
  readonly list: 'seed' | 'allow';
  readonly name: string;
  readonly group: NetworkGroup;
  readonly score: number;
  /** Milliseconds since 1970; 0: it does not end. */
  readonly endsAt: number;
  readonly check: RowCheck;
}

/** The thread that writes groups out. */
export function openExpansion(tables: SharedArrayBuffer, systems: GeoSource | undefined) {
  const worker = new URL('./expand.worker.js', import.meta.url);
  const thread = openLoneThread<ExpandJob, RowBatch>(worker, 1);
  return {
    rowsOf: (group: NetworkGroup, score: number) => thread.run({ group, score, tables, systems }),
    close: thread.close,
  };
}

export function createGroupKeeper(options: {
  readonly store: Store;
  /** Returns false while another node has the lease. */
  readonly isMine: () => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly state: { readonly entries: Entries; readonly sources: Pick<Sources, 'list'> };
  /** Resolves when the event is applied. */
  readonly catchUpTo: CatchUpTo;
  /** Returns the networks of a group as sorted rows, each with this score. */
  readonly rowsOf: (group: NetworkGroup, score: number) => Promise<RowBatch>;
}) {
  const { store, isMine, clock, log, state } = options;
  const own = createManualEntries(options);
  const allowlist = createAllowlist(options);
  /**
   * By list and name: the version of the row that was written out, the run, and when one that failed is tried
   * again.
   */
  const known = new Map<
    string,
    { readonly version: number | null; readonly run: string | undefined; readonly againAt: number }
  >();
  let count = 0;

  async function wantedGroups(): Promise<WantedGroup[]> {
    const rows = [
      ...(await own.groups()).map((row) => ({ ...row, list: 'seed' as const })),
      ...(await allowlist.groups()).map((row) => ({
        ...row,
        list: 'allow' as const,
        score: 0,
        endsAt: 0,
      })),
    ];
    return rows.flatMap(({ list, prefix: name, score, endsAt, check }) => {
      const group = parseNetworkGroup(name);
      return typeof group === 'object' ? [{ list, name, group, score, endsAt, check }] : [];
    });
  }

  const sourceOf = ({ list, name }: Pick<WantedGroup, 'list' | 'name'>) =>
    state.sources.list().find((one) => one.list === list && one.source === listOfGroup(name));

  /** Returns whether the memory holds exactly these rows, until then. */
  async function isLoaded(wanted: WantedGroup, rows: RowBatch): Promise<boolean> {
    const { list, name, endsAt, score } = wanted;
    const source = sourceOf(wanted);
    const { row } = await findList(store, { list, source: listOfGroup(name) });
    if (source?.complete !== true || row?.loading !== false || row.run !== source.run) return false;
    if (row.rows !== rows.count || !endsAsWanted(source, endsAt)) return false;
    const { contributions, get } = state.entries;
    const tag = tagOf(contributionKinds[list], source.number);
    const scheduler = createScheduler();
    for (let i = 0; i < rows.count; i++) {
      if (i % rowsPerSlice === 0 && scheduler.shouldYield()) await scheduler.yield();
      const words = rows.words.subarray(4 * i, 4 * i + 4);
      const entry = get(rows.families[i] === 4 ? 4 : 6, words, rows.lengths[i]!);
      const node = entry === 0 ? 0 : contributions.find(entry, tag);
      if (node === 0 || (contributions.listed[node]! & 0xff) !== score) return false;
    }
    return true;
  }

  /** @returns why it could not be written, if so */
  async function write(wanted: WantedGroup): Promise<string | undefined> {
    const { list, name, group, score, endsAt, check } = wanted;
    const rows = await options.rowsOf(group, score);
    if (!isMine() || (await isLoaded(wanted, rows))) return undefined;
    const done = await loadList({
      ...options,
      list,
      source: listOfGroup(name),
      holdDays: holdDaysUntil(endsAt, clock.now()),
      batches: splitRows(rows),
      unlessChanged: check,
      onRows: () => {},
    });
    // The row was changed meanwhile, and is written out by what it says now.
    if (!done.ok) return done.error === 'conflict' ? '' : (done.detail ?? done.error);
    await options.catchUpTo(done.value);
    const facts = { group: name, kind: list, networks: rows.count };
    if (rows.count > 0) log.info(facts, 'lists: networks of a group written');
    else log.warn(facts, 'lists: the geo tables know no network of a group');
    return undefined;
  }

  async function keep(wanted: WantedGroup): Promise<void> {
    const key = `${wanted.list}/${wanted.name}`;
    const { version } = wanted.check;
    const before = known.get(key);
    const isSame = before?.version === version && before.run === sourceOf(wanted)?.run;
    if (isSame && clock.now() < before.againAt) return;
    const reason = await write(wanted).catch((error: unknown) => {
      log.error({ err: error, group: wanted.name }, 'lists: networks of a group not written');
      return 'an unexpected error, which the log has';
    });
    if (reason) log.warn({ group: wanted.name, reason }, 'lists: networks of a group not written');
    const againAt = reason === undefined ? Number.POSITIVE_INFINITY : clock.now() + againMs;
    if (reason === '') known.delete(key);
    else known.set(key, { version, run: sourceOf(wanted)?.run, againAt });
  }

  /** Writes out what is new, and takes back what no row names any more. */
  async function poll(): Promise<void> {
    if (!isMine()) {
      known.clear();
      return;
    }
    const now = clock.now();
    const wanted = await wantedGroups();
    count = wanted.length;
    const names = new Set<string>();
    for (const one of wanted) {
      const isOver = one.endsAt !== 0 && one.endsAt <= now;
      if (isOver && (await own.end(one.name))) log.info({ range: one.name }, 'manual entry ended');
      else names.add(`${one.list}/${one.name}`);
    }
    for (const key of known.keys()) if (!names.has(key)) known.delete(key);
    for (const source of state.sources.list()) await retractUnnamed(source, names);
    for (const one of wanted) if (names.has(`${one.list}/${one.name}`)) await keep(one);
  }

  async function retractUnnamed(source: Source, names: ReadonlySet<string>): Promise<void> {
    const group = groupOfList(source);
    const { list } = source;
    if (group === undefined || (list !== 'seed' && list !== 'allow')) return;
    if (names.has(`${list}/${group}`) || source.holdDays === 0) return;
    await retractGroup(options, list, group);
  }

  return { poll, count: () => count };
}

/** A whole number of days that ends on the day of the end, or behind it. */
function holdDaysUntil(endsAt: number, now: number): number {
  if (endsAt === 0) return foreverDays;
  return Math.min(foreverDays - 1, Math.floor((endsAt - now) / dayMs) + 1);
}

function endsAsWanted({ holdDays, holdUntilMs }: Source, endsAt: number): boolean {
  if (endsAt === 0) return holdDays === foreverDays;
  const longer = holdUntilMs - endsAt;
  return holdDays !== foreverDays && longer >= 0 && longer <= dayMs + minuteMs;
}
