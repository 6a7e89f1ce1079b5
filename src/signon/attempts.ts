/**
 * Lock-out by growing delays. An attempt counts before it is judged, so a thousand at once are as
 * slow as a thousand in a row; a success takes it back. Delays double up to a cap and never become
 * a lock: a stranger can slow a stranger down, not keep the owner out.
 *
 *  - account and network together: 5 free, then 1 s, 2 s, 4 s … 15 min
 *  - account from anywhere: 20 free, then up to 1 min (the second factor: 5 free, up to 15 min)
 *  - network over all accounts: 30 free, then up to 15 min
 *  - account and a browser that it knows: 5 free, up to 15 min, and none of the others: the
 *    owner's own browser is not slowed by what strangers do
 *
 * The account is named by the mail address as typed, known or not: both are alike. In memory of
 * the main thread, bounded: beyond it the subject that has been quiet longest is forgotten. A
 * restart forgets too, which no stranger can cause.
 */

import type { Clock } from '../core/clock.ts';

interface Rule {
  /** Attempts without any delay. */
  readonly free: number;
  readonly delayMaxMs: number;
}

const firstDelayMs = 1_000;
const quarterHourMs = 15 * 60_000;
/** A subject without attempts for this long starts anew. */
const forgetMs = 24 * 3_600_000;

const rules = {
  pair: { free: 5, delayMaxMs: quarterHourMs },
  account: { free: 20, delayMaxMs: 60_000 },
  secondFactor: { free: 5, delayMaxMs: quarterHourMs },
  network: { free: 30, delayMaxMs: quarterHourMs },
  browser: { free: 5, delayMaxMs: quarterHourMs },
} as const satisfies Record<string, Rule>;

type RuleName = keyof typeof rules;

export interface Attempt {
  readonly stage: 'password' | 'secondFactor';
  /** Normalised mail address, or account id. */
  readonly account: string;
  readonly network: string;
  /** A browser that the account knows, in any text form; else undefined. */
  readonly browser: string | undefined;
}

/** Proofs that are given together make one try: what they share (the network) is counted once. */
export interface Attempts {
  /** 0: counted, go on. Else whole seconds to wait; nothing is counted. */
  begin(...together: readonly Attempt[]): number;
  /** It was right: forgives what was counted of the account here. */
  succeeded(...together: readonly Attempt[]): void;
  /** It was never judged (overload): not held against anybody. */
  withdrawn(...together: readonly Attempt[]): void;
  readonly size: number;
}

interface Subject {
  count: number;
  blockedUntilMs: number;
  lastMs: number;
}

export function createAttempts({
  clock,
  capacity = 50_000,
}: {
  clock: Clock;
  capacity?: number;
}): Attempts {
  /** In order of last use, oldest first. */
  const subjects = new Map<string, Subject>();

  function namesOf({ stage, account, network, browser }: Attempt): [RuleName, string][] {
    if (browser !== undefined) return [['browser', `b ${stage} ${account} ${browser}`]];
    return [
      ['pair', `p ${stage} ${account} ${network}`],
      [stage === 'password' ? 'account' : 'secondFactor', `a ${stage} ${account}`],
      ['network', `n ${network}`],
    ];
  }

  function allNamesOf(together: readonly Attempt[]): [string, RuleName][] {
    return [...new Map(together.flatMap(namesOf).map(([rule, name]) => [name, rule]))];
  }

  function subjectOf(name: string, nowMs: number): Subject {
    const found = subjects.get(name);
    subjects.delete(name);
    const fresh = found !== undefined && nowMs - found.lastMs < forgetMs;
    const subject = fresh ? found : { count: 0, blockedUntilMs: 0, lastMs: nowMs };
    subject.lastMs = nowMs;
    if (subjects.size >= capacity) subjects.delete(subjects.keys().next().value!);
    subjects.set(name, subject);
    return subject;
  }

  return {
    get size() {
      return subjects.size;
    },
    begin(...together) {
      const nowMs = clock.monotonicMs();
      const names = allNamesOf(together);
      let waitMs = 0;
      for (const [name] of names) {
        waitMs = Math.max(waitMs, (subjects.get(name)?.blockedUntilMs ?? 0) - nowMs);
      }
      if (waitMs > 0) return Math.ceil(waitMs / 1_000);
      for (const [name, rule] of names) {
        const subject = subjectOf(name, nowMs);
        subject.count++;
        subject.blockedUntilMs = nowMs + delayMs(rules[rule], subject.count);
      }
      return 0;
    },
    succeeded(...together) {
      for (const [name, rule] of allNamesOf(together)) {
        // Whoever has one account of their own must not be able to wipe the network's slate.
        if (rule === 'network') takeBack(subjects.get(name));
        else subjects.delete(name);
      }
    },
    withdrawn(...together) {
      for (const [name] of allNamesOf(together)) takeBack(subjects.get(name));
    },
  };
}

function takeBack(subject: Subject | undefined): void {
  if (subject === undefined) return;
  subject.count--;
  subject.blockedUntilMs = 0;
}

/** How long the next attempt must wait after `count` of them. */
function delayMs({ free, delayMaxMs }: Rule, count: number): number {
  if (count < free) return 0;
  return Math.min(delayMaxMs, firstDelayMs * 2 ** Math.min(40, count - free));
}
