/** CSV: how columns are found, quoting by RFC 4180, and rows that break it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitRecord } from '../../../../src/reputation/lists/formats/csv-records.ts';
import { parseText } from '../../../support/reputation/lists.ts';

async function rowsOf(text: string): Promise<string[]> {
  return (await parseText('csv', text)).rows;
}

test('usual header names are found in any case, order and delimiter', async () => {
  const headers = [
    'ipAddress,score',
    'IP Address;Country;Abuse Confidence Score',
    'id,risk_score,"network"',
    '"cidr"\tconfidence',
    '# first_seen,dst_ip,Risk',
  ];
  for (const header of headers) {
    const delimiter = /[;\t]/.exec(header)?.[0] ?? ',';
    const names = header.split(delimiter).map((name) => name.toLowerCase());
    const fields = names.map((name) =>
      /score|confidence|risk/.test(name) ? '61' : /ip|cidr|network/.test(name) ? '192.0.2.1' : '7',
    );
    assert.deepEqual(
      await rowsOf(`${header}\n${fields.join(delimiter)}\n`),
      ['192.0.2.1/32 61'],
      header,
    );
  }
});

test('without a header the first address and the first other number 0..100 are taken', async () => {
  const text = 'x,2026,192.0.2.1,NL,93,5\nx,1,192.0.2.2,NL,12,6\n';
  assert.deepEqual(await rowsOf(text), ['192.0.2.1/32 93', '192.0.2.2/32 12']);
});

test('without a score column every row has the confidence of the list', async () => {
  assert.deepEqual(await rowsOf('192.0.2.1\n192.0.2.0/31\n'), [
    '192.0.2.1/32 75',
    '192.0.2.0/31 75',
  ]);
  assert.deepEqual(await rowsOf('ip,country\n192.0.2.1,NL\n'), ['192.0.2.1/32 75']);
});

test('an unknown header is one bad line, then the columns are found by the first row', async () => {
  const { rows, stats } = await parseText('csv', 'Foo,Bar\n192.0.2.1,80\n');
  assert.deepEqual(rows, ['192.0.2.1/32 80']);
  assert.deepEqual([stats.badLines, stats.samples[0]?.reason], [1, 'no address']);
});

test('a score that is missing or out of bounds makes the row bad, never the default', async () => {
  const scores = ['', '101', '-1', 'high', '1e2', '0x10', ' 50 ', '99.6', '0'];
  const { rows, stats } = await parseText(
    'csv',
    `ip,score\n${scores.map((score, i) => `192.0.2.${i},${score}`).join('\n')}\n192.0.2.99\n`,
  );
  assert.deepEqual(rows, ['192.0.2.6/32 50', '192.0.2.7/32 100', '192.0.2.8/32 0']);
  assert.equal(stats.badLines, 7);
});

test('quoted fields hold delimiters, quotes and line ends', async () => {
  const text = 'ip,comment,score\r\n"192.0.2.1","a, ""b""\r\nc, 9",61\r\n192.0.2.2,"",62\r\n';
  for (const pieceBytes of [1, 1_000]) {
    const { rows, stats } = await parseText('csv', text, { pieceBytes });
    assert.deepEqual(rows, ['192.0.2.1/32 61', '192.0.2.2/32 62']);
    assert.equal(stats.badLines, 0);
  }
});

test('a stray quote costs its own row only', async () => {
  const good = Array.from({ length: 100 }, (_, i) => `192.0.2.${i},50`);
  const strays = {
    'never closed': '"198.51.100.1,50',
    'text behind it': '"198.51.100.1"x,50',
    'at the end': '198.51.100.1,"',
  };
  for (const [kind, stray] of Object.entries(strays)) {
    for (const at of [0, 50, 90, 100]) {
      const lines = ['ip,score', ...good.slice(0, at), stray, ...good.slice(at)];
      const { rows, stats } = await parseText('csv', lines.join('\n'));
      assert.equal(rows.length, 100, `${kind} at ${at}`);
      assert.deepEqual([stats.badLines, stats.samples[0]?.line], [1, at + 2], `${kind} at ${at}`);
    }
  }
});

test('a quote inside an unquoted field is an ordinary character', async () => {
  assert.deepEqual(await rowsOf('ip,disk,score\n192.0.2.1,5" disk,61\n'), ['192.0.2.1/32 61']);
});

test('thousands of quotes end in time, each line counted once', async () => {
  const { rows, stats } = await parseText('csv', `ip\n${'"\n""\n'.repeat(5_000)}"\n192.0.2.1\n`);
  assert.deepEqual(rows, ['192.0.2.1/32 75']);
  assert.ok(stats.badLines > 0 && stats.badLines <= 10_001);
});

test('records split as RFC 4180 says', () => {
  assert.deepEqual(splitRecord('a,b,,', ','), ['a', 'b', '', '']);
  assert.deepEqual(splitRecord('"a","b""c",""', ','), ['a', 'b"c', '']);
  assert.deepEqual(splitRecord('"",', ','), ['', '']);
  assert.deepEqual(splitRecord('""""', ','), ['"']);
  assert.equal(splitRecord('a,"b', ','), 'open');
  assert.equal(splitRecord('"a""', ','), 'open');
  assert.equal(splitRecord('"a"b', ','), 'malformed');
});
