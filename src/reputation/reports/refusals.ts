/**
 * Counts events that had no effect because a table in memory was full, ever: rows of lists, reports, rules
 * of the allowlist. Writers check the capacity first, so each one counted here was let in and then lost;
 * the counts stand in the checkpoint and survive a restart.
 */

import type { Reader, Writer } from '../../store/codec.ts';

export const refusalKinds = ['rows', 'reports', 'rules'] as const;
export type RefusalKind = (typeof refusalKinds)[number];

export interface Refusals {
  count(kind: RefusalKind): void;
  of(kind: RefusalKind): number;
  total(): number;
  encode(out: Writer): void;
  load(input: Reader): void;
}

/** @param touch called before anything changes, for the checkpoint */
export function createRefusals(touch: () => void): Refusals {
  const counts: Record<RefusalKind, number> = { rows: 0, reports: 0, rules: 0 };
  return {
    count(kind) {
      touch();
      counts[kind]++;
    },
    of: (kind) => counts[kind],
    total: () => refusalKinds.reduce((sum, kind) => sum + counts[kind], 0),
    encode(out) {
      for (const kind of refusalKinds) out.varint(counts[kind]);
    },
    load(input) {
      for (const kind of refusalKinds) counts[kind] = input.varint();
    },
  };
}
