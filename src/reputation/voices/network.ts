/**
 * From where an account reports, as one number: its provider, else the IPv4 /16 or IPv6 /32; all
 * anonymous exits are one. Earned voices count once per network (quorum.ts), so that one provider's
 * customer with many accounts is one voice. The number goes into the journal's event: the fold
 * looks nothing up, and each node folds alike whatever its tables say.
 */

import { fnv1a } from '../../core/digest.ts';

/** The bits that the fold keeps. Two networks with one number count as one, which is harmless. */
const bits = 16;

export interface ReporterAddress {
  readonly family: 4 | 6;
  readonly words: Uint32Array;
  readonly isAnonymousExit: boolean;
  /** Name of the provider; undefined when unknown. */
  readonly provider: string | undefined;
}

export function networkNumber(from: ReporterAddress | undefined): number {
  if (from === undefined) return 0;
  const { family, words, isAnonymousExit, provider } = from;
  if (isAnonymousExit) return numberOf('exits');
  if (provider !== undefined) return numberOf(`provider ${provider}`);
  const first = words[0]!;
  return numberOf(family === 4 ? `4 ${first >>> 16}` : `6 ${first}`);
}

/** FNV-1a, folded; never 0. */
function numberOf(name: string): number {
  const hash = fnv1a(name);
  const folded = ((hash >>> bits) ^ hash) & 0xffff;
  return folded === 0 ? 1 : folded;
}
