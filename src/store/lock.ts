/**
 * One server per data directory; the CLI needs no lock and may write at the same time.
 *
 * The holder listens on a unix socket in the directory and names it in the store. To take the
 * lock: read the record; if its socket still accepts connections, refuse; else replace the record
 * by compare-and-set, own socket listening already. Of two that start together one loses the
 * compare-and-set, looks again and meets a living socket. The kernel closes the socket of a killed
 * process, so nothing stale remains to be cleared, and neither pids nor their namespaces matter.
 */

import { open, unlink } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { OperatorError } from '../core/errors.ts';
import { type Random, randomToken } from '../core/random.ts';
import { createWriter, decode } from './codec.ts';
import { serverLockKey } from './keys.ts';
import type { Store } from './store.ts';

export interface ServerLockOptions {
  readonly store: Pick<Store, 'get' | 'commit'>;
  readonly dataDir: string;
  readonly random: Random;
  /** Shown to the operator of a second server, nothing else. */
  readonly pid: number;
}

export interface ServerLock {
  /**
   * From now on commands are told when memory holds what they wrote; until then they wait.
   * @param caughtUp resolves when the journal up to a number is in memory; rejects for one that
   *   isn't in the journal
   */
  follow(caughtUp: CaughtUp): void;
  /** The next server need not wait for this process to end. */
  release(): Promise<void>;
}

export type CaughtUp = (seq: bigint) => Promise<void>;

interface Holder {
  readonly socketName: string;
  readonly pid: number;
}

/** Each further turn means that yet another server took and lost the lock meanwhile. */
const attemptsMax = 10;

/** Throws an OperatorError when another server holds the directory or the store can't be written. */
export async function acquireServerLock(options: ServerLockOptions): Promise<ServerLock> {
  const { store, dataDir, random, pid } = options;
  const own: Holder = { socketName: `server-${randomToken(random, 9)}.sock`, pid };
  const directory = await open(dataDir, 'r');
  // The name of a unix socket is limited to 107 bytes; the way over the descriptor is short.
  const socketPath = (name: string): string => `/proc/self/fd/${directory.fd}/${name}`;
  const askers = createAskers();
  const server = await listen(socketPath(own.socketName), dataDir, askers.answer);
  try {
    const version = await claim(store, own, socketPath, dataDir);
    return {
      follow: askers.follow,
      async release() {
        await store.commit({
          check: [{ key: serverLockKey(), version }],
          del: [serverLockKey()],
        });
        askers.close();
        await closeServer(server);
        await directory.close();
      },
    };
  } catch (error) {
    askers.close();
    await closeServer(server);
    await directory.close();
    throw error;
  }
}

async function claim(
  store: ServerLockOptions['store'],
  own: Holder,
  socketPath: (name: string) => string,
  dataDir: string,
): Promise<number> {
  const key = serverLockKey();
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const found = await store.get(key);
    const holder = found === undefined ? undefined : decodeHolder(found.value);
    if (holder !== undefined && (await isListening(socketPath(holder.socketName)))) {
      throw new OperatorError(
        `another Portcullis server (pid ${holder.pid}) is running on ${dataDir}`,
      );
    }
    const result = await store.commit({
      check: [{ key, version: found?.version ?? null }],
      set: [{ key, value: encodeHolder(own) }],
    });
    if (result.ok) {
      // A killed server leaves its socket file behind. Only the winner removes it.
      if (holder !== undefined) await unlink(join(dataDir, holder.socketName)).catch(() => {});
      return result.versions[0]!;
    }
    if (result.error === 'store_unavailable') {
      throw new OperatorError(`can't write to the store in ${dataDir}: ${result.detail}`);
    }
  }
  throw new OperatorError(`other Portcullis servers keep starting on ${dataDir}`);
}

/** More are turned away, and ask again. */
const askersMax = 64;
const askMsMax = 10_000;
const askAgainMs = 100;

/** Commands that want to know when the server honours what they wrote: `seq 123`, then `applied`. */
function createAskers() {
  const sockets = new Set<Socket>();
  let follow: (caughtUp: CaughtUp) => void = () => {};
  const ready = new Promise<CaughtUp>((resolve) => {
    follow = resolve;
  });
  function answer(socket: Socket): void {
    sockets.add(socket);
    let said = '';
    socket.setEncoding('latin1').setTimeout(askMsMax, () => socket.destroy());
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (chunk: string) => {
      said += chunk;
      const seq = /^seq (\d{1,19})\n$/.exec(said)?.[1];
      if (seq === undefined) {
        if (said.length > 24) socket.destroy();
        return;
      }
      socket.removeAllListeners('data');
      ready
        .then((caughtUp) => caughtUp(BigInt(seq)))
        .then(
          () => socket.end('applied\n'),
          () => socket.destroy(),
        );
    });
  }
  return {
    follow: (caughtUp: CaughtUp) => follow(caughtUp),
    answer,
    close() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/**
 * For a command that wrote: waits until the running server holds it in memory, if there is one. A
 * server that starts meanwhile reads all of it before it listens.
 * @returns false: there is a server, and it did not say so within ten seconds
 */
export async function awaitServer(options: {
  store: Pick<Store, 'get'>;
  dataDir: string;
  seq: bigint;
}): Promise<boolean> {
  const { store, dataDir, seq } = options;
  const directory = await open(dataDir, 'r');
  try {
    const startMs = performance.now();
    while (performance.now() - startMs < askMsMax) {
      const found = await store.get(serverLockKey());
      const holder = found && decodeHolder(found.value);
      if (!holder) return true;
      const path = `/proc/self/fd/${directory.fd}/${holder.socketName}`;
      const told = await ask(path, seq, askMsMax - (performance.now() - startMs));
      if (told !== 'again') return true;
      await new Promise((resolve) => setTimeout(resolve, askAgainMs));
    }
    return false;
  } finally {
    await directory.close();
  }
}

/** `nobody`: the socket of a server that is gone. `again`: it ended, or did not answer in time. */
function ask(path: string, seq: bigint, waitMs: number): Promise<'applied' | 'nobody' | 'again'> {
  return new Promise((resolve) => {
    let said = '';
    const socket = connect(path);
    socket.setEncoding('latin1').setTimeout(Math.max(1, waitMs), () => socket.destroy());
    socket.once('connect', () => socket.write(`seq ${seq}\n`));
    socket.on('data', (chunk: string) => {
      said += chunk.slice(0, 16);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve('nobody');
    });
    socket.once('close', () => resolve(said === 'applied\n' ? 'applied' : 'again'));
  });
}

function encodeHolder({ socketName, pid }: Holder): Uint8Array {
  return createWriter().text(socketName).u32(pid).finish();
}

function decodeHolder(value: Uint8Array): Holder | undefined {
  return decode(value, (reader) => ({ socketName: reader.text(), pid: reader.u32() }));
}

/** Any outcome but a clear "nobody there" counts as alive: a stopped or busy holder holds. */
export function isListening(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT');
    });
  });
}

function listen(path: string, dataDir: string, answer: (socket: Socket) => void): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer(answer);
    server.maxConnections = askersMax;
    server.unref();
    server.once('error', (error) => {
      reject(new OperatorError(`can't make a unix socket in ${dataDir}: ${error.message}`));
    });
    server.listen(path, () => resolve(server));
  });
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
