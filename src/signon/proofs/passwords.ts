/**
 * Password hashes: Argon2id (19 MiB, two passes, one lane), made on the library's own threads and
 * never more than two at a time, so that sign-ins can neither take the event loop nor the memory.
 * Calls that wait are bounded, in two lanes (`createPasswordQueue`): beyond it `overloaded`, at once.
 *
 * A password is normalised (NFKC): keyboards and systems write the same letter in different
 * bytes. Length is counted after it, in characters.
 */

import { hash as argon2Hash, verify as argon2Verify } from '@node-rs/argon2';
import type { Visitor } from '../../contracts/visitor.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';

export const passwordLength = { min: 8, max: 256 } as const;
/** NFKC makes at most 18 characters of one: a bound before it keeps the work small. */
const rawLengthMax = 1_024;
const saltBytes = 16;
const outputBytes = 32;
const runningMax = 2;
const anybody: Turn = { lane: 'open' };

export interface Argon2Parameters {
  readonly memoryKiB: number;
  readonly passes: number;
  readonly lanes: number;
}

/** OWASP's first choice for Argon2id. */
export const argon2Defaults: Argon2Parameters = { memoryKiB: 19_456, passes: 2, lanes: 1 };

/** Returns undefined for what is no text, too short or too long. */
export function normalisePassword(text: string): string | undefined {
  if (text.length > rawLengthMax || /\p{Cs}/u.test(text)) return undefined;
  const normal = text.normalize('NFKC');
  const length = [...normal].length;
  return length >= passwordLength.min && length <= passwordLength.max ? normal : undefined;
}

export function createPasswords(options: {
  random: Random;
  parameters?: Argon2Parameters;
  /** The hashes that wait in a lane: at 64 the last one waits for about a second. */
  waitingMax?: number;
}) {
  const { random, parameters = argon2Defaults, waitingMax = 64 } = options;
  const settings = {
    memoryCost: parameters.memoryKiB,
    timeCost: parameters.passes,
    parallelism: parameters.lanes,
    outputLen: outputBytes,
  };
  const prefix = `$argon2id$v=19$m=${parameters.memoryKiB},t=${parameters.passes},p=${parameters.lanes}$`;
  /** A text like a hash, of no password: checking against it costs the full work. */
  const nobody = `${prefix}${unpadded(random.bytes(saltBytes))}$${unpadded(random.bytes(outputBytes))}`;
  const queue = createPasswordQueue({ runningMax, waitingMax });

  return {
    /** The calls that wait. */
    tables: queue.tables,
    /** Returns a PHC string. `overloaded`. @param password as `normalisePassword` gives it */
    hash: (password: string, turn: Turn = anybody): Promise<Result<string>> =>
      queue.run(turn, () => argon2Hash(password, { ...settings, salt: random.bytes(saltBytes) })),
    /**
     * Checks a password. `outdated`: right, but hashed with other parameters than today's. An empty `phc` (no such
     * account, or one without a password) takes the same work and is never right.
     */
    async verify(
      phc: string,
      password: string,
      turn: Turn = anybody,
    ): Promise<Result<{ right: boolean; outdated: boolean }>> {
      const checked = await queue.run(turn, () =>
        argon2Verify(phc === '' ? nobody : phc, password),
      );
      if (!checked.ok) return checked;
      const right = phc !== '' && checked.value;
      return ok({ right, outdated: right && !phc.startsWith(prefix) });
    },
  };
}

export type Passwords = ReturnType<typeof createPasswords>;

/** Returns standard base64 without padding, as in PHC strings. */
function unpadded(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replaceAll('=', '');
}

/** The lane and the owners of a call. A field that is left out has no bound of its own. */
export interface Turn {
  readonly lane: 'known' | 'open';
  readonly account?: string | undefined;
  readonly network?: string | undefined;
  /** IPv4 /24 or IPv6 /48. */
  readonly neighbourhood?: string | undefined;
}

export function turnOf(lane: Turn['lane'], account: string, visitor: Visitor): Turn {
  const { network, neighbourhood = network } = visitor;
  return { lane, account, network, neighbourhood };
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
export function createPasswordQueue(options: {
  runningMax: number;
  /** The waiting calls of a lane. */
  waitingMax: number;
}) {
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
    return lane.length < waitingMax || evictLargest(lane, turn);
  }

  return {
    /** The calls that wait in each lane. */
    tables: (Object.keys(lanes) as Turn['lane'][]).map((lane) => ({
      name: `password_queue_${lane}`,
      used: () => lanes[lane].length,
      limit: waitingMax,
    })),
    async run<T>(turn: Turn, work: () => Promise<T>): Promise<Result<T>> {
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
function evictLargest(lane: Waiting[], turn: Turn): boolean {
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
