/** A list in runs: all of it, none too short, and a change leaves the rest of them as they were. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../../src/core/random.ts';
import { formatIp } from '../../../../src/ip/address.ts';
import {
  packInfo,
  ROW,
  type Rows,
  rowCount,
} from '../../../../src/reputation/blocklists/builder/rows.ts';
import {
  createPieceMaker,
  runRowsMin,
  runsOf,
} from '../../../../src/reputation/blocklists/pieces/pieces.ts';
import { createRecordRenderer } from '../../../../src/reputation/blocklists/pieces/records.ts';
import { TextSink } from '../../../../src/reputation/blocklists/pieces/text.ts';

function rowsOf(addresses: readonly number[]): Rows {
  const rows = new Uint32Array(addresses.length * ROW);
  for (const [i, address] of addresses.entries()) {
    rows[i * ROW] = address;
    rows[i * ROW + 4] = packInfo(32, 80, 0);
  }
  return rows;
}

function randomAddresses(count: number, seed: number): number[] {
  const random = seededRandom(seed);
  const addresses = new Set<number>();
  while (addresses.size < count) addresses.add(Math.floor(random.next() * 2 ** 32));
  return [...addresses].sort((a, b) => a - b);
}

function contentOf(rows: Rows): string {
  return Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength).toString('latin1');
}

test('runs are the list, in order, and only the last may be short', () => {
  for (const count of [0, 1, runRowsMin - 1, runRowsMin, runRowsMin + 1, 60_000]) {
    const rows = rowsOf(randomAddresses(count, 61));
    const runs = runsOf(rows);
    assert.equal(runs.map(contentOf).join(''), contentOf(rows));
    assert.ok(runs.slice(0, -1).every((run) => rowCount(run) >= runRowsMin));
    assert.equal(runs.length === 0, count === 0);
  }
});

test('a row that comes or goes changes two runs at most', () => {
  const addresses = randomAddresses(60_000, 62);
  const before = new Set(runsOf(rowsOf(addresses)).map(contentOf));
  assert.ok(before.size >= 4, `${before.size} runs`);
  const random = seededRandom(63);
  for (let round = 0; round < 20; round++) {
    const changed = [...addresses];
    const at = Math.floor(random.next() * changed.length);
    if (round % 2 === 0) changed.splice(at, 1);
    else changed.splice(at, 0, Math.floor((changed[at - 1]! + changed[at]!) / 2));
    const fresh = runsOf(rowsOf(changed)).filter((run) => !before.has(contentOf(run)));
    assert.ok(fresh.length <= 2, `round ${round}: ${fresh.length} runs`);
  }
});

test('records say what is known of each row, however many networks there are', () => {
  const random = seededRandom(65);
  const nameOf = (geo: number) => `Net ${geo} "${'é'.repeat(geo % 7)}"`;
  const renderer = createRecordRenderer({
    country: (geo) => ['FR', 'DE', ''][geo % 3]!,
    provider: nameOf,
  });
  // More than the table first holds; the second time all are known.
  const rows = rowsOf(randomAddresses(9_000, 66));
  for (let at = 0; at < rows.length; at += ROW) {
    rows[at + 5] = Math.floor(random.next() * 3);
    rows[at + 7] = Math.floor(random.next() * 6_000) * 300_000;
  }
  for (let time = 0; time < 2; time++) {
    const sink = new TextSink();
    renderer.render(rows, 'json', sink);
    const found = JSON.parse(`[${Buffer.from(sink.takeShared()).toString()}]`) as object[];
    const wanted = found.map((_, i) => ({
      ipAddress: formatIp(4, rows.subarray(i * ROW, i * ROW + 4)),
      abuseConfidenceScore: 80,
      countryCode: ['FR', 'DE', ''][rows[i * ROW + 7]! % 3]!,
      isp: nameOf(rows[i * ROW + 7]!),
      isAnon: false,
      totalReports: rows[i * ROW + 5]!,
      lastReportedAt: null,
    }));
    assert.deepEqual(found, wanted);
    assert.equal(found.length, 9_000);
  }
});

test('only the runs that changed are made again, as lines and as records', async () => {
  const renderer = createRecordRenderer({ country: () => 'FR', provider: () => 'Example' });
  const twins = { gzip: true, brotli: false };
  const addresses = randomAddresses(30_000, 64);
  async function piecesOf(known: Parameters<typeof createPieceMaker>[0], rows: Rows) {
    const maker = createPieceMaker(known, new TextSink(), renderer);
    const lines = await maker.lines(rows, 'plain', 4, twins);
    const records = await maker.records({ score: 80, family: 4, rows }, 'csv', twins);
    return { used: maker.used, pieces: [...lines, ...records] };
  }
  const first = await piecesOf(new Map(), rowsOf(addresses));
  const second = await piecesOf(first.used, rowsOf(addresses.slice(1)));
  const known = new Set(first.pieces);
  assert.ok(second.pieces.filter((piece) => !known.has(piece)).length <= 4);
  assert.ok(second.pieces.some((piece) => known.has(piece)));
  const texts = second.pieces.map(({ text }) => Buffer.from(text).toString());
  const alone = await piecesOf(new Map(), rowsOf(addresses.slice(1)));
  assert.equal(texts.join(''), alone.pieces.map(({ text }) => Buffer.from(text)).join(''));
});
