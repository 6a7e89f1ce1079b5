/** Holes cut out of rows: the pieces keep what their row says, and what finds no room is counted. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatIp } from '../../../../src/ip/address.ts';
import { parsePrefix } from '../../../../src/ip/prefix.ts';
import { cutHoles } from '../../../../src/reputation/blocklists/builder/collect.ts';
import {
  FEED_ROW,
  feedRowCount,
  lengthOfRow,
  packInfo,
  type Rows,
  reportsOfRow,
  scoreOf,
} from '../../../../src/reputation/blocklists/builder/rows.ts';

function rowsOf(entries: Readonly<Record<string, number>>): Rows {
  const rows = new Uint32Array(Object.keys(entries).length * FEED_ROW);
  for (const [i, [text, score]] of Object.entries(entries).entries()) {
    const prefix = parsePrefix(text);
    assert.ok(prefix.ok);
    rows.set(prefix.value.words, i * FEED_ROW);
    rows[i * FEED_ROW + 4] = packInfo(prefix.value.length, score, 0);
    rows[i * FEED_ROW + 5] = i + 1;
  }
  return rows;
}

function textsOf(rows: Rows): string[] {
  return Array.from({ length: feedRowCount(rows) }, (_, i) => {
    const at = i * FEED_ROW;
    const address = formatIp(4, rows.subarray(at, at + 4));
    return `${address}/${lengthOfRow(rows, at)} ${scoreOf(rows, at)} ${reportsOfRow(rows, at)}`;
  });
}

test('pieces stand in order among the rows; of two alike the higher score stays', () => {
  const rows = rowsOf({
    '10.0.0.0/30': 80,
    '10.0.0.0/31': 90,
    '10.0.0.3/32': 99,
    '11.0.0.0/8': 75,
  });
  const cut = cutHoles(rows, rowsOf({ '10.0.0.1/32': 0 }), 100);
  assert.deepEqual(textsOf(cut.rows), [
    '10.0.0.0/32 90 2',
    '10.0.0.2/31 80 1',
    '10.0.0.3/32 99 3',
    '11.0.0.0/8 75 4',
  ]);
  assert.equal(cut.dropped, 0);
});

test('a hole that is the row, or lies elsewhere', () => {
  const rows = rowsOf({ '10.0.0.0/24': 80, '10.0.2.0/24': 80 });
  const cut = cutHoles(rows, rowsOf({ '10.0.0.0/24': 0, '10.0.1.0/24': 0 }), 100);
  assert.deepEqual(textsOf(cut.rows), ['10.0.2.0/24 80 2']);
});

test('pieces beyond the bound are counted', () => {
  const rows = rowsOf({ '10.0.0.0/24': 80, '10.0.1.0/24': 80 });
  const holes = rowsOf({ '10.0.0.1/32': 0 });
  for (const rowsMax of [1, 5, 8, 9]) {
    const cut = cutHoles(rows, holes, rowsMax);
    assert.equal(feedRowCount(cut.rows), rowsMax);
    assert.equal(feedRowCount(cut.rows) + cut.dropped, 9, `${rowsMax} rows`);
  }
});
