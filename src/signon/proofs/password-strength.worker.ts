/** The thread that judges passwords: too weak is a score under 2, or a single word of a list. */

import { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { adjacencyGraphs, dictionary } from '@zxcvbn-ts/language-common';

export interface StrengthJob {
  readonly password: string;
  readonly context: readonly string[];
}

const scoreMin = 2;
/** Refused by name, whatever a score may say of them: 49,233 that were found in breaches. */
const breached: ReadonlySet<unknown> = new Set(dictionary['passwords-common']);
const zxcvbn = new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });

/** True when it is not among the first that a guesser tries. */
export default function isStrong({ password, context }: StrengthJob): boolean {
  if (breached.has(password) || breached.has(password.toLowerCase())) return false;
  const { score, sequence } = zxcvbn.check(password, [...context]);
  return score >= scoreMin && !(sequence.length === 1 && sequence[0]?.pattern === 'dictionary');
}
