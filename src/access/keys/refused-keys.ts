/**
 * Tells why the last request with a key of an account was refused, for the page on which its owner connects something.
 * The thread that refuses a request leaves the public part of its key and the reason on a board in shared memory
 * (access/marks.ts); the main thread takes them from there and looks up whose key it is. What names no key of an
 * account tells nobody anything.
 *
 * Bounds: the board's, of which one network has four places; a thread leaves four refusals of a network in a second;
 * `accountsMax` accounts, whose oldest note is evicted; a note ends after an hour, or with the next answer that the
 * account gets.
 */

import type { BoundedTable } from '../../core/bounded-tables.ts';
import type { Clock } from '../../core/clock.ts';
import { fnv1a } from '../../core/digest.ts';
import { every } from '../../core/every.ts';
import type { Log } from '../../core/log.ts';
import { hourMs } from '../../core/time.ts';
import { parseIp } from '../../ip/address.ts';
import { networkOf } from '../../ip/networks.ts';
import { apiKeyKey } from '../../storage/keys.ts';
import type { Store } from '../../storage/store.ts';
import { decodeKey } from '../accounts/records.ts';
import { createSightingBoard, networkPlaces } from '../marks.ts';

const accountsMax = 4_096;
const takeMs = 500;
/** Networks are counted in so many groups. */
const networkGroups = 256;

/** Matches a key that was cut short or changed too, as far as its public part is whole. */
const publicPart = /^pcl_[0-9A-Za-z]{8}(?=_)/;
const parameterIn = /"parameter":"([\w-]{1,40})"/;

const statuses: ReadonlySet<number> = new Set([401, 403, 422, 429]);

/**
 * Leaves a refusal for the main thread; other answers are ignored.
 * @param key as it came
 * @param body of the answer, which names the wrong parameter
 */
export type SpotRefusal = (
  key: string | undefined,
  clientIp: string,
  status: number,
  body: unknown,
) => void;

/** Opens the board of refusals for the calling thread. */
export function createRefusalSpotter(
  memory: SharedArrayBuffer,
  clock: Pick<Clock, 'monotonicMs'>,
): SpotRefusal {
  const board = createSightingBoard(memory);
  const left = new Uint8Array(networkGroups);
  const seconds = new Float64Array(networkGroups).fill(Number.NEGATIVE_INFINITY);
  const words = new Uint32Array(4);

  function mayLeave(network: string): boolean {
    const group = (fnv1a(network) >>> 0) % networkGroups;
    const second = Math.floor(clock.monotonicMs() / 1_000);
    if (seconds[group] !== second) left[group] = 0;
    seconds[group] = second;
    return left[group]!++ < networkPlaces;
  }

  return (key, clientIp, status, body) => {
    if (!statuses.has(status)) return;
    const [named] = publicPart.exec(key ?? '') ?? [];
    if (named === undefined) return;
    const family = parseIp(clientIp, words);
    const network = family === 0 ? '' : networkOf(family, words);
    if (!mayLeave(network)) return;
    const [, parameter = ''] = typeof body === 'string' ? (parameterIn.exec(body) ?? []) : [];
    board.put({
      sighting: Buffer.from(named, 'latin1'),
      network,
      note: `${status} ${parameter}`.trimEnd(),
    });
  };
}

export function startRefusedKeys(options: {
  readonly memory: SharedArrayBuffer;
  readonly store: Pick<Store, 'get'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Pick<Log, 'warn'>;
  /** Returns the answers that the account ever got; see `answered` of quota/usage.ts. */
  readonly answeredOf: (account: string) => number;
}) {
  const { store, clock, log, answeredOf } = options;
  const board = createSightingBoard(options.memory);
  const notes = new Map<
    string,
    { status: number; parameter: string; atMs: number; answered: number }
  >();

  async function note(keyId: string, said: string): Promise<void> {
    const row = await store.get(apiKeyKey(keyId));
    const account = row && decodeKey(row.value)?.account;
    if (account === undefined) return;
    const [status, parameter = ''] = said.split(' ');
    notes.delete(account);
    const [oldest] = notes.keys();
    if (notes.size >= accountsMax && oldest !== undefined) notes.delete(oldest);
    const answered = answeredOf(account);
    notes.set(account, {
      status: Number(status),
      parameter,
      atMs: clock.monotonicMs(),
      answered,
    });
  }

  async function takeAll(): Promise<void> {
    for (const { sighting, note: said } of board.take()) {
      const keyId = Buffer.from(sighting).toString('latin1', 'pcl_'.length);
      await note(keyId, said).catch((error: unknown) =>
        log.warn({ err: error }, 'connect: refused request not noted'),
      );
    }
  }
  const loop = every(takeMs, takeAll);

  const table: BoundedTable = {
    name: 'refused_keys',
    used: () => notes.size,
    limit: accountsMax,
  };
  return {
    table,
    /** Returns undefined, too, where the account got an answer since. */
    of(account: string): { readonly status: number; readonly parameter: string } | undefined {
      const found = notes.get(account);
      if (found === undefined || clock.monotonicMs() - found.atMs > hourMs) return undefined;
      return found.answered === answeredOf(account) ? found : undefined;
    },
    close: loop.stop,
  };
}

export type RefusedKeys = ReturnType<typeof startRefusedKeys>;
