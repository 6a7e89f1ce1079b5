/**
 * Refuses a report of an address that the account has reported a moment ago, on a store that this
 * process alone writes to: the pairs of account and address are in memory, and read from the journal after
 * a start, in the background; a report that comes before its end waits for it. Several processes on one store
 * use rows instead (`report-store.ts`); they ask here only for reports that the journal has from before the
 * move.
 *
 * Invariants: a pair is taken before its report is written, so of two reports in one turn the second
 * waits for the first; it counts once the report is on disk, and is free again when it could not be
 * written. Time is that of a clock that never goes back. When the memory is full, a report is guarded by a
 * row as well.
 */

import { type CatchUpTo, duplicateReportMs } from '../../../contracts/reputation.ts';
import type { BoundedTable } from '../../../core/bounded-tables.ts';
import type { Clock } from '../../../core/clock.ts';
import type { Random } from '../../../core/random.ts';
import { fail, ok, type Result } from '../../../core/result.ts';
import { type IpFamily, type IpWords, wordCountOf } from '../../../ip/address.ts';
import { widthOf } from '../../../ip/prefix.ts';
import { reportGuardPrefix } from '../../../storage/keys.ts';
import { DamagedRowError } from '../../../storage/rows.ts';
import { JournalPrunedError, type Store, seqBefore } from '../../../storage/store.ts';
import type { Entries } from '../../state/entries.ts';
import { reportAdded } from '../../state/events.ts';

/** Pairs in memory at most, of 37 bytes: 1,165 reports a second for 15 minutes. Beyond, rows stand guard. */
const pairsMaxDefault = 2 ** 20;
const pairsAtFirst = 2 ** 10;
/** Few steps, the last of them from few pairs: all are copied in one turn. What is not used yet takes no memory. */
const growth = 32;
const pageEvents = 1_000;

interface Pair extends IpWords {
  readonly account: string;
}

/** The states of a pair. */
const free = 0;
const underWay = 1;
const standing = 2;

type GuardSequence = number;

/**
 * `sequence`: the pair is taken until `settle`, by a row if it is undefined. `wait`: what is decided about
 * the pair is not known yet; ask again.
 */
type PairTaken =
  | { readonly kind: 'taken'; readonly sequence: GuardSequence | undefined }
  | { readonly kind: 'duplicate' }
  | { readonly kind: 'wait'; readonly until: Promise<unknown> };

const duplicate: PairTaken = { kind: 'duplicate' };

/** Pairs in the order in which they were taken, found by hash: a ring of cells, none of which is an object. */
export function createReportGuards(options: {
  store: Pick<Store, 'soleOwner' | 'read' | 'lastSeq' | 'scan'>;
  clock: Clock;
  random: Random;
  guardsMax?: number;
}) {
  const { store, clock, random, guardsMax: pairsMax = pairsMaxDefault } = options;
  const seed = Buffer.from(random.bytes(4)).readUInt32BE();
  const accounts = createAccountNumbers();
  let ring = createRing(Math.min(pairsAtFirst, pairsMax));
  /** Sequences only grow: the oldest one kept, and the next. */
  let oldest: GuardSequence = 0;
  let next: GuardSequence = 0;
  /** The journal is read from behind this event on before anything is decided; undefined: it was read. */
  let unreadAfter: bigint | 'start' | undefined = 'start';
  let reading: Promise<void> | undefined;
  let doubts = 0;
  /** Until then there may be guards that are rows. */
  let rowsUntilMs = Number.NEGATIVE_INFINITY;
  /** Whoever waits for a report under way, by its sequence. */
  const waiters = new Map<GuardSequence, (() => void)[]>();
  /** Pairs that a withdrawal works on, and how many do. */
  const held = new Map<string, Hold>();

  function hashOf(account: number, family: IpFamily, words: Uint32Array): number {
    let hash = Math.imul(account ^ seed, 0x9e37_79b1) ^ family;
    const count = wordCountOf(family);
    for (let i = 0; i < count; i++) {
      hash = Math.imul(hash ^ words[i]!, 0x85eb_ca6b);
      hash ^= hash >>> 15;
    }
    hash = Math.imul(hash, 0xc2b2_ae35);
    return (hash ^ (hash >>> 16)) >>> 0;
  }

  function isOf(cell: number, account: number, family: IpFamily, words: Uint32Array): boolean {
    if (ring.account[cell] !== account || ring.family[cell] !== family) return false;
    const count = wordCountOf(family);
    for (let i = 0; i < count; i++) if (ring.words[4 * cell + i] !== words[i]) return false;
    return true;
  }

  /** Returns the sequence of a pair that is under way or stands; -1: none. */
  function find({ account: name, family, words }: Pair, nowMs: number): GuardSequence {
    const account = accounts.find(name);
    if (account === undefined) return -1;
    let cell = ring.heads[hashOf(account, family, words) & (ring.size - 1)]! - 1;
    for (; cell >= 0; cell = ring.following[cell]! - 1) {
      if (!isOf(cell, account, family, words)) continue;
      const isOver =
        ring.state[cell] === standing && nowMs - ring.madeMs[cell]! >= duplicateReportMs;
      return isOver ? -1 : sequenceOf(cell);
    }
    return -1;
  }

  function sequenceOf(cell: number): GuardSequence {
    const behind = (cell - (oldest % ring.size) + ring.size) % ring.size;
    return oldest + behind;
  }

  /** Takes a cell out of its chain. */
  function unlink(cell: number): void {
    const words = ring.words.subarray(4 * cell, 4 * cell + 4);
    const account = ring.account[cell]!;
    const head = hashOf(account, ring.family[cell] as IpFamily, words) & (ring.size - 1);
    let at = ring.heads[head]! - 1;
    if (at === cell) ring.heads[head] = ring.following[cell]!;
    else {
      while (ring.following[at]! - 1 !== cell) at = ring.following[at]! - 1;
      ring.following[at] = ring.following[cell]!;
    }
    ring.state[cell] = free;
    accounts.leave(account);
  }

  function link(cell: number): void {
    const words = ring.words.subarray(4 * cell, 4 * cell + 4);
    const head =
      hashOf(ring.account[cell]!, ring.family[cell] as IpFamily, words) & (ring.size - 1);
    ring.following[cell] = ring.heads[head]!;
    ring.heads[head] = cell + 1;
  }

  /** Removes expired guards, the oldest first. */
  function dropOver(nowMs: number): void {
    while (oldest < next) {
      const cell = oldest % ring.size;
      if (ring.state[cell] === underWay) return;
      if (ring.state[cell] === standing) {
        if (nowMs - ring.madeMs[cell]! < duplicateReportMs) return;
        unlink(cell);
      }
      oldest++;
    }
  }

  /** Returns true if there is room for one more. */
  function makeRoom(): boolean {
    if (next - oldest < ring.size) return true;
    if (ring.size >= pairsMax) return false;
    const former = ring;
    ring = createRing(Math.min(pairsMax, growth * former.size));
    for (let sequence = oldest; sequence < next; sequence++) {
      const [from, to] = [sequence % former.size, sequence % ring.size];
      ring.state[to] = former.state[from]!;
      if (ring.state[to] === free) continue;
      ring.account[to] = former.account[from]!;
      ring.family[to] = former.family[from]!;
      ring.madeMs[to] = former.madeMs[from]!;
      for (let i = 0; i < 4; i++) ring.words[4 * to + i] = former.words[4 * from + i]!;
      link(to);
    }
    return true;
  }

  /** Returns the sequence of the pair, which is not there yet; undefined: there is no room. */
  function add(
    { account, family, words }: Pair,
    madeMs: number,
    state: number,
  ): GuardSequence | undefined {
    if (!makeRoom()) return undefined;
    const sequence = next++;
    const cell = sequence % ring.size;
    ring.state[cell] = state;
    ring.account[cell] = accounts.enter(account);
    ring.family[cell] = family;
    ring.madeMs[cell] = madeMs;
    for (let i = 0; i < 4; i++) ring.words[4 * cell + i] = family === 6 || i === 0 ? words[i]! : 0;
    link(cell);
    return sequence;
  }

  /**
   * Asks for a pair, for a report that is written next.
   * @param askedMs when the report came, by the monotonic clock
   */
  function take(pair: Pair, askedMs = clock.monotonicMs()): PairTaken {
    if (unreadAfter !== undefined) return { kind: 'wait', until: readJournalOnce() };
    const hold = held.size === 0 ? undefined : held.get(nameOf(pair));
    if (hold !== undefined) return { kind: 'wait', until: hold.over };
    dropOver(askedMs);
    const sequence = find(pair, askedMs);
    if (sequence < 0) return { kind: 'taken', sequence: add(pair, askedMs, underWay) };
    if (ring.state[sequence % ring.size] === standing) return duplicate;
    return { kind: 'wait', until: whenSettled(sequence) };
  }

  function whenSettled(sequence: GuardSequence): Promise<void> {
    return new Promise((resolve) => {
      const others = waiters.get(sequence);
      if (others === undefined) waiters.set(sequence, [resolve]);
      else others.push(resolve);
    });
  }

  /** To be called once for each pair that was taken. @param isWritten the report is on disk */
  function settle(sequence: GuardSequence, isWritten: boolean): void {
    const cell = sequence % ring.size;
    if (isWritten) ring.state[cell] = standing;
    else unlink(cell);
    if (waiters.size === 0) return;
    for (const wake of waiters.get(sequence) ?? []) wake();
    waiters.delete(sequence);
  }

  /** Keeps reports of a pair waiting, once none is under way. @returns lets them go on */
  async function hold(pair: Pair): Promise<() => void> {
    const name = nameOf(pair);
    const own = held.get(name) ?? openHold();
    held.set(name, own);
    own.count++;
    const sequence = find(pair, clock.monotonicMs());
    if (sequence >= 0 && ring.state[sequence % ring.size] === underWay) await whenSettled(sequence);
    return () => {
      own.count--;
      if (own.count > 0) return;
      held.delete(name);
      own.end();
    };
  }

  /**
   * Returns whether the journal from before the start has a report of the pair, on a store where rows stand guard:
   * it was moved here from one without them. While it has a row its journal is not read.
   */
  async function wasReported(pair: Pair): Promise<boolean> {
    if (unreadAfter !== undefined) await readJournalOnce();
    if (oldest === next) return false;
    const nowMs = clock.monotonicMs();
    dropOver(nowMs);
    return find(pair, nowMs) >= 0;
  }

  /**
   * Says that it is unknown whether reports behind this event were written: the journal is asked before
   * the next one.
   */
  function readAgainFrom(afterSeq: bigint): void {
    doubts++;
    if (unreadAfter === 'start') return;
    if (unreadAfter === undefined || afterSeq < unreadAfter) unreadAfter = afterSeq;
  }

  function readJournalOnce(): Promise<void> {
    reading ??= readJournal().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  async function readJournal(): Promise<void> {
    const before = doubts;
    let after = unreadAfter!;
    if (after === 'start') {
      const [row] = await store.scan(reportGuardPrefix(), { limit: 1 });
      if (row !== undefined && store.soleOwner === undefined) {
        unreadAfter = undefined;
        return;
      }
      if (row !== undefined) rowsUntilMs = clock.monotonicMs() + duplicateReportMs;
      after = await seqBefore(store, clock.now() - duplicateReportMs);
    }
    for (;;) {
      const page = await readKept(after);
      for (const event of page) {
        after = event.seq;
        if (event.kind !== reportAdded.kind) continue;
        const report = reportAdded.decode(event.version, event.body);
        if (report !== undefined) note(report, event.at);
      }
      if (page.length === 0) break;
      await new Promise(setImmediate);
    }
    // A report that came into doubt meanwhile may have been written since.
    if (doubts === before) unreadAfter = undefined;
  }

  async function readKept(after: bigint) {
    try {
      return await store.read(after, pageEvents);
    } catch (error) {
      // A row that can't be read guards nothing.
      if (error instanceof DamagedRowError) return [];
      if (!(error instanceof JournalPrunedError)) throw error;
      return store.read(error.prunedThrough, pageEvents);
    }
  }

  /** Notes a report that the journal has. One of the future is of a clock that was set back: nobody waits for it. */
  function note(pair: Pair, at: number): void {
    const nowMs = clock.monotonicMs();
    const ageMs = clock.now() - at;
    if (ageMs < 0 || ageMs >= duplicateReportMs || find(pair, nowMs) >= 0) return;
    const madeMs = nowMs - ageMs;
    if (add(pair, madeMs, standing) !== undefined || !dropOldest()) return;
    add(pair, madeMs, standing);
  }

  /** Evicts the guard that expires first. */
  function dropOldest(): boolean {
    const cell = oldest % ring.size;
    if (ring.state[cell] === underWay) return false;
    if (ring.state[cell] === standing) unlink(cell);
    oldest++;
    return true;
  }

  const tables: readonly BoundedTable[] = [
    { name: 'report_guards', used: () => next - oldest, limit: pairsMax },
  ];
  return {
    take,
    settle,
    hold,
    readAgainFrom,
    wasReported,
    /** Reads the journal, if that was not done yet. What can't be read now is read at the first report. */
    readAhead: async (): Promise<void> => {
      if (unreadAfter !== undefined) await readJournalOnce();
    },
    /** Notes that a guard is a row: others are looked for. */
    noteRow(): void {
      rowsUntilMs = clock.monotonicMs() + duplicateReportMs;
    },
    /** True while there may be guards that are rows. */
    hasRows: (): boolean => clock.monotonicMs() < rowsUntilMs,
    tables,
  };
}

export type ReportGuards = ReturnType<typeof createReportGuards>;

function openHold() {
  let end!: () => void;
  const over = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { count: 0, over, end };
}

type Hold = ReturnType<typeof openHold>;

function nameOf({ account, family, words }: Pair): string {
  return `${account} ${family} ${words.join()}`;
}

function createRing(size: number) {
  return {
    size,
    state: new Uint8Array(size),
    family: new Uint8Array(size),
    account: new Uint32Array(size),
    words: new Uint32Array(4 * size),
    madeMs: new Float64Array(size),
    /** Cell and one of the next pair with the same head; 0: none. */
    following: new Uint32Array(size),
    /** By hash: cell and one; 0: none. */
    heads: new Uint32Array(size),
  };
}

/** Numbers of accounts that have a pair here; a number is free again when the last one goes. */
function createAccountNumbers() {
  const numbers = new Map<string, number>();
  const names: string[] = [];
  const counts: number[] = [];
  const unused: number[] = [];
  return {
    find: (name: string): number | undefined => numbers.get(name),
    enter(name: string): number {
      let number = numbers.get(name);
      if (number === undefined) {
        number = unused.pop() ?? names.length;
        numbers.set(name, number);
        names[number] = name;
        counts[number] = 0;
      }
      counts[number]!++;
      return number;
    },
    leave(number: number): void {
      counts[number]!--;
      if (counts[number] !== 0) return;
      numbers.delete(names[number]!);
      unused.push(number);
    },
  };
}

// Decides which reports are accepted, before anything is written. The index must have room, and an account may add a
// limited number of new addresses a day, since one account could fill the index alone. New addresses in reports under
// way count too: a file has hundreds of them at a time.

type Settle = (seq?: bigint) => void;

const nothingToSettle: Result<Settle> = ok(() => undefined);

export function createReportAdmission(options: {
  entries: Pick<Entries, 'hasRoomFor' | 'get'>;
  clock: Clock;
  /** On the UTC day of `at`. */
  newAddresses: (slot: number, at: number) => { limit: number; used: number };
  secondsLeftOfDay: (at: number) => number;
  /** Resolves when the event is counted among `newAddresses`; may reject when it never will be. */
  catchUpTo: CatchUpTo;
}) {
  const { entries, clock, newAddresses, secondsLeftOfDay, catchUpTo } = options;
  /** New addresses under way, of the accounts that have some. */
  const underWay = new Map<number, Map<string | number, IpWords>>();

  const isKnown = ({ family, words }: IpWords) => entries.get(family, words, widthOf(family)) !== 0;

  function enter(slot: number, name: string | number, address: IpWords): Settle {
    const own = underWay.get(slot) ?? new Map();
    underWay.set(slot, own.set(name, address));
    function leave(): void {
      own.delete(name);
      if (own.size === 0 && underWay.get(slot) === own) underWay.delete(slot);
    }
    return (seq) => {
      if (seq === undefined) leave();
      else catchUpTo(seq).then(leave, leave);
    };
  }

  /**
   * Drops what would count twice of what an account has under way: an event is counted before its writer learns of
   * it. Far from the limit nothing is looked at.
   */
  function dropKnown(slot: number, now: number): void {
    const { limit, used } = newAddresses(slot, now);
    const own = underWay.get(slot);
    if (own === undefined || used + own.size < limit) return;
    for (const [name, address] of own) if (isKnown(address)) own.delete(name);
  }

  /** Returns true when an account has no new address left today. */
  function isUsedUp(slot: number, now: number): boolean {
    const { limit, used } = newAddresses(slot, now);
    return used + (underWay.get(slot)?.size ?? 0) >= limit;
  }

  return {
    /**
     * `capacity_exceeded`, `address_quota_exceeded`; else it may be written.
     * @returns to be called once, with the position of the report's event, or without when there is none
     */
    admit(slot: number, family: IpFamily, words: Uint32Array): Result<Settle> {
      if (!entries.hasRoomFor(family, words)) {
        return fail('capacity_exceeded', 'No more addresses can be recorded at the moment.');
      }
      if (isKnown({ family, words })) return nothingToSettle;
      const name = family === 4 ? words[0]! : words.join();
      // It counts once; the first of its reports settles it.
      if (underWay.get(slot)?.has(name) === true) return nothingToSettle;
      const now = clock.now();
      dropKnown(slot, now);
      if (!isUsedUp(slot, now)) return ok(enter(slot, name, { family, words: words.slice() }));
      const { limit } = newAddresses(slot, now);
      const detail =
        `The limit of ${limit} new addresses a day is reached. ` +
        'Addresses that were reported before can still be reported.';
      const failure = fail('address_quota_exceeded', detail, 'ip');
      return { ...failure, retryAfterSeconds: secondsLeftOfDay(now) };
    },
  };
}

export type ReportAdmission = ReturnType<typeof createReportAdmission>;
