/**
 * Hostile bytes against the real routes. What is counted of checks tells whether any of them was
 * worked on, a smuggled one too.
 */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  answersIn,
  get,
  isUndispatched,
  openConnection,
  requestText,
  sleep,
} from '../../http/raw.ts';
import {
  metric,
  startTestServer,
  type TestServer,
  threadCounts,
} from '../../support/server/server.ts';
import { type HttpVector, httpVectors } from '../../vectors/http.ts';

const refused = httpVectors.filter((vector) => !Array.isArray(vector.expect));
/** Pipelined on one connection: one segment holds dozens of them. */
const pipelined = 1_000;

/** Most of the time goes by waiting for the other side to give up: both servers wait at once. */
describe('hostile requests', { concurrency: true }, () => {
  for (const threads of threadCounts)
    describe(`${threads} threads`, { concurrency: 1 }, () => flows(threads));
});

function flows(threads: number): void {
  let server: TestServer;
  before(async () => {
    server = await startTestServer({ threads });
  });
  after(() => server[Symbol.asyncDispose]());

  const checkPath = () => `/api/v2/check?ipAddress=192.0.2.75&key=${server.key}`;
  const bulkPath = () => `/api/v2/check-bulk?key=${server.key}`;

  /** Checks, alone and in bulk, that had an answer so far. */
  async function checked(): Promise<number> {
    const counts = await metric(server, 'portcullis_http_requests_total');
    const route = /route="\/api\/v2\/check(-bulk)?",status="2xx"/;
    return [...counts].reduce((sum, [labels, count]) => sum + (route.test(labels) ? count : 0), 0);
  }
  async function checksIn(work: () => Promise<void>): Promise<number> {
    const before = await checked();
    await work();
    return (await checked()) - before;
  }

  function bytesOf({ bytes }: HttpVector): string {
    const path = bytes.startsWith('POST') ? bulkPath() : checkPath();
    return bytes.replaceAll('@', path).replaceAll('/smuggled', checkPath());
  }

  it('refuses each ambiguous or broken request unanswered, and works on none', async () => {
    assert.ok(refused.length > 40);
    const checks = await checksIn(async () => {
      await Promise.all(
        refused.map(async (vector) => {
          const connection = openConnection(server.port);
          connection.send(bytesOf(vector));
          const text = await connection.closed();
          assert.deepEqual(
            answersIn(text).filter((answer) => answer.status < 400),
            [],
            vector.name,
          );
          if (vector.expect === 'closed') assert.ok(isUndispatched(text), vector.name);
        }),
      );
    });
    assert.equal(checks, 0);
  });

  it('answers a good request split at every byte', async () => {
    const requests = [
      get('/api/v2/check?ipAddress=192.0.2.75', `Key: ${server.key}`),
      requestText('POST', '/api/v2/check-bulk', '192.0.2.75', [`Key: ${server.key}`]),
    ];
    for (const request of requests) {
      const positions = Array.from({ length: request.length - 1 }, (_, i) => i + 1);
      const checks = await checksIn(async () => {
        await Promise.all(
          positions.map(async (position) => {
            const connection = openConnection(server.port);
            connection.send(request.slice(0, position));
            await sleep(20);
            connection.send(request.slice(position));
            const text = await connection.until((sofar) => answersIn(sofar).length > 0);
            connection.socket.destroy();
            const [answer] = answersIn(text);
            assert.equal(answer?.status, 200, `split at ${position}`);
            assert.match(answer.body, /"abuseConfidenceScore":75/);
          }),
        );
      });
      assert.equal(checks, positions.length);
    }
  });

  it('answers 1,000 pipelined checks in order', async () => {
    const hosts = Array.from({ length: pipelined }, (_, i) => `198.51.${i >> 8}.${i & 255}`);
    const connection = openConnection(server.port);
    connection.send(
      hosts.map((host) => get(`/api/v2/check?ipAddress=${host}`, `Key: ${server.key}`)).join(''),
    );
    const text = await connection.until((sofar) => answersIn(sofar).length === pipelined);
    connection.socket.destroy();
    const asked = answersIn(text).map(
      ({ body }) => (JSON.parse(body) as { data: { ipAddress: string } }).data.ipAddress,
    );
    assert.deepEqual(asked, hosts);
  });

  it('refuses what is too large, and goes on', async () => {
    const checks = await checksIn(async () => {
      const headers = openConnection(server.port);
      headers.send(`GET ${checkPath()} HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(1_000_000)}\r\n\r\n`);
      assert.doesNotMatch(await headers.closed(), /^HTTP\/1\.1 2/);
      const body = openConnection(server.port);
      const head = `POST ${bulkPath()} HTTP/1.1\r\nHost: x\r\nContent-Length: 104857600\r\n\r\n`;
      body.send(head);
      assert.match(await body.until((text) => text.includes('\r\n\r\n')), /^HTTP\/1\.1 413 /);
      body.send('a'.repeat(3_000_000));
      await body.closed();
      const path = openConnection(server.port);
      path.send(get(`/${'a'.repeat(2_000)}`));
      assert.match(await path.until((text) => text.includes('\r\n\r\n')), /^HTTP\/1\.1 4\d\d /);
      path.socket.destroy();
    });
    assert.equal(checks, 0);
  });

  it('closes idle, dripping and unfinished connections while others get their answers', async () => {
    const beginnings = ['', 'G', 'GET ', `${get(checkPath()).slice(0, -2)}`, 'drip'];
    const connections = Array.from({ length: 300 }, (_, i) => {
      const connection = openConnection(server.port);
      connection.socket.resume();
      const beginning = beginnings[i % beginnings.length]!;
      if (beginning === 'drip') {
        const bytes = get(checkPath(), `A: ${'a'.repeat(100)}`);
        let at = 0;
        const timer = setInterval(() => connection.send(bytes[at++]!), 2_000);
        connection.socket.on('close', () => clearInterval(timer));
      } else if (beginning !== '') connection.send(beginning);
      return connection;
    });
    let answered = 0;
    let isOver = false;
    const others = (async () => {
      while (!isOver) {
        assert.ok((await server.check('192.0.2.75')).malicious);
        answered++;
        await sleep(20);
      }
    })();
    const texts = await Promise.all(connections.map((connection) => connection.closed())).finally(
      () => {
        isOver = true;
      },
    );
    await others;
    assert.ok(answered > 20, `${answered} answers meanwhile`);
    assert.ok(texts.every((text) => !text.startsWith('HTTP/1.1 2')));
    assert.doesNotMatch(server.stderr(), /"level":(50|60)/);
  });
}
