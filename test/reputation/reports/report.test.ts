/** What a report may say: addresses, categories, times, and what is left of a comment. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReportInput } from '../../../src/contracts/reputation.ts';
import { cleanComment, readReport } from '../../../src/reputation/reports/report.ts';

const now = Date.UTC(2026, 10, 21, 9, 30);
const dayMs = 86_400_000;
const rules = { now, allowDocumentation: false, ownAddresses: new Set(['8.8.4.4']) };
const plain: ReportInput = {
  ip: '8.8.8.8',
  categories: '18',
  comment: undefined,
  timestamp: undefined,
};

function read(input: Partial<ReportInput>, more: Partial<typeof rules> = {}) {
  return readReport({ ...plain, ...input }, { ...rules, ...more });
}

/** The parameter at fault, or undefined when the report is taken. */
function fault(input: Partial<ReportInput>, more: Partial<typeof rules> = {}) {
  const report = read(input, more);
  if (report.ok) return undefined;
  assert.equal(report.error, 'invalid_parameter');
  return report.parameter;
}

test('categories are 1 to 30 whole numbers from 1 to 23, in every shape that JSON and forms have', () => {
  const good: unknown[] = ['18', ' 18 , 22 ', '018', 18, 18.0, [18, '22'], Array(30).fill(18)];
  for (const categories of good) assert.equal(fault({ categories }), undefined, String(categories));
  const bad: unknown[] = [
    undefined,
    null,
    '',
    [],
    ',',
    '18,,22',
    '0',
    '24',
    '-1',
    '1.0',
    1.5,
    '1e1',
    '0x12',
    '٣',
    Number.POSITIVE_INFINITY,
    Number.NaN,
    true,
    [true],
    {},
    { 0: 18, length: 1 },
    [[18]],
    [{ a: 18 }],
    [null],
    Array(31).fill(18),
    Array(31).fill('18').join(','),
    'x'.repeat(100_000),
  ];
  for (const categories of bad) {
    assert.equal(fault({ categories }), 'categories', JSON.stringify(categories)?.slice(0, 60));
  }
  const both = read({ categories: [18, 22, 18] });
  assert.equal(both.ok && both.value.categories, 2 ** 18 + 2 ** 22);
});

test('a time is ISO 8601, with a zone or in UTC, not in the future and not over a year ago', () => {
  const times: [text: string, reportedAt: number][] = [
    ['', now],
    ['2026-11-21T09:30:00Z', now],
    ['2026-11-21t09:30:00z', now],
    ['2026-11-21T09:30:00', now],
    ['2026-11-21 09:30:00', now],
    ['2026-11-21T09:30Z', now],
    ['2026-11-21T10:30:00+01:00', now],
    ['2026-11-21T04:30:00-0500', now],
    ['2026-11-21T09:29:59.123456789Z', now - 877],
    ['2026-11-21', Date.UTC(2026, 10, 21)],
    ['2026-11-20T24:00:00Z', Date.UTC(2026, 10, 21)],
    ['2026-02-28', Date.UTC(2026, 1, 28)],
    [new Date(now - 365 * dayMs).toISOString(), now - 365 * dayMs],
    // A clock that runs ahead by less than a minute.
    ['2026-11-21T09:30:59Z', now],
  ];
  for (const [timestamp, reportedAt] of times) {
    const report = read({ timestamp });
    assert.equal(report.ok && report.value.reportedAt, reportedAt, timestamp);
  }
  const bad = [
    '2026-11-21T09:31:01Z',
    '2999-01-01T00:00:00Z',
    '2026-11-21T09:31:00-01:00',
    new Date(now - 365 * dayMs - 1).toISOString(),
    '2001-01-01',
    '2026-11-21T09:29:60Z',
    '2026-02-29',
    '2026-02-30T00:00:00Z',
    '2026-04-31',
    '2026-13-01',
    '2026-00-10',
    '2026-11-00',
    '2026-11-20T25:00:00Z',
    '2026-11-20T10:60:00Z',
    '2026-11-20T10:00:00+25:00',
    '2026-11-20T10:00:00-00:60',
    '2026-11-20T10:00:00+05',
    '2026-W47-5',
    '+275760-09-13T00:00:00Z',
    '-000001-01-01T00:00:00Z',
    'yesterday',
    '0',
    String(now),
    'x'.repeat(10_000),
  ];
  for (const timestamp of bad)
    assert.equal(fault({ timestamp }), 'timestamp', timestamp.slice(0, 60));
});

test('special-use addresses, whatever their spelling, and own ones are refused', () => {
  const bad = [
    '',
    ' ',
    '0.0.0.0',
    '10.0.0.1',
    '100.64.0.1',
    '169.254.169.254',
    '192.168.1.1',
    '192.0.2.1',
    '198.18.0.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '64:ff9b::127.0.0.3',
    '2002:7f00:3::1',
    '::ffff:10.0.0.1',
    '::ffff:a00:1',
    'fc00::1',
    'fe80::1',
    'ff02::1',
    '100::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '8.8.4.4',
    '::ffff:8.8.4.4',
    '127.1',
    '010.1.1.1',
    '0x8.8.8.8',
    '8.8.8.8/32',
    '8.8.8.8:80',
    '8.8.8.8.',
    '８.8.8.8',
    '[2a00::1]',
    '2a00::1%eth0',
    'localhost',
    '8'.repeat(100_000),
  ];
  for (const ip of bad) assert.equal(fault({ ip }), 'ip', ip.slice(0, 60));
  const good: [string, string][] = [
    [' 8.8.8.8\n', '8.8.8.8'],
    ['::ffff:8.8.8.8', '8.8.8.8'],
    ['2A00:0:0:0:0:0:0:0001', '2a00::1'],
  ];
  for (const [text, ip] of good) {
    const report = read({ ip: text });
    assert.equal(report.ok && report.value.ip, ip, text);
  }
  for (const ip of ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1']) {
    assert.equal(fault({ ip }, { allowDocumentation: true }), undefined, ip);
  }
});

test('the address that clients test themselves with is a duplicate, whatever else is said', () => {
  for (const ip of ['127.0.0.2', '::ffff:127.0.0.2']) {
    for (const over of [{}, { categories: undefined }, { timestamp: 'yesterday' }]) {
      const report = read({ ip, ...over });
      assert.equal(!report.ok && report.error, 'duplicate_report', JSON.stringify(over));
    }
  }
});

test('a comment keeps its text and nothing that could act on a screen', () => {
  const comments: [text: string, clean: string][] = [
    ['a\0b\x07c\x1b[31md\x7f\x85e', 'abc[31mde'],
    ['a\u202eb\u200bc\ufeffd', 'abcd'],
    [' a\r\nb\tc\u2028d\n', 'a b c d'],
    ['a\ud800b\udfffc', 'a\ufffdb\ufffdc'],
    ['<b>&"\'', '<b>&"\''],
    ['x'.repeat(5_000), 'x'.repeat(1_024)],
    ['😀'.repeat(1_100), '😀'.repeat(1_024)],
    [`${'x'.repeat(1_023)}😀y`, `${'x'.repeat(1_023)}😀`],
    ['\n'.repeat(5_000), ''],
  ];
  for (const [text, clean] of comments) {
    assert.equal(cleanComment(text), clean, JSON.stringify(text.slice(0, 30)));
    assert.equal(cleanComment(clean), clean, 'cleaning again changes nothing');
  }
});
