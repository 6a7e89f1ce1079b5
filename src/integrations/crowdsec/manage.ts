/**
 * Manages decisions from outside: with a key of the scope `manage`, which a command alone makes,
 * programs and `cscli` set and end the operator's own entries, and read the allowlist. Each change is an
 * operator's act as the command of the same name does it, and stands in the audit log with the key's id.
 */

import * as v from 'valibot';
import type { Clock } from '../../core/clock.ts';
import { dateText } from '../../core/dates.ts';
import { type Failure, fail, ok, type Result } from '../../core/result.ts';
import { createTurns } from '../../core/scheduling.ts';
import { dayMs } from '../../core/time.ts';
import type { Store } from '../../storage/store.ts';
import { alertDecision, decisionIn } from './alerts.ts';
import type { Bans } from './bans.ts';
import {
  byOperator,
  canonicalValue,
  type IsMeant,
  outweighs,
  scopeOf,
  shownText,
  type Wanted,
} from './decisions.ts';
import type { OwnDecision, OwnDecisions } from './stream.ts';

/** Each is three commits, one after the other, of one request. */
export const managedMax = 100;
/** An entry without an end is told as one that lasts so long. */
const endlessMs = 366 * dayMs;
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
  ownEntries(): Promise<readonly OperatorEntry[]>;
  /** Returns those of systems and countries alone. */
  ownGroups(): Promise<readonly OperatorEntry[]>;
  allowRules(): Promise<
    readonly { readonly prefix: string; readonly reason: string; readonly addedAt: number }[]
  >;
}

/** The key that asks, and from where. */
export interface ManagedBy {
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

  /** Returns the own entries that are decisions, as those of agents, by value. */
  async function entries(
    from: readonly OperatorEntry[] | undefined = undefined,
  ): Promise<Map<string, OwnDecision & { readonly prefix: string }>> {
    const turns = createTurns();
    const found = new Map<string, OwnDecision & { readonly prefix: string }>();
    for (const { prefix, score, setAt, endsAt } of from ?? (await operator.ownEntries())) {
      if (turns.isOver()) await turns.next();
      const value = canonicalValue(prefix);
      if (score < operator.maliciousScore || value === undefined) continue;
      const untilMs = endsAt === 0 ? clock.now() + endlessMs : endsAt;
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

  /** Says how many were stored before the one that failed. */
  function stopped(failure: Failure, at: number, count: number): Failure {
    const place = count === 1 ? '' : `decision ${at + 1} of ${count}, ${at} are stored: `;
    return { ...failure, detail: `${place}${failure.detail ?? 'it can’t be stored'}` };
  }

  return {
    entries: () => entries(),
    /** Returns the systems and countries that the operator blocks. */
    groups: async () => entries(await operator.ownGroups()),
    /**
     * Makes own entries of them, one after the other; one that lasts longer stands. Stored when it is answered.
     * `bad_request`: none of them is made where one is no ban, and none after one that is refused.
     */
    async ban(wanted: readonly Wanted[], by: ManagedBy): Promise<Result<void>> {
      if (wanted.length > managedMax) {
        return fail('bad_request', `a request has at most ${managedMax} decisions`);
      }
      if (wanted.some(({ type }) => type !== 'ban')) {
        return fail('bad_request', 'an own entry is a ban: type captcha is for agents');
      }
      const standing = await entries();
      for (const [at, { value, durationMs, scenario }] of wanted.entries()) {
        const untilMs = Math.ceil((clock.now() + durationMs) / 1_000) * 1_000;
        if (!outweighs({ type: 'ban', untilMs }, standing.get(value))) continue;
        const note = scenario || 'by the local API';
        const fields = { prefix: value, score: scoreOfBan, note, until: dateText(untilMs) };
        const done = await run('entry add', fields, by);
        if (!done.ok) return stopped(done, at, wanted.length);
      }
      return ok(undefined);
    },
    /** Ends the own entries that are meant. @returns how many */
    async retract(isMeant: IsMeant, by: ManagedBy): Promise<Result<number>> {
      const meant = [...(await entries())].filter(([value, one]) => isMeant(value, one));
      if (meant.length > managedMax) {
        return fail(
          'bad_request',
          `${meant.length} own entries are meant, of which a request ends ${managedMax} at most`,
        );
      }
      let ended = 0;
      for (const [at, [, { prefix }]] of meant.entries()) {
        const done = await run('entry remove', { prefix }, by);
        if (done.ok) ended++;
        // Gone meanwhile is gone.
        else if (done.error === 'store_unavailable') return stopped(done, at, meant.length);
      }
      return ok(ended);
    },
    /** Writes the allowlist as the local API has its lists; with its rules where they are asked for. */
    async allowlist(name: string, withContent: boolean): Promise<string> {
      const turns = createTurns();
      const items: string[] = [];
      let updatedAt = 0;
      for (const { prefix, reason, addedAt } of await operator.allowRules()) {
        if (turns.isOver()) await turns.next();
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

/** As Go writes a time that is none. */
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
export function readDecisions(body: Uint8Array): readonly Wanted[] | string {
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
  const wanted: Wanted[] = [];
  for (const [at, row] of rows.entries()) {
    const text = (row as { value?: unknown } | null)?.value;
    const value = typeof text === 'string' ? canonicalValue(text) : undefined;
    const scope = value && scopeOf(value);
    const decision = decisionIn({ type: 'ban', scope, ...(row as object) });
    if (decision === undefined) {
      return `decision ${at + 1} needs a value of its scope, a duration such as 4h, and no type but ban`;
    }
    wanted.push({ ...decision, scenario: shownText(decision.scenario, noteCharsMax) });
  }
  return wanted;
}

/** It holds what the operator says of systems and countries, beside the accounts of agents. */
const operatorsName = '(operator)';
/** A reading stands for so long. */
const freshMs = 1_000;

/**
 * Keeps the systems and countries that the operator blocks among the decisions in memory, for bouncers that ask for
 * such scopes: read when one asks, at most once a second, so nobody else pays for it.
 */
export function createGroupDecisions(options: {
  readonly groups: Manager['groups'];
  readonly bans: Pick<Bans, 'add' | 'takeBack' | 'of'>;
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
}) {
  const { groups, bans, clock } = options;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  async function read(): Promise<void> {
    const wanted = await groups();
    const atMs = clock.now();
    const known = bans.of(operatorsName)?.active ?? new Map<string, OwnDecision>();
    const isSame = (value: string, one: OwnDecision) =>
      Math.abs((wanted.get(value)?.untilMs ?? 0) - one.untilMs) < dayMs;
    const gone = [...known].filter(([value, one]) => !isSame(value, one));
    const decided = (rows: Iterable<readonly [string, OwnDecision]>) => ({
      account: operatorsName,
      atMs,
      decisions: Array.from(rows, ([value, { position: _, ...one }]) => ({ value, ...one })),
    });
    if (gone.length > 0) bans.takeBack(decided(gone));
    const left = bans.of(operatorsName)?.active;
    const added = [...wanted].filter(([value]) => left?.has(value) !== true);
    if (added.length > 0) bans.add(decided(added));
    readAtMs = clock.monotonicMs();
  }

  return {
    /** Resolves when memory holds what was stored a second ago. */
    async refresh(): Promise<void> {
      if (clock.monotonicMs() - readAtMs < freshMs) return;
      reading ??= read().finally(() => {
        reading = undefined;
      });
      await reading;
    },
    /** Returns an account's decisions with those of the operator, which its own ones hide. */
    beside(own: OwnDecisions | undefined): OwnDecisions | undefined {
      const operators = bans.of(operatorsName);
      if (operators === undefined || own === undefined) return own ?? operators;
      return {
        active: new Map<string, OwnDecision>([...operators.active, ...own.active]),
        ended: new Map<string, OwnDecision>([...operators.ended, ...own.ended]),
        lastPosition: Math.max(operators.lastPosition, own.lastPosition),
      };
    },
  };
}
