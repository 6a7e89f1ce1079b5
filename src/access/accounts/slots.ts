/**
 * The holders of slots of the shared tables, as durable rows: an account claims a slot before its
 * first key is made, and the server releases it later.
 *
 * A first key takes a place in the ledger in its own commit, so there is never a key for which
 * there was none. A slot comes back in two steps: the server sees that nothing of the account is
 * left in it, for as long as requests and quotas may still read it, and commits the release under
 * checks that a new key would break.
 *
 *   row of an account   state u8 (1 holds a slot, 2 holds none) facts:bytes
 *
 * No row: it never had a key, or has left nothing worth keeping.
 */

import type { CatchUpTo } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { minuteMs } from '../../core/time.ts';
import { createEventId } from '../../storage/journal/define-event.ts';
import { accountKey, accountSlotKey } from '../../storage/keys.ts';
import { readLedger } from '../../storage/ledger.ts';
import { bareRecord, bytes, mapped, u8 } from '../../storage/record.ts';
import type { RowCheck, SetRow, Store } from '../../storage/store.ts';
import { type Account, isBlank, newAccount, readFacts, writeFacts } from './account-row.ts';
import { accountReleased } from './events.ts';
import { type Role, roomFor } from './records.ts';
import type { AccessReducer } from './reducer.ts';

/** Longer than any request is under way and any quota remembers: a minute, and bodies that trickle. */
export const slotRestMs = 10 * minuteMs;
const rows = bareRecord<{ isHeld: boolean; facts: Uint8Array }>({
  isHeld: mapped(
    u8,
    (isHeld) => (isHeld ? 1 : 2),
    (state) => state === 1,
  ),
  facts: bytes,
});

/** The parts of the commit that makes a key. */
interface SlotClaim {
  readonly check: readonly RowCheck[];
  readonly set: readonly SetRow[];
  /** For the event of the key; empty when the account holds a slot already. */
  readonly facts: Uint8Array;
}

interface SlotRow {
  readonly isHeld: boolean;
  /** Undefined: nothing but what a new account has. */
  readonly facts: Account | undefined;
  readonly check: RowCheck;
}

async function readRow(store: Store, accountId: string): Promise<SlotRow> {
  const key = accountSlotKey(accountId);
  const row = await store.get(key);
  const found = row && rows.decode(row.value);
  return {
    isHeld: found?.isHeld === true,
    facts: found && readFacts(found.facts),
    check: { key, version: row?.version ?? null },
  };
}

function rowOf(accountId: string, isHeld: boolean, facts: Uint8Array): SetRow {
  return { key: accountSlotKey(accountId), value: rows.encode({ isHeld, facts }) };
}

const nothing = new Uint8Array();

/**
 * A slot for an account that is about to get a key: one it holds, or a free one.
 * `capacity_exceeded` when `slotsMax` accounts have keys or something that outlives them;
 * operators, and whom they make a key for, have a part of these slots to themselves.
 */
export async function claimSlot(
  store: Store,
  account: { readonly id: string; readonly createdAt: number },
  slotsMax: number,
  role: Role,
): Promise<Result<SlotClaim>> {
  const row = await readRow(store, account.id);
  if (row.isHeld) return ok({ check: [row.check], set: [], facts: nothing });
  const ledger = await readLedger(store, 'account_slots');
  const room = roomFor(role, slotsMax);
  if (ledger.used >= room) {
    return fail(
      'capacity_exceeded',
      `no room for another account with API keys: all ${room} places are taken`,
    );
  }
  const facts = row.facts ?? newAccount('', account.createdAt, true);
  return ok({
    check: [row.check, ledger.check],
    set: [rowOf(account.id, true, nothing), ledger.set(ledger.used + 1)],
    facts: writeFacts(facts),
  });
}

/**
 * Changes what an account without a slot will bring into one. Undefined: it holds a slot, so the
 * journal must say it.
 */
export async function changeFacts(
  store: Store,
  account: { readonly id: string; readonly createdAt: number },
  change: (facts: Account) => void,
): Promise<{ check: RowCheck[]; set: SetRow[] } | undefined> {
  const row = await readRow(store, account.id);
  if (row.isHeld) return undefined;
  const facts = row.facts ?? newAccount('', account.createdAt, true);
  change(facts);
  return { check: [row.check], set: [rowOf(account.id, false, writeFacts(facts))] };
}

/** Returns the kept facts of an account without a slot; undefined when it holds one or nothing was kept. */
export async function waitingFacts(store: Store, accountId: string): Promise<Account | undefined> {
  const row = await readRow(store, accountId);
  return row.isHeld ? undefined : row.facts;
}

/** The server's part; one for each store. */
export function createSlotKeeper(options: {
  store: Store;
  clock: Clock;
  random: Random;
  log: Log;
  access: Pick<AccessReducer, 'count' | 'used' | 'idOf' | 'account' | 'isIdle' | 'keyChanges'>;
  /** Resolves when the event is in `access`. */
  catchUpTo: CatchUpTo;
  restMs?: number | undefined;
}) {
  const { store, clock, random, log, access, catchUpTo, restMs = slotRestMs } = options;
  /** Idle slots, and since when they are seen so, on the monotonic clock. */
  const idle = new Map<number, { changes: number; sinceMs: number }>();

  /** Compares the ledger with the slots in use and mends it. For the start, and now and then. */
  async function reconcile(): Promise<void> {
    const ledger = await readLedger(store, 'account_slots');
    await catchUpTo(await store.lastSeq());
    const used = access.used();
    if (ledger.used === used) return;
    log.warn({ counted: ledger.used, used }, 'slots: count corrected');
    // Somebody who took or gave one back meanwhile is counted the next time.
    await store.commit({ check: [ledger.check], set: [ledger.set(used)] });
  }

  /** Slots that have been idle for `restMs`. */
  function restedSlots(): number[] {
    const nowMs = clock.monotonicMs();
    const ripe: number[] = [];
    for (let slot = 0; slot < access.count(); slot++) {
      if (!access.isIdle(slot)) {
        idle.delete(slot);
        continue;
      }
      const changes = access.keyChanges(slot);
      const seen = idle.get(slot);
      if (seen?.changes !== changes) idle.set(slot, { changes, sinceMs: nowMs });
      else if (nowMs - seen.sinceMs >= restMs) ripe.push(slot);
    }
    return ripe;
  }

  async function releaseOne(slot: number): Promise<boolean> {
    const id = access.idOf(slot);
    if (id === undefined) return false;
    const key = accountKey(id);
    const owner = await store.get(key);
    const row = await readRow(store, id);
    const ledger = await readLedger(store, 'account_slots');
    // Whatever was committed before these reads is in memory now; what comes after breaks a check.
    await catchUpTo(await store.lastSeq());
    const account = access.account(id);
    if (account === undefined || account.slot !== slot || !access.isIdle(slot)) return false;
    const kept = owner !== undefined && !isBlank(account);
    const done = await store.commit({
      check: [{ key, version: owner?.version ?? null }, row.check, ledger.check],
      set: [ledger.set(ledger.used - 1), ...(kept ? [rowOf(id, false, writeFacts(account))] : [])],
      del: kept ? [] : [accountSlotKey(id)],
      events: [accountReleased.encode(createEventId(clock, random), { account: id })],
    });
    if (!done.ok) return false;
    await catchUpTo(done.seq);
    idle.delete(slot);
    return true;
  }

  return {
    reconcile,
    /** Gives back slots of which nothing was left for long enough. @returns how many */
    async release(): Promise<number> {
      let released = 0;
      for (const slot of restedSlots()) if (await releaseOne(slot)) released++;
      return released;
    },
  };
}
