/**
 * The database's time, so that all nodes mean the same by a moment. It is counted by the clock of this machine that
 * nobody can set, and measured again now and then. A correction is spread out, so that time never goes back; one
 * far forward, as after a sleep of the machine, takes effect at once.
 */

import type { Clock } from '../../core/clock.ts';
import { every } from '../../core/every.ts';
import type { Log } from '../../core/log.ts';

const readings = 8;
const againMs = 30_000;
/**
 * A correction of so much is not spread out, and is reported to the operator, who should check this
 * machine's clock.
 */
const warnMs = 2_000;
/** A correction of so much in each millisecond. */
const slew = 0.05;

export function databaseClock(own: Clock, log: Log) {
  /** Added to the monotonic clock as of `setAtMs`; on its way to `goalMs`. */
  let offsetMs = own.now() - own.monotonicMs();
  let goalMs = offsetMs;
  let setAtMs = own.monotonicMs();

  function offset(): number {
    const elapsedMs = own.monotonicMs() - setAtMs;
    const way = goalMs - offsetMs;
    if (way > warnMs) return goalMs;
    const part = Math.min(Math.abs(way), elapsedMs * slew);
    return offsetMs + Math.sign(way) * part;
  }

  /** The reading with the least time around it is the best. */
  async function measure(ask: () => Promise<number>): Promise<number> {
    let best = { tripMs: Number.POSITIVE_INFINITY, offsetMs: 0 };
    for (let i = 0; i < readings; i++) {
      const beforeMs = own.monotonicMs();
      const theirsMs = await ask();
      const afterMs = own.monotonicMs();
      const tripMs = afterMs - beforeMs;
      if (tripMs >= best.tripMs) continue;
      best = { tripMs, offsetMs: theirsMs + tripMs / 2 - afterMs };
    }
    return best.offsetMs;
  }

  return {
    now: () => Math.floor(own.monotonicMs() + offset()),
    monotonicMs: () => own.monotonicMs(),
    /**
     * Measures at once, and from then on every half minute.
     * @param ask the database's time, milliseconds since 1970
     * @returns ends it
     */
    async follow(ask: () => Promise<number>): Promise<() => void> {
      offsetMs = await measure(ask);
      goalMs = offsetMs;
      setAtMs = own.monotonicMs();
      let hasWarned = false;
      function poll(): void {
        const aheadMs = own.now() - (own.monotonicMs() + goalMs);
        if (Math.abs(aheadMs) <= warnMs) hasWarned = false;
        else if (!hasWarned) {
          hasWarned = true;
          log.warn({ aheadMs: Math.round(aheadMs) }, "this machine's clock is not the database's");
        }
      }
      poll();
      async function measureAgain(): Promise<void> {
        const measuredMs = await measure(ask);
        offsetMs = offset();
        setAtMs = own.monotonicMs();
        goalMs = measuredMs;
        poll();
      }
      // The database is away: the last offset holds.
      return every(againMs, measureAgain, { onFailure: () => {} }).stop;
    },
  };
}
