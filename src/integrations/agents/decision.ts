/** An agent's decision says whom it is about, what to do with him and until when. */

import { dayMs, hourMs, minuteMs } from '../../core/time.ts';

/** CrowdSec knows more types, but bouncers have only these in common. */
export const decisionTypes = ['ban', 'captcha'] as const;
export type DecisionType = (typeof decisionTypes)[number];

/** An alert without decisions of its own is a ban for so long. */
export const banMs = 4 * hourMs;
export const usualOrigin = 'crowdsec';
/** Both are ASCII; what is longer is cut. */
export const scenarioCharsMax = 64;
export const originCharsMax = 16;

export interface Decision {
  /** Canonical: an address, or a network with its length. */
  readonly value: string;
  readonly type: DecisionType;
  /** Milliseconds since 1970: when it was made, and when it ends. */
  readonly atMs: number;
  readonly untilMs: number;
  readonly origin: string;
  /** Empty: not known. */
  readonly scenario: string;
}

/** One that is still to be made. */
export type Wanted = Omit<Decision, 'atMs' | 'untilMs'> & { readonly durationMs: number };

/** Makes the ban of CrowdSec's default profile for an alert about an address: `banMs` long. */
export function usualBan(value: string, scenario: string): Wanted {
  return { value, type: 'ban', durationMs: banMs, origin: usualOrigin, scenario };
}

/** Returns a name as bouncers get it: characters that would need escaping there become `_`. */
export function shownText(name: string, charsMax: number): string {
  return name.slice(0, charsMax).replace(/[^\w ./:'()+@,-]/g, '_');
}

type Weight = Pick<Decision, 'type' | 'untilMs'>;

/**
 * Returns whether `one` takes the place of `other` on the same value: a ban outweighs a captcha,
 * then the later end wins.
 */
export function outweighs(one: Weight, other: Weight | undefined): boolean {
  if (other === undefined) return true;
  if (one.type !== other.type) return one.type === 'ban';
  return one.untilMs > other.untilMs;
}

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  ms: 1,
  s: 1_000,
  m: minuteMs,
  h: hourMs,
  d: dayMs,
};
const partOfDuration = /(\d+(?:\.\d+)?)(ns|us|ms|s|m|h|d)/g;
const duration = /^-?(?:\d+(?:\.\d+)?(?:ns|us|ms|s|m|h|d)){1,8}$/;

/** Milliseconds of `4h`, `1h30m` or `7d`; undefined: it is none. */
export function readDuration(text: string): number | undefined {
  if (!duration.test(text)) return undefined;
  let sum = 0;
  for (const [, number, unit] of text.matchAll(partOfDuration)) {
    sum += Number(number) * unitMs[unit!]!;
  }
  return text.startsWith('-') ? -sum : sum;
}
