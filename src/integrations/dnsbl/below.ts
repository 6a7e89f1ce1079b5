/**
 * Finds out whether a name of four digits, unlisted as an IPv4 address, has something below it as
 * the beginning of IPv6 addresses: something that is said of a part of that /16 or of a network
 * around it, or an IPv4 address in the form of a translator or tunnel. At most so many entries are
 * checked: beyond them there may be something.
 */

import type { IndexView } from '../../index/reader.ts';
import { COVERING_MAX } from '../../index/trie/layout.ts';

/** ::/16 (mapped, compatible, SIIT), 64::/16 (NAT64), 2001::/16 (Teredo), 2002::/16 (6to4). */
const embedding = new Set([0x0000, 0x0064, 0x2001, 0x2002]);
const bits = 16;
const entriesLookedAt = 256;

/**
 * The index is asked within its request: see index/reader.ts.
 * @param isAccused whether a zone may list an entry: not what is known good or allowed, and no more
 */
export function createBelow(
  index: Pick<IndexView, 'covering6' | 'walk'>,
  isAccused: (entry: number) => boolean,
): (first: number) => boolean {
  const covering = new Int32Array(COVERING_MAX);

  return (first) => {
    if (embedding.has(first)) return true;
    const word = first * 2 ** bits;
    let found = false;
    // An entry over all of it covers its first address.
    const count = index.covering6(word, 0, 0, 0, covering);
    for (let i = 0; i < count; i++) found ||= isAccused(covering[i]!);
    if (found) return true;
    const rest = index.walk(
      { family: 6, words: Uint32Array.of(word, 0, 0, 0), length: bits },
      (entry) => {
        found ||= isAccused(entry);
      },
      { limit: entriesLookedAt },
    );
    return found || rest !== undefined;
  };
}
