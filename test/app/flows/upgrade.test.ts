/** A store that the release before left is served by this one as it was. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { release, unpackRelease } from '../../storage/release-0.1.0.ts';
import { startTestServer } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

it('accounts, keys, lists, rules and reports of the release before are there', async () => {
  const directory = makeTempDir('upgrade');
  unpackRelease(directory.path);
  await using server = await startTestServer({ threads: 1, dataDir: directory.path, demo: false });
  const check = async (ip: string) => {
    const answer = await server.fetch(`/api/v2/check?ipAddress=${ip}`, {
      headers: { Key: release.key },
    });
    assert.equal(answer.status, 200, answer.body);
    return (answer.json() as { data: { abuseConfidenceScore: number; isWhitelisted: boolean } })
      .data;
  };
  assert.equal((await check(release.listed)).abuseConfidenceScore, 90);
  assert.equal((await check(release.allowed)).isWhitelisted, true);
  const shown = await server.cliJson('account', 'show', release.account.email);
  assert.equal(shown.id, release.account.id);
  const verified = await server.cliJson('verify');
  assert.deepEqual(verified.found, []);
  assert.ok(verified.events >= 10, 'the journal is whole');
  directory.remove();
});
