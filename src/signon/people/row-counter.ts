/**
 * Counts the rows of one kind that anybody can cause, so that their number has a bound: in all, and
 * for each subject (a network, an account). At a bound nothing further is admitted until a row has
 * ended; what that means is said where rows are admitted, and /metrics shows how full it is.
 *
 * In memory of the one process that serves; whoever creates a counter reads the existing rows once.
 */

import type { Clock } from '../../core/clock.ts';

export interface Reservation {
  /** May be called more than once. */
  release(): void;
}

export interface RowCounterStats {
  readonly kind: string;
  readonly rows: number;
  readonly max: number;
  /** The refusals since the start. */
  readonly refused: number;
}

interface CountedRow {
  readonly subject: string;
  readonly expiresAt: number;
}

/** The least time between two searches for expired rows: not every request of a flood may cause one. */
const pruneMs = 1_000;

export function createRowCounter(options: {
  /** The name in /metrics and the log (core/bounded-tables.ts). */
  kind: string;
  clock: Clock;
  max: number;
  perSubjectMax: number;
}) {
  const { kind, clock, max, perSubjectMax } = options;
  const rows = new Map<string, CountedRow>();
  const counts = new Map<string, number>();
  let refused = 0;
  let reserved = 0;
  let prunedAtMs = Number.NEGATIVE_INFINITY;

  function count(subject: string, change: 1 | -1): void {
    const now = (counts.get(subject) ?? 0) + change;
    if (now === 0) counts.delete(subject);
    else counts.set(subject, now);
  }

  /** Records that the row was removed before its time. */
  function ended(key: string): void {
    const row = rows.get(key);
    if (row === undefined) return;
    rows.delete(key);
    count(row.subject, -1);
  }

  function prune(): void {
    const nowMs = clock.monotonicMs();
    if (nowMs - prunedAtMs < pruneMs) return;
    prunedAtMs = nowMs;
    const now = clock.now();
    for (const [key, { expiresAt }] of rows) if (expiresAt <= now) ended(key);
  }

  const hasRoom = (subject: string) =>
    rows.size + reserved < max && (counts.get(subject) ?? 0) < perSubjectMax;

  /** Counts a refusal. */
  function findRoom(subject: string): boolean {
    if (!hasRoom(subject)) prune();
    if (hasRoom(subject)) return true;
    refused++;
    return false;
  }

  return {
    /**
     * Returns whether a row may be written under this key. An existing one is replaced. A row that could not be
     * written stays counted until it would have expired.
     * @param expiresAt milliseconds since 1970, as the row has it
     */
    admit(key: string, subject: string, expiresAt: number): boolean {
      const before = rows.get(key);
      if (before?.subject !== subject && !findRoom(subject)) return false;
      ended(key);
      rows.set(key, { subject, expiresAt });
      count(subject, 1);
      return true;
    },
    /**
     * Reserves one row of this subject before it is known which row it will be. Undefined at a bound. The
     * reservation is given back right before `admit`, or when no row is needed.
     */
    reserve(subject: string): Reservation | undefined {
      if (!findRoom(subject)) return undefined;
      reserved++;
      count(subject, 1);
      let isHeld = true;
      return {
        release() {
          if (!isHeld) return;
          isHeld = false;
          reserved--;
          count(subject, -1);
        },
      };
    },
    /** Records that the row lasts longer now, whatever its subject; also a row that was not known. */
    prolonged(key: string, expiresAt: number): void {
      const subject = rows.get(key)?.subject ?? `prolonged ${key}`;
      ended(key);
      rows.set(key, { subject, expiresAt });
      count(subject, 1);
    },
    ended,
    stats(): RowCounterStats {
      prune();
      return { kind, rows: rows.size, max, refused };
    },
  };
}

export type RowCounter = ReturnType<typeof createRowCounter>;
