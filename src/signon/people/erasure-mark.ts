/**
 * The row that stands for a deletion from its first commit on, under the account's id, in four
 * states. `told` and `untold`: the account is there, closed, and its rows are being deleted; at the
 * end the person gets a deletion notice (`told`) or not. `farewell`: only what this notice needs is
 * left of the person. `over`: nothing is left at all.
 *
 * Every commit that adds a row for an account checks that there is none (`notErased`): a request
 * that was under way when the deletion began can't leave anything behind it. That is why `over`
 * outlives the requests; it names a random id that leads to nobody.
 */

import type { Clock } from '../../core/clock.ts';
import { dayMs, hourMs } from '../../core/time.ts';
import { createWriter, decode } from '../../storage/codec.ts';
import { erasureKey } from '../../storage/keys.ts';
import type { RowCheck, SetRow, Store } from '../../storage/store.ts';
import { languages, type StoredLanguage } from '../visitor.ts';

export type ErasureMark =
  | { readonly state: 'told' | 'untold' | 'over' }
  | { readonly state: 'farewell'; readonly email: string; readonly language: StoredLanguage };

/** A mail that could not be sent in a day is no news any more. */
const deletionNoticeLifeMs = dayMs;
/** The time is longer than any request takes. */
const overLifeMs = hourMs;

/** The order is on disk; the rows of `told` and `untold` are the byte alone. */
const states = ['untold', 'told', 'farewell', 'over'] as const;

/** Returns the check for every commit that writes rows of an account without a check of the account's own row. */
export function notErased(accountId: string): RowCheck {
  return { key: erasureKey(accountId), version: null };
}

/**
 * Returns whether a deletion has begun, or ended less than an hour ago; for what is no row of the
 * store.
 */
export async function isErased(store: Pick<Store, 'get'>, accountId: string): Promise<boolean> {
  return (await store.get(erasureKey(accountId))) !== undefined;
}

export function markRow(accountId: string, mark: ErasureMark, clock: Clock): SetRow {
  const key = erasureKey(accountId);
  const out = createWriter(64).u8(states.indexOf(mark.state));
  switch (mark.state) {
    case 'told':
    case 'untold':
      return { key, value: out.finish() };
    case 'over':
      return { key, value: out.finish(), expiresAt: Math.floor(clock.now()) + overLifeMs };
    case 'farewell': {
      const value = out.u8(languages.indexOf(mark.language)).text(mark.email).finish();
      return { key, value, expiresAt: Math.floor(clock.now()) + deletionNoticeLifeMs };
    }
    default:
      mark satisfies never;
      throw new TypeError('no such state');
  }
}

/** Returns undefined for a damaged row. */
export function readMark(value: Uint8Array): ErasureMark | undefined {
  return decode<ErasureMark>(value, (input) => {
    const state = states[input.u8()];
    if (state === undefined) input.reject();
    if (state !== 'farewell') return { state: state ?? 'over' };
    const language = languages[input.u8()] ?? 'en';
    return { state, language, email: input.text() };
  });
}
