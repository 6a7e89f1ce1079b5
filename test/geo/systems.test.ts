/** Autonomous systems out of the file of providers: ranges by number, the number by address. */

import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSystemIndex, type SystemIndex } from '../../src/geo/systems/system-index.ts';
import { openSystems } from '../../src/geo/systems/systems.ts';
import build from '../../src/geo/systems/systems.worker.ts';
import { type IpFamily, parseIp } from '../../src/ip/address.ts';
import { formatPrefix, rangeToPrefixes } from '../../src/ip/prefix.ts';
import { buildMmdb } from '../support/reputation/mmdb.ts';
import { manualClock } from '../support/seeded.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const four = [
  '192.0.2.0,192.0.2.127,64500,"Example, ""One"""',
  '192.0.2.128,192.0.2.255,64501,Mentions ,64500, in its name',
  'not a line',
  '198.51.100.0,198.51.100.255,64500,"Example, ""One"""',
  '203.0.113.0,203.0.113.255,645001,Longer number',
];
const six = ['2001:db8::,2001:db8:0:ffff:ffff:ffff:ffff:ffff,64500,Other words'];

function ofText(t: TestContext, four: string, six: string): SystemIndex {
  const directory = makeTempDir('systems');
  t.after(() => directory.remove());
  const paths = [`${directory.path}/4.csv`, `${directory.path}/6.csv`];
  writeFileSync(paths[0]!, four);
  writeFileSync(paths[1]!, six);
  return openSystemIndex(build({ kind: 'provider', origin: 'default', format: 'csv', paths }));
}

function prefixesOf(index: SystemIndex, number: number): string[] {
  const { ranges } = index.rangesOf(number);
  return ranges
    .flatMap((range) => rangeToPrefixes(range.family, range.first, range.last))
    .map(formatPrefix);
}

function numberOf(index: SystemIndex, ip: string): number {
  const words = new Uint32Array(4);
  return index.numberOf(parseIp(ip, words) as IpFamily, words);
}

test('lines of a number are found, whatever names and longer numbers hold', (t) => {
  const index = ofText(t, four.join('\r\n'), `${six.join('\n')}\n`);
  const { name, isPart } = index.rangesOf(64_500);
  const wanted = ['192.0.2.0/25', '198.51.100.0/24', '2001:db8::/48'];
  assert.deepEqual(prefixesOf(index, 64_500), wanted);
  assert.deepEqual([name, isPart], ['Example, "One"', false]);
  assert.equal(index.rangesOf(64_501).name, 'Mentions ,64500, in its name');
  for (const number of [1, 6_450, 64_502, 645_000, 645_002, 2 ** 32 - 1]) {
    assert.deepEqual(index.rangesOf(number), { name: undefined, ranges: [], isPart: false });
  }
  for (const [ip, number] of [
    ['192.0.2.0', 64_500],
    ['192.0.2.127', 64_500],
    ['192.0.2.128', 64_501],
    ['203.0.113.255', 645_001],
    ['203.0.114.0', 0],
    ['1.1.1.1', 0],
    ['223.1.1.1', 0],
    ['2001:db8::7', 64_500],
    ['2001:db9::', 0],
  ] as const) {
    assert.equal(numberOf(index, ip), number, ip);
  }
});

test('lines that are out of order, or numbers that are none, spoil nothing', (t) => {
  const lines = [
    ...['10.0.0.0,10.0.0.255,1,a', '9.0.0.0,9.0.0.255,2,b', '10.0.0.8,10.0.0.9,3,c'],
    ...['11.0.0.9,11.0.0.1,4,d', '12.0.0.0,12.0.0.255,4294967296,e', '13.0.0.0,13.0.0.255,0,f'],
    ...['', ',,,', '14.0.0.0,14.0.0.255,4294967295,last'],
  ];
  const index = ofText(t, lines.join('\n'), '');
  assert.deepEqual(prefixesOf(index, 1), ['10.0.0.0/24']);
  for (const number of [2, 3, 4]) assert.deepEqual(prefixesOf(index, number), []);
  assert.deepEqual(prefixesOf(index, 2 ** 32 - 1), ['14.0.0.0/24']);
  assert.deepEqual([numberOf(index, '10.0.0.8'), numberOf(index, '13.0.0.1')], [1, 0]);
});

test('a tree gives the same answers as text', (t) => {
  const directory = makeTempDir('systems-tree');
  t.after(() => directory.remove());
  const path = `${directory.path}/asn.mmdb`;
  const record = (number: number, name: string) => ({
    autonomous_system_number: number,
    autonomous_system_organization: name,
  });
  const networks = [
    ['192.0.2.0/25', record(64_500, 'One')],
    ['198.51.100.0/24', record(64_501, 'Two')],
    ['203.0.113.0/24', record(64_500, 'One')],
    ['2001:db8::/48', record(64_500, 'One')],
  ] as const;
  writeFileSync(path, buildMmdb({ recordSize: 24, ipVersion: 6, networks }));
  const source = { kind: 'provider', origin: 'configured', format: 'mmdb', paths: [path] } as const;
  const index = openSystemIndex(build(source));
  assert.deepEqual(prefixesOf(index, 64_500), ['192.0.2.0/25', '203.0.113.0/24', '2001:db8::/48']);
  assert.equal(index.rangesOf(64_501).name, 'Two');
  assert.deepEqual(index.rangesOf(7).ranges, []);
  assert.equal(numberOf(index, '192.0.2.9'), 64_500);
  assert.equal(numberOf(index, '192.0.2.129'), 0);
  assert.equal(numberOf(index, '2001:db8::9'), 64_500);
});

test('the thread that read the file ends with it, and the index answers on', async (t) => {
  const directory = makeTempDir('systems-thread');
  t.after(() => directory.remove());
  const path = `${directory.path}/asn.mmdb`;
  const networks = [['192.0.2.0/24', { autonomous_system_number: 64_500 }]] as const;
  writeFileSync(path, buildMmdb({ recordSize: 24, ipVersion: 6, networks }));
  const threads = () => readdirSync('/proc/self/task').length;
  const before = threads();
  const systems = openSystems({
    asnMmdbPath: path,
    clock: manualClock(0),
    onFailure: (error) => assert.fail(String(error)),
  });
  assert.equal((await systems.rangesOf(64_500))?.ranges.length, 1);
  assert.equal(threads(), before);
  assert.equal((await systems.rangesOf(64_500))?.ranges.length, 1);
  await systems.close();
});

test('a stop while the index is made is no fault', async () => {
  const failures: unknown[] = [];
  let terminate = (_: Error) => {};
  let builds = 0;
  const systems = openSystems({
    asnMmdbPath: '/nowhere',
    clock: manualClock(0),
    onFailure: (error) => failures.push(error),
    build: () => {
      builds++;
      return new Promise((_, reject) => {
        terminate = reject;
      });
    },
  });
  const asked = systems.rangesOf(7);
  assert.equal(builds, 1);
  await systems.close();
  terminate(new Error('Terminating worker thread'));
  assert.equal(await asked, undefined);
  assert.deepEqual(failures, []);
});

test('the index is made before anybody asks, once, and a fault there is said and ends nothing', async () => {
  const bytes = build({ kind: 'provider', origin: 'default', format: 'csv', paths: [] });
  const failures: unknown[] = [];
  for (const isBroken of [false, true]) {
    let builds = 0;
    const systems = openSystems({
      asnMmdbPath: '/nowhere',
      clock: manualClock(0),
      onFailure: (error) => failures.push(error),
      prepareAfter: 1,
      build: async () => {
        builds++;
        if (isBroken) throw new Error('cannot be read');
        return bytes;
      },
    });
    systems.prepare();
    assert.equal(builds, 0, 'the start comes first');
    while (builds === 0) await sleep(5);
    assert.equal(builds, 1);
    assert.equal((await systems.rangesOf(7)) === undefined, isBroken);
    assert.equal(builds, 1);
    await systems.close();
  }
  assert.equal(failures.length, 1);
});

test('the file is read for the first question alone, and after a fault not for each', async () => {
  const clock = manualClock(0);
  const bytes = build({ kind: 'provider', origin: 'default', format: 'csv', paths: [] });
  let builds = 0;
  let isBroken = true;
  const systems = openSystems({
    asnMmdbPath: '/nowhere',
    clock,
    onFailure: () => undefined,
    build: async () => {
      builds++;
      if (isBroken) throw new Error('cannot be read');
      return bytes;
    },
  });
  const ask = (count: number) =>
    Promise.all(Array.from({ length: count }, (_, i) => systems.rangesOf(i + 1)));
  assert.ok((await ask(30)).every((found) => found === undefined));
  assert.ok((await ask(30)).every((found) => found === undefined));
  assert.equal(builds, 1);
  isBroken = false;
  clock.advance(60_000);
  assert.ok((await ask(500)).every((found) => found?.ranges.length === 0));
  assert.ok((await ask(500)).every((found) => found?.ranges.length === 0));
  assert.equal(builds, 2);
  assert.equal(systems.table.used(), 0);
  await systems.close();
});
