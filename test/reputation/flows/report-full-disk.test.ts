/**
 * Reports while the store can't write: refused with 503, nothing of them is kept, checks go on;
 * and the same reports are taken when there is room again.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limitFileSize } from '../../support/house/processes.ts';
import {
  type Answer,
  metric,
  startTestServer,
  type TestServer,
  within,
} from '../../support/server/server.ts';

const rows = 300;
const csv = Array.from({ length: rows }, (_, i) => `9.9.${i >> 8}.${i & 255},18\n`).join('');

function single(server: TestServer): Promise<Answer> {
  const path = '/api/v2/report?ip=8.8.8.8&categories=18&comment=x';
  return server.fetch(path, { method: 'POST', headers: { Key: server.key } });
}

function bulk(server: TestServer): Promise<Answer> {
  const body = `--b\r\nContent-Disposition: form-data; name="csv"; filename="a"\r\n\r\n${csv}\r\n--b--\r\n`;
  const headers = { Key: server.key, 'Content-Type': 'multipart/form-data; boundary=b' };
  return server.fetch('/api/v2/bulk-report', { method: 'POST', headers, body });
}

function isUnavailable(answer: Answer): void {
  assert.equal(answer.status, 503, answer.body);
  assert.match(String(answer.headers['retry-after']), /^[1-9]\d*$/);
  assert.match(String(answer.headers['x-ratelimit-remaining']), /^\d+$/);
  const { errors } = answer.json() as { errors: { status: number; detail: string }[] };
  assert.equal(errors[0]!.status, 503);
  assert.match(errors[0]!.detail, /try again later/);
}

describe('reports on a full disk', () => {
  it('are refused whole, and taken when there is room again', async () => {
    await using server = await startTestServer();
    // Also with what the command line wrote at the start: `before` is all there is.
    const ready = async () => {
      const { status, body } = await server.fetch('/readyz');
      return status === 200 && JSON.parse(body).behind === 0;
    };
    const events = async () => (await metric(server, 'portcullis_journal_applied_seq')).get('')!;
    await within(ready, 'ready');
    const before = await events();
    limitFileSize(server.pid, '4096:unlimited');
    // Bulk first: it is the one that finds out, with hundreds of rows under way.
    for (const send of [bulk, single, bulk, single]) isUnavailable(await send(server));
    for (let i = 0; i < 20; i++) {
      assert.ok((await server.check('192.0.2.75')).malicious);
      for (const ip of ['8.8.8.8', '9.9.0.0', '9.9.1.43']) {
        const { abuseConfidenceScore, totalReports } = await server.check(ip);
        assert.deepEqual([abuseConfidenceScore, totalReports], [0, 0], ip);
      }
    }
    assert.match((await server.fetch('/ip/8.8.8.8')).body, /8\.8\.8\.8/);
    assert.equal(await events(), before);
    limitFileSize(server.pid, 'unlimited:unlimited');
    await within(ready, 'ready again');
    assert.equal(await events(), before, 'something of a refused report was kept');
    const taken = await single(server);
    assert.equal(taken.status, 200, 'not even the guard against duplicates');
    const file = await bulk(server);
    assert.deepEqual((file.json() as { data: unknown }).data, {
      savedReports: rows,
      invalidReports: [],
    });
    assert.equal(await events(), before + 1 + rows);
    assert.equal((await server.check('8.8.8.8')).totalReports, 1);
    assert.equal((await server.check('9.9.1.43')).totalReports, 1);
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
    assert.doesNotMatch(server.stderr(), /Write error/, 'LMDB met the limit itself');
  });
});
