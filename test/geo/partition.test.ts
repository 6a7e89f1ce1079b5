/** Partitions and their merged, indexed form against arrays that hold every address. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileGeo, type GeoTable } from '../../src/geo/compile.ts';
import { groupName, parseNetworkGroup, rangesOfCountry } from '../../src/geo/network-groups.ts';
import { createPartitionBuilder } from '../../src/geo/partition.ts';
import { countryOf, openGeoReader, providerOf } from '../../src/geo/reader.ts';
import { compareWords, type IpRange } from '../../src/ip/prefix.ts';
import { below, type Seeded, seeded } from '../support/reputation/addresses.ts';

const positions = 4_000;

/** Spreads small positions over the space, so that chunks, words and deep lists all occur. */
function address4(position: number): number[] {
  return [(0x0101_fc00 + position * 3) >>> 0];
}

function address6(position: number): number[] {
  const step = position >> 3;
  const low = [0, 0, 1, 0x8000_0000, 0xffff_ffff, 7, 8, 0xffff_fffe][position & 7]!;
  const word1 = position & 4 ? 5 : 0;
  const word2 = position & 2 ? 9 : 0;
  return [0x2a00_fff0 + (step >> 1), (step & 1) * 0x10 + word1, word2, low];
}

/** Positions in address order: the mapping above is not monotonic inside a word. */
function sortedPlaces(words: 1 | 4): number[][] {
  const all = Array.from({ length: positions }, (_, i) =>
    words === 1 ? address4(i) : address6(i),
  );
  const order = (a: number[], b: number[]) =>
    a.reduce((result, word, i) => result || word - b[i]!, 0);
  const sorted = all.sort(order);
  return sorted.filter((each, i) => i === 0 || order(sorted[i - 1]!, each) !== 0);
}

/** Random ranges over the places, some overlapping; the model never changes what is behind the last end. */
function randomTable(random: Seeded, words: 1 | 4, places: number[][]) {
  const builder = createPartitionBuilder(words);
  const model = new Array<number>(places.length).fill(0);
  let from = 0;
  let covered = -1;
  while (from < places.length) {
    const to = Math.min(places.length - 1, from + below(random, 12));
    const id = below(random, 6);
    builder.add(places[from]!, places[to]!, id);
    for (let i = Math.max(from, covered + 1); i <= to; i++) model[i] = id;
    covered = Math.max(covered, to);
    from = to + below(random, 4) - 1;
    if (from <= to && random.next() < 0.7) from = to + 1;
    if (from < 0) from = 0;
  }
  return { partition: builder.finish(), model };
}

function isIn({ family, first, last }: IpRange, of: 4 | 6, words: Uint32Array): boolean {
  return family === of && compareWords(first, words) <= 0 && compareWords(words, last) <= 0;
}

test('one search over two merged partitions equals both models at every place, and so do the ranges of a country', () => {
  const seed = 41;
  const random = seeded(seed);
  const names = ['', 'AA', 'AB', 'AC', 'AD', 'AE'];
  for (let round = 0; round < 12; round++) {
    const places4 = sortedPlaces(1);
    const places6 = sortedPlaces(4);
    const made = [places4, places6].map((places, i) =>
      [0, 1].map(() => randomTable(random, i === 0 ? 1 : 4, places)),
    );
    const table = (kind: 0 | 1): GeoTable => ({
      v4: made[0]![kind]!.partition,
      v6: made[1]![kind]!.partition,
      names,
      sixToFour: false,
      teredo: false,
    });
    const shared = compileGeo(table(0), table(1));
    const reader = openGeoReader(shared);
    const ranges = names.map((name) => (name === '' ? [] : [...rangesOfCountry(shared, name)]));
    for (const [i, places] of [places4, places6].entries()) {
      places.forEach((place, at) => {
        const family = i === 0 ? 4 : 6;
        const words = new Uint32Array(4);
        words.set(place);
        const ids = reader.find(family, words);
        const expected = made[i]!.map((each) => each.model[at]);
        assert.deepEqual(
          [countryOf(ids), providerOf(ids)],
          expected,
          `seed ${seed}, round ${round}, place ${place}`,
        );
        const holders = ranges.flatMap((some, id) =>
          some.some((range) => isIn(range, family, words)) ? [id] : [],
        );
        assert.deepEqual(holders, expected[0] === 0 ? [] : [expected[0]]);
      });
    }
  }
});

test('a partition keeps the first of two overlapping ranges and merges neighbours', () => {
  const builder = createPartitionBuilder(1);
  assert.equal(builder.add([10], [19], 1), true);
  assert.equal(builder.add([15], [29], 2), true);
  assert.equal(builder.add([12], [18], 3), false);
  assert.equal(builder.add([30], [39], 2), true);
  assert.equal(builder.add([50], [40], 4), false);
  assert.equal(builder.add([60], [0xffffffff], 5), true);
  assert.equal(builder.add([0xffffffff], [0xffffffff], 6), false);
  const { columns, ids } = builder.finish();
  assert.deepEqual([...columns[0]!], [0, 10, 20, 40, 60]);
  assert.deepEqual([...ids], [0, 1, 2, 0, 5]);
});

test('names are decoded by id, and an id out of range is unknown', () => {
  const builder = createPartitionBuilder(1);
  builder.add([0], [5], 1);
  const v6 = createPartitionBuilder(4).finish();
  const aliases = { sixToFour: false, teredo: false };
  const table = (names: string[]) => ({ v4: builder.finish(), v6, names, ...aliases });
  const reader = openGeoReader(compileGeo(table(['', 'FR']), table(['', 'Réseau "Ü" ©'])));
  assert.equal(reader.countryCount, 2);
  assert.equal(reader.country(1), 'FR');
  assert.equal(reader.provider(1), 'Réseau "Ü" ©');
  assert.equal(reader.provider(1), 'Réseau "Ü" ©');
  for (const id of [0, 2, -1, 1e9, Number.NaN]) {
    assert.equal(reader.country(id), 'ZZ');
    assert.equal(reader.provider(id), 'Unknown');
  }
});

test('a buffer of another make is refused', () => {
  assert.throws(() => openGeoReader(new SharedArrayBuffer(0)));
  assert.throws(() => openGeoReader(new SharedArrayBuffer(4_096)));
});

test('a group is the number of a system or the code of a country, and what is neither is said so', () => {
  const nameOf = (text: string) => {
    const group = parseNetworkGroup(text);
    return typeof group === 'object' ? groupName(group) : group;
  };
  for (const [text, name] of [
    ['AS64500', 'AS64500'],
    ['as 007', 'AS7'],
    ['AS4294967294', 'AS4294967294'],
    ['fr', 'FR'],
    ['EU', 'EU'],
    ['ap', 'AP'],
    ['AS0', 'AS0 is the number of no network'],
    ['AS4294967295', 'AS4294967295 is the number of no network'],
    ['ZZ', 'ZZ is the code of no country'],
    ['qq', 'QQ is the code of no country'],
    ['64500', undefined],
    ['fe::', undefined],
    ['AS', 'AS'],
    ['FRA', undefined],
    ['AS-1', undefined],
  ] as const) {
    assert.equal(nameOf(text), name, text);
  }
});
