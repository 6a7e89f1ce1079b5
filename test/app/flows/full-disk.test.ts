/** A data directory that takes no more: checks go on, /readyz says so, and it heals by itself. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limitFileSize } from '../../support/house/processes.ts';
import { metric, startTestServer, within } from '../../support/server/server.ts';

describe('a full disk', () => {
  it('stops writes, not checks, and is over when there is room again', async () => {
    await using server = await startTestServer();
    const ready = async () => (await server.fetch('/readyz')).status === 200;
    assert.ok(await ready());
    limitFileSize(server.pid, '4096:unlimited');
    const refused = await server.cli('allow', 'add', '192.0.2.100');
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^portcullis: .*(written|unavailable)/);
    await within(async () => !(await ready()), 'not ready');
    const answer = await server.fetch('/readyz');
    assert.equal(answer.status, 503);
    assert.match(String(answer.headers['retry-after']), /^\d+$/);
    assert.deepEqual((answer.json() as { writable: boolean }).writable, false);
    assert.equal((await metric(server, 'portcullis_store_writable')).get(''), 0);
    for (let i = 0; i < 20; i++) assert.ok((await server.check('192.0.2.75')).malicious);
    assert.ok((await server.check('192.0.2.100')).abuseConfidenceScore > 0, 'not allowed');
    assert.equal((await server.fetch('/healthz')).status, 200);
    limitFileSize(server.pid, 'unlimited:unlimited');
    await within(ready, 'ready again');
    await server.cliJson('allow', 'add', '192.0.2.100');
    assert.equal((await server.check('192.0.2.100')).abuseConfidenceScore, 0);
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
    const log = server.stderr();
    assert.doesNotMatch(log, /Write error/, 'LMDB met the limit itself');
    assert.match(log, /writes unavailable/);
    assert.match(log, /writes work again/);
  });
});
