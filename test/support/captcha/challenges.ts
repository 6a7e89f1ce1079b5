/** Challenges over a pool whose words are known: WORD1, WORD2, …; every sound says 123456. */

import {
  type ChallengesOptions,
  createChallenges,
} from '../../../src/captcha/challenge/challenge.ts';
import { createTickets } from '../../../src/captcha/challenge/ticket.ts';
import type { RenderedWord } from '../../../src/captcha/render-pool.ts';
import type { Clock } from '../../../src/core/clock.ts';
import type { Random } from '../../../src/core/random.ts';
import { ok } from '../../../src/core/result.ts';
import type { Networks } from '../../../src/ip/networks.ts';
import { manualClock, seededRandom } from '../seeded.ts';

/** Bounds that a test reaches soon. */
export const smallBounds = {
  lifetimeMs: 120_000,
  tokensMax: 1_000,
  openMax: 100,
  openPerClientMax: 100,
  openPerNeighbourhoodMax: 100,
  waitingMax: 500,
  longWordFrom: 1_000_000,
  heldBytesMax: 1_000_000,
  sharesOn: true,
} as const;

/** An IPv4 address in a network of its own, or one of several in network `wide`. */
export function networkAt(wide: number, narrow = 0): Networks {
  return { client: `${wide}.${narrow}`, neighbourhood: `${wide}.x` };
}

export function rendered(answer: string, bytes: Uint8Array): RenderedWord {
  return { answer, bytes, again: async () => ok(bytes) };
}

/** A pool whose images hold 1,000 bytes, each byte the number of the word. */
export function knownPool() {
  const made: string[] = [];
  const spoken: string[] = [];
  const pool: ChallengesOptions['pool'] = {
    image: async (word) => {
      const answer = `${word === 'long' ? 'LONGWORD' : 'WORD'}${made.length + 1}`;
      made.push(answer);
      return ok(rendered(answer, new Uint8Array(1_000).fill(made.length)));
    },
    clip: async (language) => {
      spoken.push(language);
      return ok(rendered('123456', new Uint8Array(2_000)));
    },
  };
  return { pool, made, spoken };
}

export function challengesOver(
  pool: ChallengesOptions['pool'],
  changes: Partial<ChallengesOptions> & { clock?: Clock; random?: Random } = {},
) {
  const { clock = manualClock(0), random = seededRandom(1), ...bounds } = changes;
  const tickets = createTickets({ clock, random });
  return createChallenges({ pool, tickets, random, ...smallBounds, ...bounds });
}
