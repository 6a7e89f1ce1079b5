/** Opening a list: files, standard input, and every way in which a server can misbehave. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { OperatorError } from '../../../../src/core/errors.ts';
import { type OpenOptions, openList } from '../../../../src/reputation/lists/import/open-list.ts';
import { collectRows, parseList } from '../../../../src/reputation/lists/import/parse.ts';

const text = '192.0.2.1\n192.0.2.2\n';
/** Requests per path. */
const asked = new Map<string, number>();

const routes: Record<string, RequestListener> = {
  '/list': (_, res) => res.setHeader('content-length', text.length).end(text),
  '/list.gz': (_, res) => {
    const body = gzipSync(text);
    res.setHeader('content-length', body.length).end(body);
  },
  '/encoded': (_, res) => res.setHeader('content-encoding', 'gzip').end(gzipSync(text)),
  '/loop': (_, res) => res.writeHead(302, { location: '/loop' }).end('moved'),
  '/hop/5': (_, res) => res.writeHead(307, { location: '../list?key=1' }).end(),
  '/file': (_, res) => res.writeHead(301, { location: 'file:///etc/passwd' }).end(),
  '/nowhere': (_, res) => res.writeHead(301, { location: 'http://[' }).end(),
  '/empty-redirect': (_, res) => res.writeHead(302).end(),
  '/failing': (_, res) => res.writeHead(503).end('busy'),
  '/partial': (_, res) => res.writeHead(206).end(text),
  '/html': (_, res) => res.setHeader('content-type', 'text/html').end('<html>192.0.2.1</html>'),
  '/silent': () => {},
  '/stalled': (_, res) => res.write(text),
  '/drip': (_, res) => {
    const timer = setInterval(() => res.write('#\n'), 20);
    res.on('close', () => clearInterval(timer));
  },
  '/endless': (_, res) => {
    const block = '# much\n'.repeat(10_000);
    const more = (): void => {
      while (!res.destroyed && res.write(block));
    };
    res.on('drain', more);
    more();
  },
  '/cut': (_, res) => {
    res.setHeader('content-length', 1_000);
    res.write(text, () => res.destroy());
  },
};
for (let hop = 1; hop < 5; hop++) {
  routes[`/hop/${hop}`] = (_, res) => res.writeHead(302, { location: `${hop + 1}` }).end();
}

const folder = mkdtempSync(join(tmpdir(), 'portcullis-import-'));
const server = createServer((req, res) => {
  const path = new URL(req.url ?? '/', 'http://x').pathname;
  asked.set(path, (asked.get(path) ?? 0) + 1);
  const route = routes[path];
  if (route) route(req, res);
  else res.writeHead(404).end('192.0.2.1\n');
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

async function readAll(pathOrUrl: string, options: OpenOptions = {}): Promise<string> {
  const list = await openList(pathOrUrl, options);
  const parts: Buffer[] = [];
  for await (const part of list.chunks) parts.push(part);
  return Buffer.concat(parts).toString();
}

function refused(pattern: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof OperatorError, String(error));
    assert.match(error.message, pattern);
    assert.doesNotMatch(error.message, /[\n\r]|secret/);
    return true;
  };
}

function write(name: string, bytes: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}

test('a file is read with its size and position, packed or not', async () => {
  for (const bytes of [Buffer.from(text), gzipSync(text)]) {
    const path = write('list', bytes);
    const list = await openList(path);
    assert.deepEqual([list.label, list.totalBytes, list.readBytes()], [path, bytes.length, 0]);
    let read = '';
    for await (const part of list.chunks) read += part;
    assert.deepEqual([read, list.readBytes()], [text, bytes.length]);
  }
});

test('a file that is missing, a folder or of another scheme is refused at once', async () => {
  await assert.rejects(
    openList(join(folder, 'no\u001b[2J')),
    refused(/no\\x1b\[2J: .*no such file/),
  );
  await assert.rejects(openList(folder), refused(/is a directory/));
  await assert.rejects(openList('ftp://host/list'), refused(/file or an http/));
  await assert.rejects(openList('http://['), refused(/not valid/));
});

test('standard input is read, with no size', async () => {
  const stdin = Readable.from([gzipSync(text)]);
  const list = await openList('-', { stdin });
  let read = '';
  for await (const part of list.chunks) read += part;
  assert.deepEqual([list.label, list.totalBytes, read], ['standard input', undefined, text]);
});

test('a download has its size as it is sent', async () => {
  const totals: Record<string, number> = {
    '/list': text.length,
    '/list.gz': gzipSync(text).length,
    '/encoded': gzipSync(text).length,
  };
  for (const [path, total] of Object.entries(totals)) {
    const list = await openList(origin + path);
    assert.equal(list.totalBytes, total, path);
    let read = '';
    for await (const part of list.chunks) read += part;
    assert.equal(read, text, path);
    assert.equal(list.readBytes(), total, path);
  }
});

test('five redirects are followed, a sixth is not', async () => {
  assert.equal(await readAll(`${origin}/hop/1`), text);
  await assert.rejects(openList(`${origin}/loop`), refused(/more than 5 redirects/));
  assert.equal(asked.get('/loop'), 6);
});

test('redirects to anything but http(s) are refused', async () => {
  for (const path of ['/file', '/nowhere']) {
    await assert.rejects(openList(origin + path), refused(/redirects to something/));
  }
  await assert.rejects(openList(`${origin}/empty-redirect`), refused(/answered 302, not 200/));
});

test('any status but 200 is refused, and the query is never shown', async () => {
  for (const [path, status] of [
    ['/missing', 404],
    ['/failing', 503],
    ['/partial', 206],
  ] as const) {
    const url = `${origin}${path}?key=secret#secret`;
    await assert.rejects(openList(url), refused(new RegExp(`${path}: .*answered ${status}`)));
  }
});

test('an address with a password is refused without showing it', async () => {
  const url = origin.replace('//', '//user:secret@');
  await assert.rejects(openList(`${url}/list`), refused(/user name/));
});

test('a page of HTML is no list', async () => {
  const list = await openList(`${origin}/html`);
  const options = { format: 'plain', confidence: 75, allowDocumentation: true } as const;
  const parse = parseList(list.chunks, { ...options, label: list.label });
  await assert.rejects(collectRows(parse, list), refused(/is a page of HTML/));
});

test('a server that stays silent, stalls or drips is given up', async () => {
  await assert.rejects(
    openList(`${origin}/silent`, { timeoutMs: 50 }),
    refused(/no data for 50 ms/),
  );
  await assert.rejects(
    readAll(`${origin}/stalled`, { timeoutMs: 50 }),
    refused(/no data for 50 ms/),
  );
  const drip = readAll(`${origin}/drip`, { timeoutMs: 60_000, deadlineMs: 200 });
  await assert.rejects(drip, refused(/took too long/));
});

test('a slow reader is not a slow server', async () => {
  const list = await openList(`${origin}/list`, { timeoutMs: 1_000 });
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  let read = '';
  for await (const part of list.chunks) read += part;
  assert.equal(read, text);
});

test('an endless body stops at the bound on size', async () => {
  const endless = readAll(`${origin}/endless`, { maxBytes: 1_000_000 });
  await assert.rejects(endless, refused(/larger than 1000000 bytes/));
});

test('a connection that breaks off throws, and so does one that is refused', async () => {
  await assert.rejects(
    readAll(`${origin}/cut`),
    refused(/can't be read \(the connection broke off\)/),
  );
  const closed = createServer();
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
  const { port } = closed.address() as AddressInfo;
  await new Promise((resolve) => closed.close(resolve));
  await assert.rejects(openList(`http://127.0.0.1:${port}/`), refused(/connection refused/));
});

test('a signal ends the reading of a file and of a download', async () => {
  for (const from of [write('big', 'x\n'.repeat(1e6)), `${origin}/drip`]) {
    const controller = new AbortController();
    const list = await openList(from, { signal: controller.signal });
    await assert.rejects(
      async () => {
        for await (const part of list.chunks) if (part.length > 0) controller.abort();
      },
      refused(/reading was cancelled/),
      from,
    );
    await assert.rejects(readAll(from, { signal: controller.signal }), refused(/cancelled/));
  }
});

test('a list that is opened and not read can be closed', async () => {
  for (const from of [write('list', text), `${origin}/stalled`]) {
    const list = await openList(from);
    await list.close();
  }
});
