/** Backups are files of the age format: Debian's program opens them, and what it seals is restored. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { after, before, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { hasTool } from '../support/house/tools.ts';
import { runCli, startTestServer, within } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const directory = makeTempDir('age');
const words = 'correct horse battery';
const person = 'person@example.test';
const data = `${directory.path}/data`;
const identity = `${directory.path}/identity.txt`;
const mark = 'portcullis backup 1\n';
const at = (name: string) => `${directory.path}/${name}`;

before(async () => {
  const made = await runCli(['account', 'create', person], { DATA_DIR: data });
  assert.equal(made.code, 0, made.stderr);
});
after(() => directory.remove());

/** Makes the pair of keys at the first call. @returns the public one */
function recipient(): string {
  if (!existsSync(identity)) {
    assert.equal(spawnSync('age-keygen', ['-o', identity]).status, 0);
  }
  return /public key: (age1\w+)/.exec(readFileSync(identity, 'utf8'))![1]!;
}

/** `age` asks for passphrases at a terminal alone, so it is given one. */
const typist = `import os, pty, sys
words, args = sys.argv[1].encode() + b"\\n", sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp("age", ["age"] + args)
said = b""
try:
    while True:
        more = os.read(terminal, 1024)
        if not more:
            break
        said += more
        if said.rstrip().endswith(b":"):
            said = b""
            os.write(terminal, words)
except OSError:
    pass
_, status = os.waitpid(pid, 0)
print(said.decode())
sys.exit(os.waitstatus_to_exitcode(status))`;

function ageWithWords(...args: string[]): void {
  const done = spawnSync('python3', ['-c', typist, words, ...args], { encoding: 'utf8' });
  assert.equal(done.status, 0, done.stdout + done.stderr);
}

async function restored(file: string, name: string, args: string[], env = {}) {
  const dataDir = at(name);
  const done = await runCli(['restore', file, ...args], { DATA_DIR: dataDir, ...env });
  assert.equal(done.code, 0, done.stderr);
  const found = await runCli(['account', 'show', person], { DATA_DIR: dataDir, ...env });
  assert.equal(found.code, 0, found.stderr);
  return done.stdout;
}

it('age opens a backup for a public key, with the identity alone; the server opens it with that file', async (t) => {
  if (!hasTool(t, 'age')) return;
  const file = at('keyed.backup');
  const done = await runCli(['backup', file, '--recipient', recipient()], { DATA_DIR: data });
  assert.equal(done.code, 0, done.stderr);
  assert.match(done.stdout, /; encrypted, with the master key$/m);
  const opened = spawnSync('age', ['-d', '-i', identity, file], { maxBuffer: 2 ** 26 });
  assert.equal(opened.status, 0, String(opened.stderr));
  assert.ok(gunzipSync(opened.stdout).toString('latin1').startsWith(mark));
  const none = await runCli(['restore', file], { DATA_DIR: at('none') });
  assert.match(none.stderr, /encrypted to a public key: name the file .* --identity/);
  const out = await restored(file, 'keyed', ['--identity', identity]);
  assert.match(out, /encrypted to a public key: whoever knows that key .* may have made it/);
  assert.ok(readFileSync(at('keyed/master.key')).equals(readFileSync(`${data}/master.key`)));
});

it('age opens a backup with a passphrase', async (t) => {
  if (!hasTool(t, 'age')) return;
  const file = at('words.backup');
  const env = { BACKUP_PASSPHRASE: words };
  const done = await runCli(['backup', file], { DATA_DIR: data, ...env });
  assert.equal(done.code, 0, done.stderr);
  ageWithWords('-d', '-o', at('words.gz'), file);
  assert.ok(
    gunzipSync(readFileSync(at('words.gz')))
      .toString('latin1')
      .startsWith(mark),
  );
  const out = await restored(file, 'words', [], env);
  assert.match(out, /nobody without its passphrase can have made or changed it/);
});

it('what age sealed is restored: to a public key and to a passphrase, and by others from there', async (t) => {
  if (!hasTool(t, 'age')) return;
  const plain = at('plain.backup');
  assert.equal((await runCli(['backup', plain], { DATA_DIR: data })).code, 0);
  const key = { MASTER_KEY_FILE: `${data}/master.key` };
  const sealed = at('by-age.backup');
  assert.equal(spawnSync('age', ['-r', recipient(), '-o', sealed, plain]).status, 0);
  await restored(sealed, 'by-age', ['--identity', identity], key);
  const typed = at('typed.backup');
  ageWithWords('-p', '-o', typed, plain);
  await restored(typed, 'typed', [], { ...key, BACKUP_PASSPHRASE: words });
  // Where a key is given, what is not sealed is somebody else's.
  for (const env of [{ BACKUP_RECIPIENTS: recipient() }, {}]) {
    const flags = 'BACKUP_RECIPIENTS' in env ? [] : ['--identity', identity];
    for (const command of [['restore'], ['verify', '--backup']]) {
      const done = await runCli([...command, plain, ...flags], {
        DATA_DIR: at('x'),
        ...key,
        ...env,
      });
      assert.equal(done.code, 1, done.stdout);
      assert.match(done.stderr, /is not encrypted, though a passphrase or key .*--unencrypted/s);
    }
  }
});

it("a server's own backups are for public keys, and it holds nothing that opens them", async (t) => {
  if (!hasTool(t, 'age')) return;
  const folder = at('own');
  const second = at('second.txt');
  assert.equal(spawnSync('age-keygen', ['-o', second]).status, 0);
  const other = /public key: (age1\w+)/.exec(readFileSync(second, 'utf8'))![1]!;
  const env = { BACKUP_FOLDER: folder, BACKUP_RECIPIENTS: `${recipient()},${other}` };
  await using server = await startTestServer({ threads: 1, env });
  const made = () =>
    existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.backup')) : [];
  await within(
    () => made().length === 1 && existsSync(`${folder}/erased-accounts.txt`),
    'a backup',
  );
  const file = `${folder}/${made()[0]}`;
  for (const one of [identity, second]) {
    assert.equal(spawnSync('age', ['-d', '-i', one, '-o', at('opened'), file]).status, 0);
    rmSync(at('opened'));
    const done = await runCli(['verify', '--backup', file, '--identity', one, '--json'], {
      DATA_DIR: server.dataDir,
    });
    assert.equal(done.code, 0, done.stderr);
    const { encrypted, sealedWith, masterKey } = JSON.parse(done.stdout);
    assert.deepEqual([encrypted, sealedWith, masterKey], [true, 'public key', undefined]);
  }
  const wrong = `${recipient().slice(0, -1)}${recipient().endsWith('q') ? 'p' : 'q'}`;
  const bad = await runCli(['serve'], { DATA_DIR: at('y'), BACKUP_RECIPIENTS: wrong, PORT: '0' });
  assert.equal(bad.code, 1);
  assert.match(bad.stderr, /is no public key of age/);
});
