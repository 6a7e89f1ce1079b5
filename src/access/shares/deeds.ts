/**
 * What was done to counts in memory, told to the other nodes so that each does the same to its own: for
 * counts that follow rules of their own, such as lock-out. In order, each once.
 */

import type { Party } from './exchange.ts';

/** Of an exchange; the others have their turn in the next one. */
const toldAtOnceMax = 1_000;
/** That wait for an exchange. Whoever can be refused is, beyond it; what is told all the same is few. */
const waitingMax = 10_000;

export interface Deeds<Deed> {
  tell(deed: Deed): void;
  /** So many wait that nothing more should be begun. */
  isFull(): boolean;
}

/** @param Deed anything that JSON keeps as it is */
export function deedParty<Deed>(
  name: string,
  repeat: (deed: Deed) => void,
): Deeds<Deed> & { readonly party: Party } {
  const waiting: Deed[] = [];
  let collected = 0;
  return {
    tell(deed) {
      waiting.push(deed);
    },
    isFull: () => waiting.length >= waitingMax,
    party: {
      name,
      collect() {
        collected = Math.min(waiting.length, toldAtOnceMax);
        return collected === 0
          ? undefined
          : Buffer.from(JSON.stringify(waiting.slice(0, collected)));
      },
      told() {
        waiting.splice(0, collected);
        collected = 0;
      },
      // Sealed by a node of this version.
      hear(bytes) {
        for (const deed of JSON.parse(Buffer.from(bytes).toString()) as Deed[]) repeat(deed);
      },
    },
  };
}
