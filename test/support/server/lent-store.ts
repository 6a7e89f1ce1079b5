/**
 * The store of a server that runs, lent to the test: exactly one process may have it open. Preloaded into a
 * server (`--import`) it takes calls on a socket; in a test it makes them. Without a server each call opens
 * the store for itself.
 */

import { createHash } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import { connect, createServer, type Socket } from 'node:net';
import { resolve } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { isMainThread } from 'node:worker_threads';
import type { OpenedServerStore, openedChannel } from '../../../src/app/data.ts';
import type { Store } from '../../../src/storage/store.ts';

/** Its type keeps it the same: the module itself would bring others into each server. */
const channelName: typeof openedChannel = 'portcullis:store:opened';

const methods = ['commit', 'get', 'scan', 'read', 'lastSeq', 'pruneEvents', 'sweep'] as const;
type Method = (typeof methods)[number];
interface Call {
  readonly id: number;
  readonly method: Method;
  readonly args: readonly unknown[];
}
interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly failed?: string;
}

/** Returns a name without a file (unix(7), abstract): a server that is killed leaves nothing behind. */
function pathOf(dataDir: string): string {
  const name = createHash('sha256').update(resolve(dataDir)).digest('hex').slice(0, 24);
  return `\0portcullis-lent-${name}`;
}

function send(socket: Socket, message: Call | Answer): void {
  const bytes = serialize(message);
  const head = Buffer.alloc(4);
  head.writeUInt32BE(bytes.length);
  socket.write(Buffer.concat([head, bytes]));
}

function onMessages<T>(socket: Socket, take: (message: T) => void): void {
  let rest = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 4 && rest.length >= 4 + rest.readUInt32BE(0)) {
      const end = 4 + rest.readUInt32BE(0);
      const message = deserialize(rest.subarray(4, end)) as T;
      rest = rest.subarray(end);
      take(message);
    }
  });
  socket.on('error', () => {});
}

if (isMainThread) {
  channel(channelName).subscribe((message) => {
    const { store, dataDir } = message as OpenedServerStore;
    const server = createServer((socket) => {
      onMessages<Call>(socket, ({ id, method, args }) => {
        (store[method] as (...given: readonly unknown[]) => Promise<unknown>)(...args).then(
          (value) => send(socket, { id, value }),
          (error: Error) => send(socket, { id, failed: error.message }),
        );
      });
      socket.unref();
    });
    server.unref();
    server.listen(pathOf(dataDir));
  });
}

/** @param openAlone for calls while no server runs; it is closed after each */
export function borrowStore(dataDir: string, openAlone: () => Store): Store {
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  let connection: Promise<Socket | undefined> | undefined;
  let last = 0;

  function open(): Promise<Socket | undefined> {
    return new Promise((resolve) => {
      const socket = connect(pathOf(dataDir));
      socket.once('error', () => resolve(undefined));
      socket.once('connect', () => resolve(socket));
      onMessages<Answer>(socket, ({ id, value, failed }) => {
        const call = waiting.get(id);
        waiting.delete(id);
        if (failed === undefined) call?.resolve(value);
        else call?.reject(new Error(failed));
        if (waiting.size === 0) socket.unref();
      });
      socket.once('close', () => {
        connection = undefined;
        for (const call of waiting.values()) call.reject(new Error('the server is gone'));
        waiting.clear();
      });
    });
  }

  async function call(method: Method, ...args: readonly unknown[]): Promise<unknown> {
    connection ??= open();
    const socket = await connection;
    if (socket !== undefined) {
      socket.ref();
      last += 1;
      const id = last;
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        send(socket, { id, method, args });
      });
    }
    connection = undefined;
    const store = openAlone();
    try {
      return await (store[method] as (...given: readonly unknown[]) => Promise<unknown>)(...args);
    } finally {
      await store.close();
    }
  }

  const lent = Object.fromEntries(
    methods.map((method) => [method, (...args: readonly unknown[]) => call(method, ...args)]),
  ) as unknown as Pick<Store, Method>;
  return {
    ...lent,
    onJournalGrowth: () => () => {},
    onWriteState: () => () => {},
    writeState: () => ({ available: true, fatal: false, detail: '' }),
    tables: [],
    async close() {
      (await connection)?.destroy();
    },
  };
}
