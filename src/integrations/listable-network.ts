/** Decides which addresses and networks an integration may list at all. */

import type { IpFamily } from '../ip/address.ts';
import { embeddedBits, publicEmbeddedIpv4 } from '../ip/embedded-ipv4.ts';
import { type Prefix, widthOf } from '../ip/prefix.ts';
import { containsSpecialUse, specialUse } from '../ip/special.ts';

/** The shortest prefix of a network that is listed: nobody means a wider one. */
const lengthMin = { 4: 8, 6: 16 } as const;

/**
 * Private and other special-use addresses are never listed. Documentation ranges are: where they are in
 * the index, a demo or a test put them there. Behind a translator or tunnel it is the IPv4 address that counts.
 */
export function isListable(family: IpFamily, words: Uint32Array): boolean {
  if (publicEmbeddedIpv4(family, words) >= 0) return true;
  const use = specialUse(family, words);
  return use === undefined || use.globallyReachable || use.documentation;
}

/** The same of a network: nothing in it is special, and it is none of the widest. */
export function isListableNetwork(prefix: Prefix): boolean {
  const { family, words, length } = prefix;
  if (!isListable(family, words)) return false;
  if (length === widthOf(family)) return true;
  const bits = embeddedBits(prefix);
  if (length < lengthMin[family] || (bits >= 0 && bits < lengthMin[4])) return false;
  return !containsSpecialUse(prefix);
}
