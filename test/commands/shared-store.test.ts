/** Commands on the embedded store's files, given the settings of a node: refused before they ask or touch anything. */

import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { storePath } from '../../src/storage/lmdb/presence.ts';
import { runCli } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const commands = [['compact'], ['master-key', 'replace']];

it('what works on the embedded store alone says so on a node, and makes no store', async () => {
  const directory = makeTempDir('commands-of-a-node');
  try {
    const env = {
      DATA_DIR: join(directory.path, 'data'),
      // Nobody is asked.
      DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
      MASTER_KEY_FILE: join(directory.path, 'key'),
      SMTP_URL: 'smtp://127.0.0.1:1',
    };
    writeFileSync(env.MASTER_KEY_FILE, '5'.repeat(64), { mode: 0o600 });
    for (const words of commands) {
      const done = await runCli(words, env);
      assert.equal(done.code, 1, words.join(' '));
      assert.match(
        done.stderr,
        /^portcullis: this command works on the embedded store, /,
        words[0],
      );
    }
    assert.equal(existsSync(storePath(env.DATA_DIR)), false);
  } finally {
    directory.remove();
  }
});

it('status and upgrade of a cluster say so without one, and make no store', async () => {
  const directory = makeTempDir('commands-of-no-node');
  try {
    // Empty is absent, whatever store the tests run on.
    const env = { DATA_DIR: join(directory.path, 'data'), DATABASE_URL: '' };
    for (const order of ['status', 'upgrade']) {
      const done = await runCli(['cluster', order], env);
      assert.equal(done.code, 1);
      assert.match(done.stderr, /^portcullis: DATABASE_URL is not set: /);
      assert.equal(existsSync(storePath(env.DATA_DIR)), false);
    }
  } finally {
    directory.remove();
  }
});
