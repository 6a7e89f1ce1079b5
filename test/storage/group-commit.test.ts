/** Group commit over a database made of promises: grouping, failing, recovering, bounds. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type Clock, systemClock } from '../../src/core/clock.ts';
import {
  createGroupCommit,
  FollowsFailureError,
  type Job,
} from '../../src/storage/group-commit.ts';
import type { WriteState } from '../../src/storage/store.ts';
import { memoryLog } from '../support/server/memory-log.ts';

interface Context {
  writes: number;
}

/**
 * Each transaction waits until it is let go; `broken` makes it and the probe fail, `faults` the
 * next transactions, one each.
 */
function fakeDatabase() {
  const groups: number[] = [];
  const database = {
    groups,
    begun: 0,
    broken: false,
    faults: [] as Error[],
    hang: false,
    /** Why no transaction begins. */
    closed: undefined as Error | undefined,
    release: (): void => {},
    probes: 0,
  };
  const transactor = {
    async transact(body: (context: Context) => void) {
      database.begun += 1;
      await new Promise(setImmediate);
      if (database.closed !== undefined) throw database.closed;
      const context = { writes: 0 };
      body(context);
      groups.push(context.writes);
      if (database.hang) await new Promise<void>((resolve) => (database.release = resolve));
      await new Promise(setImmediate);
      if (database.broken) throw new Error('no space');
      const fault = database.faults.shift();
      if (fault !== undefined) throw fault;
    },
    writes: (context: Context) => context.writes,
    async probe() {
      database.probes += 1;
      if (database.broken) throw new Error('no space');
    },
    isFatal: () => false,
  };
  return { database, transactor };
}

/** A database that takes groups while others are under way: each is durable, or fails, when the test says so. */
function appendingDatabase() {
  const { database, transactor } = fakeDatabase();
  const groups: { readonly size: number; end(error?: Error): void }[] = [];
  function append(body: (context: Context) => void): Promise<void> {
    const context = { writes: 0 };
    body(context);
    return new Promise((resolve, reject) => {
      const end = (error?: Error) => (error === undefined ? resolve() : reject(error));
      groups.push({ size: context.writes, end });
    });
  }
  /** Resolves with the number of groups that were appended, once there are so many. */
  async function appended(count: number): Promise<number> {
    while (groups.length < count) await new Promise(setImmediate);
    return groups.length;
  }
  return { database, transactor: { ...transactor, append }, groups, appended };
}

function setUp(
  stallMs = 10_000,
  { database, transactor } = fakeDatabase(),
  clock: Clock = systemClock(),
) {
  const { log, lines } = memoryLog();
  const queue = createGroupCommit<Context>(transactor, {
    clock,
    log,
    probeMs: 2,
    stallMs,
  });
  const states: WriteState[] = [];
  queue.onWriteState((state) => states.push(state));
  /** The outcome of a job as a word. */
  function add(options: Partial<Job<Context>> = {}): Promise<string> {
    return new Promise((resolve) => {
      queue.add({
        run(context) {
          context.writes += 1;
        },
        done: () => resolve('done'),
        unavailable: (detail) => resolve(`unavailable: ${detail}`),
        threw: (error) => resolve(`threw: ${(error as Error).message}`),
        bytes: 10,
        maintenance: false,
        ...options,
      });
    });
  }
  /** The probe's timer alone does not keep the process alive. */
  async function available(): Promise<void> {
    const alive = setInterval(() => {}, 1_000);
    await new Promise<void>((resolve) => queue.onWriteState((s) => s.available && resolve()));
    clearInterval(alive);
  }
  return { queue, database, states, lines, add, available };
}

it('jobs that arrive during a transaction share the next one, in order', async () => {
  const { database, add, queue } = setUp();
  const used = () => queue.tables.map((table) => table.used());
  const order: number[] = [];
  const first = add();
  await new Promise(setImmediate);
  const rest = Array.from({ length: 50 }, (_, n) =>
    add({
      run(context) {
        context.writes += 1;
        order.push(n);
      },
    }),
  );
  assert.deepEqual(used(), [50, 500]);
  assert.equal(await first, 'done');
  assert.ok((await Promise.all(rest)).every((outcome) => outcome === 'done'));
  assert.deepEqual(used(), [0, 0]);
  assert.ok(database.groups.length <= 3, `${database.groups}`);
  assert.deepEqual(
    order,
    order.toSorted((a, b) => a - b),
  );
});

it('of writers who all wait for one transaction half go first, so that the others work meanwhile', async () => {
  // A clock that stands still: a busy machine would end a group at its slice of time.
  const still = { ...systemClock(), monotonicMs: () => 0 };
  const { database, add } = setUp(10_000, fakeDatabase(), still);
  await Promise.all(
    Array.from({ length: 128 }, async () => {
      for (let i = 0; i < 4; i++) assert.equal(await add(), 'done');
    }),
  );
  assert.deepEqual(database.groups.slice(0, 2), [128, 64]);
  database.groups.length = 0;
  await Promise.all(Array.from({ length: 60 }, () => add().then(() => add())));
  assert.deepEqual(database.groups, [60, 60], 'few share one all the same');
});

it('the next transaction begins before those of the last one have their answer, and answers keep their order', async () => {
  const { database, add } = setUp();
  const answered: [job: string, begun: number][] = [];
  const note = (job: string) => () => void answered.push([job, database.begun]);
  const first = add().then(note('first'));
  await new Promise(setImmediate);
  const second = add().then(note('second'));
  await Promise.all([first, second]);
  assert.deepEqual(answered, [
    ['first', 2],
    ['second', 2],
  ]);
});

it('an answer that throws makes the store unavailable until a probe, and later jobs are answered', async () => {
  const { add, available, queue } = setUp();
  const back = available();
  const bad = add({
    done() {
      throw new Error('bug');
    },
  });
  assert.match(await bad, /unavailable: bug/);
  await back;
  assert.equal(await add(), 'done');
  await queue.close();
});

it('a job that throws before writing fails alone', async () => {
  const { add, queue } = setUp();
  const bad = add({
    run() {
      throw new Error('bug');
    },
  });
  const good = add();
  assert.deepEqual(await Promise.all([bad, good]), ['threw: bug', 'done']);
  assert.ok(queue.writeState().available);
});

it('a job that throws after writing dooms its transaction', async () => {
  const { add, queue } = setUp();
  const before = add();
  const torn = add({
    run(context) {
      context.writes += 1;
      throw new Error('half');
    },
  });
  const outcomes = await Promise.all([before, torn]);
  assert.deepEqual(outcomes, ['unavailable: half', 'unavailable: half']);
  assert.equal(queue.writeState().available, false);
  await queue.close();
});

it('after a failure commits are refused at once, maintenance is tried, a probe brings back writes', async () => {
  const { add, database, states, available } = setUp();
  database.broken = true;
  assert.equal(await add(), 'unavailable: no space');
  const groups = database.groups.length;
  assert.equal(await add(), 'unavailable: no space');
  assert.equal(database.groups.length, groups, 'not even tried');
  assert.equal(await add({ maintenance: true }), 'unavailable: no space');
  assert.equal(database.groups.length, groups + 1);
  const back = available();
  database.broken = false;
  await back;
  assert.equal(await add(), 'done');
  assert.deepEqual(
    states.map((state) => state.available),
    [false, true],
  );
  assert.ok(database.probes > 0);
});

it('maintenance answers also where no transaction begins', async () => {
  const { add, database } = setUp();
  database.closed = new Error('gone');
  const both = [add({ maintenance: true }), add()];
  assert.deepEqual(await Promise.all(both), ['unavailable: gone', 'unavailable: gone']);
  assert.equal(await add({ maintenance: true }), 'unavailable: gone');
});

/** A failure of the database itself, before anything was written. */
it('a transaction that hangs makes the store unavailable, and its end makes it available', async () => {
  // Long enough for a busy machine to end an ordinary transaction in.
  const { add, database, available } = setUp(1_000);
  database.hang = true;
  assert.match(await add(), /unavailable: a transaction takes longer/);
  assert.match(await add(), /unavailable/);
  const back = available();
  database.hang = false;
  database.release();
  await back;
  assert.equal(await add(), 'done');
});

it('refuses more than it can hold', async () => {
  const { add, queue } = setUp();
  const many = Array.from({ length: 20_050 }, () => add());
  const outcomes = await Promise.all(many);
  assert.equal(outcomes.filter((o) => o === 'unavailable: too many writes are waiting').length, 50);
  assert.equal(outcomes.filter((o) => o === 'done').length, 20_000);
  assert.ok(queue.writeState().available);
});

it('a job that stands apart is handed over while others are under way, and one that does not waits for all of them', async () => {
  const over = appendingDatabase();
  const { add, queue } = setUp(10_000, over);
  const answered: string[] = [];
  const note = (name: string, options: Partial<Job<Context>>) =>
    add(options).then((outcome) => answered.push(`${name} ${outcome}`));
  const all = [note('a', { isIndependent: true }), note('b', { isIndependent: true })];
  await over.appended(1);
  all.push(note('c', { isIndependent: true }));
  await over.appended(2);
  assert.deepEqual(
    over.groups.map(({ size }) => size),
    [2, 1],
  );
  all.push(note('d', {}), note('e', { isIndependent: true }));
  over.groups[0]!.end();
  await Promise.all(all.slice(0, 2));
  await new Promise(setImmediate);
  assert.deepEqual([over.database.begun, answered], [0, ['a done', 'b done']]);
  over.groups[1]!.end();
  await Promise.all([...all, queue.close()]);
  assert.deepEqual(answered.slice(2), ['c done', 'd done', 'e done']);
  assert.deepEqual(
    [over.database.groups, over.groups.length],
    [[2], 2],
    'what waits behind goes with it',
  );
});

it('a group behind one that failed fails with its reason, and a probe waits for both', async () => {
  const over = appendingDatabase();
  const { add, available, states } = setUp(10_000, over);
  const first = add({ isIndependent: true });
  await over.appended(1);
  const second = add({ isIndependent: true });
  await over.appended(2);
  const back = available();
  over.groups[0]!.end(new Error('no space'));
  assert.equal(await first, 'unavailable: no space');
  assert.equal(await add({ isIndependent: true }), 'unavailable: no space');
  await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal(over.database.probes, 0);
  over.groups[1]!.end(new FollowsFailureError('it failed'));
  assert.equal(await second, 'unavailable: no space');
  await back;
  const again = add({ isIndependent: true });
  await over.appended(3);
  over.groups[2]!.end();
  assert.equal(await again, 'done');
  assert.deepEqual(
    states.map(({ available }) => available),
    [false, true],
  );
});

it('closing waits for the jobs added before and refuses those after', async () => {
  const { add, queue } = setUp();
  const outcome = add();
  await queue.close();
  assert.equal(await outcome, 'done');
  assert.throws(() => void queue.add({} as Job<Context>), /closed/);
});
