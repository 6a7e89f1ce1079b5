/** Solutions of proof of work, searched for by the library of ALTCHA as a browser would. */

import { type Challenge, solveChallenge } from 'altcha-lib';
import { deriveKey } from 'altcha-lib/algorithms/pbkdf2';

export interface Solution {
  readonly challenge: Challenge;
  readonly solution: { readonly counter: number; readonly derivedKey: string };
}

export async function solve(challenge: unknown): Promise<Solution> {
  const asked = challenge as Challenge;
  const solution = await solveChallenge({ challenge: asked, deriveKey });
  if (solution === null) throw new Error('not solved');
  return { challenge: asked, solution };
}

/** The text that a form carries. */
export function payloadOf(solution: object): string {
  return Buffer.from(JSON.stringify(solution)).toString('base64');
}
