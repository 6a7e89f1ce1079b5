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
import { CountsByKey, MaxByCountSet } from '../../core/fair-share.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';

export const passwordLength = { min: 8, max: 256 } as const;
/** NFKC makes at most 18 characters of one: a bound before it keeps the work small. */
const rawLengthMax = 1_024;
const saltBytes = 16;
const outputBytes = 32;
const runningMax = 2;
const anybody: HashRequester = { lane: 'open' };

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
  parameters?: Argon2Parameters | undefined;
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
    hash: (password: string, requester: HashRequester = anybody): Promise<Result<string>> =>
      queue.run(requester, () =>
        argon2Hash(password, { ...settings, salt: random.bytes(saltBytes) }),
      ),
    /**
     * Checks a password. `outdated`: right, but hashed with other parameters than today's. An empty `phc` (no such
     * account, or one without a password) takes the same work and is never right.
     */
    async verify(
      phc: string,
      password: string,
      requester: HashRequester = anybody,
    ): Promise<Result<{ right: boolean; outdated: boolean }>> {
      const checked = await queue.run(requester, () =>
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
export interface HashRequester {
  readonly lane: 'known' | 'open';
  readonly account?: string | undefined;
  readonly network?: string | undefined;
  /** IPv4 /24 or IPv6 /48. */
  readonly neighbourhood?: string | undefined;
}

export function requesterOf(
  lane: HashRequester['lane'],
  account: string,
  visitor: Visitor,
): HashRequester {
  const { client, neighbourhood = client } = visitor;
  return { lane, account, network: client, neighbourhood };
}

export const queueShares = { account: 4, network: 8, neighbourhood: 16 } as const;
/** The calls of the known lane that go before one of the open lane. */
const knownInARow = 3;

interface WaitingHash {
  readonly requester: HashRequester;
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
  const lanes: Readonly<Record<HashRequester['lane'], Lane>> = {
    known: createLane(waitingMax),
    open: createLane(waitingMax),
  };
  let running = 0;
  let inARow = 0;

  function next(): WaitingHash | undefined {
    const { known, open } = lanes;
    const isKnown = known.size() > 0 && (open.size() === 0 || inARow < knownInARow);
    inARow = isKnown ? inARow + 1 : 0;
    return isKnown ? known.shift() : open.shift();
  }

  return {
    /** The calls that wait in each lane. */
    tables: (Object.keys(lanes) as HashRequester['lane'][]).map((lane) => ({
      name: `password_queue_${lane}`,
      used: lanes[lane].size,
      limit: waitingMax,
    })),
    async run<T>(requester: HashRequester, work: () => Promise<T>): Promise<Result<T>> {
      if (running >= runningMax) {
        const lane = lanes[requester.lane];
        if (!lane.hasRoom(requester)) return overloaded();
        const admitted = await new Promise<boolean>((proceed) => lane.push({ requester, proceed }));
        if (!admitted) return overloaded();
      } else {
        running++;
      }
      try {
        return ok(await work());
      } finally {
        // The turn is handed over rather than given back: nobody overtakes those who wait.
        const waiting = next();
        if (waiting) waiting.proceed(true);
        else running--;
      }
    },
  };
}

/** The waiting calls of a lane, the oldest first. */
function createLane(waitingMax: number) {
  const calls: WaitingHash[] = [];
  const held = {
    account: new CountsByKey(),
    network: new CountsByKey(),
    neighbourhood: new CountsByKey(),
  };
  const neighbourhoods = new MaxByCountSet<string>();

  function count({ requester }: WaitingHash, by: 1 | -1): void {
    for (const name of shareNames) {
      const value = requester[name];
      if (value === undefined) continue;
      if (name === 'neighbourhood') {
        neighbourhoods[by === 1 ? 'more' : 'less'](value, held[name].of(value));
      }
      held[name].change(value, by);
    }
  }

  function remove(at: number): WaitingHash | undefined {
    const [call] = calls.splice(at, 1);
    if (call !== undefined) count(call, -1);
    return call;
  }

  /** Evicts a call of the neighbourhood that holds the most, for one of a neighbourhood that holds fewer. */
  function evictFor({ neighbourhood = '' }: HashRequester): boolean {
    const largest = neighbourhoods.largest();
    const own = held.neighbourhood.of(neighbourhood);
    if (largest === undefined || held.neighbourhood.of(largest) <= own + 1) return false;
    const at = calls.findLastIndex(({ requester }) => requester.neighbourhood === largest);
    remove(at)?.proceed(false);
    return true;
  }

  return {
    size: () => calls.length,
    push(call: WaitingHash): void {
      calls.push(call);
      count(call, 1);
    },
    shift: () => remove(0),
    /** Returns whether the call may wait; may evict another one. */
    hasRoom(requester: HashRequester): boolean {
      const isSpent = shareNames.some((name) => {
        const value = requester[name];
        return value !== undefined && held[name].of(value) >= queueShares[name];
      });
      return !isSpent && (calls.length < waitingMax || evictFor(requester));
    },
  };
}

type Lane = ReturnType<typeof createLane>;

function overloaded() {
  return fail('overloaded', 'too many sign-ins at once');
}
