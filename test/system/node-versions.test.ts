/**
 * The tests of the transport on Node 20, 22 and 24, with the newer build of the web server, and on 24 a flow of
 * each kind: on Node 20 all of them ran already, on the older build. `NODE_VERSIONS=all` runs every flow, browsers
 * included, on each of them.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
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

/** Bytes as strangers send them, in one line of defence with the transport. */
const hostile = compiledOf('app/flows/hostile');
/** One of each kind, short ones: the rest runs on the Node of the machine. */
const someFlows = [
  'captcha/flows/captcha',
  'site/flows/kit',
  'reputation/flows/check',
  'app/flows/threads',
  'signon/flows/sign-in',
].map(compiledOf);

function compiledOf(name: string): string {
  return join(dist, `${name}.test.js`);
}

function testsIn(folder: string): string[] {
  return readdirSync(join(dist, folder))
    .filter((name) => name.endsWith('.test.js'))
    .map((name) => join(dist, folder, name));
}

/** Those that open the web server; of the others no build and no Node makes a difference. */
function transportTests(): string[] {
  return testsIn('http').filter((path) =>
    /http\/(server|native)\.js'|\.\/raw\.js'/.test(readFileSync(path, 'utf8')),
  );
}

function flowsOn(major: number): string[] {
  if (wantsAll) return allFlows();
  return major === 24 ? [hostile, ...someFlows] : [hostile];
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
    const files = [...transportTests(), ...flowsOn(major)];
    const { code, output } = await runTests(node, files);
    assert.equal(code, 0, output.slice(output.indexOf('failing tests:')).slice(0, 20_000));
    const passed = Number(/^ℹ pass (\d+)$/m.exec(output)?.[1]);
    assert.ok(passed > 150, `${passed} passed`);
    t.diagnostic(`${versionOf(node)}: ${passed} passed`);
  });
}

function runTests(node: string, files: readonly string[]) {
  const { NODE_TEST_CONTEXT: _, ...rest } = process.env;
  // What a test starts by its name is this Node too.
  const env = { ...rest, TEST_THREADS: '3', PATH: [dirname(node), rest.PATH].join(delimiter) };
  // Two more than there are cores, as scripts/test.mjs has it: most of their time is waiting.
  const concurrency = `--test-concurrency=${availableParallelism() + 2}`;
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
