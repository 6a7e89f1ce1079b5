/** Which addresses a door may list at all. */

import { specialUse } from '../ip/special.ts';

/**
 * Private and other special-use addresses are never listed. Documentation ranges are: where they are in
 * the index, a demo or a test put them there.
 */
export function isListable(family: 4 | 6, words: Uint32Array): boolean {
  const use = specialUse(family, words);
  return use === undefined || use.globallyReachable || use.documentation;
}
