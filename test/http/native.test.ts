/** The choice between the two builds of the web server, and the refusal where neither loads. */

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { chooseNative, loadNative, type Surroundings } from '../../src/http/native.ts';

const require = createRequire(import.meta.url);
const newerFolder = dirname(require.resolve('uWebSockets.js'));
const olderFolder = join(dirname(require.resolve('uws-older/package.json')), 'binaries');

const glibcProblem =
  'This version of uWS.js (v20.57.0) supports only Node.js versions 20, 22, 24 and 25.\n\n' +
  "Error: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by /x/y.node)";

interface Machine extends Partial<Surroundings> {
  readonly libc?: string | undefined;
  /** Packages whose binary loads. */
  readonly loads?: readonly ('uWebSockets.js' | 'uws-older')[];
}

function choose({ libc, loads = [], ...rest }: Machine) {
  const files: string[] = [];
  return chooseNative({
    platform: 'linux',
    arch: 'x64',
    nodeVersion: 'v20.20.2',
    modules: '115',
    glibc: () => libc,
    load: (id) => {
      const name = id.split('/')[0] as 'uWebSockets.js' | 'uws-older';
      if (!loads.includes(name)) throw new Error(glibcProblem);
      const modules = rest.modules ?? '115';
      const folder = name === 'uws-older' ? olderFolder : newerFolder;
      files.push(join(folder, `uws_linux_x64_${modules}.node`));
      return {};
    },
    loadedFiles: () => files,
    ...rest,
  });
}

test('the newer build is taken where it loads, on each version of Node that has one', () => {
  for (const modules of ['115', '127', '137']) {
    const native = choose({ modules, libc: '2.38', loads: ['uWebSockets.js', 'uws-older'] });
    assert.equal(native.path, join(newerFolder, `uws_linux_x64_${modules}.node`));
    assert.equal(native.isKnown, true, modules);
  }
});

test('the older build is taken on Node 20 where the newer does not load', () => {
  const native = choose({ libc: '2.36', loads: ['uws-older'] });
  assert.equal(native.path, join(olderFolder, 'uws_linux_x64_115.node'));
  assert.equal(native.isKnown, true);
  assert.equal(native.parsesChunksStrictly, false);
});

test('without a build that loads, the start is refused with a line that says what to do', () => {
  const node22 = { nodeVersion: 'v22.23.3', modules: '127' };
  const cases: readonly (readonly [Machine, RegExp])[] = [
    [
      { ...node22, libc: '2.36', loads: ['uws-older'] },
      /linux-x64 with Node v22\.23\.3: it needs glibc 2\.38 or later and this system has 2\.36; install Node 20, or a newer system/,
    ],
    [{ ...node22, libc: '2.4' }, /this system has 2\.4;/],
    [{ ...node22, libc: undefined }, /it needs glibc, which Debian or Ubuntu has/],
    [{ libc: undefined }, /it needs glibc, which/],
    [{ nodeVersion: 'v21.7.3', modules: '120', libc: '2.41' }, /install Node 20, 22, 24 or 25/],
    [{ nodeVersion: 'v26.0.0', modules: '147', libc: '2.41' }, /install Node 20, 22, 24 or 25/],
    [{ ...node22, libc: '2.41' }, /run `npm ci` on this machine; the loader says: Error: \/lib/],
    [{ platform: 'darwin', arch: 'x64' }, /darwin-x64 with Node v20\.20\.2: run `npm ci`/],
  ];
  for (const [machine, message] of cases) {
    assert.throws(
      () => choose(machine),
      (error: Error) => {
        assert.equal(error.name, 'OperatorError');
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /\n/, 'one line');
        return true;
      },
    );
  }
});

test('the imitation in JavaScript is not used', () => {
  const imitation = { load: () => ({}), loadedFiles: () => ['/x/uws-older/dist/index.js'] };
  assert.throws(() => choose({ ...imitation, libc: '2.41' }), { name: 'OperatorError' });
});

test('the build that runs here is known', () => {
  const native = loadNative();
  assert.match(native.path, /uws_.*\.node$/);
  assert.match(native.sha256, /^[0-9a-f]{64}$/);
  if (process.platform === 'linux' && process.arch === 'x64') assert.equal(native.isKnown, true);
  assert.equal(loadNative(), native, 'loaded once');
});
