/**
 * What a peer costs who takes its word: a first load of a million rows, the same rows once more, the rows from the
 * journal, and a look at a head without news. Processor time is that of the thread that answers; the least of the rounds'
 * longest pauses is shown. Checks beside a first load are asked of a server that takes it, and of the same one while
 * another server takes it, which is what the machine's own contention costs.
 */

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { systemClock } from '../src/core/clock.ts';
import { createLog } from '../src/core/log.ts';
import { hourMs, minuteMs } from '../src/core/time.ts';
import { createPeerPoller } from '../src/reputation/federation/subscribe/module.ts';
import { listPeers, storePeer } from '../src/reputation/federation/subscribe/peers.ts';
import { openLmdbStore } from '../src/storage/lmdb/store.ts';
import { manualClock, seededRandom } from '../test/support/seeded.ts';
import { metric, startTestServer, type TestServer, within } from '../test/support/server/server.ts';
import { makeTempDir } from '../test/support/server/temp-dir.ts';
import { openChecks } from './http-load.ts';
import { openStateOn } from './open-state.ts';
import { type Pauses, watchPauses } from './pauses.ts';
import { type BenchRow, besidePeer, median, ratioAtMost } from './row.ts';
import { inTurns, openThreadClock } from './work.ts';

const sizes = {
  tiny: { rows: 3_000, rounds: 1, heads: 3, besideRows: 3_000, seconds: 1 },
  full: { rows: 1_000_000, rounds: 3, heads: 200, besideRows: 250_000, seconds: 4 },
} as const;
type Size = (typeof sizes)[keyof typeof sizes];

const log = createLog('fatal');
const [pauseMsGoal, foldMsGoal, headMsGoal, snapshotMsGoal] = [10, 600, 1, 3_000];
const checkGoal = 1.2;

const unwatched: Pauses = { max: 0, p99: 0, elapsedMs: 0 };

type Measured = Awaited<ReturnType<typeof measure>>;

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const s = sizes[size];
  const [measured, watched]: [Measured[], Measured[]] = [[], []];
  // The watch is work of its own.
  for (let round = 0; round < s.rounds; round++) {
    measured.push(await measure(s));
    watched.push(await measure(s, true));
  }
  const rows = s.rows.toLocaleString('en-US');
  const least = (all: readonly Measured[], of: (m: Measured) => number) => Math.min(...all.map(of));
  const atMost = (name: string, ours: number, goal: number): BenchRow => {
    return {
      name,
      unit: 'ms',
      ours: Number(ours.toFixed(3)),
      goal: `<= ${goal}`,
      ok: ours <= goal,
    };
  };
  const processor = (name: string, of: (m: Measured) => number): BenchRow => {
    const ours = Math.round(median(measured.map(of)));
    return { name: `${name}: processor time`, unit: 'ms', ours };
  };
  const pause = (name: string, of: (m: Measured) => Pauses): BenchRow => {
    const longest = least(watched, (m) => of(m).max);
    const p99 = Number(least(watched, (m) => of(m).p99).toFixed(2));
    return { ...atMost(`${name}: longest pause`, longest, pauseMsGoal), p99 };
  };
  const [folding, looking] = [
    `fold from the journal, ${rows} rows`,
    'a look at a head without news',
  ];
  const snapshotMs = Math.round(median(measured.map((m) => m.snapshotMs)));
  return [
    processor(`first load, ${rows} rows`, (m) => m.firstMs),
    pause('first load', (m) => m.first),
    processor('the same rows again', (m) => m.againMs),
    pause('the same rows again', (m) => m.again),
    atMost(
      `${folding}: processor time`,
      least(measured, (m) => m.foldMs),
      foldMsGoal,
    ),
    pause('fold from the journal', (m) => m.fold),
    atMost(
      `${looking}: processor time`,
      least(measured, (m) => m.headMs),
      headMsGoal,
    ),
    atMost(`a snapshot of ${rows} rows, in a thread`, snapshotMs, snapshotMsGoal),
    await checksBeside(s),
  ];
}

async function checksBeside({ besideRows: rows, rounds, seconds }: Size): Promise<BenchRow> {
  const clock = manualClock(Date.now());
  const from = await publisher(rows, clock);
  const env = { CLIENT_LIMITS: 'off', SOURCE_ALLOW_PRIVATE: 'on' };
  const open = () => startTestServer({ threads: 1, env });
  try {
    await using asked = await open();
    await using other = await open();
    using checks = openChecks(['192.0.2.75', '8.8.8.8'], asked.key);
    const rowsAt = async (server: TestServer) =>
      (await metric(server, 'portcullis_peer_rows')).get('peer="1"') ?? 0;
    /** The checks begin with the load; the peer is gone before the next one. */
    async function besideLoadOf(server: TestServer): Promise<number> {
      await server.cliJson('peer', 'add', from.url, '--key', from.line, '--yes');
      const p99 = await checks.p99(asked.port, seconds);
      if (server === asked) came.push(await rowsAt(server));
      await within(async () => (await rowsAt(server)) >= 0.999 * rows, 'the whole first load');
      await server.cliJson('peer', 'remove', '1');
      await within(async () => (await rowsAt(server)) === 0, 'a peer that is gone');
      return p99;
    }
    const came: number[] = [];
    const { idle, beside, own } = await inTurns(rounds, {
      idle: () => checks.p99(asked.port, seconds),
      beside: () => besideLoadOf(other),
      own: () => besideLoadOf(asked),
    });
    const [name, peer] = ['check p99 beside a first load', 'the load on another server'];
    const loaded = besidePeer(name, 'ms', median(own), peer, median(beside));
    const share = Math.round((100 * median(came.slice(-rounds))) / rows);
    return {
      ...ratioAtMost(loaded, checkGoal, '× control'),
      p99: loaded.ours,
      note: `wrk, 64 connections, one thread; ${share} % of ${rows.toLocaleString('en-US')} rows had come when the checks ended; idle ${median(idle)} ms`,
    };
  } finally {
    await from.close();
  }
}

/** A peer that publishes so many rows, in a thread of its own. */
async function publisher(rows: number, clock: ReturnType<typeof manualClock>) {
  const worker = new Worker(new URL('./peers-publisher.worker.js', import.meta.url), {
    workerData: { rows, nowMs: clock.now() },
  });
  const [said] = (await once(worker, 'message')) as [
    { readonly url: string; readonly line: string; readonly snapshotMs: number },
  ];
  return {
    ...said,
    /** Lets time pass for it and for who reads it. */
    async pass(ms: number, hasNews: boolean): Promise<void> {
      clock.advance(ms);
      worker.postMessage({ nowMs: clock.now(), hasNews });
      await once(worker, 'message');
    },
    close: () => worker.terminate(),
  };
}

const { ranMs: workedMs } = openThreadClock();

async function measure({ rows, heads }: Size, isWatched = false) {
  using directory = makeTempDir('bench-peers');
  const clock = manualClock(Date.now());
  const store = openLmdbStore({ path: `${directory.path}/store`, clock: systemClock(), log });
  const from = await publisher(rows, clock);
  try {
    const entriesMax = 4 * rows;
    const state = await openStateOn(store, entriesMax);
    state.start();
    const poller = createPeerPoller({
      store,
      isMine: () => true,
      entries: state.entries,
      index: state.index,
      policy: state.policy,
      catchUpTo: state.follower.catchUpTo,
      allowPrivate: true,
      clock,
      random: seededRandom(2),
      log,
      signer: async () => undefined,
    });
    const terms = { weight: 4, owner: '', isOwn: false, budget: 0, addedAt: 1 };
    await storePeer(store, { url: from.url, key: from.line, ...terms }, () => []);
    async function poll(): Promise<void> {
      await poller.poll();
      await poller.idle();
    }
    async function timed(act: () => Promise<void>): Promise<[Pauses, number]> {
      if (isWatched) return [await watchPauses(act), 0];
      const before = workedMs();
      await act();
      return [unwatched, workedMs() - before];
    }
    const [first, firstMs] = await timed(poll);
    const fault = (await listPeers(store))[0]!;
    const came = state.entries.contributions.ofPeers();
    // More than sixteen of a network are left out.
    if (came < 0.999 * rows) throw new Error(`${came} rows came: ${fault.failure}`);
    await from.pass(hourMs, true);
    const [again, againMs] = await timed(poll);
    let headMs = 0;
    for (let i = 0; i < heads; i++) {
      await from.pass(6 * minuteMs, false);
      const before = workedMs();
      await poll();
      headMs += (workedMs() - before) / heads;
    }
    await poller.stop();
    // Without the checkpoint of an orderly end: all is read from the journal.
    await state.follower.stop();
    const other = await openStateOn(store, entriesMax);
    const [fold, foldMs] = await timed(async () => {
      other.start();
      await other.follower.catchUpTo(await store.lastSeq());
    });
    if (other.entries.contributions.ofPeers() !== came)
      throw new Error('the journal has other rows');
    await other.stop();
    const { snapshotMs } = from;
    return { snapshotMs, first, firstMs, again, againMs, fold, foldMs, headMs };
  } finally {
    await from.close();
    await store.close();
  }
}
