/**
 * A primary that waits for its synchronous standby: nobody is told that a commit is in before the standby has
 * it, whoever ends the wait.
 */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import { type Key, scratchKey, text } from '../../src/storage/keys.ts';
import { openPostgresStore, type PostgresStore } from '../../src/storage/postgres/store.ts';
import type { CommitResult } from '../../src/storage/store.ts';
import { hasTool } from '../support/house/tools.ts';
import { memoryLog } from '../support/server/memory-log.ts';
import { postgresProgram, startPostgres, type TestPostgres } from '../support/server/postgres.ts';
import { within } from '../support/server/server.ts';

const key = (name: string): Key => scratchKey(text(name));
const value = Buffer.from('x');
const event = (id: string) => ({ id, kind: 'test', version: 1, body: value });

interface Place {
  readonly store: PostgresStore;
  readonly primary: TestPostgres;
  readonly standby: TestPostgres;
  /** Resolves when a backend waits for the standby. @returns its process id */
  waiting(except?: number): Promise<number>;
  ask(text: string): Promise<unknown>;
}

async function withStandby(use: (place: Place) => Promise<void>): Promise<void> {
  const primary = await startPostgres();
  const url = await primary.createDatabase();
  const options = { url, clock: systemClock(), log: memoryLog().log, stallMs: 600_000 };
  const store = await openPostgresStore(options);
  assert.ok((await store.commit({ events: [event('first')] })).ok);
  const standby = await primary.startSynchronousStandby();
  const ask = (question: string) => primary.ask(url, question);
  async function waiting(except = 0): Promise<number> {
    let pid = 0;
    await within(async () => {
      const { rows } = await ask(
        `select pid from pg_stat_activity where wait_event = 'SyncRep' and pid <> ${except}`,
      );
      pid = rows[0]?.pid ?? 0;
      return pid !== 0;
    });
    return pid;
  }
  try {
    assert.ok((await store.commit({ events: [event('second')] })).ok);
    await standby.kill();
    await use({ store, primary, standby, waiting, ask });
  } finally {
    await primary.stop();
    await store.close();
    await standby.stop();
  }
}

/** What was answered, as soon as it is. */
function heard(work: Promise<CommitResult>): { answer?: CommitResult } {
  const box: { answer?: CommitResult } = {};
  void work.then((answer) => {
    box.answer = answer;
  });
  return box;
}

it('a primary that is killed while it waits has the commit alone: it is told once the standby has it', async (t) => {
  if (!hasTool(t, postgresProgram)) return;
  await withStandby(async ({ store, primary, standby, waiting }) => {
    const commit = { set: [{ key: key('a'), value }], events: [event('a')] };
    const done = store.commit(commit);
    const told = heard(done);
    await waiting();
    await primary.kill();
    await primary.start();
    await within(async () => (await store.get(key('a')).catch(() => undefined)) !== undefined);
    await waiting();
    assert.equal(told.answer, undefined);
    await standby.start();
    assert.deepEqual(
      { ...(await done), versions: [] },
      { ok: true, seq: 3n, duplicate: false, versions: [] },
    );
    const again = await store.commit(commit);
    assert.ok(again.ok && again.duplicate);
    assert.equal((await store.read(0n, 9)).length, 3);
  });
});

it('a retry of what only the primary has waits for the standby, too', async (t) => {
  if (!hasTool(t, postgresProgram)) return;
  await withStandby(async ({ store, standby, waiting, ask }) => {
    await ask(`set synchronous_commit = local; insert into event_ids values ('old', 1, 0)`);
    const done = store.commit({ events: [event('old')] });
    const told = heard(done);
    await waiting();
    assert.equal(told.answer, undefined);
    await standby.start();
    assert.deepEqual(await done, { ok: true, seq: 1n, duplicate: true, versions: [] });
  });
});

it('a wait that an administrator ends is no acknowledgement', async (t) => {
  if (!hasTool(t, postgresProgram)) return;
  await withStandby(async ({ store, standby, waiting, ask }) => {
    const done = store.commit({ set: [{ key: key('a'), value }], events: [event('a')] });
    const told = heard(done);
    const pid = await waiting();
    await ask(`select pg_cancel_backend(${pid})`);
    await waiting(pid);
    assert.equal(told.answer, undefined);
    await standby.start();
    assert.ok((await done).ok);
    assert.equal((await store.read(0n, 9)).length, 3);
  });
});
