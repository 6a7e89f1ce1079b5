/**
 * A comment for everybody who watches: what identifies somebody is masked as on the page of an address,
 * and long numbers and tokens too, since nobody asked for this one address. Masks too much rather than
 * too little: a date in digits goes as well.
 */

import { maskComment } from '../address/mask.page.ts';

const shownMax = 160;

/** Seven digits or more, with what people write between them: telephones, cards, accounts. */
const longNumber = /\+?\d(?:[ ./()-]{0,2}\d){6,}/g;
/** Runs without a space that no word is. */
const longRun = /[\w+/=.~-]{20,}/g;
const wordMax = 40;

export function maskPublic(text: string): string {
  const masked = maskComment(text)
    .replace(longRun, (run) => (/\d/.test(run) || run.length > wordMax ? '[token]' : run))
    .replace(longNumber, '[number]');
  return masked.length > shownMax ? `${masked.slice(0, shownMax).trimEnd()}…` : masked;
}
