/**
 * Lock-out. An attempt counts before it is judged, so a thousand at once are as slow as a thousand in a row; a
 * success is not counted. Nothing is ever locked: a limited visitor may solve a challenge, and after that gets a link
 * by mail (sign-in.ts). So attackers slow down attackers, and never keep the owner out.
 *
 *  - account and network together: 5 free, then 1 s, 2 s, 4 s … 15 min
 *  - account from anywhere: 10 free, 20 with a challenge answered; one more each three minutes
 *  - second factor of an account from anywhere: 5 free, then up to 15 min
 *  - network over all accounts: 30 free, then up to 15 min
 *  - IPv4 /24 or IPv6 /48 over all accounts: 100 free, 400 with a challenge; 100 more an hour
 *  - account and a browser that it knows: 5 free, up to 15 min, and none of the others: the owner's
 *    own browser is not slowed by what others do
 *
 * Whoever proves to be the owner (the right password, a passkey, a new password by mail) clears what others did to
 * the account, by 20 an hour at most: otherwise each sign-in of the owner would give attackers a fresh start. So
 * attackers have at most 80 guesses at a password in any hour, however many they are, and 40 an hour in the long run;
 * without the owner's sign-ins 40 and 20. The count of the second factor is cleared only by its own success: somebody
 * who reads the owner's mails must not gain tries at it by setting the password again and again.
 *
 * The account is named by the mail address as typed, whether it exists or not. The counts are in memory of the main
 * thread, bounded. A restart clears them too, which no attacker can cause. Each node sends the others what it counted
 * and cleared, so tries on different nodes are as slow as on one, except within the same second.
 */

import { type DistributedLimits, localLimits } from '../../access/quota/distributed-limits.ts';
import type { Clock } from '../../core/clock.ts';
import { type Failure, fail } from '../../core/result.ts';
import { dayMs, hourMs, minuteMs } from '../../core/time.ts';

/** A subject without attempts for this long is forgotten. */
const forgetMs = dayMs;

/** A subject with as many attempts is under attack. */
const attackedCount = 5;
/** The limit of subjects under attack that are passed over to evict another one. */
const passedOverMax = 16;

/** A rule of free attempts, then a delay that doubles. */
interface Growing {
  readonly free: number;
  readonly delayMaxMs: number;
}

/** A leaky bucket: each attempt fills it by one, and it drains. */
interface Draining {
  /** The attempts without a challenge. */
  readonly free: number;
  /** The attempts with and without a challenge. */
  readonly most: number;
  readonly drainMs: number;
}

const firstDelayMs = 1_000;
const quarterHourMs = 15 * minuteMs;

const attemptRules = {
  pair: { free: 5, delayMaxMs: quarterHourMs },
  account: { free: 10, most: 20, drainMs: 3 * minuteMs },
  secondFactor: { free: 5, delayMaxMs: quarterHourMs },
  network: { free: 30, delayMaxMs: quarterHourMs },
  neighbourhood: { free: 100, most: 400, drainMs: 36_000 },
  browser: { free: 5, delayMaxMs: quarterHourMs },
} as const satisfies Record<string, Growing | Draining>;

type RuleName = keyof typeof attemptRules;

/** The names of the tables in metrics and the log. */
const tableNames: Readonly<Record<RuleName, string>> = {
  pair: 'sign_in_pairs',
  account: 'sign_in_accounts',
  secondFactor: 'sign_in_second_factors',
  network: 'sign_in_networks',
  neighbourhood: 'sign_in_wide_networks',
  browser: 'sign_in_browsers',
};

/** The browser of a reset may try the new password for this time. */
const vouchedMs = hourMs;
const vouchedMax = 10_000;

export interface Attempt {
  readonly stage: 'password' | 'secondFactor';
  /** The normalised mail address, or the account's id. */
  readonly account: string;
  readonly network: string;
  /** IPv4 /24 or IPv6 /48. */
  readonly neighbourhood?: string | undefined;
  /** A browser that the account knows, in any text form; else undefined. */
  readonly browser: string | undefined;
  /**
   * A session of the account in which it is made, in a browser that the account doesn't know.
   * Guesses of others do not slow it, though its own count for them.
   */
  readonly session?: string | undefined;
  readonly challenged?: boolean;
}

interface Subject {
  /** The attempts that count; what a rule lets drain is drained up to `lastMs`. */
  count: number;
  blockedUntilMs: number;
  lastMs: number;
}

/** An account also remembers how much was forgiven lately, and since when its pairs count. */
interface Account extends Subject {
  forgiven: number;
  generation: number;
}

interface NamedSubject {
  readonly rule: RuleName;
  readonly name: string;
  readonly challenged: boolean;
  /** The subject is counted, and does not delay this attempt. */
  readonly isExempt: boolean;
}

/** A change of the counts, made on all nodes. */
type AttemptKind =
  | readonly ['count', readonly Attempt[]]
  | readonly ['succeed', readonly Attempt[]]
  | readonly ['withdraw', readonly Attempt[]]
  | readonly ['forgive', string]
  | readonly ['vouch', string, string];

/** Proofs that are given together make one try: what they share (the network) is counted once. */
export function createAttempts({
  clock,
  distributedLimits = localLimits,
  capacity = 50_000,
}: {
  clock: Clock;
  distributedLimits?: Pick<DistributedLimits, 'replicatedOperations'>;
  /** Subjects of each kind. */
  capacity?: number;
}) {
  const accounts = createSubjectTable<Account>(capacity, (nowMs) => ({
    ...newSubject(nowMs),
    forgiven: 0,
    generation: 0,
  }));
  const tables: Readonly<Record<RuleName, SubjectTable<Subject>>> = {
    pair: createSubjectTable(capacity, newSubject),
    account: accounts,
    secondFactor: createSubjectTable(capacity, newSubject),
    network: createSubjectTable(capacity, newSubject),
    neighbourhood: createSubjectTable(capacity, newSubject),
    browser: createSubjectTable(capacity, newSubject),
  };
  /** Account and browser → end of the trust, oldest first. */
  const vouched = new Map<string, number>();

  function namesOf(attempt: Attempt, nowMs: number): NamedSubject[] {
    const { stage, account, network, neighbourhood, browser, session } = attempt;
    const { challenged = false } = attempt;
    const isExempt = session !== undefined;
    const named = (rule: RuleName, name: string) => ({ rule, name, challenged, isExempt });
    const own = (name: string): NamedSubject => ({
      ...named('browser', `${stage} ${account} ${name}`),
      isExempt: false,
    });
    if (browser !== undefined) return [own(browser)];
    const isPassword = stage === 'password';
    const generation = isPassword ? (accounts.peek(account, nowMs)?.generation ?? 0) : 0;
    return [
      ...(session === undefined ? [] : [own(`session ${session}`)]),
      named('pair', `${stage} ${generation} ${account} ${network}`),
      named(isPassword ? 'account' : 'secondFactor', account),
      named('network', network),
      ...(neighbourhood === undefined ? [] : [named('neighbourhood', neighbourhood)]),
    ];
  }

  function allNamesOf(together: readonly Attempt[], nowMs: number): NamedSubject[] {
    const all = together.flatMap((attempt) => namesOf(attempt, nowMs));
    const once = new Map<string, NamedSubject>();
    for (const named of all) {
      const key = `${named.rule} ${named.name}`;
      // A subject that two proofs share delays both if it delays one of them.
      if (once.get(key)?.isExempt !== false) once.set(key, named);
    }
    return [...once.values()];
  }

  function refund({ rule, name }: NamedSubject, nowMs: number): void {
    const subject = tables[rule].peek(name, nowMs);
    if (subject === undefined) return;
    drain(attemptRules[rule], subject, nowMs);
    subject.count = Math.max(0, subject.count - 1);
    subject.blockedUntilMs = 0;
  }

  function forgive(name: string): void {
    const nowMs = clock.monotonicMs();
    const account = accounts.peek(name, nowMs);
    if (account === undefined) return;
    const { most } = attemptRules.account;
    drain(attemptRules.account, account, nowMs);
    const forgiven = Math.min(account.count, most - account.forgiven);
    account.count -= forgiven;
    account.forgiven += forgiven;
    account.generation++;
  }

  function countAll(together: readonly Attempt[]): void {
    const nowMs = clock.monotonicMs();
    for (const { rule, name } of allNamesOf(together, nowMs)) {
      count(attemptRules[rule], tables[rule].touch(name, nowMs), nowMs);
    }
  }

  function succeed(together: readonly Attempt[]): void {
    const nowMs = clock.monotonicMs();
    for (const named of allNamesOf(together, nowMs)) {
      const { rule, name } = named;
      // Whoever has one account of their own must not be able to wipe the network's slate.
      if (rule === 'pair' || rule === 'secondFactor' || rule === 'browser') {
        tables[rule].delete(name);
      } else refund(named, nowMs);
    }
    for (const { stage, account } of together) if (stage === 'password') forgive(account);
  }

  function withdraw(together: readonly Attempt[]): void {
    const nowMs = clock.monotonicMs();
    for (const named of allNamesOf(together, nowMs)) refund(named, nowMs);
  }

  function vouch(account: string, browserId: string): void {
    const name = `${account} ${browserId}`;
    vouched.delete(name);
    if (vouched.size >= vouchedMax) vouched.delete(vouched.keys().next().value!);
    vouched.set(name, clock.monotonicMs() + vouchedMs);
  }

  function perform(kind: AttemptKind): void {
    if (kind[0] === 'count') countAll(kind[1]);
    else if (kind[0] === 'succeed') succeed(kind[1]);
    else if (kind[0] === 'withdraw') withdraw(kind[1]);
    else if (kind[0] === 'forgive') forgive(kind[1]);
    else vouch(kind[1], kind[2]);
  }

  const elsewhere = distributedLimits.replicatedOperations<AttemptKind>(
    'sign-in attempts',
    perform,
  );

  function everywhere(...kind: AttemptKind): void {
    perform(kind);
    elsewhere.send(kind);
  }

  return {
    tables: [
      ...(Object.keys(tables) as RuleName[]).map((rule) => ({
        name: tableNames[rule],
        used: () => tables[rule].size,
        limit: capacity,
      })),
      { name: 'sign_in_vouched', used: () => vouched.size, limit: vouchedMax },
    ],
    get size(): number {
      return Object.values(tables).reduce((sum, table) => sum + table.size, vouched.size);
    },
    /** Returns 0 when the attempt is counted and may go on, else whole seconds to wait; nothing is counted then. */
    begin(...together: readonly Attempt[]): number {
      const nowMs = clock.monotonicMs();
      let waitMs = elsewhere.isFull() ? firstDelayMs : 0;
      for (const { rule, name, challenged, isExempt } of allNamesOf(together, nowMs)) {
        if (isExempt) continue;
        const subject = tables[rule].peek(name, nowMs);
        if (subject === undefined) continue;
        waitMs = Math.max(waitMs, waitOf(attemptRules[rule], subject, challenged, nowMs));
      }
      if (waitMs > 0) return Math.ceil(waitMs / 1_000);
      everywhere('count', together);
      return 0;
    },
    /** Records a right proof: forgives what was counted of the account here, guesses of others included. */
    succeeded: (...together: readonly Attempt[]): void => everywhere('succeed', together),
    /** Takes back attempts that were never checked (overload). */
    withdrawn: (...together: readonly Attempt[]): void => everywhere('withdraw', together),
    /** Forgives guesses of others at this password, once the owner proved their identity in another way. */
    forgive: (account: string): void => everywhere('forgive', account),
    /** Lets this browser try the password of the account for an hour, unhindered by others. */
    vouch: (account: string, browserId: string): void => everywhere('vouch', account, browserId),
    isVouched: (account: string, browserId: string): boolean =>
      (vouched.get(`${account} ${browserId}`) ?? 0) > clock.monotonicMs(),
  };
}

export type Attempts = ReturnType<typeof createAttempts>;

export function tooMany(retryAfterSeconds: number): Failure {
  return { ...fail('too_many_attempts'), retryAfterSeconds };
}

function newSubject(nowMs: number): Subject {
  return { count: 0, blockedUntilMs: 0, lastMs: nowMs };
}

function isDraining(rule: Growing | Draining): rule is Draining {
  return 'drainMs' in rule;
}

/** Drains a bucket up to now. Both that drain at once in an account do so at the same rate. */
function drain(rule: Growing | Draining, subject: Subject & { forgiven?: number }, nowMs: number) {
  if (!isDraining(rule)) return;
  const drained = (nowMs - subject.lastMs) / rule.drainMs;
  subject.count = Math.max(0, subject.count - drained);
  if (subject.forgiven !== undefined) subject.forgiven = Math.max(0, subject.forgiven - drained);
  subject.lastMs = nowMs;
}

function count(rule: Growing | Draining, subject: Subject, nowMs: number): void {
  drain(rule, subject, nowMs);
  subject.lastMs = nowMs;
  subject.count++;
  if (!isDraining(rule)) subject.blockedUntilMs = nowMs + delayMs(rule, subject.count);
}

/** Returns the milliseconds until the next attempt; 0 or less: now. */
function waitOf(
  rule: Growing | Draining,
  { count: counted, blockedUntilMs, lastMs }: Subject,
  challenged: boolean,
  nowMs: number,
): number {
  if (!isDraining(rule)) return blockedUntilMs - nowMs;
  const room = (challenged ? rule.most : rule.free) - 1;
  return (counted - room) * rule.drainMs - (nowMs - lastMs);
}

/** Returns the milliseconds that the next attempt must wait after `attempts` of them. */
function delayMs({ free, delayMaxMs }: Growing, attempts: number): number {
  if (attempts < free) return 0;
  return Math.min(delayMaxMs, firstDelayMs * 2 ** Math.min(40, attempts - free));
}

/**
 * The subjects of one kind that lock-out remembers, bounded. At the bound the subject that has been quiet longest is
 * evicted, but one that is under attack is passed over: a flood of names that were tried once can't wash a counted
 * one out.
 */
function createSubjectTable<S extends Subject>(capacity: number, create: (nowMs: number) => S) {
  /** The subjects in order of last use, oldest first. */
  const subjects = new Map<string, S>();

  /** Returns undefined for a subject that was never seen, was quiet for a day, or was evicted. */
  function peek(name: string, nowMs: number): S | undefined {
    const found = subjects.get(name);
    return found !== undefined && nowMs - found.lastMs < forgetMs ? found : undefined;
  }

  function evictOne(nowMs: number): void {
    for (let passed = 1; passed <= passedOverMax; passed++) {
      const [name, subject] = subjects.entries().next().value!;
      subjects.delete(name);
      const isAttacked = subject.count >= attackedCount && nowMs - subject.lastMs < forgetMs;
      if (!isAttacked || passed === passedOverMax) return;
      subjects.set(name, subject);
    }
  }

  return {
    peek,
    /** Returns the subject, made if need be; it is the most recent one from now on. */
    touch(name: string, nowMs: number): S {
      const subject = peek(name, nowMs) ?? create(nowMs);
      subjects.delete(name);
      if (subjects.size >= capacity) evictOne(nowMs);
      subjects.set(name, subject);
      return subject;
    },
    delete(name: string): void {
      subjects.delete(name);
    },
    get size(): number {
      return subjects.size;
    },
  };
}

type SubjectTable<S extends Subject> = ReturnType<typeof createSubjectTable<S>>;
