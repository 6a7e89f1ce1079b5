/** Every bound of the transport in one place; docs/HTTP.md says what happens at each. */

import { readFileSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { every } from '../../core/every.ts';
import type { Log } from '../../core/log.ts';

export interface HttpLimits {
  /** Names and values together. The older build stops at 4 KB when they come in several packets. */
  readonly headerBytesMax: number;
  readonly pathCharsMax: number;
  readonly queryCharsMax: number;
  /** A body that nobody asked for (on a GET, or behind a 404) is discarded up to this size. */
  readonly strayBodyBytesMax: number;
  /**
   * Time from the first byte of the request to the last of its body. It is below the 8 s after which the
   * library may close a connection that brings little, or the client never reads why.
   */
  readonly bodyTimeoutMs: number;
  /** A body that brings less in any window is given up: 408. */
  readonly bodyBytesPerSecondMin: number;
  readonly bodyWindowMs: number;
  /** Time from the call of a handler to its reply. */
  readonly handlerTimeoutMs: number;
  /** After an early refusal the rest of the body is read up to here, so the client sees the answer. */
  readonly drainBytesMax: number;
  readonly drainTimeoutMs: number;
  /** Requests that handlers work on: `request-slots.ts` has each client's part; 429 and 503 beyond. */
  readonly inFlightMax: number;
  /** The same for routes that are `isProbe`, which take no slot of the others. */
  readonly probesMax: number;
  /**
   * Bodies that arrive, and as many answers that wait for their readers: of a client (IPv4 /32,
   * IPv6 /64), of a network (/24, /48), and in all. Beyond it the oldest of those who hold most are
   * evicted, see `request-slots.ts`.
   */
  readonly waitingPerClientMax: number;
  readonly waitingPerNeighbourhoodMax: number;
  readonly waitingMax: number;
  /**
   * Connections whose body is refused and that end in `drainTimeoutMs`: a client that reconnects at
   * each end comes back later. Beyond it they end at once, first those of the clients that have
   * most.
   */
  readonly refusedMax: number;
  /**
   * Memory of answers that wait for their readers: of a client, and of all of the thread together. Beyond
   * it the oldest of whoever holds most are cut off, see `request-slots.ts`.
   */
  readonly unreadBytesPerClientMax: number;
  readonly unreadBytesInAllMax: number;
  /** Bytes of each collected body that the two bounds below don't count. */
  readonly bodyBytesFree: number;
  /** Held by the bodies of one client beyond that; 429 beyond. */
  readonly bodyBytesPerClientMax: number;
  /** The same for all clients of the thread together; 503 beyond. */
  readonly bodyBytesInAllMax: number;
  /** Larger byte bodies are written with backpressure; smaller ones are copied by the library. */
  readonly copiedBodyBytesMax: number;
  /** Chunks of a streamed body waiting for their handler before the socket is paused. */
  readonly streamQueueBytesMax: number;
}

export const defaultLimits: HttpLimits = {
  headerBytesMax: 16_384,
  pathCharsMax: 1_024,
  queryCharsMax: 4_096,
  strayBodyBytesMax: 16_384,
  bodyTimeoutMs: 7_000,
  bodyBytesPerSecondMin: 500,
  bodyWindowMs: 2_000,
  handlerTimeoutMs: 10_000,
  drainBytesMax: 1_048_576,
  drainTimeoutMs: 2_000,
  inFlightMax: 4_096,
  probesMax: 256,
  waitingPerClientMax: 256,
  waitingPerNeighbourhoodMax: 1_024,
  waitingMax: 4_096,
  refusedMax: 8_192,
  unreadBytesPerClientMax: 134_217_728,
  unreadBytesInAllMax: 268_435_456,
  bodyBytesFree: 65_536,
  bodyBytesPerClientMax: 33_554_432,
  bodyBytesInAllMax: 100_663_296,
  copiedBodyBytesMax: 16_384,
  streamQueueBytesMax: 65_536,
};

/** Connections plus files, with room to spare. */
const openFilesWanted = 16_384;

/**
 * A line for the start log when too few files can be open, else undefined. Node raises the
 * soft limit to the hard one by itself and can do no more: the hard one is the operator's.
 */
export function openFilesWarning(
  limitsText: string | undefined = readOwnLimits(),
): string | undefined {
  const soft = openFilesMax(limitsText);
  if (soft >= openFilesWanted) return undefined;
  return `only ${soft} open files are allowed (ulimit -n); ${openFilesWanted} or more are advised, each connection takes one`;
}

/** Returns the number of files that may be open; infinity when the text names no limit. */
function openFilesMax(limitsText: string | undefined = readOwnLimits()): number {
  const soft = /^Max open files\s+(\d+|unlimited)/m.exec(limitsText ?? '')?.[1];
  return soft === undefined || soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
}

/** Returns the limit of this process now; undefined when no descriptor is left to read it with. */
function openFilesMaxNow(): number | undefined {
  try {
    return openFilesMax(readFileSync('/proc/self/limits', 'latin1'));
  } catch (error) {
    const isFull = (error as NodeJS.ErrnoException).code === 'EMFILE';
    return isFull ? undefined : Number.POSITIVE_INFINITY;
  }
}

function readOwnLimits(): string | undefined {
  try {
    return readFileSync('/proc/self/limits', 'latin1');
  } catch {
    return undefined; // not Linux: nothing to read
  }
}

// Keeps a reserve of file descriptors. At the limit of the process the web server would retry the same connection in
// a busy loop, and files, mails and backups would fail.
//
// So while few descriptors are left no thread listens, and new connections are refused at once. Idle connections end
// after some seconds, so this does not last longer.

const pollMs = 100;
const reserveMax = 256;
const folder = '/proc/self/fd';

/** @param accept false: connections are refused, until true */
export function watchDescriptors(log: Log, accept: (isOn: boolean) => void) {
  let limit = openFilesMaxNow() ?? Number.POSITIVE_INFINITY;
  let isPaused = false;
  let pauses = 0;

  async function poll(): Promise<void> {
    const open = await countDescriptors();
    if (open === undefined) return;
    // Read each time: an operator may change it while the server runs. If no descriptor is left to read it with, the
    // open ones are the limit.
    limit = openFilesMaxNow() ?? Math.min(limit, open);
    pauseOrResume(open);
  }

  function pauseOrResume(open: number): void {
    const reserve = Math.min(reserveMax, Math.ceil(limit / 8));
    if (!isPaused && open >= limit - reserve) {
      isPaused = true;
      pauses += 1;
      log.warn(
        { open, limit },
        'open files: nearly all are in use, no connection is taken for now; raise ulimit -n',
      );
      accept(false);
    } else if (isPaused && open < limit - 2 * reserve) {
      accept(true);
      isPaused = false;
      log.warn({ open, limit }, 'open files: connections are taken again');
    }
  }

  const loop = every(pollMs, poll, {
    onFailure: (err) => log.warn({ err }, 'open files: count failed, will retry'),
  });
  return {
    isPaused: () => isPaused,
    /** Returns the number of pauses since the start. */
    pauses: () => pauses,
    stop: loop.stop,
  };
}

export type DescriptorWatch = ReturnType<typeof watchDescriptors>;

/** Linux 6.2 and later say it at once; before, the names must be read. */
async function countDescriptors(): Promise<number | undefined> {
  try {
    return statSync(folder).size || (await readdir(folder)).length;
  } catch (error) {
    // No descriptor is left to count with.
    if ((error as NodeJS.ErrnoException).code === 'EMFILE') return Number.MAX_SAFE_INTEGER;
    return undefined;
  }
}
