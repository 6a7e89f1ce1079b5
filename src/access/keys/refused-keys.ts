/**
 * Tells why the last request with a key of an account was refused, for the page on which its owner connects
 * something. The thread that refuses a request leaves the public part of its key and the reason on a board in
 * shared memory (access/marks.ts); the main thread takes them from there and looks up whose key it is. A key of
 * no account may be anybody's: whoever waits learns that such a request came, and whether it came from the own
 * network.
 *
 * Bounds: the board's, of which one network has four cells; a thread leaves four refusals of a network in a second;
 * `accountsMax` accounts with a note and as many that wait, the oldest evicted; a note ends after an hour, or
 * with the next answer that the account gets. `networksMax` networks from which an unknown key came, the oldest
 * evicted, each for two minutes.
 */

import type { BoundedTable } from '../../core/bounded-tables.ts';
import type { Clock } from '../../core/clock.ts';
import { fnv1a } from '../../core/crypto.ts';
import { duplicateWords } from '../../core/errors.ts';
import { every } from '../../core/every.ts';
import type { Log } from '../../core/log.ts';
import { hourMs, minuteMs } from '../../core/time.ts';
import { readIp } from '../../ip/address.ts';
import { neighbourhoodOf } from '../../ip/networks.ts';
import { apiKeyKey } from '../../storage/keys.ts';
import type { Store } from '../../storage/store.ts';
import { decodeKey } from '../accounts/records.ts';
import { type BoardEntry, createSightingBoard, networkCells } from '../marks.ts';

const accountsMax = 4_096;
const networksMax = 256;
const unknownMs = 2 * minuteMs;
const takeMs = 500;
/** Networks are counted in so many groups. */
const networkGroups = 256;

/** Matches a key that was cut short or changed too, as far as its public part is whole. */
const publicPart = /^pcl_[0-9A-Za-z]{8}(?=_)/;
const parameterIn = /"parameter":"([\w-]{1,40})"/;

const statuses: ReadonlySet<number> = new Set([401, 403, 422, 429]);

/**
 * Leaves a refusal for the main thread; other answers are ignored.
 * @param key as it came; left out where none did
 * @param body of the answer, which names the wrong parameter
 */
export type RecordRefusal = (
  key: string | undefined,
  clientIp: string,
  status: number,
  body: unknown,
) => void;

/**
 * Tells of a refused request; with `from`, its key is of no account, and it came from the reader's network or
 * another one.
 */
type RefusedKey =
  | { readonly status: number; readonly parameter: string }
  | { readonly from: 'own' | 'other' };

function networkOfClient(clientIp: string): string {
  const ip = readIp(clientIp);
  return ip === undefined ? '' : neighbourhoodOf(ip.family, ip.words);
}

/** Opens the board of refusals for the calling thread. */
export function createRefusalRecorder(
  memory: SharedArrayBuffer,
  clock: Pick<Clock, 'monotonicMs'>,
): RecordRefusal {
  const board = createSightingBoard(memory);
  const left = new Uint8Array(networkGroups);
  const seconds = new Float64Array(networkGroups).fill(Number.NEGATIVE_INFINITY);

  function mayLeave(network: string): boolean {
    const group = (fnv1a(network) >>> 0) % networkGroups;
    const second = Math.floor(clock.monotonicMs() / 1_000);
    if (seconds[group] !== second) left[group] = 0;
    seconds[group] = second;
    return left[group]!++ < networkCells;
  }

  return (key, clientIp, status, body) => {
    if (!statuses.has(status)) return;
    const said = typeof body === 'string' ? body : '';
    // A tool that repeats a report works.
    if (said.includes(duplicateWords)) return;
    const [named = ''] = publicPart.exec(key ?? '') ?? [];
    const network = networkOfClient(clientIp);
    if (!mayLeave(network)) return;
    const [, parameter = ''] = parameterIn.exec(said) ?? [];
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

  /** Holds when an unknown key came from a network. */
  const unknown = new Map<string, number>();
  /** Holds for an account that waits on /connect the answers that it had got, and since when. */
  const waiting = new Map<string, { answered: number; sinceMs: number }>();

  async function accountOf(sighting: Uint8Array): Promise<string | undefined> {
    // Other texts than keys of this form leave zeros.
    if (sighting[0] === 0) return undefined;
    const keyId = Buffer.from(sighting).toString('latin1', 'pcl_'.length);
    const row = await store.get(apiKeyKey(keyId));
    return row && decodeKey(row.value)?.account;
  }

  async function note({ sighting, network, note: said }: BoardEntry): Promise<void> {
    const account = await accountOf(sighting);
    const [status, parameter = ''] = said.split(' ');
    const atMs = clock.monotonicMs();
    if (account === undefined) {
      // An address without its limit, as 429 says, has no key to blame.
      if (status === '401' || status === '403') putLast(unknown, network, atMs, networksMax);
      return;
    }
    const answered = answeredOf(account);
    putLast(notes, account, { status: Number(status), parameter, atMs, answered }, accountsMax);
  }

  /** Returns since when the account has waited for an answer; from its first question on. */
  function waitsSince(account: string): number {
    const answered = answeredOf(account);
    const known = waiting.get(account);
    const since = known?.answered === answered ? known.sinceMs : clock.monotonicMs();
    putLast(waiting, account, { answered, sinceMs: since }, accountsMax);
    return since;
  }

  /** Returns the note of the account; undefined where it has ended. */
  function noteOf(account: string) {
    const found = notes.get(account);
    const isOver = found === undefined || clock.monotonicMs() - found.atMs > hourMs;
    return isOver || found.answered !== answeredOf(account) ? undefined : found;
  }

  async function takeAll(): Promise<void> {
    for (const spotted of board.take()) {
      await note(spotted).catch((error: unknown) =>
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
    /**
     * Returns the latest refusal; undefined, too, where the account got an answer since.
     * @param clientIp of the owner, who waits for an answer from now on
     */
    of(account: string, clientIp: string): RefusedKey | undefined {
      const sinceMs = Math.max(waitsSince(account), clock.monotonicMs() - unknownMs);
      const note = noteOf(account);
      const nearMs = unknown.get(networkOfClient(clientIp)) ?? Number.NEGATIVE_INFINITY;
      if (nearMs >= Math.max(sinceMs, note?.atMs ?? sinceMs)) return { from: 'own' };
      if (note !== undefined) return note;
      return [...unknown.values()].some((atMs) => atMs >= sinceMs) ? { from: 'other' } : undefined;
    },
    close: loop.stop,
  };
}

/** Puts a value behind all others; the oldest makes room. */
function putLast<Value>(map: Map<string, Value>, key: string, value: Value, max: number): void {
  map.delete(key);
  const [oldest] = map.keys();
  if (map.size >= max && oldest !== undefined) map.delete(oldest);
  map.set(key, value);
}

export type RefusedKeys = ReturnType<typeof startRefusedKeys>;
