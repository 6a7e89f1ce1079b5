/** Where limits count: alone in their own memory; with others on one database in one that is exchanged. */

import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { deriveKey, type MasterKey } from '../keys/master-key.ts';
import { createLimitMemory, type LimitMemory, openLimitRecords } from '../quota/limit-records.ts';
import type { LimitRecords } from '../quota/ring.ts';
import { type Deeds, deedParty } from './deeds.ts';
import type { Party } from './exchange.ts';
import { limitParty } from './limit-shares.ts';

export interface Shares {
  /** For limits in this thread. @param name the same on all nodes */
  room(name: string, capacity: number): number | LimitRecords;
  /** For limits that several threads count. */
  memory(name: string, capacity: number): LimitMemory;
  /** For counts with rules of their own. @param repeat does what was done on another node */
  deeds<Deed>(name: string, repeat: (deed: Deed) => void): Deeds<Deed>;
  /** What else counts on all nodes. */
  add(party: Party): void;
}

/** Alone on the store. */
export const ownShares: Pick<Shares, 'room' | 'deeds'> = {
  room: (_name, capacity) => capacity,
  deeds: () => ({ tell: () => {}, isFull: () => false }),
};

const seedPurpose = 'client limits 1';

export function createShares(options: {
  readonly random: Random;
  readonly clock: Clock;
  readonly masterKey: MasterKey;
  /** With others on one database. */
  readonly isShared: boolean;
}): Shares & { readonly parties: readonly Party[] } {
  const { random, clock, masterKey, isShared } = options;
  const parties: Party[] = [];
  const seed = isShared ? deriveKey(masterKey, seedPurpose) : undefined;
  const seeds = seed === undefined ? random : { bytes: (n: number) => seed.subarray(0, n) };

  function memory(name: string, capacity: number): LimitMemory {
    const made = createLimitMemory(capacity, seeds);
    if (isShared) parties.push(limitParty(name, openLimitRecords(made), clock));
    return made;
  }

  return {
    parties,
    memory,
    room: (name, capacity) => (isShared ? openLimitRecords(memory(name, capacity)) : capacity),
    deeds(name, repeat) {
      if (!isShared) return ownShares.deeds(name, repeat);
      const { party, ...deeds } = deedParty(name, repeat);
      parties.push(party);
      return deeds;
    },
    add(party) {
      if (isShared) parties.push(party);
    },
  };
}
