/** `portcullis init` and `--settings`: a file of settings, the data directory, the operator. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type CliResult, runCli } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const directory = makeTempDir('init');
after(() => directory.remove());
const operator = 'op@example.com';
let files = 0;

/** With answers that are good, but for those given. */
async function init(changes: Readonly<Record<string, string | undefined>> = {}) {
  const file = `${directory.path}/${files++}.env`;
  const dataDir = `${file}.data`;
  const options = {
    url: 'https://id.example.com',
    operator,
    'data-dir': dataDir,
    'smtp-url': 'smtps://user:p%40ss@mail.example.com',
    ...changes,
  };
  const words = Object.entries(options).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  );
  // What is set here and now is not what the server will have.
  const here = { DATA_DIR: `${file}.elsewhere`, REGISTRATION: 'open' };
  const result = await runCli(['init', file, ...words, '--json'], here);
  return { file, dataDir, result };
}

function assertRefused({ code, stderr, stdout }: CliResult, words: RegExp): void {
  assert.equal(code, 1, stdout);
  assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
  assert.match(stderr, words);
}

test('writes settings that the server takes, and makes an operator who can sign in', async () => {
  const { file, dataDir, result } = await init();
  assert.equal(result.code, 0, result.stderr);
  const made = JSON.parse(result.stdout);
  assert.deepEqual([made.file, made.dataDir, made.operator], [file, dataDir, operator]);
  assert.match(made.password, /^[\w-]{24}$/);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(existsSync(`${file}.elsewhere`), false, 'no other store is made');
  const text = readFileSync(file, 'utf8');
  for (const line of [
    'BASE_URL=https://id.example.com',
    'SECURE_URL=https://id.example.com',
    `DATA_DIR=${dataDir}`,
    'SMTP_URL=smtps://user:p%40ss@mail.example.com',
    `MAIL_FROM=${operator}`,
    'REGISTRATION=closed',
  ]) {
    assert.ok(text.includes(`\n${line}\n`), line);
  }
  assert.match(text, /\nMETRICS_TOKEN=[\w-]{32}\n/);
  assert.ok(!text.includes(made.password));

  const withFile = (...words: string[]) => runCli(['--settings', file, ...words], {});
  const [listed] = JSON.parse((await withFile('account', 'list', '--json')).stdout);
  assert.deepEqual([listed.email, listed.role, listed.standing], [operator, 'operator', 'staff']);
  const shown = await withFile('account', 'show', operator, '--json');
  assert.equal(shown.code, 0, shown.stderr);
  assert.deepEqual(
    ['standing', 'disabled'].map((name) => JSON.parse(shown.stdout)[name]),
    ['staff', false],
  );
  const audit = await withFile('log', 'audit');
  assert.match(audit.stdout, /done .* init/);
  // The environment goes before the file.
  const other = await runCli(['--settings', file, 'account', 'show', operator], {
    DATA_DIR: `${directory.path}/other`,
  });
  assertRefused(other, /there is no account/);

  const again = await runCli(
    ['init', file, '--url', 'https://b.example', '--operator', 'b@b.example'],
    {},
  );
  assertRefused(again, /is there already; nothing is changed/);
  assert.equal(readFileSync(file, 'utf8'), text);
});

test('without a terminal, what is missing is named', async () => {
  const missing = `${directory.path}/missing.env`;
  assertRefused(await runCli(['init', missing], {}), /--url is missing/);
  const url = ['--url', 'https://id.example.com'];
  assertRefused(await runCli(['init', missing, ...url], {}), /--operator is missing/);
  assert.ok(!existsSync(missing));
});

for (const [name, changes, words] of [
  [
    'an address without TLS',
    { url: 'http://id.example.com' },
    /--url http:.* can't be used: it must begin with https/,
  ],
  [
    'an address with a path',
    { url: 'https://id.example.com/a' },
    /--url .* can't be used: it must end behind the host name/,
  ],
  [
    'no mail address',
    { operator: 'nobody' },
    /--operator nobody can't be used: it is no mail address/,
  ],
  [
    'a mail address that no account can have',
    { operator: 'é@example.com', 'mail-from': operator },
    /--operator é@example.com can't be used: it is no mail address/,
  ],
  ['a port that is none', { port: 'http' }, /setting PORT must be/],
  ['a value that needs quotes', { 'smtp-url': 'smtp://a b' }, /SMTP_URL can't stand/],
  ['a line end in a value', { 'mail-from': 'a@b.example\nHOST=0.0.0.0' }, /MAIL_FROM can't stand/],
] as const) {
  test(`${name} leaves no file behind`, async () => {
    const { file, result } = await init(changes);
    assertRefused(result, words);
    assert.ok(!existsSync(file));
  });
}

test('a file of settings that is not there stops every command', async () => {
  const gone = await runCli(['--settings', `${directory.path}/gone.env`, 'key', 'list'], {});
  assertRefused(gone, /--settings .* can't be read/);
});

for (const [name, content, words] of [
  ['a line that is no setting', 'HOST 0.0.0.0\nDATA_DIR=x\n', /no NAME=value: "HOST 0\.0\.0\.0"/],
  ['a last line that is no setting', 'HOST=127.0.0.1\nPORT: 0\n', /no NAME=value: "PORT: 0"/],
  ['a value without a name', 'HOST=a\n=1\nPORT=0\n', /no NAME=value: "=1"/],
  ['a # inside a value', 'METRICS_TOKEN=abc#def\n', /more of METRICS_TOKEN than would be read/],
  ['a value that begins with #', 'PORT=0\nexport METRICS_TOKEN =#def', /more of METRICS_TOKEN/],
  ['text behind a quote', `SITE_NAME='Bridge' of Ada\n`, /more of SITE_NAME/],
  ['bytes that are no text', Buffer.from([0x41, 0x3d, 0xff, 0xfe]), /can't be read: .*not valid/],
  ['more than anybody sets', `A=${'x'.repeat(1_000_001)}`, /it has more than 1000000 bytes/],
] as const) {
  test(`${name} in a file of settings stops every command`, async () => {
    const file = `${directory.path}/wrong.env`;
    writeFileSync(file, content);
    assertRefused(await runCli(['--settings', file, 'key', 'list'], {}), words);
  });
}

test('comments, quotes and several lines in a file of settings are read', async () => {
  const file = `${directory.path}/right.env`;
  const lines = [
    'METRICS_TOKEN=abc#def',
    'METRICS_TOKEN=abcdefghijklmnop # of Prometheus',
    `SITE_NAME='Ada # 1'# hers`,
    'SITE_CONTACT=   # nobody',
    'MAIL_FROM="a@b.example"',
    ...['KNOWN_GOOD="', 'HOST=x#y', '"'],
  ];
  writeFileSync(file, lines.join('\r\n'));
  const done = await runCli(['--settings', file, 'key', 'list'], {
    DATA_DIR: `${directory.path}/right`,
    KNOWN_GOOD: '192.0.2.1',
  });
  assert.doesNotMatch(done.stderr, /--settings|setting /);
});

test('a place where nobody can make a directory is refused', async () => {
  const env = { DATA_DIR: '/proc/none/data', PORT: '0' };
  assertRefused(await runCli(['serve'], env), /DATA_DIR \/proc\/none\/data can't be made: ENOENT/);
});

test('a limit of open files that is below what a start takes is told in one line', () => {
  const program = fileURLToPath(new URL('../../../../bin/portcullis.js', import.meta.url));
  const words = `ulimit -n 40; exec "${process.execPath}" "${program}" serve`;
  const { status, stderr } = spawnSync('sh', ['-c', words], { encoding: 'utf8', env: {} });
  assert.equal(status, 1);
  assert.match(stderr, /^portcullis: too few open files are allowed \(EMFILE\): [^\n]+\n$/);
});
