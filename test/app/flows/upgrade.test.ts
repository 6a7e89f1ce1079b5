/** A store of data format 1 is served as it was left, whatever the present format. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { format1, unpackFormat1 } from '../../storage/format-1.ts';
import { startTestServer } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

it('accounts, keys, lists, rules and reports of a store of format 1 are there', async () => {
  const directory = makeTempDir('upgrade');
  unpackFormat1(directory.path);
  await using server = await startTestServer({ threads: 1, dataDir: directory.path, demo: false });
  const check = async (ip: string) => {
    const answer = await server.fetch(`/api/v2/check?ipAddress=${ip}`, {
      headers: { Key: format1.key },
    });
    assert.equal(answer.status, 200, answer.body);
    return (answer.json() as { data: { abuseConfidenceScore: number; isWhitelisted: boolean } })
      .data;
  };
  assert.equal((await check(format1.listed)).abuseConfidenceScore, 90);
  assert.equal((await check(format1.allowed)).isWhitelisted, true);
  const shown = await server.cliJson('account', 'show', format1.account.email);
  assert.equal(shown.id, format1.account.id);
  const verified = await server.cliJson('verify');
  assert.deepEqual(verified.found, []);
  assert.ok(verified.events >= 10, 'the journal is whole');
  directory.remove();
});
