/** The exchange on a whole server, each of its threads: what no program may redeem by accident. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forFile } from '../../support/server/for-file.ts';
import { proveEachThread, startTestServer } from '../../support/server/server.ts';

const code = 'c0dec0dec0dec0dec0dec0dec0dec0dec0dec0dec0d';

const server = forFile(await startTestServer({ env: { CLIENT_LIMITS: 'off' } }));

describe('exchange', () => {
  it('HEAD and OPTIONS get 405 from each thread', async () => {
    for (const method of ['HEAD', 'OPTIONS']) {
      await proveEachThread(server, '/api.php', async () => {
        const answer = await server.fetch(`/api.php?code=${code}`, { method });
        assert.equal(answer.status, 405);
        assert.equal(answer.headers.allow, 'GET, POST');
        assert.equal(answer.headers['access-control-allow-origin'], undefined);
      });
    }
  });

  it('an unknown code is invalid_grant by GET and POST, and is in no log', async () => {
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const body = `code=${code}&client_id=example.com`;
    for (const answer of [
      await server.fetch(`/api.php?code=${code}`),
      await server.fetch('/api.php', { method: 'POST', headers, body }),
    ]) {
      assert.equal(answer.status, 400);
      assert.equal(answer.headers['cache-control'], 'no-store');
      assert.equal((answer.json() as { error: string }).error, 'invalid_grant');
    }
    assert.equal(server.stderr().includes(code), false);
  });

  it('repeated and broken parameters are invalid_request', async () => {
    for (const query of [`code=${code}&code=${code}`, 'code=%', 'x=%zz', '']) {
      const answer = await server.fetch(`/api.php?${query}`);
      assert.equal(answer.status, 400, query);
      assert.equal((answer.json() as { error: string }).error, 'invalid_request', query);
    }
  });
});
