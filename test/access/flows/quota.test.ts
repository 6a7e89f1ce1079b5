/** A quota is exact whoever asks, however fast, on however many threads. */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { answersIn, get, openConnection } from '../../http/raw.ts';
import {
  answersByThread,
  startTestServer,
  type TestServer,
  threadCounts,
  within,
} from '../../support/server/server.ts';

const perMinute = 500;
const connections = 64;
/** Of each connection: by count, so that a slow machine attacks no less. */
const attempts = 30;
const email = 'attacker@portcullis.example';

/** Statuses of one connection that asks again as soon as it has its answer. */
async function attack(port: number, key: string): Promise<number[]> {
  const connection = openConnection(port);
  const request = get('/api/v2/check?ipAddress=192.0.2.75', `Key: ${key}`);
  const statuses: number[] = [];
  while (statuses.length < attempts) {
    connection.send(request);
    const wanted = statuses.length + 1;
    const text = await connection.until((sofar) => answersIn(sofar).length >= wanted);
    const answer = answersIn(text)[wanted - 1];
    assert.ok(answer !== undefined, 'the connection was closed');
    statuses.push(answer.status);
    assert.equal(answer.headers.get('x-ratelimit-limit'), String(perMinute));
    assert.equal(answer.headers.has('retry-after'), answer.status === 429);
  }
  connection.socket.destroy();
  return statuses;
}

for (const threads of threadCounts) {
  describe(`quotas, ${threads} threads`, () => {
    let server: TestServer;
    before(async () => {
      server = await startTestServer({ threads });
    });
    after(() => server[Symbol.asyncDispose]());

    it(`admits exactly ${perMinute} of many more in a minute`, async () => {
      await server.cliJson('account', 'create', email);
      const limit = ['--read-per-minute', String(perMinute)];
      const { text } = await server.cliJson('key', 'create', email, ...limit);
      // To see that the key is known costs a read each time.
      let probes = 0;
      await within(async () => {
        const answer = await server.fetch('/api/v2/check?ipAddress=192.0.2.75', {
          headers: { Key: text },
        });
        if (answer.status === 200) probes++;
        return answer.headers['x-ratelimit-limit'] === String(perMinute);
      });
      const all = await Promise.all(
        Array.from({ length: connections }, () => attack(server.port, text)),
      );
      const statuses = all.flat();
      const admitted = statuses.filter((status) => status === 200).length;
      assert.equal(admitted + probes, perMinute);
      assert.ok(statuses.every((status) => status === 200 || status === 429));
      const byThread = await answersByThread(server, '/api/v2/check');
      assert.ok(
        byThread.every((count) => count > 0),
        `answers by thread ${byThread}`,
      );
      // The other account is not touched.
      assert.equal((await server.check('192.0.2.75')).malicious, true);
    });
  });
}
