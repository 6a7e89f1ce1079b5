/**
 * Counts events that had no effect because a table in memory was full, ever: rows of lists, reports, rules
 * of the allowlist. Writers check the capacity first, so each one counted here was let in and then lost;
 * the counts stand in the checkpoint and survive a restart.
 */

import type { Reader, Writer } from '../../storage/codec.ts';

export const refusalKinds = ['rows', 'reports', 'rules'] as const;
type RefusalKind = (typeof refusalKinds)[number];

export type Refusals = ReturnType<typeof createRefusals>;

/** @param touch called before anything changes, for the checkpoint */
export function createRefusals(touch: () => void) {
  const counts: Record<RefusalKind, number> = { rows: 0, reports: 0, rules: 0 };

  function count(kind: RefusalKind): void {
    touch();
    counts[kind]++;
  }

  function of(kind: RefusalKind): number {
    return counts[kind];
  }

  function total(): number {
    return refusalKinds.reduce((sum, kind) => sum + counts[kind], 0);
  }

  function encode(out: Writer): void {
    for (const kind of refusalKinds) out.varint(counts[kind]);
  }

  function load(input: Reader): void {
    for (const kind of refusalKinds) counts[kind] = input.varint();
  }

  return { count, of, total, encode, load };
}
