/**
 * Servers for the feeds bench, each in a process of its own: `node feeds-server.js <kind> <entries>`
 * builds the feeds, gives its port to the parent, and its CPU time and memory whenever asked.
 */

import { systemClock } from '../src/core/clock.ts';
import { createLog } from '../src/core/log.ts';
import { loadNative } from '../src/http/native.ts';
import { createServer } from '../src/http/server.ts';
import { feedRoutes } from '../src/reputation/blocklists/feeds.route.ts';
import { guardOf } from '../test/support/server/guard.ts';
import { buildOnce, createFeedTable } from './feeds-table.ts';

export const path = '/feeds/blocklist.txt';

const entries = Number(process.argv[3] ?? 1_000);

async function ours(): Promise<number> {
  const built = await buildOnce(createFeedTable(entries));
  const published = {
    files: new Map(built.files.map((file) => [file.name, file])),
    changes: built.changes,
    stats: built.stats,
  };
  const server = createServer({
    routes: feedRoutes({
      publisher: { current: () => published, first: async () => published },
      guard: guardOf(),
      noteMark: () => {},
    }),
    renderProblem: (problem) => ({ status: problem.status, headers: [], body: problem.code }),
    addresses: { hasProxies: false, isTrusted: () => false, normalise: (text) => text },
    clock: systemClock(),
    log: createLog('error'),
  });
  return server.listen('127.0.0.1', 0);
}

/** The library as its documentation shows it: one buffer, sent as the socket takes it. */
async function bare(): Promise<number> {
  const built = await buildOnce(createFeedTable(entries));
  const file = built.files.find(({ name }) => name === 'blocklist.txt 75')!;
  const body = new Uint8Array(new SharedArrayBuffer(file.identity.bytes));
  body.set(Buffer.concat(file.identity.parts));
  const uws = loadNative().library;
  return new Promise((resolve) => {
    uws
      .App()
      .get(path, (res) => {
        res.onAborted(() => {});
        res.writeHeader('Content-Type', 'text/plain; charset=utf-8');
        const [hasRoom] = res.tryEnd(body, body.length);
        if (hasRoom) return;
        res.onWritable((offset) => res.tryEnd(body.subarray(offset), body.length)[0]);
      })
      .listen('127.0.0.1', 0, (socket) => resolve(uws.us_socket_local_port(socket as never)));
  });
}

if (process.send !== undefined) {
  const port = process.argv[2] === 'bare' ? await bare() : await ours();
  process.on('message', () => {
    globalThis.gc?.();
    const { user, system } = process.cpuUsage();
    process.send!({ cpuUs: user + system, rssBytes: process.memoryUsage().rss });
  });
  process.on('disconnect', () => process.exit());
  process.send({ port });
}
