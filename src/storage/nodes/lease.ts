/**
 * Decides which node does the work that one does for all: a row of the shared store holds the name
 * of its process. The row's version is the fence: a commit of the work checks it in its own
 * transaction, so the database refuses a holder that was replaced, however long it slept.
 *
 * Invariants: the row changes hands only when its holder was not seen for `aliveMs`, is gone or
 * gave it back; renewing is the node's own heartbeat and does not touch the row.
 */

import type { Clock } from '../../core/clock.ts';
import { leaseKey } from '../keys.ts';
import { LeaseLostError } from '../maintenance.ts';
import type { PostgresStore } from '../postgres/store.ts';
import type { RowCheck, Store } from '../store.ts';

/** The lease of all work that one node does for the cluster. */
export const maintenanceLease = 'upkeep';

export function createLease(options: {
  store: PostgresStore;
  clock: Clock;
  /** Names this process. */
  boot: string;
  isAlive: (boot: string) => Promise<boolean>;
  /** A node without a heartbeat for this time counts as gone. */
  aliveMs: number;
}) {
  const { store, clock, boot, isAlive, aliveMs } = options;
  const key = leaseKey(maintenanceLease);
  let held: { readonly check: RowCheck; readonly untilMs: number } | undefined;

  return {
    /**
     * After each heartbeat that the database took: keeps it, or takes it when it is free.
     * @param sinceMs before that heartbeat, by the monotonic clock
     */
    async poll(sinceMs: number): Promise<void> {
      const untilMs = sinceMs + aliveMs;
      const row = await store.get(key);
      const holder = row && Buffer.from(row.value).toString();
      if (row !== undefined && holder === boot) {
        held = { check: { key, version: row.version }, untilMs };
        return;
      }
      held = undefined;
      if (holder !== undefined && (await isAlive(holder))) return;
      const check = [{ key, version: row?.version ?? null }];
      const done = await store.commit({ check, set: [{ key, value: Buffer.from(boot) }] });
      if (done.ok) held = { check: { key, version: done.versions[0]! }, untilMs };
    },
    /**
     * Returns the check for commits of the work; undefined while another node holds the lease, or this one
     * must not use it.
     */
    fence(): RowCheck | undefined {
      if (held !== undefined && clock.monotonicMs() >= held.untilMs) held = undefined;
      return held?.check;
    },
    /** Forgets the lease: another node has it. */
    lose(): void {
      held = undefined;
    },
    /** Gives the lease back, so that another node can take it at once. */
    async release(): Promise<void> {
      const check = held?.check;
      held = undefined;
      if (check !== undefined) await store.commit({ check: [check], del: [key] });
    },
  };
}

type Lease = ReturnType<typeof createLease>;

/** The shared store as the work sees it. What is swept and pruned is fenced too. */
export function fencedStore(store: PostgresStore, lease: Lease): Store {
  return {
    ...store,
    async commit(commit) {
      const fence = lease.fence();
      if (fence === undefined) throw new LeaseLostError('another node does this work');
      const check = [...(commit.check ?? []), fence];
      const done = await store.commit({ ...commit, check });
      const isLost =
        !done.ok && done.error === 'check_failed' && done.failedCheck === check.length - 1;
      if (!isLost) return done;
      lease.lose();
      throw new LeaseLostError('another node has taken this work over');
    },
    async sweep(limit) {
      const fence = lease.fence();
      return fence === undefined ? 0 : store.sweep(limit, fence);
    },
    async pruneEvents(throughSeq) {
      const fence = lease.fence();
      return fence === undefined ? 0 : store.pruneEvents(throughSeq, fence);
    },
  };
}
