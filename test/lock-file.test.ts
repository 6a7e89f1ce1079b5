/** The lock files: complete for every platform, without a registry's address, nothing in the wrong place. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

interface Locked {
  readonly version?: string;
  readonly resolved?: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const lockFiles = ['package-lock.json', 'test/system/package-lock.json'];

function packagesOf(path: string): Readonly<Record<string, Locked>> {
  return JSON.parse(readFileSync(path, 'utf8')).packages;
}

/** As Node finds packages: beside, and then further up. */
function find(packages: Readonly<Record<string, Locked>>, from: string, name: string) {
  for (let folder = from; ; ) {
    const found = packages[`${folder === '' ? '' : `${folder}/`}node_modules/${name}`];
    if (found !== undefined || folder === '') return found;
    const up = folder.lastIndexOf('/node_modules/');
    folder = up < 0 ? '' : folder.slice(0, up);
  }
}

for (const path of lockFiles) {
  test(`${path} has the packages of all platforms (scripts/lock-platforms.mjs adds them)`, () => {
    const packages = packagesOf(path);
    const missing: string[] = [];
    for (const [at, entry] of Object.entries(packages)) {
      for (const name of Object.keys(entry.optionalDependencies ?? {})) {
        if (find(packages, at, name) === undefined) missing.push(`${name}, for ${at}`);
      }
    }
    assert.deepEqual(missing, []);
  });

  test(`${path} names no registry`, () => {
    const addressed = Object.entries(packagesOf(path)).filter(([, entry]) => entry.resolved);
    assert.deepEqual(addressed, []);
  });
}

test('what only tests need is no part of a server, and WordPress none of a developer’s', () => {
  const packages = packagesOf('package-lock.json');
  for (const name of ['mmdb-lib', 'playwright-core', '@sparticuz/chromium']) {
    assert.equal(packages[`node_modules/${name}`]?.dev, true, name);
  }
  // A library of the server could work with it, so npm says that it is optional beside.
  assert.equal(packages['node_modules/fastify']?.devOptional, true);
  // The server is built where it is installed.
  assert.equal(packages['node_modules/typescript']?.dev, undefined);
  const wordpress = Object.keys(packages).filter((name) => name.includes('wp-playground'));
  assert.deepEqual(wordpress, []);
});
