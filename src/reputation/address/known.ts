/** Judges what is known of an address, alike for the pages of addresses and of networks. */

import type { Verdict } from '../../contracts/reputation.ts';
import { type SpecialUse, specialUse } from '../../ip/special.ts';
import type { AddressCell, CellKind } from './parts/grid.page.tsx';

/** Something is known of it: a report, a list, a rule. */
export function isObserved({ decidedBy, reports, anonymousExit }: Verdict): boolean {
  return decidedBy !== 0 || reports > 0 || anonymousExit;
}

/** Others can reach it, or it is one of examples, as in the demo: such addresses can be reported. */
export function isMet(special: SpecialUse | undefined): boolean {
  return special === undefined || special.globallyReachable || special.documentation;
}

/** An address among others, on a map or in a table. */
export function cellOf(family: 4 | 6, words: Uint32Array, verdict: Verdict): AddressCell {
  return { kind: kindOf(verdict, specialUse(family, words)), score: verdict.score };
}

function kindOf(verdict: Verdict, special: SpecialUse | undefined): CellKind {
  if (verdict.allowlisted) return 'allowed';
  if (verdict.knownGood) return 'good';
  if (isObserved(verdict)) return 'seen';
  return isMet(special) ? 'unseen' : 'special';
}
