/**
 * Decides what becomes of a visitor, for each integration that a proxy asks: his address against
 * the proxy's policy, and his pass. Answered from shared memory in the turn in which it is asked.
 * Only the address and its score ever block: a limit lets in or challenges, and an error is no
 * verdict.
 */

import type { MarkSender, SpotMark } from '../../access/marks.ts';
import type { Judge, Verdict } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import { ok, type Result } from '../../core/result.ts';
import { isListable } from '../listable.ts';
import type { Passes } from './pass.ts';
import {
  type GateParams,
  type GatePolicy,
  type GateVerdict,
  readPolicy,
  verdictOf,
} from './policy.ts';

export interface DeciderOptions {
  readonly check: {
    judge(...asked: Parameters<Judge>): Pick<Verdict, 'score' | 'anonymousExit' | 'allowlisted'>;
  };
  readonly passes: Pick<Passes, 'look'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Parses the query that holds a policy. */
  readonly readParams: (text: string) => Result<GateParams>;
  readonly spotMark: SpotMark;
}

export interface GateVisit {
  /** 0: no address. */
  readonly family: 0 | 4 | 6;
  readonly words: Uint32Array;
  /** As `hostOf` gives it. */
  readonly host: string;
  /** A `Cookie` header. */
  readonly cookies: string | undefined;
}

export interface GateDecision {
  readonly outcome: GateVerdict | 'pass' | 'over_pass';
  readonly score: number;
}

export interface Decider {
  /** @param text as the query of /gate/check has it, ASCII */
  policyOf(text: string): Result<GatePolicy>;
  decide(policy: GatePolicy, visit: GateVisit): GateDecision;
  /**
   * Notes that a question with this policy got no verdict, for nobody knows whom it is about.
   * @param sender who asked
   */
  refuse(policy: GatePolicy, sender: MarkSender): void;
}

/** A site has a few policies; beyond it they are read each time. */
const policiesMax = 256;
/** Whoever sends long ones must not fill the memory. */
const keptLengthMax = 256;

export function createDecider(options: DeciderOptions): Decider {
  const { check, passes, clock, readParams, spotMark } = options;
  const policies = new Map<string, GatePolicy>();
  return {
    policyOf(text) {
      const known = policies.get(text);
      if (known !== undefined) return ok(known);
      const params = readParams(text);
      const read = params.ok ? readPolicy(params.value) : params;
      if (read.ok && policies.size < policiesMax && text.length <= keptLengthMax) {
        // A copy: a part of a path would hold the whole of it.
        policies.set(Buffer.from(text, 'latin1').toString('latin1'), read.value);
      }
      return read;
    },
    decide(policy, visit) {
      const { family, words, host, cookies } = visit;
      spotMark(policy.mark, visit);
      const isKnown = family !== 0 && isListable(family, words);
      const found = isKnown ? check.judge(family, words, clock.now()) : undefined;
      const score = found?.score ?? 0;
      const isAnonymous = found?.anonymousExit === true && !found.allowlisted;
      const verdict = verdictOf(policy, score, isAnonymous);
      if (verdict !== 'challenge') return { outcome: verdict, score };
      const pass = passes.look(cookies, { host, family: family || 4, words }, policy.passMs);
      if (pass === 'none') return { outcome: verdict, score };
      return { outcome: pass === 'good' ? 'pass' : 'over_pass', score };
    },
    refuse: ({ mark }, sender) => spotMark(mark, sender, true),
  };
}
