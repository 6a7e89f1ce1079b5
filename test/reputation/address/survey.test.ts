/** What is known of networks as a whole, against entries counted one by one. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../../src/core/clock.ts';
import { createScheduler } from '../../../src/core/scheduling.ts';
import { createIpIndex } from '../../../src/index/ip-index.ts';
import { packMeta, setMeta } from '../../../src/index/records.ts';
import { formatNetwork, type Prefix, parsePrefix } from '../../../src/ip/prefix.ts';
import { networksMax, quietMax, surveyOf } from '../../../src/reputation/address/known.ts';
import { openCheck } from '../../../src/reputation/check/check.ts';
import { value } from '../../support/house/result.ts';
import { nowhere } from '../../support/reputation/geo.ts';

const parsed = (text: string): Prefix => value(parsePrefix(text));

function* prefixesOf(names: Iterable<string>): Generator<Prefix> {
  for (const name of names) yield parsed(name);
}

function surveyed(scores: Readonly<Record<string, number>>) {
  const index = createIpIndex({ entriesMax: 50_000 });
  for (const [name, score] of Object.entries(scores)) {
    const entry = index.insert(parsed(name));
    setMeta(index.records, entry, packMeta(score, 0, 0, 0));
  }
  const options = {
    index,
    check: openCheck({ index, geo: nowhere }),
    clock: systemClock(),
    scheduler: createScheduler(),
  };
  return async (
    networks: Iterable<string>,
    bounds: { entriesMax?: number; worstMax?: number; pieceLength?: number } = {},
  ) => {
    const all = { entriesMax: 50_000, worstMax: 10, ...bounds };
    const survey = await surveyOf(prefixesOf(networks), all, options);
    const rows = survey.networks.map(({ prefix, entries, malicious }) => [
      formatNetwork(prefix),
      entries,
      malicious,
    ]);
    return { ...survey, rows, quiet: survey.quiet.map(formatNetwork) };
  };
}

test('of all networks those with the most malicious entries come first, IPv6 too', async () => {
  const scores: Record<string, number> = {
    '2001:db8::1': 90,
    '2001:db8::2': 90,
    '203.0.113.7': 80,
  };
  for (let n = 0; n < 20; n++) scores[`198.51.100.${n}`] = 20;
  const quiet = Array.from({ length: 300 }, (_, n) => `10.${n >> 8}.${n & 255}.0/24`);
  const ask = surveyed(scores);
  const networks = [
    ...quiet,
    '198.51.100.0/24',
    '203.0.113.0/24',
    '2001:db8::/32',
    '2001:db9::/32',
  ];
  const found = await ask(networks);
  assert.deepEqual(found.rows, [
    ['2001:db8::/32', 2, 2],
    ['203.0.113.0/24', 1, 1],
    ['198.51.100.0/24', 20, 0],
  ]);
  assert.deepEqual(found.quiet, [...quiet.slice(0, quietMax), '2001:db9::/32']);
  assert.deepEqual([found.entries, found.malicious, found.isPart], [23, 3, false]);
  assert.deepEqual(
    found.worst.slice(0, 3).map(({ score }) => score),
    [90, 90, 80],
  );
});

test('a wide network is counted by its pieces, and an entry wider than they are is one of its own', async () => {
  const ask = surveyed({
    '45.0.0.0/12': 10,
    '45.148.10.1': 90,
    '45.148.10.2': 80,
    '45.149.0.0/16': 75,
    '45.149.9.9': 1,
  });
  const { rows } = await ask(['45.0.0.0/8'], { pieceLength: 16 });
  assert.deepEqual(rows, [
    ['45.148.0.0/16', 2, 2],
    ['45.149.0.0/16', 2, 2],
    ['45.0.0.0/12', 1, 0],
  ]);
});

test('more networks than are named: the worst of them, in order, and how many there are', async () => {
  const scores: Record<string, number> = {};
  const networks: string[] = [];
  for (let n = 0; n < 1_000; n++) {
    networks.push(`9.${n >> 8}.${n & 255}.0/24`);
    for (let host = 0; host <= n % 7; host++) {
      scores[`9.${n >> 8}.${n & 255}.${host}`] = (n * 31) % 97 > 90 ? 99 : 20;
    }
  }
  const found = await surveyed(scores)(networks, { worstMax: 5 });
  const plain = networks
    .map((name, n): [string, number, number] => [
      name,
      (n % 7) + 1,
      (n * 31) % 97 > 90 ? (n % 7) + 1 : 0,
    ])
    .sort((a, b) => b[2] - a[2] || b[1] - a[1]);
  assert.deepEqual(found.rows, plain.slice(0, networksMax));
  assert.equal(found.networksInAll, 1_000);
  assert.deepEqual(
    found.worst.map(({ score }) => score),
    [99, 99, 99, 99, 99],
  );
});

test('a bound on entries is told, and whoever hands in networks still gets to see all of them', async () => {
  const scores: Record<string, number> = {};
  for (let n = 0; n < 2_000; n++) scores[`9.0.${n >> 8}.${n & 255}`] = 20;
  const ask = surveyed(scores);
  let seen = 0;
  function* all() {
    for (const name of ['9.0.0.0/16', '10.0.0.0/8', '2001:db8::/32']) {
      seen++;
      yield name;
    }
  }
  const found = await ask(all(), { entriesMax: 500 });
  assert.deepEqual([found.entries, found.isPart, seen], [500, true, 3]);
});
