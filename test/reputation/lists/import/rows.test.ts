/** The rules that every entry obeys: host bits, width, special use; and how bad lines are shown. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPublic } from '../../../../src/ip/special.ts';
import { createRowSink, specialAnchors } from '../../../../src/reputation/lists/import/rows.ts';
import { quadText } from '../../../support/reputation/addresses.ts';
import { batchRows, parseText } from '../../../support/reputation/lists.ts';

function enter(texts: readonly string[], allowDocumentation = false) {
  const sink = createRowSink({ allowDocumentation });
  const reasons = texts.map((text) => sink.entry(text, 75));
  return { reasons, rows: sink.take(true).flatMap(batchRows), stats: sink.stats };
}

test('host bits are cleared and counted', () => {
  const { rows, stats } = enter(['8.8.8.8/24', '8.8.4.0/24', '2a00::1/32', '8.8.8.8/32']);
  assert.deepEqual(rows, ['8.8.8.0/24 75', '8.8.4.0/24 75', '2a00::/32 75', '8.8.8.8/32 75']);
  assert.equal(stats.normalised, 2);
});

test('a range becomes the fewest prefixes', () => {
  const { rows } = enter(['8.0.0.1-8.0.0.4', '8.1.0.0 - 8.1.255.255', '2a00::-2a00::3']);
  const first = ['8.0.0.1/32 75', '8.0.0.2/31 75', '8.0.0.4/32 75'];
  assert.deepEqual(rows, [...first, '8.1.0.0/16 75', '2a00::/126 75']);
});

test('what would block a large part of the Internet is refused', () => {
  const wide = ['0.0.0.0/0', '8.0.0.0/7', '::/0', '2a00::/15', '1.0.0.0-223.255.255.255'];
  const ranges = ['1.0.0.0-2.0.0.0', '2a00::-2a01::', '0.0.0.0-255.255.255.255'];
  const { reasons, rows } = enter([...wide, ...ranges]);
  for (const reason of reasons) assert.match(reason ?? 'taken', /covers too much/);
  assert.deepEqual(rows, []);
});

test('the widest prefixes that are taken are /8 and /16', () => {
  const { reasons, rows } = enter(['8.0.0.0/8', '2a00::/16', '9.0.0.0-9.255.255.255']);
  assert.deepEqual(reasons, [undefined, undefined, undefined]);
  assert.deepEqual(rows, ['8.0.0.0/8 75', '2a00::/16 75', '9.0.0.0/8 75']);
});

test('special-use addresses and prefixes that hold some are left out and counted', () => {
  const hosts = ['10.1.2.3', '127.0.0.1', '::1', 'fe80::1', '224.0.0.1', '0.0.0.0'];
  const nets = ['192.168.0.0/16', '172.0.0.0/8', '100.0.0.0/9', '2001:c00::/22', '240.0.0.0/8'];
  const { reasons, rows, stats } = enter([...hosts, ...nets]);
  assert.deepEqual(new Set(reasons), new Set([undefined]));
  assert.deepEqual(rows, []);
  assert.equal(stats.notPublic, hosts.length + nets.length);
  assert.equal(stats.badLines, 0);
});

test('a range keeps its public part', () => {
  const { rows, stats } = enter(['9.255.255.254-10.0.0.1']);
  assert.deepEqual(rows, ['9.255.255.254/31 75']);
  assert.equal(stats.notPublic, 1);
});

test('documentation ranges pass only when asked for', () => {
  const texts = ['192.0.2.1', '203.0.113.128/25', '2001:db8::/32', '198.51.100.0-198.51.100.255'];
  assert.equal(enter(texts).stats.notPublic, 4);
  assert.equal(enter(texts, true).rows.length, 4);
  // A wider prefix would take ordinary neighbours along with the example range.
  assert.equal(enter(['203.0.112.0/22'], true).rows.length, 0);
});

test('an IPv4-mapped address or prefix is the IPv4 one', () => {
  const { rows, stats } = enter(['::ffff:8.8.8.8', '::ffff:8.8.4.0/120', '::ffff:0:0/90']);
  assert.deepEqual(rows, ['8.8.8.8/32 75', '8.8.4.0/24 75']);
  assert.equal(stats.notPublic, 1);
});

test('every place where IPv4 special use begins inside a /8 is an anchor', () => {
  // Walks all 2^24 networks of /24; ranges shorter than that begin one of them.
  const words = new Uint32Array(4);
  const anchors = new Set(specialAnchors);
  const missing: string[] = [];
  let before = true;
  for (let network = 0; network < 2 ** 24; network++) {
    words[0] = network * 256;
    const now = isPublic(4, words);
    const begins = before && !now && network % 65_536 !== 0;
    if (begins && !anchors.has(quadText(words[0]))) missing.push(quadText(words[0]));
    before = now;
  }
  // 192.0.0.0 has no prefix of /8 or longer that holds it without beginning there.
  assert.deepEqual(missing, []);
});

test('texts that are no entry are refused with a reason', () => {
  const bad = [
    '',
    'x',
    '1.2.3',
    '010.1.1.1',
    '8.8.8.8/33',
    '8.8.8.8/',
    '8.8.8.8/024',
    'fe80::1%eth0',
  ];
  const ranges = ['8.8.8.8-', '-', '8.8.8.9-8.8.8.8', '8.8.8.8-2a00::1', '8.8.8.8-8.8.8.9-8.8.9.0'];
  const { reasons, rows } = enter([...bad, ...ranges, '1.2.3.4 '.repeat(1000)]);
  for (const reason of reasons) assert.equal(typeof reason, 'string');
  assert.deepEqual(rows, []);
});

test('batches hold at most 2,000 rows and the last is cut to fit', async () => {
  const lines = Array.from({ length: 4_500 }, (_, i) => quadText(0x0800_0000 + i)).join('\n');
  const { batches, stats } = await parseText('plain', lines);
  assert.deepEqual(
    batches.map(({ count, words }) => [count, words.length]),
    [
      [2_000, 8_000],
      [2_000, 8_000],
      [500, 2_000],
    ],
  );
  assert.equal(stats.rows, 4_500);
});

test('five bad lines are shown, cut and escaped; all are counted', async () => {
  const hostile = `\u001b[2J\u0007\u202eevil\u0000${'ä'.repeat(100)}`;
  const text = `${hostile}\n${'bad\n'.repeat(20)}192.0.2.1\n`;
  const { stats } = await parseText('plain', text);
  assert.equal(stats.badLines, 21);
  assert.deepEqual(
    stats.samples.map((sample) => sample.line),
    [1, 2, 3, 4, 5],
  );
  assert.deepEqual(stats.samples[0], {
    line: 1,
    reason: 'not an address',
    text: `\\x1b[2J\\x07\\u202eevil\\x00${'ä'.repeat(69)}…`,
  });
});
