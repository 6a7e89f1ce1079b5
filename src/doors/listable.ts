/** Which addresses a door may list at all. */

import { addressBehind } from '../ip/behind.ts';
import { specialUse } from '../ip/special.ts';

/**
 * Private and other special-use addresses are never listed. Documentation ranges are: where they are in
 * the index, a demo or a test put them there. Behind a translator or tunnel it is the IPv4 address that counts.
 */
export function isListable(family: 4 | 6, words: Uint32Array): boolean {
  if (addressBehind(family, words) >= 0) return true;
  const use = specialUse(family, words);
  return use === undefined || use.globallyReachable || use.documentation;
}
