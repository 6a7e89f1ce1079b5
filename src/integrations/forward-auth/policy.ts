/**
 * Decides what becomes of a visitor, for each integration that a proxy asks: his address against the
 * proxy's policy, and his pass. The policy stands in the proxy's own configuration, as the query of each
 * question, so there is nothing to store. A parameter that is unknown or bad is an error, for that shows when
 * the proxy is set up. All is answered from shared memory in the turn in which it is asked. Only the address and
 * its score ever block: a limit lets in or challenges, and an error is no verdict.
 */

import * as v from 'valibot';
import { isMark, type MarkSender, type NoteMark, visitorNote } from '../../access/marks.ts';
import { bandStarts, type Judge, type Verdict } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { about, digits, integer, option, preset, queryReader } from '../../core/schema.ts';
import { hourSeconds } from '../../core/time.ts';
import { formatIp, type IpFamily } from '../../ip/address.ts';
import { isListable } from '../../ip/embedded-ipv4.ts';
import { isLoopbackAddress } from '../../ip/special.ts';
import { type Passes, passSeconds } from './pass.ts';

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
  challenge: bandStarts.suspect,
  block: bandStarts.malicious,
  anon: 'allow',
  pass: hourSeconds,
  mode: 'redirect',
} as const;

function scoreOrOff(name: string, max: number) {
  const fault = `The ${name} must be a score of 1 to ${max}, or off.`;
  return v.pipe(
    v.string(),
    v.transform((text) => (/^\d{1,6}$/.test(text) ? Number(text) : text)),
    v.union([integer(1, max, fault), v.literal('off')], fault),
  );
}

const { challenge, block, anon, pass, mode } = policyDefaults;
const verdicts = v.picklist(
  ['allow', 'challenge', 'block'],
  'The anon must be allow, challenge or block.',
);
const seconds = digits(
  /^\d{1,6}$/,
  `The pass must be ${passSeconds.min} to ${passSeconds.max} seconds.`,
  passSeconds.min,
  passSeconds.max,
);
const modes = v.picklist(['redirect', 'nginx'], 'The mode must be redirect or nginx.');
const isMarkOfScreen = v.check(
  isMark,
  'The mark must be one of a screen of /connect, or left out.',
);

export const policyParameters = {
  challenge: preset(
    about(scoreOrOff('challenge', 99), 'Score from which there is a challenge, or off.'),
    challenge,
  ),
  block: preset(about(scoreOrOff('block', 100), 'Score from which nobody gets in, or off.'), block),
  anon: preset(about(verdicts, 'Anonymous exits.'), anon),
  pass: preset(about(seconds, 'Seconds for which a solved challenge counts.'), pass),
  mode: preset(about(modes, 'How a challenge is answered.'), mode),
  mark: option(
    v.pipe(v.string(), isMarkOfScreen),
    'Of a screen of /connect, which it tells of this question; changes no verdict.',
  ),
};
const readParameters = queryReader(policyParameters);

/** The parameters of the query that holds a policy. */
interface GateParams {
  readonly names: Iterable<string>;
  all(name: string): readonly string[];
}

export function readPolicy(params: GateParams): Result<GatePolicy> {
  for (const name of params.names) {
    if (Object.hasOwn(policyParameters, name)) continue;
    const known = Object.keys(policyParameters).join(', ');
    return bad(name, `There is no parameter ${name.slice(0, 60)}: a policy has ${known}.`);
  }
  const asked = readParameters(params);
  if (!asked.ok) return asked;
  const [challengeFrom, blockFrom] = [asked.value.challenge, asked.value.block].map((from) =>
    from === 'off' ? Number.POSITIVE_INFINITY : from,
  ) as [number, number];
  if (Number.isFinite(challengeFrom) && challengeFrom >= blockFrom) {
    return bad('block', 'The block must be above the challenge, or off.');
  }
  const { anon: anonymous, pass, mode, mark } = asked.value;
  return ok({ challengeFrom, blockFrom, anonymous, passMs: pass * 1_000, mode, mark });
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

function bad(parameter: string, detail: string) {
  return fail('invalid_parameter', detail, parameter);
}

export interface DeciderOptions {
  readonly check: {
    judge(...asked: Parameters<Judge>): Pick<Verdict, 'score' | 'anonymousExit' | 'allowlisted'>;
  };
  readonly passes: Pick<Passes, 'check'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly readParams: (text: string) => Result<GateParams>;
  readonly noteMark: NoteMark;
}

interface GateVisit {
  /** 0: no address. */
  readonly family: 0 | IpFamily;
  readonly words: Uint32Array;
  /** As `hostOf` gives it. */
  readonly host: string;
  /** A `Cookie` header. */
  readonly cookies: string | undefined;
}

interface GateDecision {
  readonly outcome: GateVerdict | 'pass' | 'over_pass';
  readonly score: number;
}

export type Decider = ReturnType<typeof createDecider>;

/** A site has a few policies; beyond it they are read each time. */
const policiesMax = 256;
/** Whoever sends long ones must not fill the memory. */
const keptLengthMax = 256;

/** Returns what a screen of /connect tells of a visitor who got a verdict: a proxy may have sent its own address. */
function arrivalNote({ family, words }: GateVisit, isPublic: boolean): string {
  if (family === 0) return '';
  const ip = formatIp(family, words);
  if (isPublic) return `${visitorNote} ${ip}`;
  return `${isLoopbackAddress(ip) ? 'loopback' : 'private'} ${ip}`;
}

export function createDecider(options: DeciderOptions) {
  const { check, passes, clock, readParams, noteMark } = options;
  const policies = new Map<string, GatePolicy>();
  return {
    /** @param text as the query of /gate/check has it, ASCII */
    policyOf(text: string): Result<GatePolicy> {
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
    decide(policy: GatePolicy, visit: GateVisit): GateDecision {
      const { family, words, cookies } = visit;
      const isKnown = family !== 0 && isListable(family, words);
      if (policy.mark !== undefined) noteMark(policy.mark, visit, arrivalNote(visit, isKnown));
      const found = isKnown ? check.judge(family, words, clock.now()) : undefined;
      const score = found?.score ?? 0;
      const isAnonymous = found?.anonymousExit === true && !found.allowlisted;
      const verdict = verdictOf(policy, score, isAnonymous);
      if (verdict !== 'challenge') return { outcome: verdict, score };
      const visitor = { host: visit.host, family: family || 4, words } as const;
      const pass = passes.check(cookies, visitor, policy.passMs);
      if (pass === 'none') return { outcome: verdict, score };
      return { outcome: pass === 'good' ? 'pass' : 'over_pass', score };
    },
    /**
     * Notes that a question with this policy got no verdict, for nobody knows whom it is about.
     * @param sender who asked
     * @param note the reason, as a screen of /connect reads it
     */
    refuse: ({ mark }: Pick<GatePolicy, 'mark'>, sender: MarkSender, note: string) =>
      noteMark(mark, sender, note),
  };
}
