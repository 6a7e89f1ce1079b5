/**
 * The reported hosts of a network. The trie is walked in slices, each within one turn of the
 * event loop; in between it may change, because a walk goes on from a prefix and not from a
 * place in memory. So nothing of an entry but its values is kept across a slice: an address
 * that comes or goes during the walk is found or not, and no other is missed.
 *
 * However many a network holds, the worst `blockHostsMax` are kept, in a heap.
 */

import type { Clock } from '../../core/clock.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import type { SliceScheduler } from '../../core/scheduling.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import { firstReportedAtOf, lastReportedAtOf, reportsOf } from '../../index/records.ts';
import { type Prefix, widthOf } from '../../ip/prefix.ts';
import type { ReportStore } from '../reports/store/report-store.ts';
import type { Check } from './check.ts';

export interface ReportedHost {
  readonly words: Uint32Array;
  readonly score: number;
  readonly reports: number;
  /** Seconds since 1970. */
  readonly lastReportedAt: number;
}

interface BlockCheckRules {
  /** Hosts whose last report is older don't show. Milliseconds since 1970. */
  readonly since: number;
  /** Called before each thousand entries but the first; false ends the walk with `quota_exceeded`. */
  readonly mayGoOn: () => boolean;
  /** Returns false once nobody waits for the answer: the work ends, whatever was found. */
  readonly isWanted: () => boolean;
}

export type BlockCheck = ReturnType<typeof createBlockCheck>;

export const blockHostsMax = 10_000;
/** Entries walked for each call of `mayGoOn`. */
const entriesPerCharge = 1_000;
/** Reports read for one answer, to count those within the time asked for. */
const reportsCountedMax = 50_000;
/** Entries walked between two reads of the clock. */
const entriesPerStep = 250;

/** A host on the way into the answer. */
interface Candidate extends ReportedHost {
  reports: number;
  readonly firstReportedAt: number;
}

export function createBlockCheck(options: {
  index: IpIndex;
  check: Check;
  reports: ReportStore;
  clock: Clock;
  scheduler: SliceScheduler;
}) {
  const { index, check, reports, clock, scheduler } = options;
  const { records } = index;

  /** Returns the host behind an entry, if it was reported in time. */
  function candidateOf(entry: number, width: number, sinceSeconds: number): Candidate | undefined {
    const count = reportsOf(records, entry);
    const lastReportedAt = lastReportedAtOf(records, entry);
    if (count === 0 || lastReportedAt < sinceSeconds) return undefined;
    const prefix = index.prefixOf(entry);
    if (prefix === undefined || prefix.length !== width) return undefined;
    const words = new Uint32Array(4);
    words.set(prefix.words);
    const { score } = check.judge(prefix.family, words, clock.now());
    const firstReportedAt = firstReportedAtOf(records, entry);
    return { words, score, reports: count, firstReportedAt, lastReportedAt };
  }

  async function walk(network: Prefix, rules: BlockCheckRules): Promise<Candidate[] | undefined> {
    const worst = createHeap(blockHostsMax);
    const width = widthOf(network.family);
    const sinceSeconds = Math.ceil(rules.since / 1_000);
    let walked = 0;
    let position: ReturnType<IpIndex['walk']>;
    await scheduler.yield();
    for (;;) {
      position = index.walk(
        network,
        (entry) => {
          const candidate = candidateOf(entry, width, sinceSeconds);
          if (candidate !== undefined) worst.offer(candidate);
        },
        { after: position, limit: entriesPerStep },
      );
      if (!rules.isWanted()) return [];
      if (position === undefined) return worst.sorted();
      walked += entriesPerStep;
      if (walked % entriesPerCharge === 0 && !rules.mayGoOn()) return undefined;
      await yieldToOthers();
    }
  }

  async function yieldToOthers(): Promise<void> {
    if (scheduler.shouldYield()) await scheduler.yield();
  }

  /**
   * The index counts the reports of a year. Where some are older than what is asked for, those
   * within are counted in the store, up to a bound for the whole answer.
   */
  async function count(
    network: Prefix,
    hosts: Candidate[],
    { since, isWanted }: BlockCheckRules,
  ): Promise<void> {
    async function goOn(): Promise<boolean> {
      await yieldToOthers();
      return isWanted();
    }
    let left = reportsCountedMax;
    for (const host of hosts) {
      if (!isWanted()) return;
      if (host.firstReportedAt * 1_000 >= since || left === 0) continue;
      // The count may be 0: the report in time was withdrawn since, and the index doesn't know.
      host.reports = await reports.count(network.family, host.words, since, left, goOn);
      left -= host.reports;
    }
  }

  /** Finds hosts, the worst first: by score, then last report, then address. */
  async function find(network: Prefix, rules: BlockCheckRules): Promise<Result<ReportedHost[]>> {
    const hosts = await walk(network, rules);
    if (hosts === undefined) return fail('quota_exceeded');
    await count(network, hosts, rules);
    return ok(hosts.filter((host) => host.reports > 0));
  }

  return { find };
}

/** Negative when `a` comes before `b` in the answer. */
function order(a: ReportedHost, b: ReportedHost): number {
  if (a.score !== b.score) return b.score - a.score;
  if (a.lastReportedAt !== b.lastReportedAt) return b.lastReportedAt - a.lastReportedAt;
  for (let i = 0; i < 4; i++) {
    if (a.words[i] !== b.words[i]) return a.words[i]! - b.words[i]!;
  }
  return 0;
}

/** Keeps the first `max` by `order`, the last of them on top. */
function createHeap(max: number) {
  const heap: Candidate[] = [];

  function swap(a: number, b: number): void {
    const item = heap[a]!;
    heap[a] = heap[b]!;
    heap[b] = item;
  }

  function rise(from: number): void {
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (order(heap[at]!, heap[parent]!) <= 0) return;
      swap(at, parent);
      at = parent;
    }
  }

  function sink(): void {
    for (let at = 0; ; ) {
      let last = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < heap.length && order(heap[child]!, heap[last]!) > 0) last = child;
      }
      if (last === at) return;
      swap(at, last);
      at = last;
    }
  }

  return {
    offer(item: Candidate): void {
      if (heap.length < max) {
        heap.push(item);
        rise(heap.length - 1);
      } else if (order(item, heap[0]!) < 0) {
        heap[0] = item;
        sink();
      }
    },
    sorted: () => heap.sort(order),
  };
}

export const blockBounds = {
  /** The widest networks that may be asked for. */
  shortest: { 4: 16, 6: 48 },
} as const;
