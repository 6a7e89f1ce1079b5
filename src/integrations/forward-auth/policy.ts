/**
 * Reads what a proxy wants done with an address: its policy stands in the proxy's own
 * configuration, as the query of each question, so there is nothing to store. A parameter that is
 * unknown or bad is an error, for that shows when the proxy is set up.
 */

import { isMark } from '../../access/marks.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { daySeconds, hourSeconds } from '../../core/time.ts';

export type GateVerdict = 'allow' | 'challenge' | 'block';

export interface GatePolicy {
  /** From this score on there is a challenge; infinite: never. */
  readonly challengeFrom: number;
  /** From this score on the address is blocked, whatever pass it has; infinite: never. */
  readonly blockFrom: number;
  /** The mildest verdict that exits of anonymising networks get. */
  readonly anonymous: GateVerdict;
  /** The age in ms at which a pass no longer counts. */
  readonly passMs: number;
  /** nginx takes 401 with a `Location` for what others take 302. */
  readonly mode: 'redirect' | 'nginx';
  /** The mark of the screen of /connect that the policy was copied from; it changes no verdict. */
  readonly mark: string | undefined;
}

export const policyDefaults = {
  challenge: 50,
  block: 75,
  anon: 'allow',
  pass: hourSeconds,
  mode: 'redirect',
} as const;

/** Seconds that a pass may be good for. */
export const passSeconds = { min: 60, max: daySeconds } as const;

const verdicts: readonly GateVerdict[] = ['allow', 'challenge', 'block'];

/** The parameters of the query that holds a policy. */
export interface GateParams {
  readonly names: Iterable<string>;
  get(name: string): string | undefined;
}

export function readPolicy(params: GateParams): Result<GatePolicy> {
  for (const name of params.names) {
    if (Object.hasOwn(policyDefaults, name) || name === 'mark') continue;
    const known = [...Object.keys(policyDefaults), 'mark'].join(', ');
    return bad(name, `There is no parameter ${name.slice(0, 60)}: a policy has ${known}.`);
  }
  const textOf = (name: keyof typeof policyDefaults) =>
    params.get(name) ?? String(policyDefaults[name]);
  const challengeFrom = scoreIn(textOf('challenge'), 99);
  if (challengeFrom === undefined) {
    return bad('challenge', 'The challenge must be a score of 1 to 99, or off.');
  }
  const blockFrom = scoreIn(textOf('block'), 100);
  if (blockFrom === undefined)
    return bad('block', 'The block must be a score of 1 to 100, or off.');
  if (Number.isFinite(challengeFrom) && challengeFrom >= blockFrom) {
    return bad('block', 'The block must be above the challenge, or off.');
  }
  const anonymous = verdicts.find((verdict) => verdict === textOf('anon'));
  if (anonymous === undefined) return bad('anon', 'The anon must be allow, challenge or block.');
  const seconds = wholeIn(textOf('pass'), passSeconds.min, passSeconds.max);
  if (seconds === undefined) {
    return bad('pass', `The pass must be ${passSeconds.min} to ${passSeconds.max} seconds.`);
  }
  const mode = textOf('mode');
  if (mode !== 'redirect' && mode !== 'nginx') {
    return bad('mode', 'The mode must be redirect or nginx.');
  }
  const mark = params.get('mark');
  if (mark !== undefined && !isMark(mark)) {
    return bad('mark', 'The mark must be one of a screen of /connect, or left out.');
  }
  return ok({ challengeFrom, blockFrom, anonymous, passMs: seconds * 1_000, mode, mark });
}

/** Without regard to a pass. */
export function verdictOf(policy: GatePolicy, score: number, isAnonymous: boolean): GateVerdict {
  const { anonymous } = policy;
  if (score >= policy.blockFrom || (isAnonymous && anonymous === 'block')) return 'block';
  if (score >= policy.challengeFrom || (isAnonymous && anonymous === 'challenge')) {
    return 'challenge';
  }
  return 'allow';
}

function scoreIn(text: string, max: number): number | undefined {
  return text === 'off' ? Number.POSITIVE_INFINITY : wholeIn(text, 1, max);
}

function wholeIn(text: string, min: number, max: number): number | undefined {
  if (!/^[0-9]{1,6}$/.test(text)) return undefined;
  const value = Number(text);
  return value >= min && value <= max ? value : undefined;
}

function bad(parameter: string, detail: string) {
  return fail('invalid_parameter', detail, parameter);
}
