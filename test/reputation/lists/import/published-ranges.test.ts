/** Known-good lists in the shapes of large operators: services are taken, rented machines are not. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type GoodFormat, goodFormats } from '../../../../src/reputation/lists/import/parse.ts';
import { serviceOf } from '../../../../src/reputation/lists/import/rows.ts';
import { batchRows, parseText } from '../../../support/reputation/lists.ts';

/** Sources: the compiled test runs in dist/test/reputation/lists/import/. */
const samples = join(import.meta.dirname, '../../../../../test/support/reputation/published');

async function taken(format: GoodFormat, text?: string) {
  const written = text ?? readFileSync(join(samples, `${format}.json`), 'utf8');
  const { batches, stats } = await parseText(format, written, { pieceBytes: 7 });
  const rows = batches.flatMap((batch) =>
    batchRows(batch).map((row, i) => `${row} ${serviceOf(batch.reports![i]!)}`),
  );
  return { rows, rented: stats.rented };
}

test('google: crawlers are taken; the cloud, and what lies in it, is not', async () => {
  assert.deepEqual(await taken('google'), {
    rows: ['2001:db8:4860:10::/64 0 crawler', '192.0.2.64/27 0 crawler'],
    rented: 2,
  });
});

test('google: a file of whole networks is refused, one of rented machines has nothing to take', async () => {
  const whole = '{"prefixes":[{"ipv4Prefix":"192.0.0.0/15"},{"ipv4Prefix":"192.0.2.0/24"}]}';
  await assert.rejects(taken('google', whole), /list: names whole networks, with rented machines/);
  const cloud = '{"prefixes":[{"ipv4Prefix":"192.0.0.0/15","service":"Google Cloud"}]}';
  await assert.rejects(taken('google', cloud), /no usable row; .* 1 of rented machines/);
});

test('amazon: a service is taken unless a range of EC2 overlaps it; AMAZON is everything', async () => {
  assert.deepEqual(await taken('amazon'), {
    rows: [
      '198.51.100.96/27 0 content',
      '198.51.100.128/27 0 names',
      '2001:db8:9000::/40 0 content',
    ],
    rented: 4,
  });
});

test('microsoft: tags of services are taken, AzureCloud with its machines is not', async () => {
  assert.deepEqual(await taken('microsoft'), {
    rows: [
      '203.0.113.160/29 0 content',
      '2001:db8:b001::/48 0 content',
      '203.0.113.176/29 0 updates',
    ],
    rented: 2,
  });
});

test('cloudflare: both families are taken', async () => {
  assert.deepEqual(await taken('cloudflare'), {
    rows: ['192.0.2.128/26 0 content', '2001:db8:c000::/36 0 content'],
    rented: 0,
  });
});

test('what is not of the shape gives no rows and says so', async () => {
  for (const format of goodFormats.filter((name) => name !== 'plain')) {
    for (const text of ['[]', '{}', 'null', '{"prefixes":7,"values":{},"result":[]}']) {
      await assert.rejects(taken(format, text), /no usable row/, `${format} ${text}`);
    }
    await assert.rejects(taken(format, '{"prefixes":['), /list: is not JSON/);
  }
  const odd = '{"prefixes":[{"ipv4Prefix":7},{"ipv4Prefix":"x"},{"ipv4Prefix":"192.0.2.1/32"}]}';
  assert.deepEqual(await taken('google', odd), { rows: ['192.0.2.1/32 0 crawler'], rented: 0 });
});
