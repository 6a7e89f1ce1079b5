/**
 * Which reports are let in, before anything is written: the index must have room, and an account
 * that names ever new addresses would fill it alone, so it may add so many a day. New addresses in
 * reports that are under way count as well: a file has hundreds of them under way at a time.
 */

import type { Clock } from '../../core/clock.ts';
import type { ErrorCode } from '../../core/errors.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import type { Entries } from '../state/entries.ts';

export interface ReportAdmission {
  /**
   * `capacity_exceeded`, `address_quota_exceeded`; else it may be written.
   * @returns to be called once, with the position of the report's event, or without when there is none
   */
  admit(slot: number, family: 4 | 6, words: Uint32Array): Result<Settle>;
}

export type Settle = (seq?: bigint) => void;

const nothingToSettle: Result<Settle> = ok(() => undefined);

export function createReportAdmission(options: {
  entries: Pick<Entries, 'hasRoomFor' | 'get'>;
  clock: Clock;
  /** On the UTC day of `at`. */
  newAddresses: (slot: number, at: number) => { limit: number; used: number };
  secondsLeftOfDay: (at: number) => number;
  /** Resolves when the event is counted among `newAddresses`; may reject when it never will be. */
  catchUpTo: (seq: bigint) => Promise<void>;
}): ReportAdmission {
  const { entries, clock, newAddresses, secondsLeftOfDay, catchUpTo } = options;
  /** New addresses under way, of the accounts that have some. */
  const underWay = new Map<number, Set<string>>();

  function enter(slot: number, address: string): Settle {
    const own = underWay.get(slot) ?? new Set();
    underWay.set(slot, own.add(address));
    function leave(): void {
      own.delete(address);
      if (own.size === 0) underWay.delete(slot);
    }
    return (seq) => {
      if (seq === undefined) leave();
      else catchUpTo(seq).then(leave, leave);
    };
  }

  return {
    admit(slot, family, words) {
      if (!entries.hasRoomFor(family, words)) {
        return fail('capacity_exceeded', 'No more addresses can be recorded at the moment.');
      }
      if (entries.get(family, words, family === 4 ? 32 : 128) !== 0) return nothingToSettle;
      const address = `${family} ${words.join()}`;
      const own = underWay.get(slot);
      // It counts once; the first of its reports settles it.
      if (own?.has(address) === true) return nothingToSettle;
      const now = clock.now();
      const { limit, used } = newAddresses(slot, now);
      if (used + (own?.size ?? 0) < limit) return ok(enter(slot, address));
      const detail =
        `The limit of ${limit} new addresses a day is reached. ` +
        'Addresses that were reported before can still be reported.';
      const failure = fail('address_quota_exceeded', detail, 'ip');
      return { ...failure, retryAfterSeconds: secondsLeftOfDay(now) };
    },
  };
}

/** Counts what was refused, by reason, since the start. */
export interface RefusedReports {
  count(reason: ErrorCode): void;
  /** Reasons that never came are left out. */
  read(): Iterable<[ErrorCode, number]>;
}

export function createRefusedReports(): RefusedReports {
  const counts = new Map<ErrorCode, number>();
  return {
    count: (reason) => void counts.set(reason, (counts.get(reason) ?? 0) + 1),
    read: () => counts,
  };
}
