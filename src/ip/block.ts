/** The facts of a network: mask, first and last usable host, their number, and its special use. */

import { formatIp } from './address.ts';
import { type Prefix, widthOf } from './prefix.ts';
import { specialUse } from './special.ts';

export interface Block {
  readonly networkAddress: string;
  /** In address form, for IPv6 too. */
  readonly netmask: string;
  /**
   * First and last address that a host can have: in IPv4 networks up to /30 the first and the
   * last are not among them (network and broadcast), in /31 (RFC 3021), /32 and IPv6 they are.
   */
  readonly minAddress: string;
  readonly maxAddress: string;
  /** Up to 2^128, so no `number`. */
  readonly possibleHosts: bigint;
  /** Name in the special-purpose registry, `Internet`, or `Mixed` when the two ends differ. */
  readonly space: string;
}

export function describeBlock({ family, words, length }: Prefix): Block {
  const width = widthOf(family);
  const mask = new Uint32Array(4);
  const last = new Uint32Array(4);
  for (let i = 0; i < width / 32; i++) {
    const bits = Math.min(32, Math.max(0, length - 32 * i));
    mask[i] = bits === 0 ? 0 : -1 << (32 - bits);
    last[i] = words[i]! | ~mask[i]!;
  }
  const low = words.slice();
  const high = last.slice();
  const hasEnds = family === 4 && length < 31;
  if (hasEnds) {
    low[0]! += 1;
    high[0]! -= 1;
  }
  const first = specialUse(family, low)?.name ?? 'Internet';
  return {
    networkAddress: formatIp(family, words),
    netmask: formatIp(family, mask),
    minAddress: formatIp(family, low),
    maxAddress: formatIp(family, high),
    possibleHosts: 2n ** BigInt(width - length) - (hasEnds ? 2n : 0n),
    space: first === (specialUse(family, high)?.name ?? 'Internet') ? first : 'Mixed',
  };
}
