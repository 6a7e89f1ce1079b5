/** Deletion from the command line, beside a running server; compaction when it has stopped. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { holdersOf } from '../../support/server/data-files.ts';
import { startTestServer, within } from '../../support/server/server.ts';
import { isShared } from '../../support/server/shared-store.ts';

const skip = isShared && 'it looks into the files of the embedded store';

it('a deleted account’s key stops working, and nothing of it is left after compact', {
  skip,
}, async () => {
  const email = 'marie.curie@example.org';
  const server = await startTestServer({ threads: 1 });
  const { dataDir } = server;
  try {
    assert.equal((await server.cli('account', 'create', email)).code, 0);
    const { text } = (await server.cliJson('key', 'create', email)) as { text: string };
    const ask = async () => {
      const url = `${server.baseUrl}/api/v2/check?ipAddress=192.0.2.1`;
      return (await fetch(url, { headers: { Key: text } })).status;
    };
    await within(async () => (await ask()) === 200, 'the key works');
    const exported = await server.cli('account', 'export', email);
    assert.equal(JSON.parse(exported.stdout).account.email, email);
    assert.ok(!exported.stdout.includes(text));
    const busy = await server.cli('compact');
    assert.equal(busy.code, 1);
    assert.match(busy.stderr, /^portcullis: another Portcullis server .* is running/);
    assert.equal((await server.cli('account', 'delete', email)).code, 0);
    await within(async () => (await ask()) === 401, 'the key is refused');
    const gone = await server.cli('account', 'delete', email);
    assert.equal(gone.code, 1);
    assert.match(gone.stderr, /^portcullis: there is no account /);
    await server.stop();
    const done = await server.cli('compact', '--json');
    assert.equal(done.code, 0, done.stderr);
    const sizes = JSON.parse(done.stdout) as { bytesBefore: number; bytesAfter: number };
    assert.ok(sizes.bytesAfter <= sizes.bytesBefore);
    assert.deepEqual(holdersOf(dataDir, 'marie'), []);
    assert.equal((await server.cli('account', 'create', email)).code, 0);
  } finally {
    await server[Symbol.asyncDispose]();
  }
});
