/** A list in runs: all of it, none too short, and a change leaves the rest of them as they were. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { formatIp } from '../../../../src/ip/address.ts';
import {
  FEED_ROW,
  feedRowCount,
  packInfo,
  type Rows,
} from '../../../../src/reputation/blocklists/builder/rows.ts';
import { TextSink } from '../../../../src/reputation/blocklists/pieces/lines.ts';
import {
  bothTwins,
  createPieceMaker,
  nothingKnown,
  runRowsMin,
  runsOf,
} from '../../../../src/reputation/blocklists/pieces/pieces.ts';
import { createRecordRenderer } from '../../../../src/reputation/blocklists/pieces/records.ts';
import { seededRandom } from '../../../support/seeded.ts';

function rowsOf(addresses: readonly number[]): Rows {
  const rows = new Uint32Array(addresses.length * FEED_ROW);
  for (const [i, address] of addresses.entries()) {
    rows[i * FEED_ROW] = address;
    rows[i * FEED_ROW + 4] = packInfo(32, 80, 0);
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
    assert.ok(runs.slice(0, -1).every((run) => feedRowCount(run) >= runRowsMin));
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
  for (let at = 0; at < rows.length; at += FEED_ROW) {
    rows[at + 5] = Math.floor(random.next() * 3);
    rows[at + 7] = Math.floor(random.next() * 6_000) * 300_000;
  }
  for (let time = 0; time < 2; time++) {
    const sink = new TextSink();
    renderer.render(rows, 'json', sink);
    const found = JSON.parse(`[${Buffer.from(sink.takeShared()).toString()}]`) as object[];
    const wanted = found.map((_, i) => ({
      ipAddress: formatIp(4, rows.subarray(i * FEED_ROW, i * FEED_ROW + 4)),
      abuseConfidenceScore: 80,
      countryCode: ['FR', 'DE', ''][rows[i * FEED_ROW + 7]! % 3]!,
      isp: nameOf(rows[i * FEED_ROW + 7]!),
      isAnon: false,
      totalReports: rows[i * FEED_ROW + 5]!,
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
    const lines = await maker.lines('all', rows, 'plain', 4, twins);
    const records = await maker.records({ score: 80, family: 4, rows }, 'csv', twins);
    return { used: maker.used, pieces: [...lines, ...records] };
  }
  const first = await piecesOf(nothingKnown, rowsOf(addresses));
  const second = await piecesOf(first.used, rowsOf(addresses.slice(1)));
  const known = new Set(first.pieces);
  assert.ok(second.pieces.filter((piece) => !known.has(piece)).length <= 4);
  assert.ok(second.pieces.some((piece) => known.has(piece)));
  const texts = second.pieces.map(({ text }) => Buffer.from(text).toString());
  const alone = await piecesOf(nothingKnown, rowsOf(addresses.slice(1)));
  assert.equal(texts.join(''), alone.pieces.map(({ text }) => Buffer.from(text)).join(''));
});

test('after changes all over a list its bytes are those of a list made at once', async () => {
  const renderer = createRecordRenderer({ country: () => 'FR', provider: (geo) => `Net ${geo}` });
  const random = seededRandom(67);
  const below = (count: number) => Math.floor(random.next() * count);
  const facts = new Map(randomAddresses(24_000, 68).map((address) => [address, below(3)]));
  async function piecesOf(known: Parameters<typeof createPieceMaker>[0]) {
    const rows = rowsOf([...facts.keys()].sort((a, b) => a - b));
    for (let at = 0; at < rows.length; at += FEED_ROW) {
      rows[at + 4] = packInfo(30 + facts.get(rows[at]!)!, 80, 0);
      rows[at + 5] = facts.get(rows[at]!)!;
      rows[at + 7] = rows[at]! & 7;
    }
    const maker = createPieceMaker(known, new TextSink(), renderer);
    const pieces = [
      ...(await maker.lines('all', rows, 'plain', 4, { gzip: true, brotli: false })),
      ...(await maker.lines('all', rows, 'nft', 4, { gzip: 'letters', brotli: false })),
      ...(await maker.records({ score: 80, family: 4, rows }, 'json', bothTwins)),
    ];
    const bytes = pieces.map(({ text, deflate, brotli, crc, hash }) => [
      ...[text, deflate!, brotli ?? [], hash].map((part) => Buffer.from(part).toString('latin1')),
      crc === crc32(text),
    ]);
    return { used: maker.used, bytes, rows };
  }
  let { used, rows } = await piecesOf(nothingKnown);
  for (const changes of [1, 30, 400, 3, 5_000]) {
    const addresses = [...facts.keys()];
    // A run loses the row that ended it, and the last one gets more behind it.
    facts.delete(runsOf(rows)[0]!.at(-FEED_ROW)!);
    facts.set(2 ** 32 - 10_000 + changes, 1);
    for (let i = 0; i < changes; i++) {
      const address = addresses[below(addresses.length)]!;
      if (below(3) === 0) facts.delete(address);
      else facts.set(below(2) === 0 ? address : below(2 ** 32), below(3));
    }
    const after = await piecesOf(used);
    assert.deepEqual(after.bytes, (await piecesOf(nothingKnown)).bytes, `${changes} changes`);
    assert.ok(after.bytes.every((one) => one.at(-1)));
    ({ used, rows } = after);
  }
});
