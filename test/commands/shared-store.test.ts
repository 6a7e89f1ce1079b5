/** Commands on the embedded store's files, given the settings of a node: refused before they ask or touch anything. */

import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { storePath } from '../../src/store/presence.ts';
import { runCli } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const commands = [
  ['restore', 'file'],
  ['master-key', 'replace'],
];

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

it('on an edge what needs the database is for a core, and its doctor names cores', async () => {
  const directory = makeTempDir('commands-of-an-edge');
  try {
    const env = {
      DATA_DIR: join(directory.path, 'data'),
      ROLE: 'edge',
      // Nobody is asked.
      CORES: '127.0.0.1:1',
      MASTER_KEY_FILE: join(directory.path, 'key'),
      SMTP_URL: 'smtp://127.0.0.1:1',
    };
    writeFileSync(env.MASTER_KEY_FILE, '5'.repeat(64), { mode: 0o600 });
    const moved = await runCli(['migrate', 'embedded-to-postgres'], env);
    assert.equal(moved.code, 1);
    assert.match(moved.stderr, /run it on a core/);
    const { stdout } = await runCli(['doctor'], env);
    assert.match(stdout, /store: it is that of the cores/);
    assert.match(stdout, /backups: those of the database are not looked at/);
    assert.ok(!stdout.includes('BACKUP_FOLDER'), 'which a node refuses');
    const alone = await runCli(['account', 'list'], env);
    assert.match(alone.stderr, /^portcullis: CORES: no core answers: http:\/\/127\.0\.0\.1:1: /);
  } finally {
    directory.remove();
  }
});
