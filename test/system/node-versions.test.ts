/**
 * The transport's raw-socket tests and whole-server flows on Node 20, 22 and 24, with the newer build
 * of the web server. `NODE_VERSIONS=all` runs every flow, browsers included, on each of them.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { test } from 'node:test';
import {
  hasOldGlibc,
  nodeWithNewerGlibc,
  plainNode,
  versionOf,
} from '../support/house/node-versions.ts';
import { spawn } from '../support/house/spawn.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const dist = 'dist/test';
const wantsAll = process.env.NODE_VERSIONS === 'all';

/** One of each kind, short ones: the rest runs on the Node of the machine. */
const someFlows = [
  'access/flows/quota',
  'captcha/flows/captcha',
  'site/flows/openapi',
  'reputation/flows/check',
  'reputation/flows/report-hostile',
  'app/flows/hostile',
  'app/flows/service',
  'app/flows/threads',
  'signon/flows/sign-in',
].map((name) => join(dist, `${name}.test.js`));

function testsIn(folder: string): string[] {
  return readdirSync(join(dist, folder))
    .filter((name) => name.endsWith('.test.js'))
    .map((name) => join(dist, folder, name));
}

function allFlows(): string[] {
  return readdirSync(dist).flatMap((wing) => {
    const folder = join(wing, 'flows');
    return readdirSync(join(dist, wing)).includes('flows') ? testsIn(folder) : [];
  });
}

for (const major of [20, 22, 24]) {
  test(`the web server and its flows work on Node ${major} with the newer build`, async (t) => {
    const node = nodeWithNewerGlibc(t, major);
    if (node === undefined) return;
    assert.match(versionOf(node), new RegExp(`^v${major}\\.`));
    const script =
      "const { loadNative } = await import('./dist/src/http/native.js');" +
      'const { path, isTested } = loadNative(); console.log(JSON.stringify({ path, isTested }));';
    const shown = spawnSync(node, ['--input-type=module', '-e', script], { encoding: 'utf8' });
    const native = JSON.parse(shown.stdout) as { path: string; isTested: boolean };
    assert.match(native.path, /node_modules\/uWebSockets\.js\//);
    assert.equal(native.isTested, true);
    const files = [...testsIn('http'), ...(wantsAll ? allFlows() : someFlows)];
    const { code, output } = await runTests(node, files);
    assert.equal(code, 0, output.slice(output.indexOf('failing tests:')).slice(0, 20_000));
    const passed = Number(/^ℹ pass (\d+)$/m.exec(output)?.[1]);
    assert.ok(passed > 200, `${passed} passed`);
    t.diagnostic(`${versionOf(node)}: ${passed} passed`);
  });
}

function runTests(node: string, files: readonly string[]) {
  const { NODE_TEST_CONTEXT: _, ...rest } = process.env;
  // What a test starts by its name is this Node too.
  const env = { ...rest, TEST_THREADS: '3', PATH: [dirname(node), rest.PATH].join(delimiter) };
  const concurrency = `--test-concurrency=${availableParallelism()}`;
  const args = ['--test', concurrency, '--test-reporter=spec', ...files];
  return new Promise<{ code: number | null; output: string }>((resolve) => {
    const child = spawn(node, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += String(chunk);
    });
    child.once('close', (code) => resolve({ code, output }));
  });
}

test('on Node 22 and 24 with an older glibc the start is refused with one line', (t) => {
  if (!hasOldGlibc()) {
    t.skip('the glibc of this machine is new enough');
    return;
  }
  const directory = makeTempDir('node-versions');
  t.after(() => directory.remove());
  for (const major of [22, 24]) {
    const data = join(directory.path, String(major));
    const env = { PATH: process.env.PATH, DATA_DIR: data, PORT: '0' };
    const node = plainNode(major);
    const run = spawnSync(node, ['bin/portcullis.js', 'serve'], { encoding: 'utf8', env });
    assert.equal(run.status, 1, run.stderr);
    const refusal = new RegExp(
      `with Node v${major}\\.[\\d.]+: it needs glibc 2\\.38 or later and this system has 2\\.\\d+; install Node 20, or a newer system such as Debian 13 or Ubuntu 24\\.04 \\(see README, "Supported platforms"\\)\\n$`,
    );
    assert.match(run.stderr, refusal);
    assert.equal(run.stderr.trimEnd().split('\n').length, 1, run.stderr);
  }
});
