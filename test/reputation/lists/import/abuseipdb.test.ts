/** The AbuseIPDB blacklist in its three shapes, cut anywhere, cut short, and forged. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseText } from '../../../support/reputation/lists.ts';

const data = [
  { ipAddress: '192.0.2.1', countryCode: 'NL', abuseConfidenceScore: 100, lastReportedAt: 'x' },
  { ipAddress: '2001:db8::1', countryCode: null, abuseConfidenceScore: 61, note: '}"\\{[ü' },
];
const json = JSON.stringify({ meta: { generatedAt: '2026-08-22', list: [] }, data });
const expected = ['192.0.2.1/32 100', '2001:db8::1/128 61'];

test('JSON, compact or indented, as an object or a bare array', async () => {
  const texts = [
    json,
    JSON.stringify({ data }, undefined, 4),
    JSON.stringify(data),
    `\n ${json}\n`,
  ];
  for (const text of texts) assert.deepEqual((await parseText('abuseipdb', text)).rows, expected);
});

test('JSON cut at every byte gives the same rows', async () => {
  for (let pieceBytes = 1; pieceBytes <= json.length; pieceBytes++) {
    const { rows, stats } = await parseText('abuseipdb', json, { pieceBytes });
    assert.deepEqual([rows, stats.badLines], [expected, 0], `pieces of ${pieceBytes}`);
  }
});

test('JSON that ends early throws, wherever', async () => {
  for (let length = 1; length < json.length; length++) {
    const text = Buffer.from(json).subarray(0, length);
    await assert.rejects(parseText('abuseipdb', text), /the JSON ends early/, `first ${length}`);
  }
});

test('CSV brings its own scores', async () => {
  const text = 'ipAddress,countryCode,abuseConfidenceScore\n192.0.2.1,NL,100\n2001:db8::1,,61\n';
  for (const pieceBytes of [1, 1_000]) {
    assert.deepEqual((await parseText('abuseipdb', text, { pieceBytes })).rows, expected);
  }
});

test('plain text has the confidence of the list', async () => {
  for (const pieceBytes of [1, 1_000]) {
    for (const text of ['# head\n\n192.0.2.1\n192.0.2.2\n', '192.0.2.1\r192.0.2.2']) {
      const { rows } = await parseText('abuseipdb', text, { pieceBytes, confidence: 100 });
      assert.deepEqual(rows, ['192.0.2.1/32 100', '192.0.2.2/32 100']);
    }
  }
  assert.equal((await parseText('abuseipdb', '192.0.2.1')).rows.length, 1);
});

test('elements that are no row are counted by their number', async () => {
  const bad = [
    '{"ipAddress":7,"abuseConfidenceScore":1}',
    '{"ipAddress":"192.0.2.9","abuseConfidenceScore":101}',
    '{"ipAddress":"192.0.2.9","abuseConfidenceScore":"100"}',
    '{"ipAddress":"192.0.2.9"}',
    '{"ipAddress":"nobody","abuseConfidenceScore":1}',
  ];
  const text = `{"data":[${[JSON.stringify(data[0]), ...bad].join(',')}]}`;
  const { rows, stats } = await parseText('abuseipdb', text);
  assert.deepEqual(rows, expected.slice(0, 1));
  assert.deepEqual(
    stats.samples.map(({ line, reason }) => [line, reason]),
    [
      [2, 'no "ipAddress"'],
      [3, '"abuseConfidenceScore" is not a number from 0 to 100'],
      [4, '"abuseConfidenceScore" is not a number from 0 to 100'],
      [5, '"abuseConfidenceScore" is not a number from 0 to 100'],
      [6, 'not an address'],
    ],
  );
});

test('an element of megabytes is one bad element', async () => {
  const huge = `{"ipAddress":"192.0.2.9","abuseConfidenceScore":1,"x":"${'y'.repeat(3_000_000)}"}`;
  const text = `[${huge},${JSON.stringify(data[0])}]`;
  const { rows, stats } = await parseText('abuseipdb', text, { pieceBytes: 10_000 });
  assert.deepEqual(rows, expected.slice(0, 1));
  assert.deepEqual([stats.badLines, stats.samples[0]?.reason], [1, 'element too long']);
});

test('forged brackets throw', async () => {
  const cases: [string, RegExp][] = [
    ['['.repeat(1_000_000), /nested too deeply/],
    ['{"data":[}]', /brackets of the JSON do not match/],
    ['[]]', /brackets of the JSON do not match/],
    [`${json}${json}`, /text follows the end/],
    [`#${' '.repeat(200_000)}`, /no line of a list at its start/],
    ['\n'.repeat(200_000), /no line of a list at its start/],
  ];
  for (const [text, message] of cases) {
    await assert.rejects(parseText('abuseipdb', text), message, text.slice(0, 20));
  }
});
