/** Segments and snapshots as bytes: what is written is read again, in any pieces, and nothing else is. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { comparePrefixes } from '../../../src/index/prefix.ts';
import { formatIp } from '../../../src/ip/address.ts';
import {
  type AddressRef,
  chainAfter,
  chainStart,
  createSegmentReader,
  deletionLine,
  type RowFacts,
  readBatch,
  reportsShown,
  rowLine,
  type SegmentFault,
  type SegmentRow,
  writeBatch,
} from '../../../src/reputation/federation/document/segment.ts';
import { seededRandom } from '../../support/seeded.ts';

const { next } = seededRandom(7);
const below = (n: number) => Math.floor(next() * n);

function randomAddress(): AddressRef {
  const words = new Uint32Array(4);
  if (below(3) > 0) {
    words[0] = below(2 ** 32);
    return { family: 4, words, length: 32 };
  }
  const isNetwork = below(2) === 0;
  words[0] = 0x2001_0db8;
  for (let i = 1; i < (isNetwork ? 2 : 4); i++) words[i] = below(2) === 0 ? 0 : below(2 ** 32);
  return { family: 6, words, length: isNetwork ? 64 : 128 };
}

function randomSaid(): RowFacts {
  const firstHour = 490_000 + below(1_000);
  return {
    firstHour,
    lastHour: firstHour + below(700),
    categories: (1 + below(2 ** 23 - 1)) << 1,
    reports: 2 ** below(21),
    staff: below(4),
    members: 1 + below(3),
    earned: below(4),
  };
}

function read(kind: 'segment' | 'snapshot', pieces: Iterable<Uint8Array>) {
  const rows: SegmentRow[] = [];
  const onRow = (row: SegmentRow) => rows.push({ ...row, words: row.words.slice() });
  const reader = createSegmentReader({ kind, onRow });
  let fault: SegmentFault | undefined;
  for (const piece of pieces) fault ??= reader.push(piece);
  return { rows, fault: reader.end() ?? fault, sha256: reader.sha256() };
}

test('random rows are read as they were written, whatever pieces they come in', () => {
  for (let round = 0; round < 50; round++) {
    const addresses = Array.from({ length: below(60) }, randomAddress)
      .sort(comparePrefixes)
      .filter((one, i, all) => i === 0 || comparePrefixes(all[i - 1]!, one) !== 0);
    const rows = addresses.map((address) => ({
      address,
      said: below(4) === 0 ? undefined : randomSaid(),
    }));
    const text = rows
      .map(({ address, said }) => (said ? rowLine(address, said) : deletionLine(address)))
      .join('');
    const bytes = Buffer.from(text);
    const pieces: Buffer[] = [];
    for (let at = 0; at < bytes.length; ) {
      const length = 1 + below(round % 2 === 0 ? 5 : 400);
      pieces.push(bytes.subarray(at, at + length));
      at += length;
    }
    const found = read('segment', pieces);
    assert.equal(found.fault, undefined);
    assert.equal(found.sha256, createHash('sha256').update(bytes).digest('hex'));
    const again = found.rows
      .map((row) => (row.isGone ? deletionLine(row) : rowLine(row, row)))
      .join('');
    assert.equal(again, text);
    assert.deepEqual(
      found.rows.map(({ family, words }) => formatIp(family, words)),
      rows.map(({ address }) => formatIp(address.family, address.words)),
    );
  }
});

const good = '+ 192.0.2.1 490000 490001 18,22 8 s1m2e3\n';
const wrong: readonly (readonly [string, SegmentFault['reason']])[] = [
  ['+ 192.0.2.1 490000 490001 18,22 8 s1m2e3', 'the last line has no end'],
  ['+ 192.0.2.01 490000 490001 18 8 m1\n', 'not a line of this format'],
  ['+ ::ffff:192.0.2.1 490000 490001 18 8 m1\n', 'not a line of this format'],
  ['+ 2001:DB8::1 490000 490001 18 8 m1\n', 'not a line of this format'],
  ['+ 2001:db8:0::1 490000 490001 18 8 m1\n', 'not a line of this format'],
  ['+ 192.0.2.0/24 490000 490001 18 8 m1\n', 'not a line of this format'],
  ['+ 10.0.0.0/8 490000 490001 18 8 m1\n', 'not a line of this format'],
  ['+ 2001:db8::/48 490000 490001 18 8 m1\n', 'not a line of this format'],
  ['+ 2001:db8::1/64 490000 490001 18 8 m1\n', 'not a line of this format'],
  ['+ 192.0.2.1  490000 490001 18 8 m1\n', 'not a line of this format'],
  ['+ 192.0.2.1 490000 489999 18 8 m1\n', 'not a line of this format'],
  ['+ 192.0.2.1 0490000 490001 18 8 m1\n', 'not a line of this format'],
  ['+ 192.0.2.1 490000 1193047 18 8 m1\n', 'not a line of this format'],
  ['+ 192.0.2.1 490000 490001 18,18 8 m1\n', 'not a line of this format'],
  ['+ 192.0.2.1 490000 490001 22,18 8 m1\n', 'not a line of this format'],
  ['+ 192.0.2.1 490000 490001 18, 8 m1\n', 'not a line of this format'],
  ['+ 192.0.2.1 490000 490001 24 8 m1\n', 'not a line of this format'],
  ['+ 192.0.2.1 490000 490001 0 8 m1\n', 'not a line of this format'],
  ['+ 192.0.2.1 490000 490001 18 7 m1\n', 'not a line of this format'],
  ['+ 192.0.2.1 490000 490001 18 0 m1\n', 'not a line of this format'],
  ['+ 192.0.2.1 490000 490001 18 8 m0\n', 'not a line of this format'],
  ['+ 192.0.2.1 490000 490001 18 8 m4\n', 'not a line of this format'],
  ['+ 192.0.2.1 490000 490001 18 8 m1s1\n', 'not a line of this format'],
  ['+ 192.0.2.1 490000 490001 18 8 \n', 'not a line of this format'],
  ['+ 192.0.2.1 490000 490001 18 8 m1 more\n', 'not a line of this format'],
  ['+ 192.0.2.1 490000 490001 18 8 m1\r\n', 'not a line of this format'],
  ['- 192.0.2.1 1\n', 'not a line of this format'],
  ['-192.0.2.1\n', 'not a line of this format'],
  ['\n', 'not a line of this format'],
  [good + good, 'not sorted by address'],
  [`${good}- 192.0.2.0\n`, 'not sorted by address'],
  [`- 2001:db8::1\n${good}`, 'not sorted by address'],
  [`- ${'1'.repeat(300)}\n`, 'a line is too long'],
];

test('a line of another form, order or length is refused, whole or in pieces', () => {
  assert.equal(read('segment', [Buffer.from(good)]).fault, undefined);
  for (const [text, reason] of wrong) {
    const bytes = Buffer.from(text);
    assert.equal(read('segment', [bytes]).fault?.reason, reason, text);
    const single = Array.from(bytes, (byte) => Uint8Array.of(byte));
    assert.equal(read('segment', single).fault?.reason, reason, text);
  }
});

test('a tombstone is refused in a snapshot alone', () => {
  const bytes = [Buffer.from('- 192.0.2.1\n')];
  assert.equal(read('segment', bytes).fault, undefined);
  assert.equal(read('snapshot', bytes).fault?.reason, 'a tombstone in a snapshot');
});

test('bytes and rows beyond the bound end the reading', () => {
  const bounds = { kind: 'segment', onRow: () => undefined, bytesMax: 20, rowsMax: 1 } as const;
  const bytes = createSegmentReader(bounds);
  assert.equal(bytes.push(Buffer.from('- 192.0.2.1\n')), undefined);
  assert.equal(bytes.push(Buffer.from('- 192.0.2.2\n'))?.reason, 'too many bytes');
  assert.equal(bytes.push(Buffer.alloc(0))?.reason, 'too many bytes');
  const rows = createSegmentReader({ ...bounds, bytesMax: 100 });
  assert.equal(rows.push(Buffer.from('- 192.0.2.1\n- 192.0.2.2\n'))?.reason, 'too many rows');
});

test('another order of segments, or another byte, is another chain', () => {
  const [one, two] = [Buffer.from('- 192.0.2.1\n'), Buffer.from('- 192.0.2.2\n')];
  const chains = [
    chainAfter(chainAfter(chainStart, one), two),
    chainAfter(chainAfter(chainStart, two), one),
    chainAfter(chainStart, Buffer.concat([one, two])),
  ];
  assert.equal(new Set(chains).size, 3);
  assert.equal(
    chainAfter(chainStart, Buffer.alloc(0)),
    createHash('sha256')
      .update(Buffer.alloc(32))
      .update(createHash('sha256').digest())
      .digest('hex'),
  );
});

test('numbers of reports are rounded down to a power of 2', () => {
  assert.deepEqual([0, 1, 2, 3, 4, 1_023, 1_024, 2 ** 31].map(reportsShown), [
    1,
    1,
    2,
    2,
    4,
    512,
    1_024,
    2 ** 20,
  ]);
});

test('several segments of one answer are taken apart again, and only in their order', () => {
  const segments = ['- 192.0.2.1\n', '', '- 192.0.2.2\n- 192.0.2.3\n'].map((text, i) => ({
    seq: 9 + i,
    bytes: Buffer.from(text),
  }));
  const body = writeBatch(segments);
  const found = readBatch(body, 9)!;
  assert.deepEqual(
    found.map(({ seq, bytes }) => [seq, Buffer.from(bytes).toString()]),
    segments.map(({ seq, bytes }) => [seq, bytes.toString()]),
  );
  assert.deepEqual(readBatch(Buffer.alloc(0), 9), []);
  const other = [
    writeBatch([segments[1]!, segments[0]!]),
    body.subarray(0, body.length - 1),
    Buffer.concat([body, Buffer.from('\n')]),
    Buffer.from('segment 9 -1\n'),
    Buffer.from(`segment 9 ${'1'.repeat(40)}\n`),
  ];
  for (const wrong of [...other]) assert.equal(readBatch(wrong, 9), undefined);
  assert.equal(readBatch(body, 8), undefined);
});
