/** Commands beside a real server: refusals in words, ends of either side, bounded memory, one process with the store. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import { after, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Command } from 'commander';
import { program } from '../../src/commands/program.ts';
import { packageVersion } from '../../src/config/environment.ts';
import { encodeJsonFrame, frameKinds, protocolVersion } from '../../src/operations/protocol.ts';
import { hasOtherUser, startAsOther } from '../support/house/other-user.ts';
import { commandOf } from '../support/house/processes.ts';
import { besideCommands, notBeside, openersOf } from '../support/server/beside-commands.ts';
import {
  demoEmail,
  metric,
  runCli,
  startCli,
  startTestServer,
  within,
} from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';
import { rawControl } from './raw-control.ts';

const directory = makeTempDir('commands');

const server = await startTestServer({ threads: 1 });
const env = { DATA_DIR: server.dataDir };
after(async () => {
  await server[Symbol.asyncDispose]();
  directory.remove();
});

/** @returns path of a list of so many lines */
function list(lines: number, name = `list-${lines}`): string {
  const path = `${directory.path}/${name}.txt`;
  const of = (n: number) => `21.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;
  writeFileSync(path, `${Array.from({ length: lines }, (_, n) => of(n)).join('\n')}\n`);
  return path;
}

interface Logged {
  readonly command: string;
  readonly result: string;
}
const logged = async (): Promise<readonly Logged[]> => server.cliJson('audit', '--days', '1');

it('an operation that nobody knows is refused, and what is of no operation is no trace', async () => {
  const before = (await logged()).length;
  for (const name of [
    '',
    'constructor',
    '__proto__',
    'toString',
    'serve',
    'key  create',
    'x'.repeat(100),
  ]) {
    const raw = rawControl(server.dataDir);
    raw.ask(name, {});
    assert.match(await raw.failure(), /^there is no operation '/, name);
    await raw.closed;
  }
  assert.equal((await logged()).length, before);
});

const wrong: readonly [operation: string, input: unknown][] = [
  ['account create', {}],
  ['account create', { email: 7, role: 'member' }],
  ['account delete', { email: 'x'.repeat(401) }],
  ['key create', { email: 'demo@portcullis.example', scopes: ['everything'] }],
  ['key create', { email: 'demo@portcullis.example', more: true }],
  ['allow add', null],
  ['entry add', []],
  ['seed', { source: '../../etc', label: 'x', format: 'plain', hold: 1 }],
  ['seed', { source: 'a', label: 'x', format: 'none', hold: 1 }],
  ['seed', { source: 'a', label: 'x', format: 'plain', hold: -1 }],
  ['account set-quotas', { email: 'demo@portcullis.example', readPerMinute: 1e99 }],
  ['backup', { target: 'a', passphrase: {} }],
];

it('input that an operation does not take is refused, and noted without what it held', async () => {
  const before = (await logged()).length;
  for (const [operation, input] of wrong) {
    const raw = rawControl(server.dataDir);
    raw.ask(operation, input);
    assert.doesNotMatch(await raw.failure(), /\n|there is no/, operation);
    await raw.closed;
  }
  const rows = (await logged()).slice(before);
  assert.deepEqual(
    rows.map(({ command, result }) => [command, result]),
    wrong.map(([operation]) => [`${operation} (refused)`, 'failed']),
  );
  assert.doesNotMatch(server.stderr(), /"level":(50|60)/);
});

it('another user is refused in words by each command, whatever the directory lets through', async (t) => {
  if (!hasOtherUser(t)) return;
  const mode = statSync(server.dataDir).mode;
  // What it lies in lets everybody through.
  chmodSync(dirname(server.dataDir), 0o755);
  try {
    for (const open of [0o700, 0o755, 0o777]) {
      chmodSync(server.dataDir, open);
      for (const words of [['stats'], ['account', 'list'], ['backup', '-'], ['verify']]) {
        const { code, stdout, stderr } = await startAsOther(words, env);
        assert.deepEqual([code, stdout], [1, ''], stderr);
        assert.match(
          stderr,
          /^portcullis: .*(belongs to another user|run this as|can't be read|not readable).*\n$/,
          `${open.toString(8)} ${words.join(' ')}`,
        );
      }
    }
  } finally {
    chmodSync(server.dataDir, mode & 0o777);
  }
});

it('a server of another version, or what is none, is told apart in words', async () => {
  const other = makeTempDir('other-version');
  const greetings: readonly [bytes: Buffer | undefined, said: RegExp][] = [
    [hello(1, '0.0.1'), /^portcullis: the server in .* is version 0\.0\.1, this command is \d/],
    [hello(2, '99.0.0'), /^portcullis: the server in .* is version 99\.0\.0, this command is \d/],
    [Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'), /is no Portcullis server/],
    [undefined, /ended just now: try again/],
  ];
  let bytes: Buffer | undefined;
  const asked: Buffer[] = [];
  const fake = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => asked.push(chunk));
    if (bytes === undefined) socket.destroy();
    else socket.write(bytes);
  });
  await new Promise<void>((resolve) => fake.listen(`${other.path}/control.sock`, resolve));
  try {
    for (const [greeting, said] of greetings) {
      bytes = greeting;
      const { code, stderr } = await runCli(['stats'], { DATA_DIR: other.path });
      assert.equal(code, 1);
      assert.match(stderr, said);
      assert.equal(stderr.split('\n').length, 2, stderr);
    }
    // Nothing is asked of a stranger.
    assert.deepEqual(asked, []);
  } finally {
    fake.close();
    other.remove();
  }
});

function hello(protocol: number, version: string): Buffer {
  return encodeJsonFrame(frameKinds.hello, 0, { protocol, version, pid: 1 });
}

/** Threads of the server, once those of earlier work have ended. */
async function settledThreads(): Promise<ReadonlySet<string>> {
  for (let last: readonly string[] = []; ; ) {
    const found = threadsOf();
    if (isDeepStrictEqual(found, last)) return new Set(found);
    last = found;
    await delay(1_500);
  }
}

const threadsOf = (): string[] => readdirSync(`/proc/${server.pid}/task`);

/** Whether there is a thread beside these; one of these may end meanwhile. */
const isMore = (idle: ReadonlySet<string>): boolean => threadsOf().some((id) => !idle.has(id));

/** The command is connected, so it takes signals by itself, and a thread works for it: others may begin meanwhile. */
async function isWorking(idle: ReadonlySet<string>): Promise<boolean> {
  const used = await metric(server, 'portcullis_table_used');
  return used.get('table="commands"') === 1 && isMore(idle);
}

it('Ctrl-C of a command ends its work in the server, and nothing of it is there', async () => {
  // The first one makes threads that stay.
  assert.equal((await server.cli('seed', list(10), '--format', 'plain', '--source', 'a')).code, 0);
  const idle = await settledThreads();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const seed = ['seed', '-', '--format', 'plain', '--source', 'cut'];
    const command = startCli(seed, env);
    // Its list has no end, so it can't be done before.
    command.process.stdin!.write('22.0.0.1\n22.0.0.2\n');
    await within(() => isWorking(idle), 'the thread of the list');
    command.process.kill(signal);
    assert.deepEqual(await command.ended, { code: 1, signal: null });
    assert.match(command.stderr(), /portcullis: it was cancelled\n$/);
    await within(() => !isMore(idle), 'the end of the thread');
  }
  assert.equal((await server.check('22.0.0.1')).abuseConfidenceScore, 0);
  assert.ok((await logged()).some(({ command }) => /^seed .*cut/.test(command)));
});

it('Ctrl-C ends a command that waits for a pipe that nobody writes', async () => {
  const pipe = `${directory.path}/pipe`;
  execFileSync('mkfifo', [pipe]);
  const idle = await settledThreads();
  const command = startCli(['seed', pipe, '--format', 'plain'], env);
  await within(() => isWorking(idle), 'the thread of the list');
  command.process.kill('SIGTERM');
  assert.deepEqual(await command.ended, { code: null, signal: 'SIGTERM' });
  assert.match(command.stderr(), /portcullis: it was cancelled\n$/);
});

it('a command that is killed ends its work in the server', async () => {
  const idle = await settledThreads();
  const command = startCli(['seed', '-', '--format', 'plain', '--source', 'cut'], env);
  command.process.stdin!.write('22.0.0.1\n');
  await within(() => isWorking(idle), 'the thread of the list');
  command.process.kill('SIGKILL');
  await within(() => !isMore(idle), 'the end of the thread');
});

it('a list that nobody reads on waits in its pipe, and memory stays', async () => {
  const idle = await settledThreads();
  const command = startCli(['seed', '-', '--format', 'plain', '--source', 'slow'], env);
  const input = command.process.stdin!;
  input.write('23.0.0.1\n');
  await within(() => isWorking(idle), 'the thread of the list');
  server.child.process.kill('SIGSTOP');
  let taken = 0;
  try {
    const line = Buffer.from('23.0.0.2\n'.repeat(7_000));
    let last = -1;
    for (;;) {
      while (input.writableLength < 4 * line.length) {
        input.write(line, (error) => {
          taken += error ? 0 : line.length;
        });
      }
      if (taken === last) break;
      last = taken;
      await delay(500);
    }
    assert.ok(taken < 8 * 1024 * 1024, `${taken} bytes were taken`);
    assert.equal(command.process.exitCode, null);
  } finally {
    server.child.process.kill('SIGCONT');
  }
  input.end();
  assert.deepEqual(await command.ended, { code: 0, signal: null }, command.stderr());
  await within(async () => (await server.check('23.0.0.2')).abuseConfidenceScore > 0);
});

it('a backup that nobody reads on is held back in the server', async () => {
  const command = startCli(['backup', '-'], env);
  command.process.stdout!.pause();
  await delay(500);
  command.process.stdout!.resume();
  assert.deepEqual(await command.ended, { code: 0, signal: null }, command.stderr());
});

it('a frozen server gets a clear line after ten seconds, and goes on afterwards', async () => {
  server.child.process.kill('SIGSTOP');
  const startMs = performance.now();
  try {
    const done = await Promise.all([
      server.cli('stats'),
      server.cli('key', 'list'),
      server.cli('backup', `${directory.path}/none`),
    ]);
    for (const { code, stderr } of done) {
      assert.equal(code, 1);
      assert.match(
        stderr,
        /^portcullis: the server in .* does not answer: it is stopped or stuck\n$/,
      );
    }
  } finally {
    server.child.process.kill('SIGCONT');
  }
  assert.ok(performance.now() - startMs > 9_000);
  assert.equal((await server.cli('stats')).code, 0);
});

it('a server that falls silent after its greeting is told of once, and Ctrl-C ends the command at once', async () => {
  const other = makeTempDir('silent');
  const fake = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.write(hello(protocolVersion, packageVersion()));
    // What is asked is taken, and never answered.
    socket.resume();
  });
  await new Promise<void>((resolve) => fake.listen(`${other.path}/control.sock`, resolve));
  const place = { DATA_DIR: other.path };
  const silent = startCli(['stats'], place);
  // It waits for its own input, and not for the server.
  const reading = startCli(['seed', '-', '--format', 'plain', '--source', 'a'], place);
  try {
    const startMs = performance.now();
    await within(() => silent.stderr() !== '', 'the line');
    assert.ok(performance.now() - startMs > 9_000);
    await delay(2_000);
    const said = /^portcullis: the server does not answer at the moment: .+ Ctrl-C ends it\n/;
    assert.match(silent.stderr(), said);
    silent.process.kill('SIGINT');
    assert.deepEqual(await silent.ended, { code: 1, signal: null });
    assert.equal(silent.stderr().replace(said, ''), 'portcullis: it was cancelled\n');
    assert.doesNotMatch(reading.stderr(), /does not answer/);
    reading.process.kill('SIGINT');
    assert.deepEqual(await reading.ended, { code: 1, signal: null });
  } finally {
    silent.process.kill('SIGKILL');
    reading.process.kill('SIGKILL');
    fake.close();
    other.remove();
  }
});

it('no process but the server has the store open while any command runs', async () => {
  const leaves = (command: Command, path: readonly string[] = []): string[] =>
    command.commands.length === 0
      ? [path.join(' ')]
      : command.commands.flatMap((child) => leaves(child, [...path, child.name()]));
  const place = { folder: directory.path, list: list(2_000), n: 1, email: demoEmail };
  const commands = besideCommands(place);
  assert.deepEqual(
    [...new Set(commands.map(({ name }) => name)), ...notBeside].sort(),
    leaves(program()).sort(),
  );
  let looks = 0;
  let isOver = false;
  const others = new Set<string>();
  const faults: string[] = [];
  const looking = (async () => {
    while (!isOver) {
      const openers = openersOf(server.dataDir);
      assert.ok(openers.includes(server.pid), 'the server has it open');
      for (const pid of openers) if (pid !== server.pid) others.add(commandOf(pid));
      looks += 1;
      await delay(5);
    }
  })();
  for (const { name, args, mayFail } of commands) {
    const { code, stderr } = await server.cli(...args);
    const isWell = code === 0 || (code === 1 && mayFail === true);
    if (!isWell || /unexpected|^\s+at /m.test(stderr)) faults.push(`${name}: ${code} ${stderr}`);
  }
  isOver = true;
  await looking;
  assert.deepEqual(faults, []);
  assert.deepEqual([...others], []);
  assert.ok(looks > commands.length);
});

// The last one: the server ends.
it('a server that stops ends the command with a clear line, and what was half done is not there', async () => {
  const idle = await settledThreads();
  const command = startCli(['seed', '-', '--format', 'plain', '--source', 'cut'], env);
  command.process.stdin!.write('24.0.0.1\n');
  await within(() => isWorking(idle), 'the thread of the list');
  const stopping = server.stop();
  assert.deepEqual(await command.ended, { code: 1, signal: null });
  assert.match(
    command.stderr(),
    /portcullis: (the server is stopping|the server ended before .*)\n$/,
  );
  assert.deepEqual(await stopping, { code: 0, signal: null });
  const { code, stdout } = await runCli(['check', '24.0.0.1', '--json'], env);
  assert.equal(code, 0);
  assert.equal(JSON.parse(stdout).facts?.abuseConfidenceScore ?? 0, 0);
  assert.equal((await runCli(['verify'], env)).code, 0);
});

it('DATA_DIR may be a link: threads open the store by the name that it was given', async () => {
  const folder = makeTempDir('commands-link');
  const link = `${folder.path}/link`;
  mkdirSync(`${folder.path}/real`);
  symlinkSync(`${folder.path}/real`, link);
  const linked = { DATA_DIR: link };
  try {
    assert.equal((await runCli(['allow', 'add', '198.51.100.7'], linked)).code, 0);
    for (const args of [['stats'], ['verify'], ['backup', `${folder.path}/one.backup`]]) {
      const { code, stderr } = await runCli(args, linked);
      assert.equal(code, 0, `${args[0]}: ${stderr}`);
    }
  } finally {
    folder.remove();
  }
});
