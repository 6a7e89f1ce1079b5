/**
 * Where a sign-in or a registration leads: an authorization that waits (`continue`, its id), or
 * back to a page of ours (`return`). Neither can name another site: the one is only ever put into
 * a path of ours, the other must be a path. Whatever carries them (a query, a form, the row of a
 * link in a mail), they are read here again.
 */

import { normaliseEmail } from '../../access/accounts.ts';
import { type Params, parseQuery } from '../../http/query.ts';
import { type Onward, onwardHref } from '../../pages/signon/onward.ts';
import { localPath } from './local-path.ts';

/** Of an authorization (signon/transactions.ts). */
const continueShape = /^[A-Za-z0-9_-]{43}$/;

/** @param get a field of a form, a query or a script's call */
export function onwardOf(get: (name: string) => unknown): Onward {
  const text = (name: string) => {
    const value = get(name);
    return typeof value === 'string' ? value : undefined;
  };
  const id = text('continue');
  const continueId = id !== undefined && continueShape.test(id) ? id : undefined;
  return { continueId, back: localPath(text('return')) };
}

/** For the row of a link: a query without `?`, empty if there is nowhere in particular to go. */
export function keptOnward(onward: Onward): string {
  return onwardHref('', onward).slice(1);
}

/** From the query that was kept with a link (`keptOnward`). */
export function onwardKept(query: string): Onward {
  const parsed = parseQuery(query);
  return parsed.ok ? onwardOf(parsed.value.get) : {};
}

/** @param verified an address that is not yet leads to its page first, an authorization aside */
export function targetOf({ continueId, back }: Onward, verified: boolean): string {
  if (continueId !== undefined) return `/authorize.php/continue?id=${continueId}`;
  return verified ? (back ?? '/account') : '/verify';
}

/** The address that a site suggests (`login_hint`). Undefined for what can't be one. */
export function hintOf(query: Params): string | undefined {
  const hint = query.get('hint');
  return hint === undefined ? undefined : normaliseEmail(hint);
}
