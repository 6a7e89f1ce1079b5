/** Commands that can't be done: exit status 1, one line that tells what to mend, nothing changed. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { after, before, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { journalRowKey } from '../../../src/storage/keys.ts';
import { openTables } from '../../../src/storage/lmdb/environment.ts';
import { spawn } from '../../support/house/spawn.ts';
import { freePort } from '../../support/server/free-port.ts';
import { runCli, startCli } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const entry = fileURLToPath(new URL('../../../../bin/portcullis.js', import.meta.url));
const directory = makeTempDir('cli');
/** A command waits for another one on its directory, and not for as long as a busy machine may take. */
const envs = ['data', 'data-2'].map((name) => ({ DATA_DIR: `${directory.path}/${name}` }));
const env = envs[0]!;
const email = 'user@portcullis.example';
/** Where nobody listens. */
let nobodyAt = '';

before(async () => {
  nobodyAt = `http://127.0.0.1:${await freePort()}/x?key=secret`;
  writeFileSync(`${directory.path}/good.txt`, '5.0.0.1\n');
  writeFileSync(`${directory.path}/page.txt`, '<html>no list</html>');
  writeFileSync(`${directory.path}/rubbish.txt`, 'one\ntwo\n');
  writeFileSync(`${directory.path}/file`, '');
  for (const one of envs) {
    assert.equal((await runCli(['account', 'create', email], one)).code, 0);
  }
});
after(() => directory.remove());

/** Runs several commands at a time, each on a directory of its own; each takes half a second of start. */
async function each<T>(
  items: readonly T[],
  run: (item: T, own: Record<string, string>) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  const workers = envs.map(async (own) => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await run(item, own);
  });
  await Promise.all(workers);
}

async function assertRefused(
  args: readonly string[],
  words: RegExp,
  settings: Record<string, string> = env,
): Promise<void> {
  const { code, stdout, stderr } = await runCli(args, settings);
  const what = `portcullis ${args.join(' ')}: ${stderr}`;
  assert.equal(code, 1, what);
  assert.equal(stdout, '', what);
  assert.match(stderr, words, what);
  assert.doesNotMatch(stderr, /unexpected|\n {4}at /, what);
  assert.equal(stderr.trimEnd().split('\n').length, 1, `one line: ${what}`);
}

const at = (name: string) => `${directory.path}/${name}`;

it('names what is wrong with the command', async () => {
  await each<[string[], RegExp]>(
    [
      [['fly'], /unknown command 'fly'/],
      [['users', 'list'], /unknown command 'users' \(Did you mean account\?\)/],
      [['constructor'], /unknown command 'constructor' \(portcullis --help/],
      [['serve', '--fast'], /unknown option '--fast'/],
      [['serve', 'extra'], /too many arguments/],
      [['backup', 'create'], /'create' is no word of this command: name the file, such as/],
      [['seed', at('good.txt')], /--format/],
      [['seed', '--format', 'plain'], /missing required argument/],
      [['seed', at('good.txt'), '--format', 'xml'], /ipsum.*plain.*csv/],
      [['seed', at('good.txt'), '--format', 'plain', '--confidence', '101'], /from 0 to 100/],
      [['seed', at('good.txt'), '--format', 'plain', '--confidence', 'high'], /from 0 to 100/],
      [['seed', at('good.txt'), '--format', 'plain', '--hold', '0'], /from 1 to/],
      [['seed', at('good.txt'), '--format', 'plain', '--source', 'a b'], /--source/],
      [['key', 'create', email, '--read-per-minute', '-1'], /--read-per-minute/],
      [['key', 'create', email, '--read-per-minute', '1e3'], /--read-per-minute/],
      [['key', 'burn', 'x'], /unknown command 'burn'/],
      [['allow', 'forbid', '1.1.1.1'], /unknown command 'forbid'/],
      [
        ['account', 'create'],
        /missing required argument 'email' \(portcullis account create --help/,
      ],
      [
        ['source', 'add', 'https://lists.example/a.txt'],
        /--format <format> is missing: ipsum, plain.*\(portcullis source add --help shows/,
      ],
      [['sitekey', 'create'], /missing required argument 'email'/],
      [['sitekey', 'create', email, '--host'], /argument missing/],
      [['sitekey', 'create', email, '--host', 'https://shop.example'], /not a host name/],
      [['sitekey', 'create', email, '--host', '*.shop.example'], /not a host name/],
      [['sitekey', 'create', 'nobody@portcullis.example'], /no account nobody@/],
      [['sitekey', 'revoke', 'pcs_x'], /no site key pcs_x/],
    ],
    ([args, words], own) => assertRefused(args, words, own),
  );
});

it('names what is wrong with the data', async () => {
  await each<[string[], RegExp]>(
    [
      [['seed', at('none.txt'), '--format', 'plain'], /none\.txt: .*no such file/],
      [['seed', directory.path, '--format', 'plain'], /is a directory/],
      [['seed', at('page.txt'), '--format', 'plain'], /page of HTML/],
      [['seed', at('rubbish.txt'), '--format', 'plain'], /no usable row/],
      [['seed', at('file'), '--format', 'plain'], /no usable row|empty/],
      [['seed', nobodyAt, '--format', 'plain'], /connection refused/],
      [['seed', 'ftp://127.0.0.1/x', '--format', 'plain'], /http/],
      [['anon', at('none.txt')], /no such file/],
      [['allow', 'add', '1.1.1.1/8'], /bits/],
      [
        ['allow', 'add', 'nonsense'],
        /^portcullis: 'nonsense' is neither an address, a network, a system such as AS64500 nor a country such as FR/,
      ],
      [['allow', 'add', '1.2.3'], /^portcullis: '1\.2\.3' is neither an address nor a network/],
      [['allow', 'add', '1.1.1.1/40'], /'1\.1\.1\.1\/40': The prefix length must be/],
      [['entry', 'add', 'a b'], /'a b' is neither an address, a network, a system/],
      [['allow', 'remove', '9.9.9.9'], /9\.9\.9\.9\/32 is not on the allowlist/],
      [['account', 'create', 'nonsense'], /mail/],
      [['account', 'create', email], /already|exists/],
      [['account', 'show', 'nobody@portcullis.example'], /no account|no such account|unknown/],
      [['account', 'disable', 'nobody@portcullis.example'], /no account|no such|unknown/],
      [['key', 'create', 'nobody@portcullis.example'], /no account|no such|unknown/],
      [['key', 'revoke', 'nothing'], /no key|no such|unknown/],
    ],
    ([args, words], own) => assertRefused(args, words, own),
  );
});

it('never shows the query of an address', async () => {
  const args = ['seed', nobodyAt, '--format', 'plain'];
  assert.doesNotMatch((await runCli(args, env)).stderr, /secret/);
});

it('names the setting that is wrong', async () => {
  await each<[string, string]>(
    [
      ['PORT', '65536'],
      ['PORT', 'http'],
      ['HOST', 'a b'],
      ['HTTP_THREADS', '0'],
      ['HTTP_THREADS', '65'],
      ['BASE_URL', 'localhost'],
      ['SECURE_URL', 'https://example.org/path'],
      ['TRUSTED_PROXIES', '10.0.0.0/8, proxy'],
      ['LOG_LEVEL', 'loud'],
      ['METRICS_TOKEN', 'short'],
      ['CLIENT_LIMITS', 'no'],
      ['SMTP_URL', 'http://mail'],
    ],
    async ([name, value]) => {
      await assertRefused(['serve'], new RegExp(`^portcullis: setting ${name} `), {
        ...env,
        [name]: value,
      });
    },
  );
  await assertRefused(['key', 'list'], /setting PORT/, { ...env, PORT: '-1' });
});

it('does not serve other machines in clear or without mail, and says why', async () => {
  const https = { BASE_URL: 'https://id.example.org', SECURE_URL: 'https://s.example.org' };
  const mail = { SMTP_URL: 'smtp://127.0.0.1:1' };
  await each<[string, Record<string, string>, RegExp]>(
    [
      ['0.0.0.0', {}, /BASE_URL is http.*SECURE_URL is http.*SMTP_URL is not set.*--insecure/],
      ['::', { ...mail, SECURE_URL: https.SECURE_URL }, /BASE_URL is http.*--insecure/],
      ['192.168.1.1', { ...mail, BASE_URL: https.BASE_URL }, /SECURE_URL is http/],
      ['0.0.0.0', https, /SMTP_URL is not set/],
      ['::ffff:0.0.0.0', https, /SMTP_URL is not set/],
      ['portcullis.example', {}, /SMTP_URL is not set/],
    ],
    ([host, more, words]) => assertRefused(['serve'], words, { ...env, HOST: host, ...more }),
  );
  await assertRefused(['serve', '--demo'], /--insecure/, { ...env, HOST: '0.0.0.0' });
});

it('serves other machines so where that is wanted, and warns', async () => {
  const port = { DATA_DIR: at('insecure'), PORT: '0', HOST: '0.0.0.0', LOG_LEVEL: 'info' };
  const child = startCli(['serve', '--insecure'], port);
  const warning = await child.errorLine((text) => text.includes('insecure on purpose'));
  assert.match(warning, /in clear|SMTP_URL/);
  await child.errorLine((text) => text.includes('"msg":"listening"'));
  child.process.kill('SIGTERM');
  assert.equal((await child.ended).code, 0);
});

it('a server tells of a name in its environment that is a setting but for a slip', async () => {
  const slip = { DATA_DIR: at('slip'), PORT: '0', LOG_LEVEL: 'info', REGISTRATON: 'closed' };
  const child = startCli(['serve'], slip);
  await child.errorLine((text) => text.includes('REGISTRATON is no setting'));
  child.process.kill('SIGTERM');
  assert.equal((await child.ended).code, 0);
});

it('tells that the data directory is no use', async () => {
  await assertRefused(['key', 'list'], /DATA_DIR/, { DATA_DIR: at('file') });
  await assertRefused(['key', 'list'], /DATA_DIR/, { DATA_DIR: `${at('file')}/below` });
  await assertRefused(['serve'], /DATA_DIR/, { DATA_DIR: `${at('file')}/below`, PORT: '0' });
  mkdirSync(at('not-a-store'));
  writeFileSync(at('not-a-store/store'), 'not a directory');
  await assertRefused(['key', 'list'], /not-a-store/, { DATA_DIR: at('not-a-store') });
  mkdirSync(at('damaged/store'), { recursive: true });
  writeFileSync(at('damaged/store/data.mdb'), 'not a database'.repeat(1_000));
  await assertRefused(['key', 'list'], /damaged/, { DATA_DIR: at('damaged') });
  await assertRefused(['serve'], /damaged/, { DATA_DIR: at('damaged'), PORT: '0' });
});

it('a log of accesses that can’t be written stops the start in one line', async () => {
  const own = { DATA_DIR: at('no-log'), PORT: '0', LOG_LEVEL: 'error' };
  for (const place of [directory.path, at('file/log')]) {
    await assertRefused(['serve'], /ACCESS_LOG/, { ...own, ACCESS_LOG: place });
  }
});

it('a damaged event is told as damage of the store at a start', async () => {
  const own = { DATA_DIR: at('damaged-event'), PORT: '0', LOG_LEVEL: 'silent' };
  assert.equal((await runCli(['account', 'create', email], own)).code, 0);
  const tables = openTables(`${own.DATA_DIR}/store`);
  const row = Buffer.from(tables.journal.get(journalRowKey(1))!);
  row[12]! ^= 1;
  await tables.journal.put(journalRowKey(1), row);
  await tables.root.close();
  await assertRefused(['serve'], /the store is damaged .*of journal.*: restore a backup/, own);
});

it('refuses a master key that others may read, or that is none', async () => {
  const keyFile = at('master.key');
  writeFileSync(keyFile, 'short', { mode: 0o600 });
  await assertRefused(['key', 'list'], /master\.key/, { ...env, MASTER_KEY_FILE: keyFile });
  chmodSync(`${env.DATA_DIR}/master.key`, 0o644);
  await assertRefused(['key', 'list'], /master\.key/);
  chmodSync(`${env.DATA_DIR}/master.key`, 0o600);
  await assertRefused(['serve'], /missing\.key/, { ...env, MASTER_KEY_FILE: at('missing.key') });
});

it('explains every command', async () => {
  const root = await runCli(['--help'], env);
  assert.equal(root.code, 0);
  const commands = [
    ...['serve', 'seed', 'anon', 'allow', 'account', 'key'].map((name) => [name]),
    ...['add', 'remove', 'list'].map((name) => ['allow', name]),
    ...['create', 'show', 'disable', 'enable'].map((name) => ['account', name]),
    ...['create', 'list', 'revoke'].map((name) => ['key', name]),
  ];
  for (const [name, below] of commands) {
    if (below === undefined) assert.match(root.stdout, new RegExp(`^ {2}${name}\\b.* {2}\\w`, 'm'));
  }
  await each(commands, async (words) => {
    const { code, stdout, stderr } = await runCli([...words, '--help'], env);
    assert.equal(code, 0);
    assert.equal(stderr, '');
    assert.match(stdout, new RegExp(`^Usage: portcullis ${words.join(' ')} `));
    const description = stdout.split('\n')[2] ?? '';
    assert.match(description, /^\w.{6,}/, `${words.join(' ')} has no description`);
  });
});

it('shows usage without a command, and fails', async () => {
  const { code, stderr } = await runCli([], env);
  assert.equal(code, 1);
  assert.match(stderr, /^Usage: portcullis /);
});

it('a reader that leaves early stops no command, and hears no complaint', async () => {
  const child = startCli(['allow', 'add', '192.0.2.0/24'], env);
  child.process.stdout!.destroy();
  assert.deepEqual(await child.ended, { code: 0, signal: null });
  assert.equal(child.stderr(), '');
  const listed = await runCli(['allow', 'list'], env);
  assert.match(listed.stdout, /192\.0\.2\.0\/24/);
});

it('output that a full disk does not take is a failure, told in one line', async () => {
  const full = openSync('/dev/full', 'w');
  try {
    for (const args of [['account', 'show', email, '--json'], ['stats'], ['--help']]) {
      const child = spawn(process.execPath, [entry, ...args], {
        env: { ...process.env, ...env },
        stdio: ['ignore', full, 'pipe'],
      });
      let stderr = '';
      child.stderr!.on('data', (chunk) => {
        stderr += String(chunk);
      });
      const [code] = await once(child, 'close');
      assert.equal(code, 1, `${args[0]}: ${stderr}`);
      assert.match(stderr, /^portcullis: the output can't be written: ENOSPC[^\n]*\n$/);
    }
  } finally {
    closeSync(full);
  }
});

it('standard input that is a directory, and standard output that leads nowhere, are told', async () => {
  await each<[string, RegExp]>(
    [
      ['seed - --format plain < /', /^portcullis: standard input: is a directory\n$/],
      ['account create new@portcullis.example --password-stdin < /', /is a directory\n$/],
      ['backup - >&-', /^portcullis: standard output is closed or \/dev\/null[^\n]*\n$/],
      ['backup - > /dev/null', /^portcullis: standard output is closed or \/dev\/null[^\n]*\n$/],
    ],
    async ([words, told]) => {
      const child = spawn('sh', ['-c', `exec "$0" "$1" ${words}`, process.execPath, entry], {
        env: { ...process.env, ...env },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let stderr = '';
      child.stderr!.on('data', (chunk) => {
        stderr += String(chunk);
      });
      assert.deepEqual(await once(child, 'close'), [1, null], words);
      assert.match(stderr, told);
    },
  );
});

it('a backup whose reader leaves early has failed', async () => {
  const child = startCli(['backup', '-'], env);
  child.process.stdout!.destroy();
  assert.equal((await child.ended).code, 1);
  assert.doesNotMatch(child.stderr(), /unexpected| {4}at /);
});
