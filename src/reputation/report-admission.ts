/**
 * Which reports are let in, before anything is written: the index must have room, and an account
 * that names ever new addresses would fill it alone, so it may add so many a day. Reports that
 * are under way at that moment are not counted yet: a few may go beyond.
 */

import type { Clock } from '../core/clock.ts';
import type { ErrorCode } from '../core/errors.ts';
import { type Failure, fail } from '../core/result.ts';
import type { Entries } from './entries.ts';

export interface ReportAdmission {
  /** `capacity_exceeded`, `address_quota_exceeded`; undefined: it may be written. */
  refuse(slot: number, family: 4 | 6, words: Uint32Array): Failure | undefined;
}

export function createReportAdmission(options: {
  entries: Pick<Entries, 'hasRoomFor' | 'get'>;
  clock: Clock;
  /** On the UTC day of `at`. */
  newAddresses: (slot: number, at: number) => { limit: number; used: number };
  secondsLeftOfDay: (at: number) => number;
}): ReportAdmission {
  const { entries, clock, newAddresses, secondsLeftOfDay } = options;
  return {
    refuse(slot, family, words) {
      if (!entries.hasRoomFor(family, words)) {
        return fail('capacity_exceeded', 'No more addresses can be recorded at the moment.');
      }
      const now = clock.now();
      const { limit, used } = newAddresses(slot, now);
      if (used < limit || entries.get(family, words, family === 4 ? 32 : 128) !== 0) {
        return undefined;
      }
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
