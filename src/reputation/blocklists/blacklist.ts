/**
 * The addresses and networks with a high score, as lists for whoever has a key. One snapshot
 * serves all who ask: it is made again when somebody asks and it has become too old for what it
 * cost, or when the allowlist has changed since. At most one is being made at a time.
 */

import type { Clock } from '../../core/clock.ts';
import { createTurns } from '../../core/work/turns.ts';
import { type BlacklistSources, type BuiltBlacklist, buildBlacklist } from './blacklist-build.ts';

export { confidenceMin } from './blacklist-build.ts';

export interface BlacklistSnapshot extends BuiltBlacklist {
  /** Milliseconds since 1970 at which making it began. */
  readonly generatedAt: number;
}

export interface BlacklistFilter {
  /** 25..100 */
  readonly confidenceMinimum: number;
  /** Rows at most. */
  readonly limit: number;
  readonly ipVersion: 4 | 6 | undefined;
  /** By country id of the geo table: whether it is wanted. Undefined: all are. */
  readonly countries: Uint8Array | undefined;
}

export interface Blacklist {
  snapshot(): Promise<BlacklistSnapshot>;
  /** `leftOut` of the last one made; 0 before. */
  leftOut(): number;
}

/** An old one is never used longer than this, */
const ageMsMax = 60_000;
/** nor longer than so many times the work it was: a twentieth of a core goes into it. */
const ageForCost = 20;
/** What is made in a moment is made for each who asks. */
const cheapMs = 5;

interface Kept {
  readonly snapshot: BlacklistSnapshot;
  readonly startedAtMs: number;
  readonly workedMs: number;
  /** Of the allowlist, when making it began. */
  readonly allowChanges: number;
}

export function createBlacklist(
  options: BlacklistSources & { clock: Clock; allowChanges: () => number },
): Blacklist {
  const { clock } = options;
  let kept: Kept | undefined;
  let making: Promise<void> | undefined;
  let leftOut = 0;
  let forgetting: NodeJS.Timeout | undefined;

  async function make(): Promise<void> {
    const startedAtMs = clock.monotonicMs();
    const allowChanges = options.allowChanges();
    const generatedAt = clock.now();
    const turns = createTurns(clock.monotonicMs);
    const built = await buildBlacklist(options, generatedAt, turns);
    const workedMs = turns.workedMs();
    kept = { snapshot: { ...built, generatedAt }, startedAtMs, workedMs, allowChanges };
    leftOut = built.leftOut;
    // Its memory is not held for somebody who may never ask again. One timer in all: each would hold
    // the list that it is to forget.
    clearTimeout(forgetting);
    forgetting = setTimeout(() => {
      kept = undefined;
    }, ageMsMax);
    forgetting.unref();
  }

  return {
    leftOut: () => leftOut,
    async snapshot() {
      const askedAtMs = clock.monotonicMs();
      const allowChanges = options.allowChanges();
      // One that is begun after this moment is always good enough: two rounds at most.
      for (;;) {
        if (kept !== undefined && isFresh(kept, askedAtMs, allowChanges)) return kept.snapshot;
        making ??= make().finally(() => {
          making = undefined;
        });
        await making;
      }
    },
  };
}

function isFresh(kept: Kept, askedAtMs: number, allowChanges: number): boolean {
  if (kept.allowChanges < allowChanges) return false;
  const lifeMs = kept.workedMs <= cheapMs ? 0 : Math.min(ageMsMax, ageForCost * kept.workedMs);
  return askedAtMs - kept.startedAtMs <= lifeMs;
}

const rowsPerLook = 4_096;

/** Numbers of the rows that pass, in the order of the list. */
export async function selectRows(
  { rows, order }: BlacklistSnapshot,
  filter: BlacklistFilter,
): Promise<Uint32Array> {
  const { confidenceMinimum, ipVersion, countries } = filter;
  const turns = createTurns();
  const selected = new Uint32Array(Math.min(filter.limit, order.length));
  let count = 0;
  for (let i = 0; i < order.length && count < selected.length; i++) {
    if (i % rowsPerLook === 0 && turns.isOver()) await turns.next();
    const row = order[i]!;
    // Sorted by score: nothing behind this passes.
    if (rows.score[row]! < confidenceMinimum) break;
    if (ipVersion !== undefined && rows.family(row) !== ipVersion) continue;
    if (countries !== undefined && countries[rows.country[row]!] !== 1) continue;
    selected[count++] = row;
  }
  return selected.subarray(0, count);
}

export const blacklistBounds = {
  /** A larger limit counts as this one. */
  limitMax: 500_000,
} as const;
