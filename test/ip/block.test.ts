/** What a network holds, row by row, and against big-integer arithmetic. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatIp } from '../../src/ip/address.ts';
import { maskWords, parsePrefix, widthOf } from '../../src/ip/prefix.ts';
import { describeBlock } from '../../src/reputation/check/check-block.route.ts';
import { bigIntToWords, seeded, wordsToBigInt } from '../support/reputation/addresses.ts';

const rows: [string, string, string, string, string, string, bigint][] = [
  // The published example of this answer: with host bits, usable hosts only.
  ['127.0.0.1/24', '127.0.0.0', '255.255.255.0', '127.0.0.1', '127.0.0.254', 'Loopback', 254n],
  ['8.8.0.0/16', '8.8.0.0', '255.255.0.0', '8.8.0.1', '8.8.255.254', 'Internet', 65_534n],
  ['8.8.8.8/30', '8.8.8.8', '255.255.255.252', '8.8.8.9', '8.8.8.10', 'Internet', 2n],
  ['8.8.8.9/31', '8.8.8.8', '255.255.255.254', '8.8.8.8', '8.8.8.9', 'Internet', 2n],
  ['8.8.8.8/32', '8.8.8.8', '255.255.255.255', '8.8.8.8', '8.8.8.8', 'Internet', 1n],
  ['8.8.8.8', '8.8.8.8', '255.255.255.255', '8.8.8.8', '8.8.8.8', 'Internet', 1n],
  ['::ffff:8.8.8.0/120', '8.8.8.0', '255.255.255.0', '8.8.8.1', '8.8.8.254', 'Internet', 254n],
  [
    '203.0.113.0/24',
    '203.0.113.0',
    '255.255.255.0',
    '203.0.113.1',
    '203.0.113.254',
    'Documentation (TEST-NET-3)',
    254n,
  ],
  ['192.0.0.0/16', '192.0.0.0', '255.255.0.0', '192.0.0.1', '192.0.255.254', 'Mixed', 65_534n],
  [
    '2a00:1450:4001::5/48',
    '2a00:1450:4001::',
    'ffff:ffff:ffff::',
    '2a00:1450:4001::',
    '2a00:1450:4001:ffff:ffff:ffff:ffff:ffff',
    'Internet',
    2n ** 80n,
  ],
  [
    '2a00::1/128',
    '2a00::1',
    'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
    '2a00::1',
    '2a00::1',
    'Internet',
    1n,
  ],
];

test('a block has the mask, the ends and the number of hosts of its network', () => {
  for (const [text, network, mask, low, high, space, hosts] of rows) {
    const prefix = parsePrefix(text, 'mask');
    assert.ok(prefix.ok, text);
    assert.deepEqual(
      describeBlock(prefix.value),
      {
        networkAddress: network,
        netmask: mask,
        minAddress: low,
        maxAddress: high,
        possibleHosts: hosts,
        space,
      },
      text,
    );
  }
});

test('ends and number fit together for random networks of any length', () => {
  const seed = 20_261_121;
  const random = seeded(seed);
  for (let i = 0; i < 2_000; i++) {
    const family = random.next() < 0.5 ? 4 : 6;
    const width = widthOf(family);
    const length = Math.floor(random.next() * (width + 1));
    const words = new Uint32Array(4);
    for (let word = 0; word < width / 32; word++) words[word] = random.next() * 2 ** 32;
    maskWords(family, words, length);
    const block = describeBlock({ family, words, length });
    const size = 2n ** BigInt(width - length);
    const first = wordsToBigInt(family, words);
    const skipped = family === 4 && length < 31 ? 1n : 0n;
    const at = (value: bigint) => formatIp(family, bigIntToWords(family, value));
    const note = `seed ${seed}: ${formatIp(family, words)}/${length}`;
    assert.equal(block.minAddress, at(first + skipped), note);
    assert.equal(block.maxAddress, at(first + size - 1n - skipped), note);
    assert.equal(block.possibleHosts, size - 2n * skipped, note);
  }
});
