/** CSV ranges: what a line means, and what becomes of lines that do not fit. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readCsvRanges } from '../../src/geo/csv.ts';
import { createPartitionBuilder } from '../../src/geo/partition.ts';
import { createProviderNames, loadSource } from '../../src/geo/sources.ts';
import { below, seeded } from '../support/reputation/addresses.ts';
import { temporaryFolder } from '../support/reputation/geo.ts';

function read(text: string | Buffer, family: 4 | 6 = 4) {
  const names = createProviderNames();
  const builder = createPartitionBuilder(family === 4 ? 1 : 4);
  const result = readCsvRanges(Buffer.from(text as string), family, builder, names.idOf);
  const { ids, columns } = builder.finish();
  const entries = [...ids].map((id, i) => `${columns[0]![i]!.toString(16)} ${names.names[id]}`);
  return { ...result, entries };
}

test('names may be quoted, hold commas and quotes, and be empty', () => {
  const lines = [
    '0.0.0.1,0.0.0.1,1,Plain',
    '0.0.0.2,0.0.0.2,1,"Comma, Inc."',
    '0.0.0.3,0.0.0.3,1,"LLC ""SPUTNIK"""',
    '0.0.0.4,0.0.0.4,1,',
    '0.0.0.5,0.0.0.5,1,Rösti, unquoted',
  ];
  for (const end of ['\n', '\r\n']) {
    const { entries, ranges, skipped } = read(lines.join(end));
    assert.deepEqual([ranges, skipped], [5, 0]);
    const expected = [
      '0 ',
      '1 Plain',
      '2 Comma, Inc.',
      '3 LLC "SPUTNIK"',
      '4 ',
      '5 Rösti, unquoted',
      '6 ',
    ];
    assert.deepEqual(entries, expected);
  }
});

test('lines that do not fit are skipped and counted', () => {
  const lines = [
    'first,last,number,name',
    '1.0.0.0,1.0.0.255,1,A',
    '1.0.0.9,1.0.0.8,1,backwards',
    '0.5.0.0,0.6.0.0,1,out of order',
    '1.0.1.0,1.0.1.255',
    ',,,',
    '::1,::2,1,other family',
    '1.0.2.0,::2,1,mixed',
    '01.0.2.0,1.0.2.9,1,octal',
    '',
    '2.0.0.0,2.0.0.255,1,B',
  ];
  const { ranges, skipped } = read(lines.join('\n'));
  assert.deepEqual([ranges, skipped], [2, 8]);
  assert.equal(read('2a00::,2a00::ffff,7,Six\n', 6).ranges, 1);
});

test('damaged text never throws', () => {
  const seed = 59;
  const random = seeded(seed);
  const sample = Buffer.from('1.0.0.0,1.0.0.255,1,"A ""b"""\n1.0.1.0,1.0.1.255,2,C\r\n'.repeat(4));
  for (let i = 0; i < 500; i++) {
    const bytes = Buffer.from(sample.subarray(0, below(random, sample.length)));
    for (let n = below(random, 20); n > 0 && bytes.length > 0; n--) {
      bytes[below(random, bytes.length)] = below(random, 256);
    }
    const { ranges, skipped } = read(bytes);
    assert.ok(ranges + skipped <= bytes.length, `seed ${seed}, ${i}`);
  }
});

test('a pair of files is refused when one has no ranges', (t) => {
  const folder = temporaryFolder(t);
  const paths = [join(folder, '4.csv'), join(folder, '6.csv')];
  writeFileSync(paths[0]!, '1.0.0.0,1.0.0.255,1,A\nnonsense\n');
  const source = { kind: 'provider', origin: 'default', format: 'csv', paths } as const;
  for (const text of ['', '\n\n', 'nonsense\n', '\u0000'.repeat(1_000)]) {
    writeFileSync(paths[1]!, text);
    const loaded = loadSource(source);
    assert.equal(loaded.ok ? 'ok' : loaded.error, 'geo_source_unusable', JSON.stringify(text));
  }
  writeFileSync(paths[1]!, '2a00::,2a00::ffff,1,B\n');
  const loaded = loadSource(source);
  assert.ok(loaded.ok);
  assert.equal(loaded.value.note, '1 lines skipped');
});
