/** The start: fallbacks, the snapshot that saves compiling, and what becomes of a damaged one. */

import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { OperatorError } from '../../src/core/errors.ts';
import { openMmdb } from '../../src/geo/mmdb.ts';
import { openGeo, snapshotName } from '../../src/geo/open-geo.ts';
import { dateOf, type GeoKind, type GeoSource } from '../../src/geo/sources.ts';
import { below, seeded } from '../support/reputation/addresses.ts';
import { lookupByText, temporaryFolder } from '../support/reputation/geo.ts';
import { buildMmdb } from '../support/reputation/mmdb.ts';

function writeMmdb(path: string, iso: string, isp: string): string {
  const value = { country: { iso_code: iso }, isp };
  const networks = [['1.0.0.0/8', value] as const, ['2a00::/12', value] as const];
  writeFileSync(path, buildMmdb({ recordSize: 28, ipVersion: 6, networks }));
  return path;
}

/** A data folder, a default package of either kind, and a recorded log. */
function setup(t: TestContext) {
  const folder = temporaryFolder(t);
  const defaultPath = writeMmdb(join(folder, 'default.mmdb'), 'FR', 'Default Net');
  const dataDir = join(folder, 'data');
  const lines: string[] = [];
  const record = (line: unknown) => lines.push(String(line));
  const log = { info: record, warn: record };
  const defaults = (kind: GeoKind): GeoSource => ({
    kind,
    origin: 'default',
    format: 'mmdb',
    paths: [defaultPath],
  });
  return { folder, dataDir, defaultPath, lines, options: { dataDir, log, defaults } };
}

function answer(shared: SharedArrayBuffer): string {
  const { country, provider } = lookupByText(shared)('1.2.3.4');
  return `${country} ${provider}`;
}

test('the defaults serve when nothing is configured, and say so', (t) => {
  const { options, lines } = setup(t);
  const opened = openGeo(options);
  assert.equal(answer(opened.shared), 'FR Default Net');
  assert.deepEqual(
    opened.sources.map((each) => each.origin),
    ['default', 'default'],
  );
  assert.match(opened.sources[0]!.note!, /no longer updated/);
  assert.deepEqual(opened.warnings, []);
  assert.deepEqual(lines, []);
});

test('configured files come first, each for its own table', (t) => {
  const { folder, options } = setup(t);
  const countryMmdbPath = writeMmdb(join(folder, 'c.mmdb'), 'DE', 'unused');
  const asnMmdbPath = writeMmdb(join(folder, 'a.mmdb'), 'SE', 'Own Net');
  assert.equal(answer(openGeo({ ...options, countryMmdbPath }).shared), 'DE Default Net');
  assert.equal(answer(openGeo({ ...options, asnMmdbPath }).shared), 'FR Own Net');
  const both = openGeo({ ...options, countryMmdbPath, asnMmdbPath });
  assert.equal(answer(both.shared), 'DE Own Net');
  assert.deepEqual(
    both.sources.map((each) => each.origin),
    ['configured', 'configured'],
  );
});

test('a file that a setting names and that is no such database stops the start', (t) => {
  const { folder, options, defaultPath } = setup(t);
  const broken = join(folder, 'broken.mmdb');
  writeFileSync(broken, 'not a database');
  const missing = join(folder, 'missing.mmdb');
  for (const [setting, paths] of [
    ['GEO_COUNTRY_MMDB', { countryMmdbPath: broken }],
    ['GEO_ASN_MMDB', { asnMmdbPath: broken }],
    ['GEO_COUNTRY_MMDB', { countryMmdbPath: missing }],
    ['GEO_ASN_MMDB', { asnMmdbPath: missing }],
    ['GEO_ASN_MMDB', { asnMmdbPath: folder }],
  ] as const) {
    for (let i = 0; i < 2; i++) {
      assert.throws(
        () => openGeo({ ...options, ...paths }),
        (error: Error) => error instanceof OperatorError && error.message.startsWith(setting),
      );
    }
  }
  rmSync(defaultPath);
  const empty = openGeo(options);
  assert.equal(answer(empty.shared), 'ZZ Unknown');
  assert.equal(empty.warnings.length, 4);
  assert.equal(answer(openGeo({ ...options, defaults: () => undefined }).shared), 'ZZ Unknown');
});

test('a table has the date of its publisher: that of the package, else of the file', (t) => {
  const { options, defaultPath } = setup(t);
  const packaged = (version: string) => (kind: GeoKind) => ({ ...options.defaults(kind), version });
  const datesOf = (given: typeof options) => openGeo(given).sources.map(({ madeAt }) => madeAt);
  const inMetadata = openMmdb(readFileSync(defaultPath)).buildEpoch * 1_000;
  const file = statSync(defaultPath).mtimeMs;
  assert.deepEqual(datesOf(options)[0], inMetadata || Math.floor(file));
  const dataDirOfOther = temporaryFolder(t);
  const defaults = packaged('2.3.2026061719');
  const again = datesOf({ ...options, dataDir: dataDirOfOther, defaults });
  assert.deepEqual(again, [inMetadata || Date.UTC(2026, 5, 17), again[1]]);
  assert.deepEqual(datesOf({ ...options, dataDir: dataDirOfOther, defaults }), again, 'snapshot');
  assert.equal(dateOf({ version: '2.3.2026061719', paths: [] }), Date.UTC(2026, 5, 17));
  assert.equal(dateOf({ version: '1.0.0', paths: [] }), 0);
});

test('a snapshot is used while its sources stay the same', (t) => {
  const { options, dataDir, defaultPath } = setup(t);
  const first = openGeo(options);
  const second = openGeo(options);
  assert.deepEqual([first.fromSnapshot, second.fromSnapshot], [false, true]);
  assert.deepEqual(second.sources, first.sources);
  assert.deepEqual(new Uint8Array(second.shared), new Uint8Array(first.shared));
  assert.deepEqual(readdirSync(dataDir), [snapshotName]);
  const { mtime } = statSync(defaultPath);
  utimesSync(defaultPath, mtime, new Date(mtime.getTime() + 5_000));
  assert.equal(openGeo(options).fromSnapshot, false);
  writeMmdb(defaultPath, 'IT', 'A Longer Name');
  assert.equal(answer(openGeo(options).shared), 'IT A Longer Name');
});

test('the snapshot of the build serves wherever the same package is installed', (t) => {
  const { options, folder, dataDir } = setup(t);
  const packaged = (path: string, version: string) => (kind: GeoKind) => ({
    ...options.defaults(kind),
    paths: [path],
    version,
  });
  const built = join(folder, snapshotName);
  const there = writeMmdb(join(folder, 'ip.mmdb'), 'FR', 'Default Net');
  openGeo({ ...options, dataDir: folder, defaults: packaged(there, '1.0.0') });
  mkdirSync(join(folder, 'elsewhere'));
  const here = join(folder, 'elsewhere/ip.mmdb');
  cpSync(there, here);
  const opened = openGeo({ ...options, built, defaults: packaged(here, '1.0.0') });
  assert.equal(opened.fromSnapshot, true);
  assert.deepEqual(
    opened.sources.map(({ path }) => path),
    [here, here],
  );
  assert.equal(answer(opened.shared), 'FR Default Net');
  assert.equal(existsSync(dataDir), false);
  const other = openGeo({ ...options, built, defaults: packaged(here, '1.0.1') });
  assert.equal(other.fromSnapshot, false);
  const countryMmdbPath = writeMmdb(join(folder, 'own.mmdb'), 'DE', 'unused');
  const own = openGeo({ ...options, built, defaults: packaged(here, '1.0.0'), countryMmdbPath });
  assert.equal(answer(own.shared), 'DE Default Net');
});

test('a damaged snapshot is ignored and replaced', { timeout: 600_000 }, (t) => {
  const { options, dataDir } = setup(t);
  openGeo(options);
  const path = join(dataDir, snapshotName);
  const whole = readFileSync(path);
  const seed = 61;
  const random = seeded(seed);
  for (let i = 0; i < 60; i++) {
    let bytes = Buffer.from(whole);
    const kind = i % 4;
    // Most of the file is tables; every second flip is in the head and the meta.
    const at = below(random, random.next() < 0.5 ? 200 : bytes.length);
    if (kind < 2) bytes[at] = bytes[at]! ^ (1 << below(random, 8));
    if (kind === 2) bytes = bytes.subarray(0, below(random, bytes.length));
    if (kind === 3) bytes = Buffer.concat([bytes, random.bytes(1 + below(random, 9))]);
    writeFileSync(path, bytes);
    const opened = openGeo(options);
    assert.equal(opened.fromSnapshot, false, `seed ${seed}, ${i}`);
    assert.equal(answer(opened.shared), 'FR Default Net');
    assert.deepEqual(readFileSync(path), whole, `seed ${seed}, ${i}`);
  }
});

test('a data folder that can not be written costs the snapshot only', (t) => {
  const { options, defaultPath } = setup(t);
  const opened = openGeo({ ...options, dataDir: join(defaultPath, 'below-a-file') });
  assert.equal(answer(opened.shared), 'FR Default Net');
});
