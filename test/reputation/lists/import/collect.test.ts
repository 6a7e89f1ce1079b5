/** Collected rows: sorted, each prefix once with its highest score, nothing from a broken list. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { OperatorError } from '../../../../src/core/errors.ts';
import { decodeList } from '../../../../src/reputation/lists/import/open-list.ts';
import { collectRows, parseList, sortRows } from '../../../../src/reputation/lists/import/parse.ts';
import type { RowBatch } from '../../../../src/reputation/state/events.ts';
import { quadText } from '../../../support/reputation/addresses.ts';
import { batchRows, pieces } from '../../../support/reputation/lists.ts';

const options = { format: 'csv', confidence: 75, allowDocumentation: true, label: 'list' } as const;

function parseCsv(text: string) {
  return parseList(pieces(Buffer.from(text), 1_000), options);
}

test('rows are sorted, IPv4 first, and the highest score of a prefix wins', async () => {
  const rows = ['2001:db8::2,5', '255.0.0.1,1', '203.0.113.9,10', '203.0.113.0/24,50'];
  const again = [
    '203.0.113.9,90',
    '203.0.113.9,20',
    '2001:db8::2,6',
    '2001:db8::/48,7',
    '1.1.1.1,0',
  ];
  const parse = parseCsv(`ip,score\n${[...rows, ...again].join('\n')}\n`);
  const collected = await collectRows(parse, { label: 'list' });
  assert.deepEqual(collected.batches.flatMap(batchRows), [
    '1.1.1.1/32 0',
    '203.0.113.0/24 50',
    '203.0.113.9/32 90',
    '2001:db8::/48 7',
    '2001:db8::2/128 6',
  ]);
  assert.equal(collected.rows, 5);
  assert.equal(collected.duplicates, 3);
  assert.equal(parse.stats.notPublic, 1);
});

test('the highest address and score survive the packing', () => {
  const batch: RowBatch = {
    count: 2,
    families: Uint8Array.of(4, 6),
    words: Uint32Array.of(0xffffffff, 0, 0, 0, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff),
    lengths: Uint8Array.of(32, 128),
    scores: Uint8Array.of(100, 100),
  };
  const max = `${Array(8).fill('ffff').join(':')}/128 100`;
  const { batches } = sortRows([batch], 2);
  assert.deepEqual(batches.flatMap(batchRows), ['255.255.255.255/32 100', max]);
  const counted = sortRows([{ ...batch, reports: Uint8Array.of(255, 254) }], 2);
  assert.deepEqual(counted.batches.flatMap(batchRows), ['255.255.255.255/32 100', max]);
  assert.deepEqual([...counted.batches[0]!.reports!], [255, 254]);
});

test('a list over the bound on rows is refused', async () => {
  const parse = parseCsv(
    `ip\n${Array.from({ length: 5_000 }, (_, i) => `8.8.${i >> 8}.${i & 255}`).join('\n')}`,
  );
  await assert.rejects(collectRows(parse, { label: 'list', maxRows: 4_999 }), OperatorError);
});

test('gzip cut short yields rows but no collection', async () => {
  const lines = Array.from({ length: 50_000 }, (_, i) => `${quadText(0x0800_0000 + 7919 * i)}\n`);
  const packed = gzipSync(lines.join(''));
  const cut = packed.subarray(0, packed.length - 100);
  const broken = () =>
    parseList(decodeList(pieces(cut, 4_096), { label: 'list', maxBytes: 1e9 }), {
      ...options,
      format: 'plain',
    });
  let rows = 0;
  await assert.rejects(async () => {
    for await (const batch of broken()) rows += batch.count;
  }, /gzip data ends early/);
  assert.ok(rows > 0 && rows < lines.length, `${rows} rows came before the end`);
  await assert.rejects(collectRows(broken(), { label: 'list' }), /gzip data ends early/);
});
