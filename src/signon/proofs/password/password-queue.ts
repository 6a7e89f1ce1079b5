/**
 * The queue of password hashes. Two run at a time; the rest waits in two lanes:
 *
 *  - `known`: an owner on a browser that the account knows, in a session, or with the link of a
 *    mail. Three of them go before one of the other lane, which therefore never stands still.
 *  - `open`: everybody else.
 *
 * Each lane has a capacity of its own, so others can't fill the lane of the owners. In a lane an
 * account, a network (IPv4 address, IPv6 /64) and its neighbourhood (/24, /48) have a limit each;
 * in a full lane the newest call of the neighbourhood that holds the most is evicted for one that
 * holds fewer. A call that can't wait gets `overloaded`, at once.
 */

import type { BoundedTable } from '../../../core/bounded-tables.ts';
import { fail, ok, type Result } from '../../../core/result.ts';

/** The lane and the owners of a call. A field that is left out has no bound of its own. */
export interface Turn {
  readonly lane: 'known' | 'open';
  readonly account?: string | undefined;
  readonly network?: string | undefined;
  /** IPv4 /24 or IPv6 /48. */
  readonly neighbourhood?: string | undefined;
}

export interface PasswordQueue {
  run<T>(turn: Turn, work: () => Promise<T>): Promise<Result<T>>;
  /** The calls that wait in each lane. */
  readonly tables: readonly BoundedTable[];
}

export const queueShares = { account: 4, network: 8, neighbourhood: 16 } as const;
/** The calls of the known lane that go before one of the open lane. */
const knownInARow = 3;

interface Waiting {
  readonly turn: Turn;
  /** Called with false when the call is evicted. */
  readonly proceed: (admitted: boolean) => void;
}

const shareNames = Object.keys(queueShares) as (keyof typeof queueShares)[];

export function createPasswordQueue(options: {
  runningMax: number;
  /** The waiting calls of a lane. */
  waitingMax: number;
}): PasswordQueue {
  const { runningMax, waitingMax } = options;
  const lanes: Readonly<Record<Turn['lane'], Waiting[]>> = { known: [], open: [] };
  let running = 0;
  let inARow = 0;

  function next(): Waiting | undefined {
    const { known, open } = lanes;
    const isKnown = known.length > 0 && (open.length === 0 || inARow < knownInARow);
    inARow = isKnown ? inARow + 1 : 0;
    return isKnown ? known.shift() : open.shift();
  }

  /** Returns whether the call may wait; may evict another one. */
  function hasPlace(lane: Waiting[], turn: Turn): boolean {
    for (const name of shareNames) {
      if (turn[name] !== undefined && held(lane, name, turn[name]) >= queueShares[name]) {
        return false;
      }
    }
    return lane.length < waitingMax || evictGreedy(lane, turn);
  }

  return {
    tables: (Object.keys(lanes) as Turn['lane'][]).map((lane) => ({
      name: `password_queue_${lane}`,
      used: () => lanes[lane].length,
      limit: waitingMax,
    })),
    async run(turn, work) {
      if (running >= runningMax) {
        const lane = lanes[turn.lane];
        if (!hasPlace(lane, turn)) return overloaded();
        const admitted = await new Promise<boolean>((proceed) => lane.push({ turn, proceed }));
        if (!admitted) return overloaded();
      } else {
        running++;
      }
      try {
        return ok(await work());
      } finally {
        // The slot is handed over rather than given back: nobody overtakes those who wait.
        const waiting = next();
        if (waiting) waiting.proceed(true);
        else running--;
      }
    },
  };
}

function held(lane: readonly Waiting[], name: keyof typeof queueShares, value: string): number {
  return lane.reduce((sum, { turn }) => sum + (turn[name] === value ? 1 : 0), 0);
}

/** Evicts a call of the neighbourhood that holds the most, for one of a neighbourhood that holds fewer. */
function evictGreedy(lane: Waiting[], turn: Turn): boolean {
  const counts = new Map<string | undefined, number>();
  for (const { turn: waiting } of lane) {
    counts.set(waiting.neighbourhood, (counts.get(waiting.neighbourhood) ?? 0) + 1);
  }
  counts.delete(undefined);
  const [largestHolder, most] = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a), [undefined, 0]);
  if (largestHolder === undefined || most <= (counts.get(turn.neighbourhood) ?? 0) + 1)
    return false;
  const at = lane.findLastIndex((waiting) => waiting.turn.neighbourhood === largestHolder);
  const [evicted] = lane.splice(at, 1);
  evicted?.proceed(false);
  return true;
}

function overloaded() {
  return fail('overloaded', 'too many sign-ins at once');
}
