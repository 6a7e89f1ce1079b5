/** Bytes that are changed between a node and its database: each question ends, in words, and so does the connection. */

import assert from 'node:assert/strict';
import { connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { createConnection } from '../../src/storage/postgres/connection.ts';
import { memoryLog } from '../support/server/memory-log.ts';
import { sharedSettings } from '../support/server/nodes.ts';
import { startPostgres } from '../support/server/postgres.ts';
import { startTestServer } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const answerMs = 700;
/** Connections at once. */
const atOnce = 16;

/** Passes bytes on to the database and flips one of those that come back, or that go there. */
async function startProxy(path: string) {
  const sockets = new Set<Socket>();
  let plan: { way: 'back' | 'there'; at: number; bit: number } | undefined;
  let onFlipped = () => {};
  const server = createServer((near) => {
    const far = connect(path);
    for (const [from, to, way] of [
      [near, far, 'there'],
      [far, near, 'back'],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
      from.on('data', (bytes: Buffer) => {
        if (plan?.way === way) {
          if (plan.at < bytes.length) {
            bytes[plan.at]! ^= 1 << plan.bit;
            plan = undefined;
            onFlipped();
          } else plan.at -= bytes.length;
        }
        to.write(bytes);
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as { port: number }).port,
    /** Resolves when the byte was flipped. */
    flip(next: typeof plan): Promise<void> {
      plan = next;
      return new Promise((resolve) => {
        onFlipped = resolve;
      });
    },
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

test('each byte of an answer or a question may change: nothing throws past it, and all ends', {
  timeout: 600_000,
}, async () => {
  const postgres = await startPostgres();
  const url = await postgres.createDatabase();
  await postgres.ask(url, 'create table t (id int primary key, body bytea)');
  await postgres.ask(url, "insert into t select i, '\\x0102030405' from generate_series(1, 3) i");
  const { log } = memoryLog();
  const name = /@\/([^?]+)/.exec(url)![1];
  const uncaught: unknown[] = [];
  const note = (error: unknown) => uncaught.push(error);
  process.on('uncaughtException', note);
  let settled = 0;
  async function one({ way, at }: { way: 'back' | 'there'; at: number }): Promise<void> {
    const proxy = await startProxy(`${postgres.directory}/.s.PGSQL.5432`);
    const through = `postgres://postgres@127.0.0.1:${proxy.port}/${name}`;
    const connection = createConnection({ url: through, log, answerMs });
    const session = await connection.session();
    void proxy.flip({ way, at, bit: at % 8 });
    const asked = { text: 'select id, body from t where id <= $1 order by id', values: [3] };
    await session.pipeline([asked, { text: 'select 1' }]).catch((error: Error) => {
      assert.ok(error.message.length > 0);
    });
    const late = new Promise((_, reject) => {
      setTimeout(
        () => reject(new Error(`${way} ${at}: the connection does not end`)),
        120_000,
      ).unref();
    });
    await Promise.race([connection.close(), late]);
    proxy.close();
    settled += 1;
  }
  const back = Array.from({ length: 128 }, (_, at) => ({ way: 'back', at }) as const);
  const there = Array.from({ length: 32 }, (_, n) => ({ way: 'there', at: 3 * n }) as const);
  const all = [...back, ...there];
  try {
    for (let n = 0; n < all.length; n += atOnce) {
      await Promise.all(all.slice(n, n + atOnce).map(one));
    }
  } finally {
    process.off('uncaughtException', note);
    await postgres.stop();
  }
  assert.deepEqual(uncaught, [], 'nobody else is told of it');
  assert.equal(settled, all.length);
});

test('a node whose bytes were changed stops when it is asked to, and whatever ended it is one line', {
  timeout: 600_000,
}, async () => {
  const postgres = await startPostgres();
  try {
    for (const [round, at] of [0, 1, 5, 90].entries()) {
      const url = await postgres.createDatabase();
      const name = /@\/([^?]+)/.exec(url)![1];
      const proxy = await startProxy(`${postgres.directory}/.s.PGSQL.5432`);
      const directory = makeTempDir('flipped-node');
      const env = {
        ...sharedSettings(directory.path),
        DATABASE_URL: `postgres://postgres@127.0.0.1:${proxy.port}/${name}`,
      };
      try {
        await using node = await startTestServer({ threads: 1, demo: false, env });
        // It asks the database all the time.
        await proxy.flip({ way: 'back', at, bit: round });
        const late = new Promise<never>((_, reject) => {
          setTimeout(() => reject(new Error(`byte ${at}: the node does not end`)), 120_000).unref();
        });
        const { code, signal } = await Promise.race([node.stop(), late]);
        assert.equal(signal, null, node.stderr());
        // The lines of the log that come with its end may be written behind it.
        if (code !== 0) assert.match(node.stderr(), /^portcullis: |"level":60/m, `byte ${at}`);
        assert.doesNotMatch(node.stderr(), /^\s+at .*\.js:\d+/m, `byte ${at}`);
      } finally {
        proxy.close();
        directory.remove();
      }
    }
  } finally {
    await postgres.stop();
  }
});
