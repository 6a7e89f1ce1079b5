/**
 * The scopes that a site may ask for (docs/SIGNON.md), in stored order. At rest a set of scopes is one byte:
 * bit n for the n-th name. The order is on disk and never changes.
 */

import { fail, ok, type Result } from '../../core/result.ts';
import { mapped, u8 } from '../../storage/record.ts';

export const scopeNames = [
  'openid',
  'profile',
  'email',
  'phone',
  'address',
  'age',
  'subscription',
  'preferences',
] as const;

export type Scope = (typeof scopeNames)[number];

/** Every name once and some spaces are shorter. */
const charsMax = 400;

function isScope(name: string): name is Scope {
  return (scopeNames as readonly string[]).includes(name);
}

/**
 * Reads space-separated names as a set in the order above. `invalid_request` when there is none,
 * `invalid_scope` for a name that isn't offered: a client must not take silence for a yes.
 */
export function parseScope(text: string | undefined): Result<readonly Scope[]> {
  const names = (text ?? '').slice(0, charsMax + 1).split(' ');
  const asked = names.filter((name) => name !== '');
  if (asked.length === 0) return fail('invalid_request', 'scope is missing', 'scope');
  if (text!.length > charsMax || !asked.every(isScope)) {
    return fail('invalid_scope', `scope may name: ${scopeNames.join(' ')}`, 'scope');
  }
  return ok(inOrder(asked));
}

/** Returns the known names of a list, each once, in the order above. */
export function inOrder(names: Iterable<string>): readonly Scope[] {
  const given = new Set(names);
  return scopeNames.filter((name) => given.has(name));
}

export function scopeBits(scopes: readonly Scope[]): number {
  return scopes.reduce((bits, scope) => bits | (1 << scopeNames.indexOf(scope)), 0);
}

export function scopesOf(bits: number): readonly Scope[] {
  return scopeNames.filter((_, i) => (bits & (1 << i)) !== 0);
}

/** A set of scopes is stored as one bit for each. */
export const scopesField = mapped<readonly Scope[], number>(u8, scopeBits, scopesOf);
