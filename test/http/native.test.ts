/** The choice between the two builds of the web server, and the refusal where neither loads. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import {
  chooseChecked,
  chooseNative,
  loadNative,
  type PlatformFacts,
} from '../../src/http/native.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const require = createRequire(import.meta.url);
const newerFolder = dirname(require.resolve('uWebSockets.js'));
const olderFolder = join(dirname(require.resolve('uws-older/package.json')), 'binaries');

const glibcProblem =
  'This version of uWS.js (v20.57.0) supports only Node.js versions 20, 22, 24 and 25.\n\n' +
  "Error: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by /x/y.node)";

interface Machine extends Partial<PlatformFacts> {
  readonly libc?: string | undefined;
  /** Packages whose binary loads. */
  readonly loads?: readonly ('uWebSockets.js' | 'uws-older')[];
  /** The hash that the operator names. */
  readonly trusted?: string;
}

function choose({ libc, loads = [], trusted, ...rest }: Machine) {
  const at: PlatformFacts = {
    platform: 'linux',
    arch: 'x64',
    nodeVersion: 'v20.20.2',
    modules: '115',
    glibc: () => libc,
    folderOf: (name) => (name === 'uws-older' ? olderFolder : newerFolder),
    load: (id) => {
      const name = id.split('/')[0] as 'uWebSockets.js' | 'uws-older';
      if (!loads.includes(name)) throw new Error(glibcProblem);
      return {};
    },
    ...rest,
  };
  return chooseNative(at, trusted);
}

test('the newer build is taken where it loads, on each version of Node that has one', () => {
  for (const modules of ['115', '127', '137']) {
    const native = choose({ modules, libc: '2.38', loads: ['uWebSockets.js', 'uws-older'] });
    assert.equal(native.path, join(newerFolder, `uws_linux_x64_${modules}.node`));
    assert.equal(native.isTested, true, modules);
  }
});

test('the older build is taken on Node 20 where the newer does not load', () => {
  const native = choose({ libc: '2.36', loads: ['uws-older'] });
  assert.equal(native.path, join(olderFolder, 'uws_linux_x64_115.node'));
  assert.equal(native.isTested, true);
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
  const imitation = { load: () => ({}), folderOf: () => '/x/uws-older/dist' };
  assert.throws(() => choose({ ...imitation, libc: '2.41' }), { name: 'OperatorError' });
});

test('a binary with an unknown hash is not loaded, unless the operator names the hash', () => {
  const folder = makeTempDir('unknown-binary');
  const file = `${folder.path}/uws_linux_x64_115.node`;
  writeFileSync(file, 'of somebody else');
  const sha256 = createHash('sha256').update('of somebody else').digest('hex');
  let loaded = 0;
  const machine: Machine = {
    libc: '2.41',
    folderOf: () => folder.path,
    load: () => {
      loaded += 1;
      return {};
    },
  };
  for (const trusted of [undefined, sha256.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))]) {
    assert.throws(() => choose({ ...machine, ...(trusted === undefined ? {} : { trusted }) }), {
      name: 'OperatorError',
      message: new RegExp(`^${file} is no build .* WEB_SERVER_SHA256=${sha256} `),
    });
  }
  assert.equal(loaded, 0);
  const native = choose({ ...machine, trusted: sha256 });
  assert.deepEqual([native.path, native.isTested, loaded], [file, false, 1]);
  assert.equal(native.parsesChunksStrictly, false);
  folder.remove();
});

test('another thread loads what was checked without hashing it, and a file that was replaced not at all', () => {
  const folder = makeTempDir('checked-binary');
  const file = `${folder.path}/uws_linux_x64_115.node`;
  const trusted = createHash('sha256').update('trusted').digest('hex');
  writeFileSync(file, 'trusted');
  const loads: string[] = [];
  const at: PlatformFacts = {
    platform: 'linux',
    arch: 'x64',
    nodeVersion: 'v20.20.2',
    modules: '115',
    glibc: () => '2.41',
    folderOf: () => folder.path,
    load: (id) => loads.push(id),
  };
  const { library: _, ...checked } = chooseNative(at, trusted);
  // Whoever hashed the file would refuse this.
  assert.equal(chooseChecked(at, { ...checked, sha256: 'f'.repeat(64) }).path, file);
  assert.deepEqual(loads, ['uWebSockets.js', 'uWebSockets.js']);
  rmSync(file);
  writeFileSync(file, 'replaced');
  assert.throws(() => chooseChecked(at, checked), /is no build of the web server/);
  rmSync(file);
  writeFileSync(file, 'trusted');
  assert.equal(chooseChecked(at, checked).sha256, trusted);
  assert.equal(loads.length, 3);
  folder.remove();
});

test('the build that runs here is known', () => {
  const native = loadNative();
  assert.match(native.path, /uws_.*\.node$/);
  assert.match(native.sha256, /^[0-9a-f]{64}$/);
  if (process.platform === 'linux' && process.arch === 'x64') assert.equal(native.isTested, true);
  assert.equal(loadNative(), native, 'loaded once');
});
