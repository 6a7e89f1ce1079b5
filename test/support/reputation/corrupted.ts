/** Ways in which stored bytes go bad: cut short, longer, flipped bits, noise. */

import type { seededRandom } from '../seeded.ts';

export function* corrupted(
  bytes: Uint8Array,
  random: ReturnType<typeof seededRandom>,
  flips: number,
): Generator<Uint8Array> {
  const below = (n: number) => Math.floor(random.next() * n);
  for (let cut = 0; cut < Math.min(bytes.length, 200); cut++) yield bytes.slice(0, cut);
  yield Uint8Array.from([...bytes, 0]);
  for (let i = 0; i < flips; i++) {
    const copy = Uint8Array.from(bytes);
    for (let n = 0; n <= below(3); n++) copy[below(copy.length)]! ^= 1 << below(8);
    yield copy;
    yield random.bytes(below(64));
  }
}
