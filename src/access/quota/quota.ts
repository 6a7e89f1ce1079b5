/**
 * Quotas in shared memory: two (read, write) for each account slot, spent by all threads; and at the end the guard
 * of routes that need a key, which finds the account and charges its quota.
 *
 * Promise. Each admitted call has a moment, `countedAtMs`, that lies between the clock reading
 * passed in and the call's return. Among those moments no window of 239 buckets (59.75 s) holds
 * more cost than the limit at its last admission: so no 60 s hold more than the limit and what was
 * admitted in one quarter of a second. And what was admitted 60 s before never stands in the way:
 * whoever keeps the limit in every 60 s is never refused. A refused call takes nothing.
 *
 * One quota is 272 words:
 *
 *   word 0   total    cost admitted ever, mod 2^32; only grows, only by compare-and-exchange
 *   word 1   rolled   newest bucket anybody has opened; only grows, only by compare-and-exchange
 *   word 2   oldest   hint: the oldest bucket that still counts, for the reset header
 *   word 3   sent     total, less what was admitted here and not yet sent to other nodes
 *   word 4   refused  part of total whose calls were refused all the same, as for a wrong parameter
 *   16..271  ring     for bucket j, at j mod 256: what `total` was before the first call of j
 *                     ┌────────────────────┬──────────────────┐
 *                     │ j / 256 mod 64 (6) │ total mod 2^26   │
 *                     └────────────────────┴──────────────────┘
 *
 * A bucket is a quarter of a second. A call in bucket s is admitted if total + cost − ring[s − 239]
 * ≤ limit, by exchanging total for total + cost. Before, it must see to it that rolled ≥ s. Whoever
 * opens buckets (rolled, s] loads total, then rolled, writes that total into their ring words, then
 * exchanges rolled for s.
 *
 * Proof that the bound holds. Let i be admitted in bucket s, k before it (in the order of exchanges
 * of total) in a bucket ≥ j = s − 239. The word that i read for j was written by some w who loaded
 * total while rolled < j; k's exchange came when rolled ≥ j; so w's total doesn't include k, and i
 * counted k. Take any 239 buckets' time of moments and their last admission by that order: all the
 * others are in buckets ≥ its own − 239, so all were counted against the limit. ∎
 *
 * A thread may sleep anywhere. (a) Between its clock reading and here: it is moved up to `rolled`,
 * a bucket that has begun, so the moment is still inside the call. (b) Before the exchange of
 * total: if anyone was admitted meanwhile the exchange fails. If nobody was, the ring word it read
 * was right for its bucket, and its moment is in that bucket. (c) Before reading the ring word,
 * until that word serves bucket j + 256·n: the upper bits show it, and whoever wrote it had read a
 * clock ≥ that bucket, so the sleeper moves up to it. (d) While writing ring words: an older total
 * only makes others stricter. If it slept more than a whole ring the upper bits say "older" and
 * that word's one bucket is refused. The upper bits repeat after 68 minutes.
 *
 * Nothing stands in the way for longer than 240 buckets, 60 s, because the writer of j's word
 * loaded total after reading a clock ≥ j, so everything exchanged before j began is outside; and
 * the call comes less than 240 buckets after that.
 *
 * With other nodes on one database (`distributed-limits.ts`): what they admitted is added to `total`
 * when it is received, and counts in the window from then on. So that all nodes together keep the
 * limit between two exchanges, a call assumes that each other node has admitted as much as is
 * pending here. The first call after an exchange is exempt, since one that costs more than a node's
 * part of the limit would never be admitted. The number of other nodes is the one word behind all
 * quotas; without others it is 0, and nothing else is read.
 *
 * Cost: one atomic operation for an admitted call, none for a refused one;
 * the first call of an account in a bucket does two more, and writes a word for each bucket since
 * its last. The others are plain loads: a stale `total` fails its exchange, a stale `rolled` leads
 * to `roll`, which loads in order.
 */

import type { Clock } from '../../core/clock.ts';
import { type AccountsTable, perMinuteMax } from '../accounts/accounts-table.ts';
import { keyScopes } from '../keys/key-format.ts';
import { type KeyCache, noKey } from '../keys/key-table.ts';

export const quotaKind = { read: 0, write: 1 } as const;
export type QuotaKind = (typeof quotaKind)[keyof typeof quotaKind];

/** They count in addition to the bucket that the call is in: together at most 60 s. */
const bucketsBefore = 239;
const ringBits = 8;
const ringLength = 2 ** ringBits;
const ringMask = ringLength - 1;
const ringAt = 16;
const wordsPerQuota = ringAt + ringLength;
const rolledAt = 1;
const oldestAt = 2;
const sentAt = 3;
const refusedAt = 4;
/** Words behind all quotas, on a cache line of their own: the first has the number of other nodes. */
const tailWords = 16;
/** Written one by one faster than filled. */
const fewBuckets = 16;
const totalBits = 26;
const totalMask = 2 ** totalBits - 1;
/** Bucket numbers start above the ring's length, so that "239 before" is never negative. */
const bucketShift = 2 * ringLength;
/** Each failed round means that another thread's call went through; at the bound: refuse. */
const roundsMax = 1_000;

/** `take` leaves its findings in the fields, so that it allocates nothing. */
export interface Quotas {
  /**
   * Admits `cost` (a whole number ≥ 0, refused whole when less is left) or takes nothing.
   * `nowMs` is `Clock.monotonicMs()`, read just before. A cost of 0 only fills the fields.
   */
  take(accountSlot: number, kind: QuotaKind, cost: number, nowMs: number): boolean;
  /** Cost per minute. */
  limit: number;
  remaining: number;
  /** Epoch second by which the oldest counted cost has left the window. */
  resetSecond: number;
  /** 0 when admitted; else whole seconds until this cost would fit if nobody spends meanwhile. */
  retryAfterSeconds: number;
  /** The moment on the monotonic clock for which the call was judged. */
  countedAtMs: number;
}

export interface OpenQuotas extends Quotas {
  /** Notes that a call was refused after it had paid. */
  noteRefused(accountSlot: number, kind: QuotaKind, cost: number): void;
  /** Adds what was admitted elsewhere, also past the limit. */
  charge(accountSlot: number, kind: QuotaKind, cost: number, nowMs: number): void;
}

interface QuotaOptions {
  readonly handle: QuotaHandle;
  readonly accounts: Pick<AccountsTable, 'readPerMinute' | 'writePerMinute'>;
  readonly clock: Clock;
  /** 250; other values scale the minute, for tests. */
  readonly bucketMs?: number;
}

/** 2,176 bytes for each account slot once used; an untouched one costs address space only. */
export function createQuotaMemory(accountCapacity: number) {
  const words = accountCapacity * 2 * wordsPerQuota + tailWords;
  return { buffer: new SharedArrayBuffer(words * 4) };
}

/** Can be posted to another thread. */
export type QuotaHandle = ReturnType<typeof createQuotaMemory>;

/** Opens the counts that are exchanged with other nodes. */
export function openQuotaSent({ buffer }: QuotaHandle) {
  const words = new Int32Array(buffer);
  return {
    words,
    slots: (words.length - tailWords) / (2 * wordsPerQuota),
    /** @param total the total that the other nodes know of */
    set(accountSlot: number, kind: QuotaKind, total: number): void {
      Atomics.store(words, (accountSlot * 2 + kind) * wordsPerQuota + sentAt, total | 0);
    },
    setOtherNodes: (otherNodes: number) =>
      Atomics.store(words, words.length - tailWords, otherNodes),
  };
}

/**
 * Returns the cost ever admitted for an account, mod 2^32, so that statistics can use differences. It is
 * one plain load, which may be a moment old.
 */
export function admittedTotal(words: Int32Array, accountSlot: number, kind: QuotaKind): number {
  return words[(accountSlot * 2 + kind) * wordsPerQuota]! >>> 0;
}

/** Returns the cost ever admitted for calls that were answered, mod 2^32. */
export function answeredTotal(words: Int32Array, accountSlot: number, kind: QuotaKind): number {
  const quotaAt = (accountSlot * 2 + kind) * wordsPerQuota;
  return (words[quotaAt]! - words[quotaAt + refusedAt]!) >>> 0;
}

export function openQuotas(options: QuotaOptions): OpenQuotas {
  const { accounts, clock, bucketMs = 250 } = options;
  const words = new Int32Array(options.handle.buffer);
  const otherNodesAt = words.length - tailWords;
  let wallOffsetMs = clock.now() - clock.monotonicMs();
  let wallOffsetBucket = 0;

  /** Fills the ring one round at a time, for an account that was idle. */
  function fillRing(quotaAt: number, oldest: number, bucket: number, total: number): void {
    for (let j = oldest; j <= bucket; ) {
      const end = Math.min(bucket, j | ringMask);
      const at = ringWordAt(quotaAt, j);
      words.fill((lapOf(j) << totalBits) | total, at, at + end - j + 1);
      j = end + 1;
    }
  }

  /** Opens the buckets up to `bucket`, unless somebody else has. The order of loads matters. */
  function roll(quotaAt: number, bucket: number): void {
    const total = Atomics.load(words, quotaAt) & totalMask;
    const rolled = words[quotaAt + rolledAt]!;
    if (rolled >= bucket) return;
    const oldest = Math.max(rolled, bucket - ringLength) + 1;
    if (bucket - oldest < fewBuckets) {
      for (let j = oldest; j <= bucket; j++) {
        words[ringWordAt(quotaAt, j)] = (lapOf(j) << totalBits) | total;
      }
    } else fillRing(quotaAt, oldest, bucket, total);
    Atomics.compareExchange(words, quotaAt + rolledAt, rolled, bucket);
  }

  /**
   * The oldest bucket of the window behind which at least `least` was spent since `base`, else the
   * newest. By halves: the words only grow, but for those of a thread that slept while it wrote them,
   * and then the answer is a few buckets off.
   */
  function firstBehind(quotaAt: number, base: number, bucket: number, least: number): number {
    let low = bucket - bucketsBefore;
    let high = bucket;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const spent = (words[ringWordAt(quotaAt, middle + 1)]! - base) & totalMask;
      if (spent >= least) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Returns whether `j` is the last bucket before whose calls `total` was still `base`. */
  function isFirstCounted(quotaAt: number, base: number, bucket: number, j: number): boolean {
    return (
      ((words[ringWordAt(quotaAt, j)]! - base) & totalMask) === 0 &&
      (j === bucket || ((words[ringWordAt(quotaAt, j + 1)]! - base) & totalMask) !== 0)
    );
  }

  /** The oldest bucket whose cost still counts; `base` is the total before the window. */
  function oldestCounted(quotaAt: number, base: number, bucket: number): number {
    const hint = words[quotaAt + oldestAt]!;
    const isInside = hint >= bucket - bucketsBefore && hint <= bucket;
    if (isInside && isFirstCounted(quotaAt, base, bucket, hint)) return hint;
    const found = firstBehind(quotaAt, base, bucket, 1);
    words[quotaAt + oldestAt] = found;
    return found;
  }

  /** Milliseconds of the monotonic clock at which nothing of `bucket` counts any more. */
  function leavesAtMs(bucket: number): number {
    return (bucket - bucketShift + bucketsBefore + 1) * bucketMs;
  }

  /** `excess` > 0: how much must leave before the refused cost fits. */
  function retryAfter(quotaAt: number, base: number, bucket: number, excess: number): number {
    const leaves = leavesAtMs(firstBehind(quotaAt, base, bucket, excess));
    return Math.max(1, Math.ceil((leaves - quotas.countedAtMs) / 1_000));
  }

  /** Returns the cost that other nodes may have admitted since the last exchange. */
  function pendingUse(quotaAt: number, total: number, used: number, cost: number): number {
    const otherNodes = words[otherNodesAt]!;
    if (otherNodes === 0) return 0;
    // Pending costs older than the window don't matter.
    const pending = Math.min(used, (total - words[quotaAt + sentAt]!) | 0);
    return pending > 0 ? otherNodes * (pending + cost) : 0;
  }

  /** A cost that only waits to be sent to the other nodes may be admitted after the next exchange. */
  function refusedFor(quotaAt: number, base: number, bucket: number, used: number, cost: number) {
    if (cost > quotas.limit) return Math.ceil(((bucketsBefore + 1) * bucketMs) / 1_000);
    const excess = used + cost - quotas.limit;
    return excess > 0 ? retryAfter(quotaAt, base, bucket, excess) : 1;
  }

  function fillFindings(
    quotaAt: number,
    base: number,
    bucket: number,
    used: number,
    nowMs: number,
  ) {
    const bucketStartMs = (bucket - bucketShift) * bucketMs;
    quotas.countedAtMs = Math.max(nowMs, bucketStartMs);
    quotas.remaining = used < quotas.limit ? quotas.limit - used : 0;
    if (bucket !== wallOffsetBucket) {
      wallOffsetMs = clock.now() - clock.monotonicMs();
      wallOffsetBucket = bucket;
    }
    const resetMs =
      used === 0 ? quotas.countedAtMs : leavesAtMs(oldestCounted(quotaAt, base, bucket));
    quotas.resetSecond = Math.ceil((wallOffsetMs + resetMs) / 1_000);
  }

  const quotas: OpenQuotas = {
    limit: 0,
    remaining: 0,
    resetSecond: 0,
    retryAfterSeconds: 0,
    countedAtMs: 0,
    take(accountSlot, kind, cost, nowMs) {
      const limit =
        kind === quotaKind.read
          ? accounts.readPerMinute[accountSlot]!
          : accounts.writePerMinute[accountSlot]!;
      const quotaAt = (accountSlot * 2 + kind) * wordsPerQuota;
      let bucket = Math.floor(nowMs / bucketMs) + bucketShift;
      quotas.limit = limit;
      for (let round = 0; round < roundsMax; round++) {
        const total = words[quotaAt]!;
        const rolled = words[quotaAt + rolledAt]!;
        if (rolled < bucket) {
          roll(quotaAt, bucket);
          continue;
        }
        bucket = rolled;
        const first = bucket - bucketsBefore;
        const base = words[ringWordAt(quotaAt, first)]!;
        const lapsAhead = ((base >>> totalBits) - lapOf(first)) & 63;
        if (lapsAhead !== 0) {
          // (c) in the header moves up; (d), or a load out of order, tries again and then refuses.
          if (lapsAhead < 32) bucket = first + lapsAhead * ringLength;
          continue;
        }
        const used = (total - base) & totalMask;
        const reckoned = used + pendingUse(quotaAt, total, used, cost);
        if (reckoned + cost > limit) {
          fillFindings(quotaAt, base, bucket, reckoned, nowMs);
          quotas.retryAfterSeconds = refusedFor(quotaAt, base, bucket, used, cost);
          return false;
        }
        if (
          cost !== 0 &&
          Atomics.compareExchange(words, quotaAt, total, (total + cost) | 0) !== total
        ) {
          continue;
        }
        fillFindings(quotaAt, base, bucket, reckoned + cost, nowMs);
        quotas.retryAfterSeconds = 0;
        return true;
      }
      quotas.countedAtMs = nowMs;
      quotas.remaining = 0;
      quotas.resetSecond = Math.ceil((wallOffsetMs + nowMs) / 1_000) + 1;
      quotas.retryAfterSeconds = 1;
      return false;
    },
    noteRefused(accountSlot, kind, cost) {
      Atomics.add(words, (accountSlot * 2 + kind) * wordsPerQuota + refusedAt, cost);
    },
    charge(accountSlot, kind, cost, nowMs) {
      const quotaAt = (accountSlot * 2 + kind) * wordsPerQuota;
      // A bucket that begins before the sum is written counts it later, which is stricter.
      roll(quotaAt, Math.floor(nowMs / bucketMs) + bucketShift);
      Atomics.add(words, quotaAt, cost);
    },
  };
  return quotas;
}

/** Returns the round of the ring that a bucket belongs to, mod 64. */
function lapOf(bucket: number): number {
  return (bucket >>> ringBits) & 63;
}

function ringWordAt(quotaAt: number, bucket: number): number {
  return quotaAt + ringAt + (bucket & ringMask);
}

/** The counts of a window must stay apart in 26 bits, with room for a limit that was just lowered. */
if (perMinuteMax * 2 > totalMask) throw new Error('perMinuteMax outgrew the ring words');

// The guard of every route that needs a key: it finds the account that is asking and charges its
// quota. Works on shared memory alone, the same in every front-end thread.

export function createQuotaGuard(options: {
  keys: KeyCache;
  accounts: AccountsTable;
  quotas: Quotas & Pick<OpenQuotas, 'noteRefused'>;
  clock: Clock;
}) {
  const { keys, accounts, clock } = options;
  const { noteRefused } = options.quotas;
  const quotas: Quotas = options.quotas;
  return {
    /**
     * Account slot of a key that lives, else below 0: `noKey` for one that is missing, malformed, unknown,
     * revoked or disabled, `wrongScope` for one that is not for this.
     * @param scope bits of `keyScopes`, of which the key needs one; `check` when left out
     */
    authenticate(keyText: string | undefined, scope: number = keyScopes.check): number {
      if (keyText === undefined) return noKey;
      const slot = keys.authenticate(keyText, scope);
      return slot >= 0 && accounts.isDisabled(slot) ? noKey : slot;
    },
    /** Takes `cost` from the account's quota, or nothing. Leaves its findings in `quotas`. */
    spend: (slot: number, kind: QuotaKind, cost: number): boolean =>
      quotas.take(slot, kind, cost, clock.monotonicMs()),
    /** Called when a call is refused that has spent so much. */
    noteRefused,
    /** Limit, remaining, reset and retry-after of the last `spend`. */
    quotas,
  };
}

export type QuotaGuard = ReturnType<typeof createQuotaGuard>;
