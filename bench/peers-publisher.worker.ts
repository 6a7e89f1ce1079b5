/**
 * A peer in a thread of its own, so that its work is not that of who reads it: its snapshot has so many rows. Posts its
 * address, its key's line and how long its snapshot takes to write; each message moves its clock, and says whether it has one segment more since.
 */

import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { hourMs } from '../src/core/time.ts';
import { writeHead } from '../src/reputation/federation/document/head.ts';
import { makeSigningKey } from '../src/reputation/federation/document/key.ts';
import { chainAfter, chainStart, rowLine } from '../src/reputation/federation/document/segment.ts';
import { readPublished, writeSnapshot } from '../src/reputation/federation/publish/snapshot.ts';
import { seededRandom } from '../test/support/seeded.ts';

const { rows, nowMs } = workerData as { readonly rows: number; readonly nowMs: number };
const key = makeSigningKey('b.example', seededRandom(1));
const body = snapshotOf(Math.floor(nowMs / hourMs));
const packed = gzipSync(body, { level: 6 });
const snapshotMs = timeOfSnapshot();
const sha256 = createHash('sha256').update(body).digest('hex');
const now = { ms: nowMs };
let newsAt = 0;
let signed: { readonly madeAt: number; readonly note: Buffer } = {
  madeAt: -1,
  note: Buffer.alloc(0),
};
let [seq, chain] = [1, chainAfter(chainStart, Buffer.alloc(0))];

/** Seven in a hundred are IPv6; the others are one to six in a /24, in order. */
function snapshotOf(hour: number): Buffer {
  const random = seededRandom(36);
  const six = Math.floor(rows * 0.07);
  const lines = Buffer.alloc(64 * rows);
  let [size, count] = [0, 0];
  const row = { family: 4 as 4 | 6, words: new Uint32Array(4), length: 32 };
  function add(): void {
    const hoursAgo = count % 200;
    const hours = { firstHour: hour - 100 - hoursAgo, lastHour: hour - hoursAgo };
    const categories = count % 3 === 0 ? (1 << 18) | (1 << 22) : 1 << 18;
    const said = { ...hours, categories, reports: 4, staff: 1, members: count % 2, earned: 0 };
    size += lines.write(rowLine(row, said), size, 'latin1');
    count++;
  }
  for (let network = 0x0b00_0000; count < rows - six; network += 256 * (1 + (count % 28))) {
    const step = 1 + Math.floor(random.next() * 40);
    for (let host = 0; host < 256 && count < rows - six && host < 6 * step; host += step) {
      row.words[0] = network + host;
      add();
    }
  }
  Object.assign(row, { family: 6, length: 64 });
  for (let i = 0; i < six; i++) {
    row.words.set([0x2a10_0000 + (i >> 8), (i & 255) << 16]);
    add();
  }
  return lines.subarray(0, size);
}

/** How long this server takes to write such a snapshot, in this thread. */
function timeOfSnapshot(): number {
  const list = readPublished(packed, []);
  if (list === undefined) throw new Error('a snapshot that can not be read');
  const beginMs = performance.now();
  writeSnapshot(list);
  return performance.now() - beginMs;
}

/** The head of now, signed anew each hour and with each segment, as this server signs its own. */
function head(): Buffer {
  const madeAt = Math.max(newsAt, Math.floor(now.ms / hourMs) * hourMs);
  if (madeAt === signed.madeAt) return signed.note;
  const snapshot = { seq, sha256, bytes: body.length, rows, chain };
  const more = { oldest: seq + 1, least: 1, licence: 'CC0-1.0' };
  const said = { seq, chain, madeAt, endsAt: madeAt + 24 * hourMs, snapshot, ...more };
  signed = { madeAt, note: writeHead(said, [key]) };
  return signed.note;
}

const server = createServer((request, response) => {
  if (request.url === '/federation/head') {
    const note = head();
    const etag = `"${createHash('sha256').update(note).digest('base64url')}"`;
    response.setHeader('ETag', etag);
    if (request.headers['if-none-match'] === etag) response.writeHead(304).end();
    else response.end(note);
  } else response.setHeader('Content-Encoding', 'gzip').end(packed);
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  parentPort!.postMessage({ url: `http://127.0.0.1:${port}`, line: key.line, snapshotMs });
});
parentPort!.on('message', (next: { readonly nowMs: number; readonly hasNews: boolean }) => {
  now.ms = next.nowMs;
  if (next.hasNews) {
    [seq, chain] = [seq + 1, chainAfter(chain, Buffer.alloc(0))];
    newsAt = Math.floor(now.ms / 1_000) * 1_000;
  }
  parentPort!.postMessage('moved');
});
