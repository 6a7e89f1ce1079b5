/** What the pages of addresses and of networks call known, alike. */

import type { SpecialUse } from '../../ip/special.ts';
import type { Verdict } from '../check/check.ts';

/** Something is known of it: a report, a list, a rule. */
export function isObserved({ decidedBy, reports, anonymousExit }: Verdict): boolean {
  return decidedBy !== 0 || reports > 0 || anonymousExit;
}

/** Others can reach it, or it is one of examples, as in the demo: such addresses can be reported. */
export function isMet(special: SpecialUse | undefined): boolean {
  return special === undefined || special.globallyReachable || special.documentation;
}
