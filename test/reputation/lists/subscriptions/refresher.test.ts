/**
 * When lists are fetched and what is taken of them, against a plain model: random answers of a
 * server, words of the operator, restarts and a clock that is told to move, on a real store.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  createRefresher,
  type FetchJob,
  type FetchResult,
} from '../../../../src/reputation/lists/subscriptions/refresher.ts';
import {
  addSubscription,
  changeSubscription,
  findSubscription,
  type Subscription,
} from '../../../../src/reputation/lists/subscriptions/subscriptions.ts';
import { openLmdbStore } from '../../../../src/storage/lmdb/store.ts';
import { LeaseLostError } from '../../../../src/storage/maintenance.ts';
import type { Store } from '../../../../src/storage/store.ts';
import { decodeEvent } from '../../../support/reputation/events.ts';
import { batchRows, parseText } from '../../../support/reputation/lists.ts';
import { manualClock, seededRandom } from '../../../support/seeded.ts';
import { memoryLog } from '../../../support/server/memory-log.ts';
import { makeTempDir } from '../../../support/server/temp-dir.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const directory = makeTempDir('refresher');
const stores: Store[] = [];
after(async () => {
  for (const store of stores) await store.close();
  directory.remove();
});

const terms = {
  url: 'https://lists.example/bad.txt?key=secret',
  list: 'seed',
  format: 'plain',
  confidence: 75,
  holdDays: 30,
  allowDocumentation: false,
  service: undefined,
} as const;

/** What the list's last whole run says, by the journal. */
async function rowsInJournal(store: Store, source: string): Promise<string[]> {
  const runs = new Map<string, string[]>();
  let whole: string[] = [];
  for (let seq = 0n; ; ) {
    const page = await store.read(seq, 500);
    for (const { kind, version, body } of page) {
      const event = decodeEvent(kind, version, body);
      if (event === undefined || !('ref' in event) || event.ref.source !== source) continue;
      const rows = runs.get(event.ref.run) ?? [];
      runs.set(event.ref.run, rows);
      if (event.kind === 'list.rows') rows.push(...batchRows(event.rows));
      if (event.kind === 'list.ended') whole = rows;
    }
    if (page.length === 0) return whole.sort();
    seq = page.at(-1)!.seq;
  }
}

/** A refresher with a server of which the test says what it answers. */
function open(name: string, seed: number) {
  const random = seededRandom(seed);
  const { log, lines } = memoryLog();
  const clock = manualClock(Date.UTC(2026, 10, 23));
  const store = openLmdbStore({ path: `${directory.path}/${name}`, clock, log });
  stores.push(store);
  const world = {
    store,
    clock,
    random,
    lines,
    isMine: true,
    /** Between the last look at the row and the run. */
    beforeRun: async () => {},
    jobs: [] as FetchJob[],
    held: new Set<string>(),
    answer: async (): Promise<FetchResult> => ({ failed: 'nothing was said' }),
    refresher: undefined as unknown as ReturnType<typeof createRefresher>,
    restart() {
      world.refresher = createRefresher({
        store,
        clock,
        random,
        log,
        allowPrivate: false,
        isMine: () => world.isMine,
        fetch: (job) => {
          world.jobs.push(job);
          return world.answer();
        },
        countKnown: async (_, batches) => {
          await world.beforeRun();
          return batches.flatMap(batchRows).filter((row) => world.held.has(row)).length;
        },
      });
    },
    async look() {
      await world.refresher.poll();
      await world.refresher.idle();
    },
    async add(name: string, everyMs = hourMs) {
      const done = await addSubscription(store, { ...terms, name, everyMs }, clock.now());
      assert.ok(done.ok);
    },
    row: async (source: string) => (await findSubscription(store, source))!.row,
    change: async (source: string, change: Partial<Subscription>) => {
      const done = await changeSubscription(store, source, () => change);
      assert.ok(done.ok);
    },
  };
  world.restart();
  return world;
}

async function fetched(addresses: readonly string[], etag = ''): Promise<FetchResult> {
  const { batches } = await parseText('plain', addresses.join('\n'));
  const rows = batches.flatMap(batchRows);
  const validators = { etag, lastModified: '' };
  const digest = rows.sort().join();
  return {
    fetched: {
      batches,
      rows: rows.length,
      digest,
      badLines: 0,
      format: 'plain',
      samples: [],
      leftOut: 0,
      validators,
    },
  };
}

const addressesOf = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => `9.${(from + i) >> 8}.${(from + i) & 255}.9`);
const rowsOf = (addresses: readonly string[]) => addresses.map((one) => `${one}/32 75`).sort();

for (const seed of [1, 2, 3]) {
  test(`schedule, holds and rows are those of the model (seed ${seed})`, async () => {
    const world = open(`model-${seed}`, seed);
    const { clock, random, store } = world;
    const everyMs = [15 * minuteMs, 6 * hourMs, dayMs][seed % 3]!;
    await world.add('bad', everyMs);
    const pick = (n: number) => Math.floor(random.next() * n);
    const model = {
      rows: [] as string[],
      loadedAt: -Infinity,
      etag: '',
      failures: 0,
      heldRows: 0,
      acceptedRows: 0,
      isPaused: false,
      /** The next try is at or after the first, and at the latest at the second. */
      due: [0, 0] as [number, number],
    };
    for (let step = 0; step < 250; step++) {
      clock.advance(pick(4) === 0 ? pick(everyMs * 2) : pick(everyMs / 4));
      const word = pick(14);
      if (word === 0) {
        model.isPaused = true;
        await world.change('bad', { state: 'paused' });
      } else if (word <= 2) {
        model.isPaused = false;
        model.due = [0, 0];
        await world.change('bad', { state: 'active', dueAt: clock.now() });
      } else if (word === 3 && model.heldRows > 0) {
        Object.assign(model, { acceptedRows: model.heldRows, heldRows: 0, due: [0, 0] });
        const { acceptedRows } = model;
        await world.change('bad', { acceptedRows, heldRows: 0, dueAt: clock.now() });
      } else if (word === 4) world.restart();

      // What the server would say: the same again, other rows, a few of them, or nothing.
      const kind = pick(5);
      const size = kind === 1 ? 1 + pick(20) : 20 + pick(60);
      const next = kind === 0 ? model.rows : rowsOf(addressesOf(pick(30), size));
      const etag = `"${step}"`;
      const addresses = next.map((row) => row.split('/')[0]!);
      const isFailure = kind >= 3 || next.length === 0;
      const canAsk = clock.now() - model.loadedAt < dayMs && model.etag !== '';
      const isUnchanged = kind === 0 && canAsk;
      world.answer = async () => {
        if (isFailure) return { failed: `it failed at ${step}` };
        return isUnchanged ? { unchanged: true } : fetched(addresses, etag);
      };
      world.jobs.length = 0;
      await world.look();
      const now = clock.now();
      const row = await world.row('bad');
      const tried = world.jobs.length;

      if (model.isPaused) assert.equal(tried, 0, `${step}: paused`);
      else if (now < model.due[0]) assert.equal(tried, 0, `${step}: too early`);
      else if (now >= model.due[1]) assert.equal(tried, 1, `${step}: due`);
      assert.ok(tried <= 1);
      if (tried === 1) {
        assert.deepEqual(
          world.jobs[0]!.known,
          canAsk ? { etag: model.etag, lastModified: '' } : undefined,
          `${step}: asks for what is new`,
        );
        const base = model.acceptedRows || model.rows.length;
        const least = Math.min(base, model.rows.length) / 2;
        if (isFailure) model.failures += 1;
        else if (!isUnchanged && next.length < least) {
          Object.assign(model, { failures: 0, heldRows: next.length });
        } else {
          const isSame = next.join() === model.rows.join() && now - model.loadedAt < dayMs;
          if (!isSame) model.loadedAt = now;
          if (!isUnchanged) model.etag = etag;
          Object.assign(model, { failures: 0, heldRows: 0, acceptedRows: 0, rows: next });
        }
        const retryMs = Math.min(minuteMs * 2 ** (model.failures - 1), Math.max(everyMs, hourMs));
        const pauseMs = model.failures === 0 ? everyMs : retryMs;
        model.due = [now + pauseMs * 0.9 - 1, now + pauseMs * 1.1 + 1];
        assert.ok(row.dueAt >= model.due[0] && row.dueAt <= model.due[1], `${step}: next`);
        assert.equal(row.failure, isFailure ? `it failed at ${step}` : '');
      }
      const { rows, failures, heldRows, acceptedRows } = row;
      assert.deepEqual(
        { rows, failures, heldRows, acceptedRows },
        {
          rows: model.rows.length,
          failures: model.failures,
          heldRows: model.heldRows,
          acceptedRows: model.acceptedRows,
        },
        `${step}`,
      );
      world.held = new Set(model.rows);
    }
    assert.ok(model.rows.length > 0);
    assert.deepEqual(await rowsInJournal(store, 'bad'), model.rows);
    const { loads, unchanged, holds, failuresEver, addedEver, removedEver } =
      await world.row('bad');
    for (const count of [loads, unchanged, holds, failuresEver, removedEver]) assert.ok(count > 0);
    assert.equal(addedEver - removedEver, model.rows.length);
  });
}

test('a clock that was ahead does not hold a list up', async () => {
  const world = open('clock', 7);
  await addSubscription(world.store, { ...terms, name: 'bad', everyMs: hourMs }, world.clock.now());
  await world.change('bad', { dueAt: world.clock.now() + 365 * dayMs });
  await world.look();
  assert.equal(world.jobs.length, 1);
});

test('a server that says when to come back is not asked sooner', async () => {
  const world = open('busy', 14);
  await world.add('bad');
  world.answer = async () => ({ failed: 'the server answered 429', waitMs: hourMs });
  await world.look();
  assert.equal((await world.row('bad')).dueAt, world.clock.now() + hourMs);
  for (let minute = 1; minute < 60; minute++) {
    world.clock.advance(minuteMs);
    await world.look();
    assert.equal(world.jobs.length, 1);
  }
  world.clock.advance(minuteMs);
  // It says nothing more: the pause after a second failure.
  world.answer = async () => ({ failed: 'the server answered 429' });
  await world.look();
  assert.equal(world.jobs.length, 2);
  assert.ok((await world.row('bad')).dueAt < world.clock.now() + 3 * minuteMs);
});

test('two are fetched at a time, the longest due first', async () => {
  const world = open('many', 8);
  for (const [i, name] of ['a', 'b', 'c'].entries()) {
    await world.add(name);
    await world.change(name, { dueAt: world.clock.now() - i * minuteMs, url: `https://${name}/` });
  }
  const urls = () => world.jobs.map(({ terms: { url } }) => url);
  let release: () => void = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  world.answer = async () => {
    await gate;
    return { failed: 'no' };
  };
  await world.refresher.poll();
  await world.refresher.poll();
  await new Promise(setImmediate);
  assert.ok(urls().length <= 2 && !urls().includes('https://a/'));
  release();
  await world.refresher.idle();
  await world.look();
  assert.deepEqual(urls().sort(), ['https://a/', 'https://b/', 'https://c/']);
});

test('rows of a source that was paused while it was read are not taken', async () => {
  const world = open('paused', 9);
  await addSubscription(world.store, { ...terms, name: 'bad', everyMs: hourMs }, world.clock.now());
  world.answer = async () => {
    await world.change('bad', { state: 'paused' });
    return fetched(addressesOf(0, 30));
  };
  await world.look();
  assert.equal(world.jobs.length, 1);
  assert.deepEqual(await rowsInJournal(world.store, 'bad'), []);
  assert.equal((await world.row('bad')).triedAt, 0);
});

test('a source that is changed as its run begins keeps its rows', async () => {
  const world = open('changed', 11);
  await world.add('bad');
  world.answer = () => fetched(addressesOf(0, 30));
  world.beforeRun = () => world.change('bad', { state: 'removing' });
  await world.look();
  assert.equal(world.jobs.length, 1);
  assert.equal(await world.store.lastSeq(), 0n);
});

test('a stop in the middle of a run takes nothing back, and the next start tries again', async () => {
  const world = open('stop', 12);
  await world.add('bad');
  const first = addressesOf(0, 2_100);
  world.answer = () => fetched(first);
  await world.look();
  world.answer = () => fetched(addressesOf(1_000, 6_000));
  let stopped: Promise<void> | undefined;
  world.beforeRun = async () => {
    stopped = world.refresher.stop();
  };
  await world.change('bad', { dueAt: world.clock.now() });
  await world.look();
  await stopped;
  assert.deepEqual(await rowsInJournal(world.store, 'bad'), rowsOf(first));
  assert.equal((await world.row('bad')).loads, 1);
  assert.ok(!world.lines.some(({ level }) => level >= 50));
  world.beforeRun = async () => {};
  world.restart();
  await world.look();
  assert.deepEqual(await rowsInJournal(world.store, 'bad'), rowsOf(addressesOf(1_000, 6_000)));
  // What broke off is no base for a question whether there is something new.
  assert.equal(world.jobs.at(-1)!.known, undefined);
});

test('an answer that breaks the program is a failure with a pause behind it', async () => {
  const world = open('bug', 13);
  await world.add('bad');
  world.answer = () => Promise.reject(new TypeError('a bug'));
  await world.look();
  await world.look();
  assert.equal(world.jobs.length, 1);
  const { failures, failure } = await world.row('bad');
  assert.deepEqual([failures, failure], [1, 'an unexpected error, which the log has']);
});

test('another node fetches: nothing is begun, and what was begun is not written', async () => {
  const world = open('node', 10);
  await addSubscription(world.store, { ...terms, name: 'bad', everyMs: hourMs }, world.clock.now());
  world.isMine = false;
  await world.look();
  assert.equal(world.jobs.length, 0);
  world.isMine = true;
  world.answer = async () => {
    world.isMine = false;
    return fetched(addressesOf(0, 30));
  };
  await world.look();
  assert.equal(world.jobs.length, 1);
  assert.deepEqual(await rowsInJournal(world.store, 'bad'), []);
  // The lease goes between the question and the commit.
  world.isMine = true;
  const { commit } = world.store;
  world.answer = async () => {
    Object.assign(world.store, {
      commit: async () => {
        throw new LeaseLostError('another node does this work');
      },
    });
    return fetched(addressesOf(0, 30));
  };
  await world.look();
  Object.assign(world.store, { commit });
  assert.equal(world.jobs.length, 2);
  assert.equal((await world.row('bad')).triedAt, 0);
  assert.ok(!world.lines.some(({ level }) => level >= 50), 'nothing to tell');
});
