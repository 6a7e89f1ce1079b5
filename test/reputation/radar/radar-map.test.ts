/** The map of IPv4: its curve, its counts against a walk over the index, its picture read by another reader. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import sharp from 'sharp';
import { dice, prefix4 } from '../../../bench/index-table.ts';
import { createIpIndex } from '../../../src/index/ip-index.ts';
import { packMeta, setMeta, setStrength } from '../../../src/index/records.ts';
import { parsePrefix } from '../../../src/ip/prefix.ts';
import { halfLivesAt, strengthOfEvidence } from '../../../src/reputation/check/score.ts';
import { entryScoreNow } from '../../../src/reputation/counts/entry-bands.ts';
import {
  cellCount,
  countMap,
  mapLevelOfScore,
  pointOnCurve,
  rowsOfBlock,
} from '../../../src/reputation/radar/map.ts';
import { openRadarMap } from '../../../src/reputation/radar/module.ts';
import { value } from '../../support/house/result.ts';
import { manualClock } from '../../support/seeded.ts';

describe('the curve', () => {
  it('steps to a neighbour each time, and comes by each place once', () => {
    const seen = new Set<number>();
    let last = { x: 0, y: -1 };
    for (let at = 0; at < cellCount; at++) {
      const place = pointOnCurve(256, at);
      assert.equal(Math.abs(place.x - last.x) + Math.abs(place.y - last.y), 1, String(at));
      seen.add(place.y * 256 + place.x);
      last = place;
    }
    assert.equal(seen.size, cellCount);
  });

  it('keeps what is in a square of a coarser picture in that square', () => {
    for (let at = 0; at < cellCount; at += 7) {
      const fine = pointOnCurve(256, at);
      assert.deepEqual({ x: fine.x >> 4, y: fine.y >> 4 }, pointOnCurve(16, at >> 8));
    }
    for (const block of [0, 77, 255]) {
      const rows = rowsOfBlock(256, block);
      for (const [i, number] of rows.entries()) {
        assert.equal(number >> 8, block);
        const { x, y } = pointOnCurve(256, number);
        assert.deepEqual([x & 15, y & 15], [i & 15, i >> 4]);
      }
    }
  });
});

const parsed = (text: string) => value(parsePrefix(text));

describe('the map of an index', () => {
  const scores: Readonly<Record<string, number>> = {
    '8.0.0.0/14': 50,
    '77.90.0.1/32': 20,
    '77.90.0.2/32': 100,
    '77.90.200.0/24': 50,
    '203.113.7.1/32': 74,
    '203.113.7.2/32': 49,
    '2001:db8::/32': 100,
  };

  function openMap(clock = manualClock(Date.UTC(2026, 0, 1))) {
    const index = createIpIndex({ entriesMax: 10_000 });
    let position = 1n;
    const put = (text: string, score: number) => {
      index.insert(parsed(text), (entry) =>
        setMeta(index.records, entry, packMeta(score, 0, 0, 0)),
      );
      position++;
    };
    for (const [text, score] of Object.entries(scores)) put(text, score);
    const failures: unknown[] = [];
    const onFailure = (error: unknown) => failures.push(error);
    const map = openRadarMap({ index, clock, appliedSeq: () => position, onFailure });
    return { map, put, index, clock, failures };
  }

  it('counts by /16 and level, and shows it in a picture that others can read', async () => {
    const { map, failures } = openMap();
    try {
      const drawn = await map.current();
      assert.deepEqual(failures, []);
      assert.ok(drawn !== undefined);
      const { entries, covers, total } = drawn.counts;
      assert.equal(total, 6);
      const at = (cell: number) => [0, 1, 2].map((level) => entries[level * cellCount + cell]);
      assert.deepEqual(at((77 << 8) | 90), [1, 1, 1]);
      assert.deepEqual(at((203 << 8) | 113), [1, 1, 0]);
      assert.deepEqual(at(8 << 8), [0, 1, 0]);
      assert.deepEqual([...covers.subarray(8 << 8, (8 << 8) + 5)], [2, 2, 2, 2, 0]);
      const light = await sharp(drawn.pictures.light).raw().toBuffer({ resolveWithObject: true });
      assert.deepEqual([light.info.width, light.info.height], [256, 256]);
      const colourOf = (cell: number) => {
        const { x, y } = pointOnCurve(256, cell);
        return colourAt(x, y);
      };
      function colourAt(x: number, y: number): string {
        const from = (y * 256 + x) * light.info.channels;
        return light.data.subarray(from, from + 3).toString('hex');
      }
      assert.equal(colourOf((77 << 8) | 90), 'd0605c', 'the worst wins');
      assert.equal(colourOf((203 << 8) | 113), 'b97c12');
      assert.equal(colourOf((8 << 8) | 3), '663c00', 'held as a whole');
      assert.equal(colourOf((9 << 8) | 100), 'eef1f0');
      const { x, y } = pointOnCurve(256, (77 << 8) | 90);
      for (const at of [-1, 0, 1]) assert.equal(colourAt(x + at, y - 1), 'd0605c', 'three wide');
      assert.equal(colourOf(10 << 8), 'e0e5e4', 'private');
      assert.equal((await sharp(drawn.pictures.dark).metadata()).width, 256);
    } finally {
      await map.close();
    }
  });

  it('counts as a walk does that works out each score, of entries that came and went', () => {
    const index = createIpIndex({ entriesMax: 30_000 });
    const { records } = index;
    const { below, next, word } = dice(18);
    const nowMs = Date.UTC(2026, 10, 23);
    const now = halfLivesAt(nowMs);
    const ceilings = [0, 39, 40, 49, 74, 75, 84, 100];
    const prefixes = Array.from({ length: 20_000 }, () => prefix4(word(), 6 + below(27)));
    for (const [i, prefix] of [...prefixes, parsed('2001:db8::/32')].entries()) {
      index.insert(prefix, (entry) => {
        const flags = below(3) === 0 ? below(16) : 0;
        const ceiling = ceilings[below(ceilings.length)]!;
        setMeta(records, entry, packMeta(below(2) * below(101), flags, ceiling, 0));
        if (i % 3 > 0) setStrength(records, entry, strengthOfEvidence(4 * next(), now));
      });
    }
    for (let i = 0; i < prefixes.length; i += 7) index.remove(prefixes[i]!);
    index.reclaim();
    const counted = countMap(records, nowMs);
    const entries = new Uint32Array(counted.entries.length);
    const covers = new Uint8Array(cellCount);
    let total = 0;
    index.walk({ family: 4, words: new Uint32Array(4), length: 0 }, (entry) => {
      const { words, length } = index.prefixOf(entry)!;
      const cell = words[0]! >>> 16;
      const level = mapLevelOfScore(entryScoreNow(records, entry, now));
      entries[level * cellCount + cell]!++;
      total++;
      const end = length > 16 ? cell : cell + (1 << (16 - length));
      for (let at = cell; at < end; at++) covers[at] = Math.max(covers[at]!, 1 + level);
    });
    assert.ok(total > 10_000);
    assert.equal(counted.total, total);
    assert.deepEqual(counted.entries, entries);
    assert.deepEqual(counted.covers, covers);
  });

  it('is drawn anew when something changed and the last one is old enough, and only then', async () => {
    const { map, put, index, clock } = openMap();
    try {
      const first = await map.current();
      put('198.60.0.1/32', 80);
      put('198.60.0.2/32', 80);
      index.remove(parsed('198.60.0.2/32'));
      assert.equal(await map.current(), first, 'too soon');
      clock.advance(10_000);
      assert.equal(await map.current(), first, 'the last one, while the next is drawn');
      let next = first;
      while (next === first) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        next = await map.current();
      }
      assert.equal(next?.counts.total, 7);
      clock.advance(60_000);
      assert.equal(await map.current(), next);
      assert.equal(await map.current(), next, 'nothing changed');
    } finally {
      await map.close();
    }
  });
});
