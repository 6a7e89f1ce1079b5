/** A network and its holes: the pieces are the rest, exactly, and no more of them than needed. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  contains,
  formatPrefix,
  type Prefix,
  parsePrefix,
  withoutHoles,
} from '../../src/ip/prefix.ts';
import { seededRandom } from '../support/seeded.ts';

function prefix(text: string): Prefix {
  const parsed = parsePrefix(text);
  assert.ok(parsed.ok, text);
  return parsed.value;
}

const vectors: readonly [network: string, holes: string[], rest: string[]][] = [
  ['192.0.2.0/24', [], ['192.0.2.0/24']],
  ['192.0.2.0/24', ['192.0.2.0/24'], []],
  ['192.0.2.0/24', ['192.0.2.128/25'], ['192.0.2.0/25']],
  ['192.0.2.0/30', ['192.0.2.1'], ['192.0.2.0/32', '192.0.2.2/31']],
  ['192.0.2.0/31', ['192.0.2.0', '192.0.2.1'], []],
  ['0.0.0.0/0', ['128.0.0.0/1'], ['0.0.0.0/1']],
  ['2001:db8::/126', ['2001:db8::3'], ['2001:db8::/127', '2001:db8::2/128']],
];

for (const [network, holes, rest] of vectors) {
  test(`${network} without ${holes.join(', ') || 'anything'}`, () => {
    const pieces = [...withoutHoles(prefix(network), holes.map(prefix))];
    assert.deepEqual(pieces.map(formatPrefix), rest);
  });
}

test('of random networks every address is in a piece or in a hole, never in both', () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const random = seededRandom(seed);
  const below = (n: number) => Math.floor(random.next() * n);
  for (let round = 0; round < 300; round++) {
    const length = 32 - below(9);
    const size = 2 ** (32 - length);
    const holes = Array.from({ length: below(6) }, () => {
      const holeLength = length + below(33 - length);
      const holeSize = 2 ** (32 - holeLength);
      const first = 0xc0000200 - (0xc0000200 % size) + holeSize * below(size / holeSize);
      return { family: 4, words: Uint32Array.of(first, 0, 0, 0), length: holeLength } as const;
    });
    const base = 0xc0000200 - (0xc0000200 % size);
    const network = { family: 4, words: Uint32Array.of(base, 0, 0, 0), length } as const;
    holes.sort((a, b) => a.words[0]! - b.words[0]! || a.length - b.length);
    const pieces = [...withoutHoles(network, holes)];
    for (let i = 0; i < size; i++) {
      const words = Uint32Array.of(base + i, 0, 0, 0);
      const count = pieces.filter((piece) => contains(piece, 4, words)).length;
      const inHole = holes.some((hole) => contains(hole, 4, words));
      assert.equal(count, inHole ? 0 : 1, `seed ${seed}, round ${round}`);
    }
  }
});
