/**
 * The look-ups and reports of each account in the last 24 hours, by hour. The quotas count for ever in
 * shared memory; once a minute the differences are added up here, so requests pay nothing for it.
 * Memory only: it begins at zero with the server. An account that never asks costs nothing, one that does
 * half a kilobyte, so the bound is that of accounts.
 */

import type { Clock } from '../../core/clock.ts';
import { hourMs, minuteMs } from '../../core/time.ts';
import { admittedTotal, answeredTotal, type QuotaHandle, quotaKind } from './quota.ts';

interface UsageHour {
  /** The start of the hour, milliseconds since 1970. */
  readonly at: number;
  /** Addresses that were looked up. */
  readonly reads: number;
  /** Reports and other writes. */
  readonly writes: number;
}

export const usageHours = 24;
export const usageSampleMs = minuteMs;

interface Counts {
  /** Reads and writes side by side, by hour since 1970 mod 24. */
  readonly hours: Float64Array;
  newestHour: number;
  lastReads: number;
  lastWrites: number;
  readonly generation: number;
}

export function createUsage(options: {
  handle: QuotaHandle;
  /** Slots in use are 0 to this. */
  accountCount: () => number;
  /** Distinguishes the holders of a slot: none sees what an earlier one used. */
  generationOf: (slot: number) => number;
  clock: Clock;
}) {
  const { accountCount, generationOf, clock } = options;
  const words = new Int32Array(options.handle.buffer);
  const bySlot = new Map<number, Counts>();
  /** Since when it counts, milliseconds since 1970. */
  const since = clock.now();

  const hourNow = () => Math.floor(clock.now() / hourMs);

  /**
   * Empties the hours between the newest one and `hour`. If the clock steps back, the newest hour goes on
   * counting.
   */
  function advance(counts: Counts, hour: number): void {
    for (let h = Math.max(counts.newestHour, hour - usageHours) + 1; h <= hour; h++) {
      counts.hours.fill(0, (h % usageHours) * 2, (h % usageHours) * 2 + 2);
    }
    counts.newestHour = Math.max(counts.newestHour, hour);
  }

  function sampleSlot(slot: number, hour: number): void {
    const reads = admittedTotal(words, slot, quotaKind.read);
    const writes = admittedTotal(words, slot, quotaKind.write);
    const generation = generationOf(slot);
    let counts = bySlot.get(slot);
    if (counts === undefined || counts.generation !== generation) {
      if (counts === undefined && reads === 0 && writes === 0) return;
      // The slot's former holder used these units after the last sample; they belong to no account.
      const from =
        counts === undefined
          ? { lastReads: 0, lastWrites: 0 }
          : { lastReads: reads, lastWrites: writes };
      counts = { hours: new Float64Array(usageHours * 2), newestHour: hour, ...from, generation };
      bySlot.set(slot, counts);
    }
    if (counts.newestHour < hour) advance(counts, hour);
    const at = (counts.newestHour % usageHours) * 2;
    counts.hours[at]! += (reads - counts.lastReads) >>> 0;
    counts.hours[at + 1]! += (writes - counts.lastWrites) >>> 0;
    counts.lastReads = reads;
    counts.lastWrites = writes;
  }

  return {
    since,
    /** Returns the look-ups and reports that were answered since the start, mod 2^32, for use by differences. */
    answered: (slot: number): number =>
      (answeredTotal(words, slot, quotaKind.read) + answeredTotal(words, slot, quotaKind.write)) >>>
      0,
    /** The same of look-ups alone. */
    checked: (slot: number): number => answeredTotal(words, slot, quotaKind.read),
    /** The same of reports and other writes alone. */
    reported: (slot: number): number => answeredTotal(words, slot, quotaKind.write) >>> 0,
    /** Adds up what was admitted since the last time. */
    sample(): void {
      const hour = hourNow();
      const count = accountCount();
      for (let slot = 0; slot < count; slot++) sampleSlot(slot, hour);
    },
    /** The hour that runs is the last of 24. Up to date at the moment of the call. */
    of(slot: number): readonly UsageHour[] {
      const hour = hourNow();
      sampleSlot(slot, hour);
      const counts = bySlot.get(slot);
      const last = Math.max(hour, counts?.newestHour ?? 0);
      return Array.from({ length: usageHours }, (_, i) => {
        const h = last - usageHours + 1 + i;
        const at = (h % usageHours) * 2;
        const { hours } = counts ?? { hours: undefined };
        return { at: h * hourMs, reads: hours?.[at] ?? 0, writes: hours?.[at + 1] ?? 0 };
      });
    },
  };
}

export type Usage = ReturnType<typeof createUsage>;
