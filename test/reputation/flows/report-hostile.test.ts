/** POST /api/v2/report of a whole server, asked by somebody who means no good. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forFile } from '../../support/server/for-file.ts';
import { startTestServer, within } from '../../support/server/server.ts';

const env = { TRUSTED_PROXIES: '127.0.0.1' };
const server = forFile(await startTestServer({ env }));

describe('hostile reports', () => {
  const report = (body: unknown, headers: Record<string, string> = {}) =>
    server.fetch('/api/v2/report', {
      method: 'POST',
      headers: { Key: server.key, 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });

  it('refuses what is no text where a text belongs, and nothing fails over it', async () => {
    const fields = { ip: '8.8.1.1', categories: 18 };
    const bad: [string, unknown][] = [
      ['ip', ['8.8.1.1']],
      ['ip', { a: 1 }],
      ['comment', ['x']],
      ['comment', { a: 1 }],
      ['timestamp', ['2026-01-01']],
      ['timestamp', {}],
      ['categories', { a: 1 }],
      ['categories', true],
      ['categories', [[18]]],
      ['ipAddress', '8.8.1.2'],
    ];
    for (const [name, value] of bad) {
      const answer = await report({ ...fields, [name]: value });
      assert.equal(answer.status, 422, `${name}: ${JSON.stringify(value)} ${answer.body}`);
    }
    assert.equal((await server.check('8.8.1.1')).totalReports, 0);
    const both = await report({
      ...fields,
      ipAddress: '8.8.1.1',
      comment: null,
      timestamp: null,
    });
    assert.equal(both.status, 200);
  });

  it('of 200 at the same time one is taken, the others are duplicates', async () => {
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => report({ ip: '8.8.2.1', categories: 18 })),
    );
    const statuses = answers.map((answer) => answer.status);
    // The account has fifty writes a minute: the rest is refused over those.
    assert.equal(statuses.filter((status) => status === 200).length, 1);
    assert.equal(statuses.filter((status) => status === 429).length, 199);
    assert.equal((await server.check('8.8.2.1')).totalReports, 1);
  });

  it('knows the caller behind a trusted proxy, and refuses the address as its own', async () => {
    await server.cliJson('account', 'create', 'p@portcullis.example');
    const { text: key } = await server.cliJson('key', 'create', 'p@portcullis.example');
    const check = `/api/v2/check?ipAddress=8.8.3.1&key=${key}`;
    await within(async () => (await server.fetch(check)).status === 200);
    const from = (ip: string, forwarded: string) =>
      report({ ip, categories: 18 }, { Key: key, 'X-Forwarded-For': forwarded });
    assert.equal((await from('8.8.3.1', '8.8.3.1')).status, 422);
    assert.equal((await from('::ffff:8.8.3.1', '8.8.3.1')).status, 422);
    // What stands further left was written by the client itself.
    assert.equal((await from('8.8.3.2', '8.8.3.2, 8.8.3.3')).status, 200);
  });
});
