/**
 * Manages decisions from outside: with a key of the scope `manage`, which a command alone makes,
 * programs and `cscli` set and end the operator's manual entries, and read the allowlist. Each change is an
 * operator's act as the command of the same name does it, and stands in the audit log with the key's id.
 */

import * as v from 'valibot';
import type { Clock } from '../../core/clock.ts';
import { dateText } from '../../core/dates.ts';
import { type Failure, fail, ok, type Result } from '../../core/result.ts';
import { createScheduler } from '../../core/scheduling.ts';
import type { Store } from '../../storage/store.ts';
import { alertDecision, decisionIn } from './alerts.ts';
import type { Bans } from './bans.ts';
import {
  type AgentDecision,
  type AgentDecisions,
  byOperator,
  canonicalValue,
  type Decision,
  type DecisionFacts,
  type DecisionMatcher,
  outweighs,
  scopeOf,
  shownAgentText,
  type WantedDecision,
} from './decisions.ts';
import type { DecisionRow } from './events.ts';

/** Each is three commits, one after the other, of one request. */
export const managedMax = 100;
export const tooManyManaged = fail('bad_request', `a request has at most ${managedMax} decisions`);
const scoreOfBan = '100';
const noteCharsMax = 64;

interface OperatorEntry {
  readonly prefix: string;
  readonly score: number;
  readonly setAt: number;
  /** Milliseconds since 1970; 0: never. */
  readonly endsAt: number;
}

/** The operator's tables and acts, as the service has them. */
export interface OperatorActs {
  /** Score from which an entry is a decision. */
  readonly maliciousScore: number;
  /** Runs an act of operators, and notes it in the audit log. */
  run(act: {
    readonly act: string;
    readonly fields: Readonly<Record<string, string | undefined>>;
    readonly user: string;
    readonly address: string;
  }): Promise<Result<unknown>>;
  manualEntries(): Promise<readonly OperatorEntry[]>;
  /** Returns those of systems and countries alone. */
  manualGroups(): Promise<readonly OperatorEntry[]>;
  allowRules(): Promise<
    readonly { readonly prefix: string; readonly reason: string; readonly addedAt: number }[]
  >;
}

/** The key that asks, and from where. */
interface ManagedBy {
  readonly keyId: string;
  readonly clientIp: string;
}

export type Manager = ReturnType<typeof createManager>;

export function createManager(options: {
  readonly operator: OperatorActs;
  readonly store: Pick<Store, 'writeState'>;
  readonly clock: Pick<Clock, 'now'>;
}) {
  const { operator, store, clock } = options;
  let working: Promise<unknown> = Promise.resolve();

  /** Requests take turns, since each reads the entries before it writes. */
  function oneAtATime<T>(work: () => Promise<T>): Promise<T> {
    const done = working.then(work);
    working = done.catch(() => {});
    return done;
  }

  /** Returns the manual entries that are decisions, as those of agents, by value. */
  async function entries(
    from: readonly OperatorEntry[] | undefined = undefined,
  ): Promise<Map<string, AgentDecision & { readonly prefix: string }>> {
    const scheduler = createScheduler();
    const found = new Map<string, AgentDecision & { readonly prefix: string }>();
    for (const { prefix, score, setAt, endsAt } of from ?? (await operator.manualEntries())) {
      if (scheduler.shouldYield()) await scheduler.yield();
      const value = canonicalValue(prefix);
      if (score < operator.maliciousScore || value === undefined) continue;
      const untilMs = endsAt === 0 ? Number.POSITIVE_INFINITY : endsAt;
      found.set(value, { ...byOperator, prefix, atMs: setAt, untilMs, position: 0 });
    }
    return found;
  }

  async function run(
    act: string,
    fields: Readonly<Record<string, string>>,
    { keyId, clientIp }: ManagedBy,
  ): Promise<Result<unknown>> {
    const done = await operator.run({ act, fields, user: `key ${keyId}`, address: clientIp });
    if (done.ok) return done;
    if (!store.writeState().available) return fail('store_unavailable');
    const { error, detail } = done;
    return ['store_unavailable', 'capacity_exceeded', 'conflict'].includes(error)
      ? fail('store_unavailable', detail)
      : fail('bad_request', detail ?? error);
  }

  /** Adds to a failure how many were stored before it. */
  function stopped(failure: Failure, at: number, count: number): Failure {
    const prefix = count === 1 ? '' : `decision ${at + 1} of ${count}, ${at} are stored: `;
    return { ...failure, detail: `${prefix}${failure.detail ?? 'it can’t be stored'}` };
  }

  return {
    entries: () => entries(),
    /** Returns the systems and countries that the operator blocks. */
    groups: async () => entries(await operator.manualGroups()),
    /**
     * Makes manual entries of the decisions, one after the other; an entry that lasts longer stays. They are stored
     * when it resolves. `bad_request`: nothing is made if one of them is no ban, and nothing after one that is
     * refused.
     */
    async ban(wanted: readonly WantedDecision[], by: ManagedBy): Promise<Result<void>> {
      if (wanted.length > managedMax) return tooManyManaged;
      if (wanted.some(({ type }) => type !== 'ban')) {
        return fail('bad_request', 'a manual rule is a ban: type captcha is for agents');
      }
      return oneAtATime(async () => {
        const standing = new Map<string, Pick<AgentDecision, 'type' | 'untilMs'>>(await entries());
        for (const [at, { value, durationMs, scenario }] of wanted.entries()) {
          const untilMs = Math.ceil((clock.now() + durationMs) / 1_000) * 1_000;
          const decided = { type: 'ban', untilMs } as const;
          if (!outweighs(decided, standing.get(value))) continue;
          const note = scenario || 'by the local API';
          const fields = { prefix: value, score: scoreOfBan, note, until: dateText(untilMs) };
          const done = await run('entry add', fields, by);
          if (!done.ok) return stopped(done, at, wanted.length);
          standing.set(value, decided);
        }
        return ok(undefined);
      });
    },
    /** Returns the ranges of the manual entries that are meant. `bad_request`: they are too many for a request. */
    async prefixesMatching(matches: DecisionMatcher): Promise<Result<readonly string[]>> {
      const meant = [...(await entries())].filter(([value, one]) => matches(value, one));
      if (meant.length > managedMax) {
        return fail(
          'bad_request',
          `${meant.length} manual rules are meant, of which a request ends ${managedMax} at most`,
        );
      }
      return ok(meant.map(([, { prefix }]) => prefix));
    },
    /** Ends manual entries. @returns how many */
    async end(prefixes: readonly string[], by: ManagedBy): Promise<Result<number>> {
      return oneAtATime(async () => {
        let ended = 0;
        for (const [at, prefix] of prefixes.entries()) {
          const done = await run('entry remove', { prefix }, by);
          if (done.ok) ended++;
          // Gone meanwhile is gone.
          else if (done.error === 'store_unavailable') return stopped(done, at, prefixes.length);
        }
        return ok(ended);
      });
    },
    /** Writes the allowlist as the local API has its lists; with its rules where they are asked for. */
    async allowlist(name: string, withContent: boolean): Promise<string> {
      const scheduler = createScheduler();
      const items: string[] = [];
      let updatedAt = 0;
      for (const { prefix, reason, addedAt } of await operator.allowRules()) {
        if (scheduler.shouldYield()) await scheduler.yield();
        updatedAt = Math.max(updatedAt, addedAt);
        if (!withContent) continue;
        const created_at = new Date(addedAt).toISOString();
        const value = canonicalValue(prefix) ?? prefix;
        items.push(JSON.stringify({ created_at, description: reason, expiration: never, value }));
      }
      const facts = {
        allowlist_id: name,
        name,
        description: 'The allowlist of this server.',
        console_managed: false,
        created_at: new Date(0).toISOString(),
        updated_at: new Date(updatedAt).toISOString(),
      };
      return `${JSON.stringify(facts).slice(0, -1)},"items":[${items.join(',')}]}`;
    },
  };
}

/** The text that Go writes for no time. */
const never = '0001-01-01T00:00:00.000Z';

const sentDecision = v.looseObject({
  ...alertDecision.entries,
  type: v.optional(alertDecision.entries.type),
  scope: v.optional(alertDecision.entries.scope),
});
export const sentDecisions = v.union([
  sentDecision,
  v.pipe(v.array(sentDecision), v.minLength(1), v.maxLength(managedMax)),
]);

/** Reads the body of POST /v1/decisions. The text says what is wrong. */
export function readDecisions(body: Uint8Array): readonly WantedDecision[] | string {
  let given: unknown;
  try {
    given = JSON.parse(Buffer.from(body).toString('utf8'));
  } catch {
    return 'the body is no JSON';
  }
  const rows = Array.isArray(given) ? given : [given];
  if (rows.length === 0 || rows.length > managedMax) {
    return `the body is a decision or an array of 1 to ${managedMax}`;
  }
  const wanted: WantedDecision[] = [];
  for (const [at, row] of rows.entries()) {
    const text = (row as { value?: unknown } | null)?.value;
    const value = typeof text === 'string' ? canonicalValue(text) : undefined;
    const scope = value && scopeOf(value);
    const decision = decisionIn({ type: 'ban', scope, ...(row as object) });
    if (decision === undefined) {
      return `decision ${at + 1} needs a value of its scope, a duration such as 4h, and no type but ban`;
    }
    wanted.push({ ...decision, scenario: shownAgentText(decision.scenario, noteCharsMax) });
  }
  return wanted;
}

/**
 * Keeps decisions that no agent made in memory, under a name of their own next to the accounts of agents, for
 * bouncers that ask for them. They are read when a bouncer asks, at most every `freshMs`. Each is sent with a limited
 * life, and again before it ends, since nobody may ask for the end of one that is removed.
 */
export function createStandingDecisions(options: {
  /** No account has such a name. */
  readonly name: `(${string})`;
  /** All there are, by value. */
  readonly read: () => Promise<ReadonlyMap<string, DecisionFacts>>;
  /** Stores what was sent, so that its end is sent after a restart, too; absent: what clients still have lapses. */
  readonly keep?: (sent: DecisionRow) => Promise<void>;
  /** The decisions are read again after this time. */
  readonly freshMs: number;
  /** The life of a sent decision at most; it is sent again after half of it. */
  readonly lifeMs: number;
  readonly bans: Pick<Bans, 'add' | 'unban' | 'of'>;
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
}) {
  const { name, freshMs, lifeMs, bans, clock, keep } = options;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  async function read(): Promise<void> {
    const scheduler = createScheduler();
    const wanted = await options.read();
    const atMs = clock.now();
    const known = [...(bans.of(name)?.active ?? [])];
    const gone: ValuedDecision[] = [];
    for (const [value, one] of known) {
      if (scheduler.shouldYield()) await scheduler.yield();
      const now = wanted.get(value);
      if (one.untilMs > (now?.untilMs ?? 0) || now?.type !== one.type) gone.push([value, one]);
    }
    for (const some of slicesOf(gone)) {
      const over = some.map((one) => ({ ...one, untilMs: atMs }));
      await keep?.({ account: name, atMs, decisions: over });
      bans.unban({ account: name, atMs, decisions: some });
      if (scheduler.shouldYield()) await scheduler.yield();
    }
    const left = bans.of(name)?.active;
    const added: ValuedDecision[] = [];
    for (const [value, one] of wanted) {
      if (scheduler.shouldYield()) await scheduler.yield();
      const sentUntilMs = left?.get(value)?.untilMs ?? 0;
      const isSent = sentUntilMs === one.untilMs || sentUntilMs - atMs > lifeMs / 2;
      const untilMs = Math.min(one.untilMs, atMs + lifeMs);
      if (!isSent && untilMs > atMs) added.push([value, { ...one, untilMs }]);
    }
    for (const some of slicesOf(added)) {
      await keep?.({ account: name, atMs, decisions: some });
      bans.add({ account: name, atMs, decisions: some });
      if (scheduler.shouldYield()) await scheduler.yield();
    }
    readAtMs = clock.monotonicMs();
  }

  return {
    /** Resolves when memory is at most `freshMs` old. */
    async refresh(): Promise<void> {
      if (clock.monotonicMs() - readAtMs < freshMs) return;
      reading ??= read().finally(() => {
        reading = undefined;
      });
      await reading;
    },
    decisions: () => bans.of(name),
  };
}

type ValuedDecision = readonly [value: string, one: DecisionFacts];
const rowsPerTurn = 64;

function* slicesOf(rows: readonly ValuedDecision[]): Generator<Decision[]> {
  for (let at = 0; at < rows.length; at += rowsPerTurn) {
    const some = rows.slice(at, at + rowsPerTurn);
    yield some.map(([value, one]) => ({ ...one, value }));
  }
}

/** Merges two sets of decisions; for a value in both, the account's own decision wins. */
export function mergeDecisions(
  own: AgentDecisions | undefined,
  other: AgentDecisions | undefined,
): AgentDecisions | undefined {
  if (other === undefined || own === undefined) return own ?? other;
  const ended = new Map<string, AgentDecision>(own.ended);
  const active = new Map<string, AgentDecision>([...other.active, ...own.active]);
  // The decision behind one that ended is sent again, in place of the end.
  for (const [value, one] of own.ended) {
    const next = own.active.has(value) ? undefined : other.active.get(value);
    // A client that has a ban must lose it before it is sent the captcha.
    if (next === undefined || outweighs({ ...one, untilMs: 0 }, { ...next, untilMs: 0 })) continue;
    ended.delete(value);
    active.set(value, { ...next, position: Math.max(one.position, next.position) });
  }
  // A client that has the account's own decision on a value must not lose it by the end of another.
  for (const [value, one] of other.ended) {
    if (!own.active.has(value) && !own.ended.has(value)) ended.set(value, one);
  }
  return {
    active,
    ended,
    lastPosition: Math.max(other.lastPosition, own.lastPosition),
  };
}
