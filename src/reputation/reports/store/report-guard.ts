/**
 * The guard against reporting the same address again at once: a row that expires. Rows expire by the
 * wall clock, and one that was set back would keep them as much longer. So a guard also says when it
 * was made by a clock that never goes back; it holds for the process that wrote it.
 *
 * Value, bytes: wall clock 8, mark of the process 8, its monotonic clock in milliseconds 8. Guards of before are empty.
 */

import type { Clock } from '../../../core/clock.ts';
import type { Random } from '../../../core/random.ts';
import { createWriter, decode } from '../../../store/codec.ts';

/** An account may report the same address once in this time. */
const reportGuardMs = 15 * 60_000;

export interface ReportGuards {
  /** Of a row that is written now. */
  row(): { readonly value: Uint8Array; readonly expiresAt: number };
  /** Of a row that is still there: whether its time is over all the same. */
  isOver(value: Uint8Array): boolean;
}

export function createReportGuards(clock: Clock, random: Random): ReportGuards {
  const ownMark = Buffer.from(random.bytes(8)).readBigUInt64BE();
  const monotonicMs = () => BigInt(Math.floor(clock.monotonicMs()));
  return {
    row() {
      const now = clock.now();
      const value = createWriter(24)
        .u64(BigInt(Math.floor(now)))
        .u64(ownMark)
        .u64(monotonicMs());
      return { value: value.finish(), expiresAt: now + reportGuardMs };
    },
    isOver(value) {
      const made = decode(value, (r) => ({ at: r.u64(), mark: r.u64(), monotonicMs: r.u64() }));
      if (made === undefined) return false;
      if (made.mark === ownMark) return monotonicMs() - made.monotonicMs >= BigInt(reportGuardMs);
      // Another process's, and from the future: its time can't be told, so nobody waits for it.
      return made.at > BigInt(Math.floor(clock.now()));
    },
  };
}
