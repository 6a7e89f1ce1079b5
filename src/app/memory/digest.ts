/**
 * Makes the digest of the state in memory at certain events of the journal, for nodes that share
 * one. A digest that would take too long at its event is left out; what is left of the work is done
 * between events.
 */

import { every, type Loop } from '../../core/every.ts';
import type { EntryDigest } from '../../reputation/state/entry-digest.ts';
import { createDigestRing, digestEvery } from '../../storage/nodes/digests.ts';

const sliceMs = 3;
const restMs = 50;

export function createStateDigest(options: {
  readonly entries: EntryDigest;
  readonly accounts: { readonly sum: Uint32Array };
  /** The last event; undefined while one is being applied. */
  readonly settledAt: () => bigint | undefined;
}) {
  const { entries, accounts, settledAt } = options;
  const ring = createDigestRing();
  let loop: Loop | undefined;

  /** Undefined when there is no time for it now. */
  function present(): string | undefined {
    if (!entries.settle(performance.now() + sliceMs)) return undefined;
    const words = [...entries.sum, ...accounts.sum];
    return words.map((word) => word.toString(16).padStart(8, '0')).join('');
  }

  return {
    /** The event was applied whole. */
    applied(seq: bigint): void {
      if (seq % digestEvery !== 0n) return;
      const digest = present();
      if (digest !== undefined) ring.add(seq, digest);
    },
    /** At round events, and at the last one. */
    latest(): Map<bigint, string> {
      const digests = ring.kept();
      const seq = settledAt();
      const digest = seq === undefined ? undefined : present();
      if (seq !== undefined && digest !== undefined) digests.set(seq, digest);
      return digests;
    },
    start(): void {
      loop = every(restMs, () => {
        if (settledAt() !== undefined) entries.settle(performance.now() + sliceMs);
      });
    },
    stop: () => loop?.stop(),
  };
}

export type StateDigest = ReturnType<typeof createStateDigest>;
