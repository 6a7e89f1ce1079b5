/** Autonomous systems out of the file of providers: ranges by number, the number by address. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import type { GeoSource } from '../../src/geo/sources.ts';
import type { SystemRanges } from '../../src/geo/systems/systems.ts';
import answer from '../../src/geo/systems/systems.worker.ts';
import { type IpFamily, parseIp } from '../../src/ip/address.ts';
import { formatPrefix, rangeToPrefixes } from '../../src/ip/prefix.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const four = [
  '192.0.2.0,192.0.2.127,64500,"Example, ""One"""',
  '192.0.2.128,192.0.2.255,64501,Mentions ,64500, in its name',
  'not a line',
  '198.51.100.0,198.51.100.255,64500,"Example, ""One"""',
  '203.0.113.0,203.0.113.255,645001,Longer number',
];
const six = ['2001:db8::,2001:db8:0:ffff:ffff:ffff:ffff:ffff,64500,Other words'];

test('lines of a number are found, whatever names and longer numbers hold', (t) => {
  const directory = makeTempDir('systems');
  t.after(() => directory.remove());
  const paths = [`${directory.path}/4.csv`, `${directory.path}/6.csv`];
  writeFileSync(paths[0]!, four.join('\r\n'));
  writeFileSync(paths[1]!, `${six.join('\n')}\n`);
  const source: GeoSource = { kind: 'provider', origin: 'default', format: 'csv', paths };
  const { name, ranges, isPart } = answer({
    kind: 'ranges',
    source,
    number: 64_500,
  }) as SystemRanges;
  const found = ranges.flatMap((range) => rangeToPrefixes(range.family, range.first, range.last));
  assert.deepEqual(found.map(formatPrefix), ['192.0.2.0/25', '198.51.100.0/24', '2001:db8::/48']);
  assert.deepEqual([name, isPart], ['Example, "One"', false]);
  const none = answer({ kind: 'ranges', source, number: 6_450 }) as SystemRanges;
  assert.deepEqual([none.name, none.ranges.length], [undefined, 0]);
  for (const [ip, number] of [
    ['192.0.2.0', 64_500],
    ['192.0.2.127', 64_500],
    ['192.0.2.128', 64_501],
    ['203.0.113.255', 645_001],
    ['1.1.1.1', 0],
    ['223.1.1.1', 0],
    ['2001:db8::7', 64_500],
    ['2001:db9::', 0],
  ] as const) {
    const words = new Uint32Array(4);
    const family = parseIp(ip, words) as IpFamily;
    assert.equal(answer({ kind: 'number', source, family, words }), number, ip);
  }
});
