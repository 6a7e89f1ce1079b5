/** The map of IPv4: its curve, its counts against a walk over the index, its picture read by another reader. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import sharp from 'sharp';
import { manualClock } from '../../../src/core/clock.ts';
import { createIpIndex } from '../../../src/index/ip-index.ts';
import { packMeta, setMeta } from '../../../src/index/records.ts';
import { parsePrefix } from '../../../src/ip/prefix.ts';
import { placeOf, rowsOfBlock } from '../../../src/reputation/radar/map/hilbert.ts';
import { cellCount } from '../../../src/reputation/radar/map/map-counts.ts';
import { openRadarMap } from '../../../src/reputation/radar/map/radar-map.ts';

describe('the curve', () => {
  it('steps to a neighbour each time, and comes by each place once', () => {
    const seen = new Set<number>();
    let last = { x: 0, y: -1 };
    for (let at = 0; at < cellCount; at++) {
      const place = placeOf(256, at);
      assert.equal(Math.abs(place.x - last.x) + Math.abs(place.y - last.y), 1, String(at));
      seen.add(place.y * 256 + place.x);
      last = place;
    }
    assert.equal(seen.size, cellCount);
  });

  it('keeps what is in a square of a coarser picture in that square', () => {
    for (let at = 0; at < cellCount; at += 7) {
      const fine = placeOf(256, at);
      assert.deepEqual({ x: fine.x >> 4, y: fine.y >> 4 }, placeOf(16, at >> 8));
    }
    for (const block of [0, 77, 255]) {
      const rows = rowsOfBlock(256, block);
      for (const [i, number] of rows.entries()) {
        assert.equal(number >> 8, block);
        const { x, y } = placeOf(256, number);
        assert.deepEqual([x & 15, y & 15], [i & 15, i >> 4]);
      }
    }
  });
});

describe('the map of an index', () => {
  const scores: Readonly<Record<string, number>> = {
    '8.0.0.0/14': 50,
    '77.90.0.1/32': 20,
    '77.90.0.2/32': 100,
    '77.90.200.0/24': 45,
    '203.113.7.1/32': 74,
    '203.113.7.2/32': 39,
    '2001:db8::/32': 100,
  };

  function openMap(clock = manualClock(Date.UTC(2026, 0, 1))) {
    const index = createIpIndex({ entriesMax: 10_000 });
    let position = 1n;
    const put = (text: string, score: number) => {
      const parsed = parsePrefix(text);
      assert.ok(parsed.ok, text);
      index.insert(parsed.value, (entry) =>
        setMeta(index.records, entry, packMeta(score, 0, 0, 0)),
      );
      position++;
    };
    for (const [text, score] of Object.entries(scores)) put(text, score);
    const failures: unknown[] = [];
    const onFailure = (error: unknown) => failures.push(error);
    const map = openRadarMap({ index, clock, position: () => position, onFailure });
    return { map, put, clock, failures };
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
        const { x, y } = placeOf(256, cell);
        const from = (y * 256 + x) * light.info.channels;
        return light.data.subarray(from, from + 3).toString('hex');
      };
      assert.equal(colourOf((77 << 8) | 90), 'e59a96', 'the worst wins');
      assert.equal(colourOf((203 << 8) | 113), 'eecb86');
      assert.equal(colourOf((8 << 8) | 3), '9a5f00', 'held as a whole');
      assert.equal(colourOf((8 << 8) | 4), 'eef1f0');
      assert.equal(colourOf(10 << 8), 'e0e5e4', 'private');
      assert.equal((await sharp(drawn.pictures.dark).metadata()).width, 256);
    } finally {
      await map.close();
    }
  });

  it('is drawn anew when something changed and the last one is old enough, and only then', async () => {
    const { map, put, clock } = openMap();
    try {
      const first = await map.current();
      put('198.60.0.1/32', 80);
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
