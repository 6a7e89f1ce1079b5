/** A download in its thread: bounds, conditional requests, and an end that is asked for. */

import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { masterKeyFromBytes } from '../../../../src/access/keys/master-key.ts';
import { OperatorError } from '../../../../src/core/errors.ts';
import { retryAfterMs } from '../../../../src/reputation/lists/import/download.ts';
import {
  type FetchJob,
  type FetchResult,
  fetchBounds,
  fetchInThread,
} from '../../../../src/reputation/lists/subscriptions/refresher.ts';
import {
  openCredentials,
  readCredentials,
  sealCredentials,
} from '../../../../src/reputation/lists/subscriptions/subscriptions.ts';
import { batchRows } from '../../../support/reputation/lists.ts';
import { seededRandom } from '../../../support/seeded.ts';

const text = '9.9.9.9\n149.112.112.112\nno address\n';
const etag = '"one"';
const lastModified = 'Mon, 23 Nov 2026 01:00:00 GMT';
const rest = { confidence: 80, allowDocumentation: false, service: undefined };
let seen: IncomingMessage[] = [];
let onSlow: () => void = () => {};
const routes: Record<string, RequestListener> = {
  '/list': (req, res) => {
    res.setHeader('etag', etag).setHeader('last-modified', lastModified);
    if (req.headers['if-none-match'] === etag) res.writeHead(304).end();
    else res.end(text);
  },
  '/packed': (_, res) => res.setHeader('content-encoding', 'gzip').end(gzipSync(text)),
  '/brotli': (_, res) => res.setHeader('content-encoding', 'br').end(text),
  '/bomb.gz': (_, res) => res.end(gzipSync(Buffer.alloc(5_000_000, '9.9.9.9\n'))),
  '/many': (_, res) => res.end(Array.from({ length: 200 }, (_, i) => `9.9.1.${i}\n`).join('')),
  '/busy': (_, res) => res.writeHead(429, { 'retry-after': '3600' }).end(),
  '/away': (_, res) => {
    const until = new Date(Date.now() + 600_000).toUTCString();
    res.writeHead(503, { 'retry-after': until }).end();
  },
  '/gone': (_, res) => res.writeHead(404, { 'retry-after': '3600' }).end(),
  '/not-asked': (_, res) => res.writeHead(304).end(),
  '/moved': (_, res) => res.writeHead(302, { location: '/list' }).end(),
  '/elsewhere': (_, res) => res.writeHead(302, { location: `${other}/list` }).end(),
  '/slow': (_, res) => {
    res.write('9.9.9.9\n');
    onSlow();
  },
};
const server = createServer((req, res) => {
  seen.push(req);
  (routes[req.url!] ?? ((_, reply) => reply.writeHead(404).end()))(req, res);
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as AddressInfo;
/** The same server by another name. */
const other = `http://localhost:${port}`;
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
after(() => {
  server.closeAllConnections();
  server.close();
});

function fetchPath(
  path: string,
  over: Partial<FetchJob> = {},
  signal = new AbortController().signal,
): Promise<FetchResult> {
  seen = [];
  const url = origin + path;
  const terms = { url, format: 'plain', ...rest } as const;
  return fetchInThread(
    { ...fetchBounds, terms, allowPrivate: true, peerHosts: [], known: undefined, ...over },
    signal,
  );
}

const waitOf = (answer: FetchResult) => ('failed' in answer ? answer.waitMs : undefined);
const failureOf = (answer: FetchResult) => ('failed' in answer ? answer.failed : '');

test('a server that has no time says when to come back, in seconds or by a date', async () => {
  assert.deepEqual(waitOf(await fetchPath('/busy')), 3_600_000);
  const untilDate = waitOf(await fetchPath('/away'))!;
  assert.ok(untilDate > 500_000 && untilDate <= 600_000, String(untilDate));
  assert.equal(waitOf(await fetchPath('/gone')), undefined);
});

test('what a server asks is bounded, and what makes no sense asks nothing', () => {
  const now = Date.UTC(2026, 10, 25, 12);
  for (const [status, text, wanted] of [
    [429, '120', 120_000],
    [503, ' 1 ', 1_000],
    [503, '0', 0],
    [429, '999999999999999', 86_400_000],
    [429, 'Wed, 25 Nov 2026 12:10:00 GMT', 600_000],
    [429, 'Wednesday, 25-Nov-26 12:10:00 GMT', 600_000],
    [503, 'Wed Nov 25 12:10:00 2026', 600_000],
    [503, 'Wed, 25 Nov 2026 11:00:00 GMT', 0],
    [503, 'Wed, 25 Nov 2099 11:00:00 GMT', 86_400_000],
    ...['', '-5', '1.5', 'soon', '1e9', '120, 60'].map((bad) => [429, bad, 0] as const),
    [429, undefined, 0],
    [500, '120', 0],
  ] as const) {
    assert.equal(retryAfterMs(status, text, now), wanted, `${status} ${text}`);
  }
});

test('rows, bad lines and what to ask with the next time', async () => {
  const answer = await fetchPath('/list');
  assert.ok('fetched' in answer, failureOf(answer));
  const { batches, rows, badLines, samples, validators, digest } = answer.fetched;
  assert.deepEqual(batches.flatMap(batchRows), ['9.9.9.9/32 80', '149.112.112.112/32 80']);
  assert.deepEqual([rows, badLines, samples[0]!.text], [2, 1, 'no address']);
  assert.deepEqual(validators, { etag, lastModified });
  const packed = await fetchPath('/packed');
  assert.ok('fetched' in packed && packed.fetched.digest === digest, failureOf(packed));
  assert.equal(seen[0]!.headers['if-none-match'], undefined);
});

test('what is known is asked about, and need not be sent again', async () => {
  const known = { etag, lastModified };
  assert.deepEqual(await fetchPath('/list', { known }), { unchanged: true });
  const { headers } = seen[0]!;
  assert.equal(headers['if-none-match'], etag);
  assert.equal(headers['if-modified-since'], lastModified);
  assert.match(failureOf(await fetchPath('/not-asked')), /answered 304, not 200/);
});

test('a header of its own goes to the host of the source alone, whatever it redirects to', async () => {
  const credentials = { 'x-key': 'hush', authorization: 'Basic eDp5' };
  const sent = () => seen.map(({ url, headers }) => [url, headers['x-key'], headers.authorization]);
  const both = ['hush', 'Basic eDp5'];
  assert.ok('fetched' in (await fetchPath('/moved', { credentials })));
  assert.deepEqual(sent(), [
    ['/moved', ...both],
    ['/list', ...both],
  ]);
  assert.ok('fetched' in (await fetchPath('/elsewhere', { credentials })));
  assert.deepEqual(sent(), [
    ['/elsewhere', ...both],
    ['/list', undefined, undefined],
  ]);
});

test('what a source asks for is read, sealed for its name and host, and refused where it makes no sense', async () => {
  const masterKey = masterKeyFromBytes(new Uint8Array(32).fill(7));
  const source = { name: 'bad', url: 'https://lists.example/bad.txt?x=1' };
  const given = readCredentials({ header: 'X-Key:  a b ', user: 'ada:p:w ü' })!;
  assert.deepEqual(given, {
    'x-key': 'a b',
    authorization: `Basic ${Buffer.from('ada:p:w ü').toString('base64')}`,
  });
  assert.equal(readCredentials({ header: '', user: '' }), undefined);
  for (const [header, user] of [
    ['X-Key'],
    ['X-Key: '],
    ['X Key: a'],
    ['X-Key: a\nb'],
    ['X-Key: ü'],
    ['Host: a'],
    ['if-none-match: a'],
    ['Content-Length: 1'],
    ['', 'ada'],
    ['', ':pw'],
    ['', 'ada:'],
    ['', 'ada:p\nw'],
    ['Authorization: Bearer a', 'ada:pw'],
  ]) {
    assert.throws(() => readCredentials({ header, user }), OperatorError, `${header} ${user}`);
  }
  const sealed = sealCredentials(masterKey, seededRandom(1), source, given);
  const store = { get: async () => ({ value: sealed, version: 1 }) };
  const opened = async (of: object, key = masterKey) => {
    const found = await openCredentials(store, key, { ...source, ...of });
    return found.ok ? found.value : found.detail;
  };
  assert.deepEqual(await opened({ url: 'https://lists.example/other' }), given);
  const refused = 'its header or password was sealed with another master key';
  assert.equal(await opened({ url: 'https://evil.example/bad.txt' }), refused);
  assert.equal(await opened({ name: 'worse' }), refused);
  assert.equal(await opened({}, masterKeyFromBytes(new Uint8Array(32).fill(8))), refused);
});

test('size after unpacking, rows and time are bounded', async () => {
  assert.match(failureOf(await fetchPath('/bomb.gz', { bytesMax: 1_000_000 })), /larger than/);
  assert.match(failureOf(await fetchPath('/many', { rowsMax: 100 })), /more than 100 rows/);
  assert.match(failureOf(await fetchPath('/slow', { waitMsMax: 50 })), /no data for 50 ms/);
  assert.match(failureOf(await fetchPath('/slow', { fetchMsMax: 50 })), /took too long/);
  assert.match(failureOf(await fetchPath('/brotli')), /encoding that is not read/);
});

test('an address that is not public is refused in the thread too, and nobody is asked', async () => {
  const byName = origin.replace('127.0.0.1', 'localhost');
  for (const url of [origin, byName]) {
    const terms = { url, format: 'plain', ...rest } as const;
    const refused = await fetchPath('/list', { terms, allowPrivate: false });
    assert.match(failureOf(refused), /private address/, url);
    assert.equal(seen.length, 0);
  }
});

test('a download ends when it is asked to', async () => {
  const ending = new AbortController();
  onSlow = () => ending.abort();
  assert.match(failureOf(await fetchPath('/slow', {}, ending.signal)), /cancelled|ended/);
  assert.match(failureOf(await fetchPath('/list', {}, ending.signal)), /./);
});
