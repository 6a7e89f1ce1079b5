/** ADMIN_LISTEN: health and metrics for whatever speaks HTTP, and for nobody else. */

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { it } from 'node:test';
import { forFile } from '../../support/server/for-file.ts';
import { startTestServer, type TestServer, within } from '../../support/server/server.ts';

const token = 'a-token-of-metrics-1';

async function adminPortOf(of: TestServer): Promise<number> {
  let found = 0;
  await within(() => {
    const line = `${of.stdout()}\n${of.stderr()}`
      .split('\n')
      .find((text) => text.includes('admin: listening'));
    found = line === undefined ? 0 : (JSON.parse(line) as { port: number }).port;
    return found > 0;
  });
  return found;
}

const server = forFile(
  await startTestServer({
    threads: 1,
    demo: false,
    env: { ADMIN_LISTEN: '127.0.0.1:0', LOG_LEVEL: 'info' },
  }),
);
const port = await adminPortOf(server);

/** All that comes until the end. */
function send(text: string, to = port): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(to, '127.0.0.1', () => socket.end(text));
    let answer = '';
    socket.setTimeout(60_000, () => socket.destroy(new Error(`no answer: ${answer}`)));
    socket.on('data', (bytes) => {
      answer += bytes.toString('latin1');
    });
    socket.on('error', reject).on('close', () => resolve(answer));
  });
}

const heads: [name: string, head: string, status: number][] = [
  ['HTTP/1.0', 'GET /readyz HTTP/1.0', 200],
  ['HTTP/1.0, as HAProxy asks', 'OPTIONS / HTTP/1.0', 200],
  ['HTTP/1.1 without a host', 'GET /healthz HTTP/1.1', 200],
  ['a later minor version', 'GET /healthz HTTP/1.2\r\nHost: x', 200],
  ['an absolute target', 'GET http://example.org/readyz HTTP/1.1\r\nHost: example.org', 200],
  ['an absolute target without a path', 'GET http://example.org HTTP/1.1\r\nHost: x', 200],
  ['OPTIONS *', 'OPTIONS * HTTP/1.1\r\nHost: x', 204],
  ['OPTIONS of a path', 'OPTIONS /healthz HTTP/1.1\r\nHost: x', 204],
  ['a line end before it', '\r\nGET /healthz HTTP/1.1\r\nHost: x', 200],
  ['names with _ and .', 'GET /healthz HTTP/1.1\r\nHost: x\r\nx_y: 1\r\nx.y: 2', 200],
  ['a control character', 'GET /healthz HTTP/1.1\r\nHost: x\r\nAccept: a\x01b', 200],
  ['100 header lines', `GET /healthz HTTP/1.1\r\nHost: x${'\r\nA: b'.repeat(100)}`, 200],
  ['a header of 30 KB', `GET /healthz HTTP/1.1\r\nHost: x\r\nA: ${'b'.repeat(30_000)}`, 200],
  ['HEAD', 'HEAD /healthz HTTP/1.0', 200],
  ['a query', 'GET /healthz?x=1 HTTP/1.0', 200],
  ['POST', 'POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 0', 405],
  ['another page', 'GET /signin HTTP/1.1\r\nHost: x', 404],
  ['an API', 'GET /api/v2/check?ipAddress=8.8.8.8 HTTP/1.0', 404],
  ['metrics', 'GET /metrics HTTP/1.0', 200],
  ['metrics that something forwards', 'GET /metrics HTTP/1.0\r\nX-Forwarded-For: 1.2.3.4', 401],
];

it('any head is answered', async () => {
  for (const [name, head, status] of heads) {
    const answer = await send(`${head}\r\n\r\n`);
    assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `), `${name}: ${answer.slice(0, 200)}`);
  }
});

it('the answers are those of the public port', async () => {
  assert.match(await send('GET /healthz HTTP/1.0\r\n\r\n'), /\r\n\r\nok\n$/);
  const ready = (await send('GET /readyz HTTP/1.0\r\n\r\n')).split('\r\n\r\n')[1]!;
  assert.equal(JSON.parse(ready).ready, true);
  const head = await send('HEAD /readyz HTTP/1.0\r\n\r\n');
  assert.ok(head.endsWith('\r\n\r\n'), head);
  assert.match(head, /content-length: [1-9]/i);
  assert.match(await send('GET /metrics HTTP/1.0\r\n\r\n'), /portcullis_table_used/);
});

it('what is no request gets 400, and a body ends its connection', async () => {
  assert.match(await send('nonsense\r\n\r\n'), /^HTTP\/1.1 400 /);
  const smuggled =
    'POST /healthz HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET /readyz HTTP/1.1\r\n\r\n';
  const answer = await send(smuggled);
  assert.equal(answer.match(/HTTP\/1.1 /g)?.length, 1, answer);
});

it('of more connections than it takes the oldest gives way', async () => {
  const sockets = Array.from({ length: 300 }, () => connect(port, '127.0.0.1'));
  for (const socket of sockets) socket.on('error', () => undefined);
  try {
    await within(async () => (await send('GET /healthz HTTP/1.0\r\n\r\n')).includes('200'));
    await within(() => sockets[0]!.destroyed || sockets[0]!.readableEnded);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});

it('with a token, and behind proxies, metrics ask for it', async () => {
  const env = { ADMIN_LISTEN: '127.0.0.1:0', METRICS_TOKEN: token, LOG_LEVEL: 'info' };
  await using other = await startTestServer({ threads: 1, demo: false, env });
  const to = await adminPortOf(other);
  assert.match(await send('GET /metrics HTTP/1.0\r\n\r\n', to), /^HTTP\/1.1 401 /);
  const bearer = `GET /metrics HTTP/1.0\r\nAuthorization: Bearer ${token}\r\n\r\n`;
  assert.match(await send(bearer, to), /^HTTP\/1.1 200 /);
  await using proxied = await startTestServer({
    threads: 1,
    demo: false,
    env: { ADMIN_LISTEN: '127.0.0.1:0', TRUSTED_PROXIES: '127.0.0.1', LOG_LEVEL: 'info' },
  });
  const behind = await adminPortOf(proxied);
  assert.match(await send('GET /metrics HTTP/1.0\r\n\r\n', behind), /^HTTP\/1.1 401 /);
  assert.match(await send('GET /readyz HTTP/1.0\r\n\r\n', behind), /^HTTP\/1.1 200 /);
});
