/**
 * The bans of agents in memory, by account: for its own bouncers alone, in no feed and no check. What the
 * journal and the rows of the store say comes here; front ends look into the shared table.
 *
 * Each change has a position, so that a client can be told what changed since the last one. Bounds: an
 * account has `perAccountMax` bans and remembers as many that ended, for a day; all together have
 * `totalMax`, and remember as many that ended. At the first bound the oldest of the account ends, at the second
 * one of the account with most; an end that is forgotten is not told, and the client's element lapses by itself.
 * The store keeps no more than that: what ends or is forgotten at a bound is named, and its row goes (ban-store.ts).
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BoundedTable } from '../../core/bounded-tables.ts';
import type { Clock } from '../../core/clock.ts';
import { parseIp } from '../../ip/address.ts';
import type { Banned } from './ban-events.ts';
import type { BanTable } from './ban-table.ts';
import { createMost } from './most.ts';
import { OldestFirst } from './oldest-first.ts';

export const banMs = 4 * 3_600_000;
/** So long an end is told to clients that come back. */
export const endedMs = 24 * 3_600_000;
export const banBounds = { perAccountMax: 10_000, totalMax: 65_536 } as const;
const lookMs = 1_000;
/** Bans that end in one turn of the event loop: those of one alert are over together. */
const endsPerTurn = 250;

/** Of one account. The oldest comes first in each. */
export interface OwnBans {
  /** Of the last change of these. */
  readonly lastPosition: number;
  readonly active: ReadonlyMap<
    string,
    { readonly untilMs: number; readonly position: number; readonly scenario: string }
  >;
  readonly ended: ReadonlyMap<
    string,
    { readonly endedMs: number; readonly position: number; readonly scenario: string }
  >;
}

/** A row of the store that is not needed any more. */
export interface IdleRow {
  readonly account: string;
  readonly address: string;
  /** One that says more is of a later ban. */
  readonly untilMs: number;
}

interface Account {
  readonly id: string;
  /** `scenario`: by which it was banned; empty: not known. */
  readonly active: OldestFirst<{ untilMs: number; position: number; scenario: string }>;
  readonly ended: OldestFirst<{
    endedMs: number;
    untilMs: number;
    position: number;
    scenario: string;
  }>;
  lastPosition: number;
  /** Where its bans are in the shared table; −1: not there. */
  slot: number;
  /** When its addresses were compared with the allowlist. */
  allowedAt: number;
}

/** Known once the journal was read. */
export interface BanSurroundings {
  readonly slotOf: (account: string) => number | undefined;
  /** Never blocked, whatever is said of it. */
  readonly isSpared: (family: 4 | 6, words: Uint32Array) => boolean;
  /** Grows with each change of the allowlist. */
  readonly allowChanges: () => number;
}

export interface Bans {
  apply(banned: Banned): void;
  /** At most so many, until they are settled. */
  idleRows(limit: number): IdleRow[];
  settle(rows: readonly IdleRow[]): void;
  /** Of the last change. */
  position(): number;
  /** As of now. Undefined: the account has none, and had none for a day. */
  of(account: string): OwnBans | undefined;
  /** Front ends see the bans from now on. @returns its end */
  start(surroundings: BanSurroundings): () => void;
  readonly table: BoundedTable;
}

export function createBans(options: {
  clock: Pick<Clock, 'now'>;
  shared: BanTable;
  perAccountMax?: number;
  totalMax?: number;
}): Bans {
  const { clock, shared, perAccountMax, totalMax } = { ...banBounds, ...options };
  const accounts = new Map<string, Account>();
  const idle = new OldestFirst<IdleRow>();
  const words = new Uint32Array(4);
  let around: BanSurroundings | undefined;
  const most = { active: createMost<Account>(), ended: createMost<Account>() };
  let position = 0;

  /** False: it is not there. */
  function take(account: Account, which: 'active' | 'ended', address: string): boolean {
    const before = account[which].size;
    if (!account[which].delete(address)) return false;
    most[which].less(account, before);
    return true;
  }

  function publish(account: Account, address: string): void {
    const ban = account.active.get(address);
    const family = parseIp(address, words);
    if (family === 0 || account.slot < 0) return;
    if (ban === undefined) shared.remove(account.slot, family, words);
    else shared.set(account.slot, family, words, ban.untilMs, ban.scenario);
  }

  /** No more is known of its end. */
  function forget(account: Account, address: string): void {
    take(account, 'ended', address);
  }

  /** A node that bans nobody settles none: those that do see to these, too. */
  function addIdle({ id }: Account, address: string, untilMs: number): void {
    idle.set(`${id} ${address}`, { account: id, address, untilMs });
    if (idle.size > banBounds.totalMax) idle.delete(idle.oldest()!);
  }

  function forgetOldest(account: Account): void {
    const address = account.ended.oldest()!;
    addIdle(account, address, account.ended.get(address)!.untilMs);
    forget(account, address);
  }

  function endOldest(account: Account, nowMs: number): void {
    const address = account.active.oldest()!;
    addIdle(account, address, account.active.get(address)!.untilMs);
    end(account, address, nowMs);
  }

  function end(account: Account, address: string, nowMs: number): void {
    const ban = account.active.get(address);
    if (ban === undefined) return;
    const { untilMs, scenario } = ban;
    take(account, 'active', address);
    account.lastPosition = ++position;
    forget(account, address);
    most.ended.more(account, account.ended.size);
    account.ended.set(address, { endedMs: nowMs, untilMs, position, scenario });
    publish(account, address);
    if (account.ended.size > perAccountMax) forgetOldest(account);
    if (most.ended.total() > totalMax) forgetOldest(most.ended.find(account));
  }

  function makeRoom(account: Account, nowMs: number): void {
    if (account.active.size > perAccountMax) endOldest(account, nowMs);
    if (most.active.total() > totalMax) endOldest(most.active.find(account), nowMs);
  }

  /** Its slot may be another's by now, or its first. */
  function place(id: string, account: Account): void {
    const slot = around?.slotOf(id) ?? -1;
    if (slot === account.slot) return;
    const addresses = [...account.active.keys()];
    const { slot: before } = account;
    for (const address of before < 0 ? [] : addresses) {
      const family = parseIp(address, words);
      if (family !== 0) shared.remove(before, family, words);
    }
    account.slot = slot;
    for (const address of addresses) publish(account, address);
  }

  function endAllowed(account: Account, nowMs: number): void {
    const allowedAt = around?.allowChanges() ?? account.allowedAt;
    if (around === undefined || allowedAt === account.allowedAt) return;
    account.allowedAt = allowedAt;
    for (const address of [...account.active.keys()]) {
      const family = parseIp(address, words);
      if (family !== 0 && around.isSpared(family, words)) end(account, address, nowMs);
    }
  }

  /** @param room so many may end or be forgotten. @returns what is left of it; 0: there may be more */
  function look(id: string, account: Account, room = Number.POSITIVE_INFINITY): number {
    let left = room;
    const nowMs = clock.now();
    place(id, account);
    endAllowed(account, nowMs);
    // All last equally long, so that the oldest ends first.
    for (const [address, { untilMs }] of account.active) {
      if (untilMs > nowMs) break;
      if (left-- === 0) return 0;
      end(account, address, untilMs);
    }
    for (const [address, one] of account.ended) {
      if (one.endedMs > nowMs - endedMs) break;
      if (left-- === 0) return 0;
      forget(account, address);
    }
    if (account.active.size + account.ended.size === 0) accounts.delete(id);
    return left;
  }

  return {
    apply({ account: id, untilMs, addresses, scenarios = [] }) {
      const nowMs = clock.now();
      if (untilMs + endedMs <= nowMs) return;
      const account = accounts.get(id) ?? {
        id,
        active: new OldestFirst(),
        ended: new OldestFirst(),
        lastPosition: 0,
        slot: -1,
        allowedAt: -1,
      };
      accounts.set(id, account);
      for (const [i, address] of addresses.entries()) {
        const before = account.active.get(address);
        if (before !== undefined && before.untilMs >= untilMs) continue;
        take(account, 'active', address);
        forget(account, address);
        idle.delete(`${id} ${address}`);
        account.lastPosition = ++position;
        most.active.more(account, account.active.size);
        account.active.set(address, { untilMs, position, scenario: scenarios[i] ?? '' });
        if (untilMs <= nowMs) end(account, address, untilMs);
        else {
          makeRoom(account, nowMs);
          publish(account, address);
        }
      }
      account.allowedAt = -1;
      place(id, account);
    },
    idleRows(limit) {
      const rows: IdleRow[] = [];
      for (const row of idle.values()) if (rows.push(row) >= limit) break;
      return rows;
    },
    settle(rows) {
      for (const row of rows) {
        const name = `${row.account} ${row.address}`;
        // Another ban of it may have become idle meanwhile, and its row is there.
        if (idle.get(name) === row) idle.delete(name);
      }
    },
    position: () => position,
    of(id) {
      const account = accounts.get(id);
      if (account !== undefined) look(id, account);
      return accounts.get(id);
    },
    start(surroundings) {
      around = surroundings;
      for (const [id, account] of accounts) look(id, account);
      let isStopped = false;
      let isLooking = false;
      async function lookAtAll(): Promise<void> {
        isLooking = true;
        let room = endsPerTurn;
        for (const [id, account] of accounts) {
          // Gone meanwhile, its name may be on a new one.
          while (!isStopped && accounts.get(id) === account) {
            room = look(id, account, room);
            if (room > 0) break;
            await nextTurn();
            room = endsPerTurn;
          }
        }
        isLooking = false;
      }
      const timer = setInterval(() => {
        if (!isLooking) void lookAtAll();
      }, lookMs);
      timer.unref();
      return () => {
        isStopped = true;
        clearInterval(timer);
      };
    },
    table: { name: 'agent_bans', used: most.active.total, limit: totalMax },
  };
}
