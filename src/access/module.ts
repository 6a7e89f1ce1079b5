/**
 * Accounts, keys and quotas in the server: the limits of clients and accounts, shared with other nodes where there
 * are some, the use of accounts and keys, and the first requests of what /connect shows. The accounts and keys in
 * memory follow the journal with the rest of the state.
 */

import { clientLimits } from '../config/limits.ts';
import { capacities } from '../config.ts';
import type { BoundedTable } from '../core/bounded-tables.ts';
import type { Clock } from '../core/clock.ts';
import { every } from '../core/every.ts';
import type { Log } from '../core/log.ts';
import type { Random } from '../core/random.ts';
import { minuteMs } from '../core/time.ts';
import type { Store } from '../storage/store.ts';
import { type AccountsHandle, openAccountsTable } from './accounts/accounts-table.ts';
import type { AccessReducer } from './accounts/reducer.ts';
import { noteKeyUse } from './keys/api-keys.ts';
import type { KeyTable } from './keys/key-table.ts';
import { deriveKey, type MasterKey } from './keys/master-key.ts';
import { startRefusedKeys } from './keys/refused-keys.ts';
import { createSightingBoard, type MarkMemory, markKeyPurpose, startSightings } from './marks.ts';
import { createClientLimits, openLimitRecords } from './quota/client-limits.ts';
import { createDistributedLimits, quotaParty } from './quota/distributed-limits.ts';
import { openQuotas, type QuotaHandle } from './quota/quota.ts';
import { createUsage, usageSampleMs } from './quota/usage.ts';

/** Clients and networks that are remembered, over all limits: by the front ends, and by the main thread. */
const countedClientsMax = 65_536;
/** The interval at which last uses are saved, milliseconds. */
const keyUseMs = 10 * minuteMs;
/** The age that the last use may have on its owner's page, milliseconds. */
const recentUseMs = 2_000;

export function openAccess(needs: {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly masterKey: MasterKey;
  /** The accounts and keys in memory. */
  readonly accountsInMemory: AccessReducer;
  readonly quotas: QuotaHandle;
  readonly accountsHandle: AccountsHandle;
  readonly takeUsedKeys: KeyTable['takeUsed'];
  /** True: other nodes work on the same store. */
  readonly isShared: boolean;
  readonly clientLimits: boolean;
}) {
  const { store, clock, random, log, masterKey, accountsInMemory, quotas, isShared } = needs;
  const limits = createDistributedLimits({ random, clock, masterKey, isShared });
  const frontEndLimitMemory = limits.memory('front ends', countedClientsMax);
  const records = openLimitRecords(frontEndLimitMemory);
  const ofMain = needs.clientLimits
    ? createClientLimits(clientLimits, limits.room('main thread', countedClientsMax))
    : undefined;
  limits.add(
    quotaParty({
      handle: quotas,
      accountCount: accountsInMemory.count,
      clock,
      quotas: openQuotas({
        handle: quotas,
        accounts: openAccountsTable(needs.accountsHandle),
        clock,
      }),
    }),
  );
  const usage = createUsage({
    handle: quotas,
    accountCount: accountsInMemory.count,
    generationOf: accountsInMemory.generationOf,
    clock,
  });
  const sampling = every(usageSampleMs, usage.sample);
  const keyUses = startKeyUses(needs);
  const marks: MarkMemory = {
    key: deriveKey(masterKey, markKeyPurpose),
    board: createSightingBoard().buffer,
  };
  const sightings = startSightings({ memory: marks, store, clock, log });
  const refusals = createSightingBoard().buffer;
  const refusedKeys = startRefusedKeys({
    memory: refusals,
    store,
    clock,
    log,
    answeredOf(account) {
      const slot = accountsInMemory.reporters.slotOf(account);
      return slot < 0 ? 0 : usage.answered(slot);
    },
  });
  const tables: readonly BoundedTable[] = [
    { name: 'accounts', used: accountsInMemory.used, limit: capacities.accounts },
    { name: 'keys', used: accountsInMemory.keys, limit: capacities.keys },
    { name: 'front_end_client_limits', used: () => records.size, limit: records.capacity },
    ...(ofMain === undefined ? [] : [ofMain.table('client_limits')]),
    sightings.table,
    refusedKeys.table,
  ];
  return {
    /** Limits that all nodes keep together. */
    limits,
    /** Counts the clients of the main thread; undefined: nobody is limited. */
    clientLimits: ofMain,
    /** Counts the clients of the front ends, as each of them does. */
    frontEndLimits: needs.clientLimits ? createClientLimits(clientLimits, records) : undefined,
    /** The part of the memory of front ends. */
    memory: { limits: frontEndLimitMemory, marks, refusals },
    usage,
    sightings,
    refusedKeys,
    /** Resolves when the last uses of keys are stored as they are, or were a few seconds ago. */
    noteKeyUses: keyUses.recent,
    tables,
    async close(): Promise<void> {
      sightings.close();
      await refusedKeys.close();
      await sampling.stop();
      await keyUses.stop();
    },
  };
}

export type AccessModule = ReturnType<typeof openAccess>;

/** Notes which keys were used; the last time when the server ends. */
function startKeyUses({
  store,
  clock,
  log,
  accountsInMemory,
  takeUsedKeys,
}: Pick<
  Parameters<typeof openAccess>[0],
  'store' | 'clock' | 'log' | 'accountsInMemory' | 'takeUsedKeys'
>) {
  let writing = Promise.resolve();
  let notedAtMs = Number.NEGATIVE_INFINITY;
  function note(): Promise<void> {
    if (!store.writeState().available) return writing;
    const lastUsedAt = clock.now();
    notedAtMs = clock.monotonicMs();
    const ids = takeUsedKeys().flatMap(({ accountSlot, hash }) => {
      return accountsInMemory.keyIdOf(accountSlot, hash) ?? [];
    });
    writing = noteKeyUse(store, new Map(ids.map((id) => [id, { lastUsedAt }]))).then(
      () => undefined,
      (error) => log.warn({ err: error }, 'keys: last use not saved'),
    );
    return writing;
  }
  const loop = every(keyUseMs, note);
  return {
    recent: () => (clock.monotonicMs() - notedAtMs < recentUseMs ? writing : note()),
    async stop(): Promise<void> {
      await loop.stop();
      await writing;
      await note();
    },
  };
}
