/**
 * A transport in a process of its own, so that its memory can be measured without the
 * client's. Reports its port, then answers each message with its resident bytes
 * and those that buffers hold.
 */

import { renderHead } from '../../src/http/answer/head.ts';
import { startServer } from './raw.ts';

const feed = new Uint8Array(8_000_000).fill(0x61);
const head = renderHead(200, [['Content-Type', 'application/json']]);
const answer = 'x'.repeat(200);
const longer = 'x'.repeat(14_000);

const running = await startServer([
  { kind: 'hot', method: 'GET', path: '/hot', handle: (request) => request.answer(head, answer) },
  { kind: 'hot', method: 'GET', path: '/nothing', handle: (request) => request.answer(head, '') },
  {
    kind: 'plain',
    method: 'GET',
    path: '/later-nothing',
    handle: () => ({ status: 200, headers: [] }),
  },
  {
    kind: 'plain',
    method: 'GET',
    path: '/feed',
    handle: () => ({ status: 200, headers: [['ETag', '"1"']], body: feed }),
  },
  {
    kind: 'plain',
    method: 'GET',
    path: '/later',
    handle: async () => {
      await new Promise(setImmediate);
      return { status: 200, headers: [], body: answer };
    },
  },
  {
    kind: 'plain',
    method: 'GET',
    path: '/later-longer',
    handle: async () => {
      await new Promise(setImmediate);
      return { status: 200, headers: [], body: longer };
    },
  },
  {
    kind: 'plain',
    method: 'POST',
    path: '/large',
    bodyBytesMax: 8_388_608,
    handle: () => ({ status: 200, headers: [], body: 'ok' }),
  },
  {
    kind: 'plain',
    method: 'POST',
    path: '/upload',
    bodyBytesMax: 65_536,
    handle: () => ({ status: 200, headers: [], body: 'ok' }),
  },
]);
process.on('message', () => {
  globalThis.gc?.();
  const { rss, arrayBuffers } = process.memoryUsage();
  process.send!({ rssBytes: rss, heldBytes: arrayBuffers });
});
process.on('disconnect', () => process.exit());
process.send!({ port: running.port });
