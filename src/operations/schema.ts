/** Pieces of which the inputs of operations are made. Every text has a bound. */

import * as v from 'valibot';
import { dateIn } from '../core/names/date-text.ts';

export function textOf(charsMax: number) {
  return v.pipe(v.string(), v.maxLength(charsMax, `At most ${charsMax} characters.`));
}

export function wholeNumber(min: number, max: number) {
  const fault = `It must be a whole number from ${min} to ${max}.`;
  return v.pipe(v.number(fault), v.integer(fault), v.minValue(min, fault), v.maxValue(max, fault));
}

/** A mail address, an account's id, or a former spelling: longer than any of them. */
export const accountName = textOf(400);
/** An address or a network. */
export const rangeText = textOf(100);
export const shortText = textOf(1_000);
export const noInput = v.strictObject({});
/** Requests a minute that an operator may set. */
export const perMinute = wholeNumber(0, 33_000_000);
/** A date as it is typed, so that the audit log has it like this. `dateIn` reads it. */
export const typedDate = v.pipe(
  v.string(),
  v.check((text) => dateIn(text) !== undefined, 'It must be a date such as 2026-12-31.'),
);
