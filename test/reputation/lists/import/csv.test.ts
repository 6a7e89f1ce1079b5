/** CSV: how columns are found, quoting by RFC 4180, and rows that break it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitRecord } from '../../../../src/reputation/lists/import/lines.ts';
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

test('a range of which start, end and prefix agree is the network, with the confidence of the list', async () => {
  const rows = ['20.1.1.0\t20.1.1.255\t24\t100\tX', '20.2.0.0\t20.2.255.255\t16\t7\tY'];
  const wanted = ['20.1.1.0/24 75', '20.2.0.0/16 75'];
  const headers = ['Start\tEnd\tNetmask\tAttacks\tName\n', 'Start\tEnd\tNetblock\tAttacks\tName\n'];
  for (const format of ['csv', 'plain'] as const) {
    assert.deepEqual((await parseText(format, `${rows.join('\n')}\n`)).rows, wanted, format);
    assert.deepEqual((await parseText(format, `# a comment\n${rows[0]}\n`)).rows, [wanted[0]]);
    for (const header of headers) {
      const { rows: found, stats } = await parseText(format, `${header}${rows.join('\n')}\n`);
      assert.deepEqual([found, stats.badLines], [wanted, format === 'csv' ? 0 : 1]);
    }
    const { stats: bad } = await parseText(
      format,
      `${rows[0]}\n20.3.1.0\t20.3.1.255\t23\t1\n20.4.1.0\t20.4.2.0\t24\t1\n20.5.1.9\t20.5.1.0\t24\t1\n`,
    );
    assert.deepEqual([bad.rows, bad.badLines], [1, 3], format);
  }
});

test('two addresses without a prefix are a network or are refused, never a host', async () => {
  const text =
    '20.1.1.0,20.1.1.255,NL\n20.6.0.0,20.7.255.255,NL\n20.8.1.7,20.8.1.7,NL\n20.9.1.3,20.9.7.1,NL\n';
  const { rows, stats } = await parseText('csv', text);
  assert.deepEqual(rows, ['20.1.1.0/24 75', '20.6.0.0/15 75', '20.8.1.7/32 75']);
  assert.match(stats.samples[0]!.reason, /a header must say/);
  const named = await rowsOf('start_ip,end_ip\n20.9.1.3,20.9.1.5\n');
  assert.deepEqual(named, ['20.9.1.3/32 75', '20.9.1.4/31 75']);
  // A moment is no address.
  const seen =
    'network,start,end\n?,?,?\n20.9.1.0/24,2026-01-01,2026-01-02\n20.9.2.0,20.9.2.1,20.9.2.9\n';
  assert.deepEqual(await rowsOf(seen), ['20.9.1.0/24 75', '20.9.2.0/32 75']);
  assert.deepEqual(await rowsOf('ip,start,end\n20.9.1.3,2026-01-01,2026-01-02\n'), [
    '20.9.1.3/32 75',
  ]);
});

test('a mask or length in a column of its own belongs to the address', async () => {
  assert.deepEqual(await rowsOf('20.9.1.0,255.255.255.0\n20.8.0.0,255.255.0.0\n'), [
    '20.9.1.0/24 75',
    '20.8.0.0/16 75',
  ]);
  assert.deepEqual(await rowsOf('network,netmask,score\n20.9.1.0,255.255.255.0,90\n'), [
    '20.9.1.0/24 90',
  ]);
  assert.deepEqual(await rowsOf('ip;prefix_length\n20.9.1.0;24\n'), ['20.9.1.0/24 75']);
  assert.deepEqual(await rowsOf('20.9.1.0,24,88\n20.8.0.0,16,90\n'), [
    '20.9.1.0/24 88',
    '20.8.0.0/16 90',
  ]);
});

test('a column of counts without a header is no score, in whichever row the count shows', async () => {
  const rows = Array.from({ length: 90 }, (_, i) => `20.1.1.${i},${i + 1},NL`);
  rows.push('20.1.2.1,3174,NL');
  const found = await rowsOf(`${rows.join('\n')}\n`);
  assert.equal(found.length, 91);
  assert.ok(found.every((row) => row.endsWith(' 75')));
});
