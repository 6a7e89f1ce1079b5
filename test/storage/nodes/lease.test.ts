/** Who does the work that one node does for all, by a store of which each answer is known. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { leaseKey, scratchKey } from '../../../src/storage/keys.ts';
import { LeaseLostError } from '../../../src/storage/maintenance.ts';
import { createLease, fencedStore, maintenanceLease } from '../../../src/storage/nodes/lease.ts';
import type { PostgresStore } from '../../../src/storage/postgres/store.ts';
import type { Commit, RowCheck } from '../../../src/storage/store.ts';
import { manualClock } from '../../support/seeded.ts';

const key = leaseKey(maintenanceLease);
const aliveMs = 10_000;

/** A row of the lease, with versions that go up, and what was asked for. */
function place() {
  const clock = manualClock(0);
  let row: { value: Uint8Array; version: number } | undefined;
  let version = 7;
  const commits: Commit[] = [];
  const fences: (RowCheck | undefined)[] = [];
  const alive = new Set<string>();
  const store = {
    get: async () => row,
    async commit(commit: Commit) {
      commits.push(commit);
      const { check = [], set = [], del = [] } = commit;
      const failedCheck = check.findIndex(
        (one) => Buffer.compare(one.key, key) === 0 && one.version !== (row?.version ?? null),
      );
      if (failedCheck >= 0) return { ok: false, error: 'check_failed', seq: 0n, failedCheck };
      if (set.some((one) => Buffer.compare(one.key, key) === 0)) {
        row = { value: set[0]!.value, version: ++version };
      }
      if (del.length > 0) row = undefined;
      return { ok: true, seq: 0n, duplicate: false, versions: set.map(() => version) };
    },
    async sweep(_limit: number, fence?: RowCheck) {
      fences.push(fence);
      return 1;
    },
    async pruneEvents(_through: bigint, fence?: RowCheck) {
      fences.push(fence);
      return 1;
    },
  } as unknown as PostgresStore;
  const leaseOf = (boot: string) =>
    createLease({ store, clock, boot, aliveMs, isAlive: async (holder) => alive.has(holder) });
  const holder = () => row && Buffer.from(row.value).toString();
  return { clock, store, commits, fences, alive, leaseOf, holder };
}

it('who was not heard of for so long stops by itself, at that very moment', async () => {
  const { clock, leaseOf } = place();
  const lease = leaseOf('one');
  // The heartbeat was begun two seconds before its answer: others reckon from when it was written.
  const sinceMs = clock.monotonicMs();
  clock.advance(2_000);
  await lease.poll(sinceMs);
  clock.advance(aliveMs - 2_001);
  assert.ok(lease.fence());
  clock.advance(1);
  assert.equal(lease.fence(), undefined);
  await lease.poll(clock.monotonicMs());
  assert.ok(lease.fence(), 'the row is still its own');
});

it('a row changes hands when its holder is gone, and only from the holder that was seen', async () => {
  const { clock, alive, commits, leaseOf, holder } = place();
  const [one, two] = [leaseOf('one'), leaseOf('two')];
  await one.poll(clock.monotonicMs());
  assert.deepEqual(commits.at(-1)!.check, [{ key, version: null }]);
  alive.add('one');
  await two.poll(clock.monotonicMs());
  assert.equal(two.fence(), undefined);
  assert.equal(holder(), 'one');
  alive.delete('one');
  await two.poll(clock.monotonicMs());
  assert.equal(holder(), 'two');
  assert.deepEqual(commits.at(-1)!.check, [{ key, version: 8 }], 'of the row that was read');
  // Given back by who has it no more: the next one keeps it.
  await one.release();
  assert.equal(holder(), 'two');
  alive.add('two');
  await one.poll(clock.monotonicMs());
  assert.equal(one.fence(), undefined);
  await two.release();
  assert.equal(holder(), undefined);
});

it('each commit of the work is fenced, behind its own checks; a lost lease ends the work', async () => {
  const { clock, store, commits, fences, leaseOf } = place();
  const lease = leaseOf('one');
  const fenced = fencedStore(store, lease);
  await assert.rejects(fenced.commit({}), LeaseLostError);
  assert.equal(await fenced.sweep(10), 0);
  assert.equal(await fenced.pruneEvents(1n), 0);
  assert.deepEqual(fences, [], 'nothing is removed without it');
  await lease.poll(clock.monotonicMs());
  const fence = lease.fence()!;
  const own = { key: scratchKey(), version: 3 };
  assert.ok((await fenced.commit({ check: [own] })).ok);
  assert.deepEqual(commits.at(-1)!.check, [own, fence]);
  await fenced.sweep(10);
  await fenced.pruneEvents(1n);
  assert.deepEqual(fences, [fence, fence]);
  // Another check of the same commit: the work goes on.
  const refusing = { ...store, commit: async () => ({ ...refused, failedCheck: 0 }) };
  const done = await fencedStore(refusing as never, lease).commit({ check: [own] });
  assert.ok(!done.ok && done.error === 'check_failed');
  assert.ok(lease.fence());
  // Taken over.
  const two = leaseOf('two');
  await two.poll(clock.monotonicMs());
  await assert.rejects(fenced.commit({ check: [own] }), /has taken this work over/);
  assert.equal(lease.fence(), undefined, 'and no further commit is tried');
});

const refused = { ok: false, error: 'check_failed', seq: 0n } as const;
