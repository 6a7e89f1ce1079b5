/** The end of a server, and the attempt to start a second one: nothing in flight or on disk is lost. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { answersIn, get, openConnection, type RawConnection, requestText } from '../../http/raw.ts';
import { type LineChild, startCommand } from '../../support/server/child.ts';
import { freePort } from '../../support/server/free-port.ts';
import {
  answersByThread,
  type CliResult,
  runCli,
  startTestServer,
  type TestServer,
  threadCounts,
} from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const stopMsMax = 60_000;
const half = '8.8.8.8\n192.0.2.7';
const rest = '5\n198.51.100.7\n';
/** Blank lines keep a body coming, as the server wants it, however long the test takes. */
const blankLines = 200_000;
const blankLinesAtOnce = 2_000;
const trickleMs = 200;

interface HalfSent {
  readonly connections: readonly RawConnection[];
  /** Sends what is left of each body. */
  finish(): void;
  stop(): void;
}

/** Connections, one behind the other until each thread has some, that have sent half a body. */
async function halfSent(server: TestServer, count: number): Promise<HalfSent> {
  const body = '\n'.repeat(blankLines) + half + rest;
  const head = requestText('POST', `/api/v2/check-bulk?key=${server.key}`, body).slice(
    0,
    -body.length,
  );
  const connections = Array.from({ length: count }, () => openConnection(server.port));
  let left = blankLines;
  function trickle(): void {
    const lines = Math.min(left, blankLinesAtOnce);
    left -= lines;
    for (const connection of connections) connection.send('\n'.repeat(lines));
  }
  for (const connection of connections) connection.send(head);
  trickle();
  const timer = setInterval(trickle, trickleMs);
  // An answered request behind them shows that the threads have read what came before.
  for (let i = 0; i < count; i++) await server.fetch('/healthz');
  assert.ok((await answersByThread(server, '/healthz')).every((answers) => answers > 0));
  return {
    connections,
    finish() {
      clearInterval(timer);
      for (const connection of connections) connection.send('\n'.repeat(left) + half + rest);
    },
    stop: () => clearInterval(timer),
  };
}

function assertOneLine(result: CliResult, words: RegExp): void {
  assert.equal(result.code, 1, result.stderr);
  const lines = result.stderr.trimEnd().split('\n');
  const own = lines.filter((line) => !line.startsWith('{'));
  assert.equal(own.length, 1, result.stderr);
  assert.match(own[0]!, words);
}

/** Most of the time goes by waiting for a grace to end: all servers wait at once. */
describe('the end', { concurrency: true }, () => {
  for (const threads of threadCounts) {
    describe(`${threads} threads`, { concurrency: true }, () => flows(threads));
  }
});

function flows(threads: number): void {
  it('answers what is in flight, ends idle connections, exits 0, and keeps everything', async () => {
    const directory = makeTempDir('stop');
    try {
      await using server = await startTestServer({ threads, dataDir: directory.path });
      await server.cliJson('allow', 'add', '192.0.2.100');
      const idle = Array.from({ length: 30 }, () => openConnection(server.port));
      for (const connection of idle) {
        connection.send(get(`/api/v2/check?ipAddress=192.0.2.75&key=${server.key}`));
        await connection.until((text) => answersIn(text).length === 1);
      }
      const working = await halfSent(server, 30);
      const startMs = performance.now();
      const ended = server.stop();
      await server.child.errorLine((line) => line.includes('"msg":"stopping"'));
      working.finish();
      for (const connection of working.connections) {
        const [answer] = answersIn(await connection.closed());
        assert.equal(answer?.status, 200);
        assert.equal(answer.body.trimEnd().split('\n').length, 3);
      }
      assert.deepEqual(await ended, { code: 0, signal: null }, server.stderr());
      assert.ok(performance.now() - startMs < stopMsMax);
      for (const connection of idle) {
        assert.equal(answersIn(await connection.closed()).length, 1);
      }
      const refused = openConnection(server.port);
      assert.equal(await refused.closed(), '');
      assert.doesNotMatch(server.stderr(), /"level":(50|60)/);

      await using again = await startTestServer({ threads, dataDir: directory.path });
      assert.equal(again.key, server.key);
      assert.equal((await again.check('192.0.2.75')).abuseConfidenceScore, 75);
      assert.equal((await again.check('192.0.2.100')).abuseConfidenceScore, 0);
    } finally {
      directory.remove();
    }
  });

  it('waits for no client longer than it may', async () => {
    await using server = await startTestServer({ threads });
    const stuck = await halfSent(server, 30);
    const startMs = performance.now();
    assert.deepEqual(await server.stop(), { code: 0, signal: null }, server.stderr());
    assert.ok(performance.now() - startMs < stopMsMax);
    stuck.stop();
    for (const connection of stuck.connections) await connection.closed();
  });

  it('stops for Ctrl-C too, also right after the start', async () => {
    await using server = await startTestServer({ threads, demo: false });
    server.child.process.kill('SIGINT');
    assert.deepEqual(await server.child.ended, { code: 0, signal: null }, server.stderr());
  });

  it('a signal that comes twice does not break the stop off', async () => {
    await using server = await startTestServer({ threads, demo: false });
    const stopping = server.child.errorLine((line) => line.includes('"msg":"stopping"'));
    server.child.process.kill('SIGTERM');
    await stopping;
    for (const signal of ['SIGTERM', 'SIGINT'] as const) server.child.process.kill(signal);
    assert.deepEqual(await server.child.ended, { code: 0, signal: null }, server.stderr());
  });

  it('refuses a second server on its port or its directory, and goes on', async () => {
    await using server = await startTestServer({ threads });
    const other = makeTempDir('second');
    try {
      const port = { DATA_DIR: other.path, PORT: String(server.port) };
      assertOneLine(await runCli(['serve'], port), new RegExp(`port ${server.port} .*in use`));
      const directory = { DATA_DIR: server.dataDir, PORT: '0' };
      assertOneLine(await runCli(['serve'], directory), /another Portcullis server .*is running/);
      assertOneLine(await runCli(['serve', '--demo'], directory), /another Portcullis server/);
      for (let i = 0; i < 20; i++) assert.ok((await server.check('192.0.2.75')).malicious);
    } finally {
      other.remove();
    }
    assert.deepEqual(await server.stop(), { code: 0, signal: null }, server.stderr());
  });

  it('starts after a kill -9, on the same directory and port', async () => {
    const directory = makeTempDir('kill');
    try {
      // The kernel gives it to nobody while no server has it.
      const env = { PORT: String(await freePort()) };
      await using server = await startTestServer({ threads, dataDir: directory.path, env });
      assert.deepEqual(await server.kill(), { code: null, signal: 'SIGKILL' });
      await using again = await startTestServer({ threads, dataDir: directory.path, env });
      assert.equal(again.port, server.port);
      assert.equal((await again.check('192.0.2.75')).abuseConfidenceScore, 75);
    } finally {
      directory.remove();
    }
  });
}

/** Holds up a start for ever, behind the opening of the store. @param meanwhile what is under way then */
const heldStart = (meanwhile: string) => `data:text/javascript,
  import { channel } from 'node:diagnostics_channel';
  channel('portcullis:store:opened').subscribe(({ store }) => {
    store.lastSeq = () => new Promise(() => {});
    ${meanwhile}
    process.stderr.write('held up\\n');
  });`;
const entry = fileURLToPath(new URL('../../../../bin/portcullis.js', import.meta.url));

function startHeld(dataDir: string, meanwhile: string): LineChild {
  const env = { PATH: process.env.PATH!, DATA_DIR: dataDir, PORT: '0', HTTP_THREADS: '1' };
  return startCommand(process.execPath, ['--import', heldStart(meanwhile), entry, 'serve'], env);
}

it('a start that is held up ends all the same when it is told to', async () => {
  const directory = makeTempDir('held');
  try {
    const child = startHeld(directory.path, 'setInterval(() => {}, 1_000);');
    await child.errorLine((text) => text === 'held up');
    child.process.kill('SIGTERM');
    assert.deepEqual(await child.ended, { code: null, signal: 'SIGKILL' }, child.stderr());
    assert.match(child.stderr(), /stop: took too long/);
  } finally {
    directory.remove();
  }
});

it('a start that waits for what nothing can bring says so in one line', async () => {
  const directory = makeTempDir('waits');
  try {
    const child = startHeld(directory.path, '');
    assert.equal((await child.ended).code, 1);
    assert.match(
      child.stderr(),
      /^portcullis: unexpected: it waited for what can no longer come$/m,
    );
  } finally {
    directory.remove();
  }
});

it('signals of other programs’ log rotation open no debugger and end nothing', async () => {
  await using server = await startTestServer({ threads: 1, demo: false });
  for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) {
    server.child.process.kill(signal);
    const line = await server.child.errorLine(
      (text) => /^Debugger/.test(text) || text.includes(signal),
    );
    assert.match(line, /without a meaning/);
  }
  assert.equal((await server.fetch('/healthz')).status, 200);
});
