/**
 * The decisions of agents in memory, bans above all, by account: for its own bouncers alone, in no feed and no
 * check. What the journal and the rows of the store say comes here; front ends look into the shared table.
 *
 * Each change has a position, so that a client can be sent what changed since the last one that it
 * has. Bounds: an account has `perAccountMax` bans and remembers as many that ended, for a day; all
 * together have `totalMax`, and remember as many that ended. At the first bound the oldest of the
 * account ends, at the second one of the account with most; an end that is forgotten is not sent,
 * and the client's element lapses by itself. The store keeps no more than that: what ends or is
 * forgotten at a bound is named, and its row goes.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CatchUpTo, SlotOf } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import { every, type Run } from '../../core/every.ts';
import { MaxByCountSet } from '../../core/fair-share.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { createScheduler } from '../../core/scheduling.ts';
import { dayMs } from '../../core/time.ts';
import { isListableNetwork } from '../../ip/embedded-ipv4.ts';
import { type Prefix, parsePrefix } from '../../ip/prefix.ts';
import { commitOnce } from '../../storage/change.ts';
import { createEventId } from '../../storage/journal/define-event.ts';
import { agentBanKey, agentBanPrefix, erasureKey, readTexts } from '../../storage/keys.ts';
import { type NewEvent, pagesUnder, type Store } from '../../storage/store.ts';
import type { BanTable } from './ban-table.ts';
import {
  type AgentDecision,
  type AgentDecisions,
  type Decision,
  type DecisionFacts,
  isCountryOrSystem,
  outweighs,
  type WantedDecision,
} from './decisions.ts';
import { agentBanned, agentUnbanned, type DecisionRow, decisionRow } from './events.ts';

export class OldestFirst<T> extends Map<string, T> {
  /** Behind `#oldest`, or before all. It follows what is set and deleted. */
  #rest = this.keys();
  #oldest: string | undefined;

  /** Undefined: there is none. */
  oldest(): string | undefined {
    this.#oldest ??= this.#rest.next().value;
    if (this.#oldest !== undefined || this.size === 0) return this.#oldest;
    // It had come to the end before the first of these came.
    this.#rest = this.keys();
    this.#oldest = this.#rest.next().value;
    return this.#oldest;
  }

  override delete(key: string): boolean {
    if (key === this.#oldest) this.#oldest = undefined;
    return super.delete(key);
  }
}

/** Clients that come back within this time are sent the end of a ban. */
export const endedMs = dayMs;
export const banBounds = { perAccountMax: 10_000, totalMax: 65_536 } as const;
const pollMs = 1_000;
/** Bans that are ended in one turn of the event loop: all bans of one alert expire together. */
const endsPerTurn = 250;

interface EndedDecision extends AgentDecision {
  readonly endedMs: number;
}

/** A row of the store that is not needed any more. */
interface IdleRow {
  readonly account: string;
  readonly value: string;
  /** One that says something else is of another ban. */
  readonly untilMs: number;
}

interface Account {
  readonly id: string;
  readonly active: OldestFirst<AgentDecision>;
  readonly ended: OldestFirst<EndedDecision>;
  lastPosition: number;
  /** The slot under which its bans are in the shared table; −1: they are not there. */
  slot: number;
  /** The `allowlistVersion` at which its values were last compared with the allowlist; −1: not yet. */
  allowedAt: number;
  /** No active one ends before it. */
  nextEndMs: number;
}

/** Known once the journal was read. */
interface BanSurroundings {
  readonly slotOf: SlotOf;
  /** True for a prefix that is never blocked. */
  readonly isExempt: (prefix: Prefix) => boolean;
  /** Grows with each change of the allowlist. */
  readonly allowlistVersion: () => number;
}

export function createBans(options: {
  clock: Pick<Clock, 'now'>;
  shared: BanTable;
  perAccountMax?: number;
  totalMax?: number;
}) {
  const { clock, shared, perAccountMax, totalMax } = { ...banBounds, ...options };
  const accounts = new Map<string, Account>();
  const idle = new OldestFirst<IdleRow>();
  let around: BanSurroundings | undefined;
  const most = { active: new MaxByCountSet<Account>(), ended: new MaxByCountSet<Account>() };
  let position = 0;

  function nextPosition(): number {
    shared.moveTo(++position);
    return position;
  }

  /** False: it is not there. */
  function take(account: Account, which: 'active' | 'ended', value: string): boolean {
    const before = account[which].size;
    if (!account[which].delete(value)) return false;
    most[which].less(account, before);
    return true;
  }

  function publish(account: Account, value: string, slot = account.slot): void {
    const ban = account.slot === slot ? account.active.get(value) : undefined;
    const prefix = parsePrefix(value);
    if (!prefix.ok || slot < 0) return;
    const { family, words, length } = prefix.value;
    if (ban === undefined) shared.remove(slot, family, words, length);
    else shared.set(slot, family, words, ban.untilMs, ban, length);
  }

  /** No more is known of its end. */
  function forget(account: Account, value: string): void {
    take(account, 'ended', value);
  }

  /** A node that makes no bans removes no idle rows: the nodes that make some remove these, too. */
  function addIdle({ id }: Account, value: string, untilMs: number): void {
    idle.set(`${id} ${value}`, { account: id, value, untilMs });
    if (idle.size > banBounds.totalMax) idle.delete(idle.oldest()!);
  }

  function forgetOldest(account: Account): void {
    const value = account.ended.oldest()!;
    addIdle(account, value, account.ended.get(value)!.untilMs);
    forget(account, value);
  }

  function endOldest(account: Account, nowMs: number): void {
    const value = account.active.oldest()!;
    addIdle(account, value, account.active.get(value)!.untilMs);
    end(account, value, nowMs);
  }

  /** @param untilMs when another end was written than the one that it had */
  function end(account: Account, value: string, nowMs: number, untilMs?: number): void {
    const ban = account.active.get(value);
    if (ban === undefined) return;
    take(account, 'active', value);
    account.lastPosition = nextPosition();
    forget(account, value);
    most.ended.more(account, account.ended.size);
    account.ended.set(value, {
      type: ban.type,
      atMs: ban.atMs,
      untilMs: untilMs ?? ban.untilMs,
      origin: ban.origin,
      scenario: ban.scenario,
      endedMs: nowMs,
      position,
    });
    publish(account, value);
    if (account.ended.size > perAccountMax) forgetOldest(account);
    if (most.ended.total > totalMax) forgetOldest(most.ended.largest(account)!);
  }

  function makeRoom(account: Account, nowMs: number): void {
    if (account.active.size > perAccountMax) endOldest(account, nowMs);
    if (most.active.total > totalMax) endOldest(most.active.largest(account)!, nowMs);
  }

  /** Its slot may be another's by now, or its first. */
  function moveToSlot(id: string, account: Account): void {
    const slot = around?.slotOf(id) ?? -1;
    if (slot === account.slot) return;
    const values = [...account.active.keys()];
    const { slot: before } = account;
    account.slot = slot;
    for (const value of values) {
      publish(account, value, before);
      publish(account, value);
    }
  }

  function endAllowed(account: Account, nowMs: number): void {
    const allowedAt = around?.allowlistVersion() ?? account.allowedAt;
    if (around === undefined || allowedAt === account.allowedAt) return;
    account.allowedAt = allowedAt;
    for (const value of [...account.active.keys()]) endSpared(account, value, nowMs);
  }

  function endSpared(account: Account, value: string, nowMs: number): void {
    const prefix = parsePrefix(value);
    if (prefix.ok && around?.isExempt(prefix.value) === true) end(account, value, nowMs);
  }

  /** @param room the number that may end or be forgotten. @returns what is left of it; 0: there may be more */
  function poll(id: string, account: Account, room = Number.POSITIVE_INFINITY): number {
    let left = room;
    const nowMs = clock.now();
    moveToSlot(id, account);
    endAllowed(account, nowMs);
    if (account.nextEndMs <= nowMs) {
      let nextEndMs = Number.POSITIVE_INFINITY;
      for (const [value, { untilMs }] of account.active) {
        if (untilMs > nowMs) {
          nextEndMs = Math.min(nextEndMs, untilMs);
          continue;
        }
        if (left-- === 0) return 0;
        end(account, value, untilMs);
      }
      account.nextEndMs = nextEndMs;
    }
    for (const [value, one] of account.ended) {
      if (one.endedMs > nowMs - endedMs) break;
      if (left-- === 0) return 0;
      forget(account, value);
    }
    if (account.active.size + account.ended.size === 0) accounts.delete(id);
    return left;
  }

  return {
    /** Ends decisions now, whatever their time. */
    unban({ account: id, atMs, decisions }: DecisionRow): void {
      const known = accounts.get(id);
      if (known === undefined) return;
      for (const { value } of decisions) end(known, value, Math.min(atMs, clock.now()), atMs);
    },
    add({ account: id, decisions }: DecisionRow): void {
      const nowMs = clock.now();
      if (decisions.every(({ untilMs }) => untilMs + endedMs <= nowMs)) return;
      const account = accounts.get(id) ?? {
        id,
        active: new OldestFirst(),
        ended: new OldestFirst(),
        lastPosition: 0,
        slot: -1,
        allowedAt: -1,
        nextEndMs: Number.POSITIVE_INFINITY,
      };
      accounts.set(id, account);
      for (const decision of decisions) {
        const { value, untilMs } = decision;
        if (untilMs + endedMs <= nowMs) continue;
        if (!outweighs(decision, account.active.get(value))) continue;
        take(account, 'active', value);
        // A client that has the ban must lose it before it is sent the captcha.
        const isMilder = decision.type === 'captcha' && account.ended.get(value)?.type === 'ban';
        if (!isMilder) forget(account, value);
        idle.delete(`${id} ${value}`);
        account.lastPosition = nextPosition();
        most.active.more(account, account.active.size);
        account.active.set(value, {
          type: decision.type,
          atMs: decision.atMs,
          untilMs,
          origin: decision.origin,
          scenario: decision.scenario,
          position,
        });
        account.nextEndMs = Math.min(account.nextEndMs, untilMs);
        if (untilMs <= nowMs) end(account, value, untilMs);
        else {
          makeRoom(account, nowMs);
          publish(account, value);
          endSpared(account, value, nowMs);
        }
      }
      if (around === undefined) account.allowedAt = -1;
      moveToSlot(id, account);
    },
    /** At most so many, until they are settled. */
    idleRows(limit: number): IdleRow[] {
      const rows: IdleRow[] = [];
      for (const row of idle.values()) if (rows.push(row) >= limit) break;
      return rows;
    },
    settle(rows: readonly IdleRow[]): void {
      for (const row of rows) {
        const name = `${row.account} ${row.value}`;
        // Another ban of it may have become idle meanwhile, and its row is there.
        if (idle.get(name) === row) idle.delete(name);
      }
    },
    /** Returns the position of the last change of any account. */
    position: (): number => position,
    /** Returns the present bans. Undefined: the account has none, and had none for a day. */
    of(id: string): AgentDecisions<EndedDecision> | undefined {
      const account = accounts.get(id);
      if (account !== undefined) poll(id, account);
      return accounts.get(id);
    },
    /** Front ends see the bans from now on. @returns its end */
    start(surroundings: BanSurroundings): () => void {
      around = surroundings;
      for (const [id, account] of accounts) poll(id, account);
      async function pollAll({ signal }: Run): Promise<void> {
        let room = endsPerTurn;
        for (const [id, account] of accounts) {
          // Gone meanwhile, its name may be on a new one.
          while (!signal.aborted && accounts.get(id) === account) {
            room = poll(id, account, room);
            if (room > 0) break;
            await nextTurn();
            room = endsPerTurn;
          }
        }
      }
      return every(pollMs, pollAll).stop;
    },
    table: { name: 'agent_bans', used: () => most.active.total, limit: totalMax },
  };
}

export type Bans = ReturnType<typeof createBans>;

const perCommitMax = 1_000;
/** Somebody else bans the same addresses all the time: the next ban tries again. */
const tidyTriesMax = 8;

export function createBanStore(options: {
  store: Store;
  clock: Clock;
  random: Random;
  bans: Pick<Bans, 'add' | 'of' | 'idleRows' | 'settle'>;
  isExempt: (prefix: Prefix) => boolean;
  catchUpTo: CatchUpTo;
}) {
  const { store, clock, random, bans, isExempt, catchUpTo } = options;

  function mayBeBanned(value: string): boolean {
    if (isCountryOrSystem(value)) return true;
    const prefix = parsePrefix(value);
    return prefix.ok && isListableNetwork(prefix.value) && !isExempt(prefix.value);
  }

  function rowsOf({ account, decisions }: DecisionRow) {
    return decisions.map((decision) => ({
      key: agentBanKey(account, decision.value),
      value: decisionRow.encode(decision),
      expiresAt: decision.untilMs + endedMs,
    }));
  }

  /** @param decided as they are from now on; `event` is the journal's, which says so */
  async function write(decided: DecisionRow, event: NewEvent): Promise<Result<void>> {
    const done = await store.commit({
      check: [{ key: erasureKey(decided.account), version: null }],
      set: rowsOf(decided),
      events: [event],
    });
    if (!done.ok) {
      return fail(done.error === 'check_failed' ? 'unauthenticated' : 'store_unavailable');
    }
    await catchUpTo(done.seq);
    return ok(undefined);
  }

  /** Never a row of a later ban, which another node may have made since. */
  async function removeIdle(): Promise<void> {
    for (let tries = 0; tries < tidyTriesMax; ) {
      const idle = bans.idleRows(perCommitMax);
      if (idle.length === 0) return;
      const keys = idle.map(({ account, value }) => agentBanKey(account, value));
      const found = await Promise.all(keys.map((key) => store.get(key)));
      const check = found.flatMap((row, i) => {
        const isOver = row && decisionRow.decode(row.value)?.untilMs === idle[i]!.untilMs;
        return isOver ? [{ key: keys[i]!, version: row.version }] : [];
      });
      const done = await commitOnce(store, { check, del: check.map(({ key }) => key) });
      if (done === 'conflict') tries++;
      else if (done.ok) bans.settle(idle);
      else return;
    }
  }

  return {
    /**
     * Decides from now on; special-use and allowlisted addresses and networks with such are left out, and so is
     * what a decision that stands outweighs. `unauthenticated`: the account is being deleted.
     */
    async save(account: string, given: readonly WantedDecision[]): Promise<Result<void>> {
      const scheduler = createScheduler();
      const atMs = Math.floor(clock.now());
      const own = bans.of(account);
      const decisions = new Map<string, Decision>();
      for (const { value, type, durationMs, origin, scenario } of given) {
        if (scheduler.shouldYield()) await scheduler.yield();
        const decision = { value, type, atMs, untilMs: atMs + durationMs, origin, scenario };
        const before = decisions.get(value);
        if (!outweighs(decision, before) || !outweighs(decision, own?.active.get(value))) continue;
        if (before === undefined && !mayBeBanned(value)) continue;
        // At its new place: the oldest go first.
        decisions.delete(value);
        decisions.set(value, decision);
      }
      const kept = [...decisions.values()].slice(-banBounds.perAccountMax);
      for (let at = 0; at < kept.length; at += perCommitMax) {
        const made = { account, atMs, decisions: kept.slice(at, at + perCommitMax) };
        const event = agentBanned.encode(createEventId(clock, random), made);
        const done = await write(made, event);
        if (!done.ok) return done;
        await removeIdle();
      }
      return ok(undefined);
    },
    /** Ends those that last and are meant. @returns how many `unauthenticated`: the account is being deleted. */
    async retract(
      account: string,
      matches: (value: string, decision: DecisionFacts) => boolean,
    ): Promise<Result<number>> {
      const atMs = Math.floor(clock.now());
      const meant: Decision[] = [];
      for (const [value, { type, atMs: madeAtMs, untilMs, origin, scenario }] of bans.of(account)
        ?.active ?? []) {
        const decision = { value, type, atMs: madeAtMs, untilMs, origin, scenario };
        if (untilMs > atMs && matches(value, decision)) meant.push(decision);
      }
      for (let at = 0; at < meant.length; at += perCommitMax) {
        const ended = { account, atMs, decisions: meant.slice(at, at + perCommitMax) };
        const event = agentUnbanned.encode(createEventId(clock, random), ended);
        const over = ended.decisions.map((decision) => ({ ...decision, untilMs: atMs }));
        const done = await write({ account, atMs, decisions: over }, event);
        if (!done.ok) return done;
        await removeIdle();
      }
      return ok(meant.length);
    },
    /** Stores decisions that no agent made for the next start alone; while the store takes nothing, it knows none. */
    async keep(decided: DecisionRow): Promise<void> {
      await store.commit({ set: rowsOf(decided) });
    },
    /** Brings the stored decisions into memory at a start, and removes rows that are idle. */
    async load(): Promise<void> {
      const found: { account: string; decision: Decision }[] = [];
      for await (const page of pagesUnder(store, agentBanPrefix())) {
        for (const { key, value: stored } of page) {
          const row = decisionRow.decode(stored);
          const [account = '', value = ''] = readTexts(key);
          if (row !== undefined) found.push({ account, decision: { ...row, value } });
        }
      }
      // The oldest first, as they were made.
      found.sort((a, b) => a.decision.atMs - b.decision.atMs);
      for (const [i, { account, decision }] of found.entries()) {
        const { atMs } = decision;
        bans.add({ account, atMs, decisions: [decision] });
        if (i % perCommitMax === perCommitMax - 1) await removeIdle();
      }
      await removeIdle();
    },
  };
}
