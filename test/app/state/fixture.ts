/** The state on a real store in a directory of its own, and everything it holds as text. */

import { openState, type State } from '../../../src/app/state.ts';
import { createLog, type Log } from '../../../src/core/log.ts';
import { formatPrefix } from '../../../src/ip/prefix.ts';
import { createEventId } from '../../../src/storage/journal/define-event.ts';
import type { PageSection } from '../../../src/storage/journal/projection.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import type { NewEvent, Store } from '../../../src/storage/store.ts';
import { indexShown } from '../../support/reputation/entries-shown.ts';
import {
  type AccessEvent,
  encodeEvent,
  type ReputationEvent,
} from '../../support/reputation/events.ts';
import { createRandomJournal } from '../../support/reputation/random-journal.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

export const entriesMax = 20_000;
const startMs = Date.UTC(2026, 0, 1);

export interface StateFixture {
  readonly clock: ReturnType<typeof manualClock>;
  readonly store: Store;
  /** What states were told to be fatal. */
  readonly failures: readonly unknown[];
  readonly snapshotPath: string;
  /** A state on the store; with the snapshot unless told otherwise. */
  open(options?: {
    snapshot?: boolean;
    log?: Log;
    checkpointMs?: number;
    isShared?: boolean;
  }): Promise<State>;
  /** Opened, started, and brought to the journal's end. */
  openCaughtUp(options?: Parameters<StateFixture['open']>[0]): Promise<State>;
  /** Commits so many random events of all kinds. */
  work(events: number): Promise<void>;
  commit(event: NewEvent): Promise<void>;
  close(): Promise<void>;
}

/** Never: a checkpoint that a test did not ask for would hide what it looks for. */
const neverMs = 2 ** 30;

export function makeState(seed: number, options: { poolSize?: number } = {}): StateFixture {
  const directory = makeTempDir('state');
  const clock = manualClock(startMs);
  const random = seededRandom(seed);
  const silent = createLog('silent');
  const store = openLmdbStore({ path: `${directory.path}/store`, clock, log: silent });
  const journal = createRandomJournal({
    random,
    name: `s${seed}`,
    startMs,
    poolSize: options.poolSize ?? 200,
    rowsMax: 60,
  });
  const snapshotPath = `${directory.path}/index.snapshot`;
  const access = randomAccess(random);
  const failures: unknown[] = [];

  async function commit(event: NewEvent): Promise<void> {
    const result = await store.commit({ events: [event] });
    if (!result.ok) throw new Error(result.error);
  }

  async function work(events: number): Promise<void> {
    for (let i = 0; i < events; i++) {
      const id = createEventId(clock, random);
      if (random.next() < 0.2) {
        await commit(encodeEvent(id, access()));
        continue;
      }
      if (random.next() < 0.3) {
        await commit(encodeEvent(id, reported()));
        continue;
      }
      const { event, at } = journal.next();
      clock.advance(Math.max(0, at - clock.now()));
      await commit(encodeEvent(id, event));
    }
  }

  /** By one of the first accounts, of which some hold a slot. */
  function reported(): ReputationEvent {
    const below = (n: number) => Math.floor(random.next() * n);
    return {
      kind: 'report.added',
      account: `a${below(6)}`,
      ...journal.address(),
      reportedSecond: Math.floor(clock.now() / 1_000) - below(100),
      network: 1 + below(9),
      categories: 2 << below(23),
    };
  }

  const open: StateFixture['open'] = (options = {}) => {
    const { snapshot = true, log = silent, checkpointMs = neverMs, isShared = false } = options;
    return openState({
      store,
      clock,
      random,
      log,
      onFailure: (error) => failures.push(error),
      entriesMax,
      checkpointMs,
      geolocate: (family, words) => ({
        country: `c${words[0]! % 7}`,
        network: `n${family}${words[0]! % 300}`,
      }),
      maintenance: { isMine: () => true, isShared, store },
      ...(snapshot ? { snapshotPath } : {}),
    });
  };

  return {
    clock,
    store,
    failures,
    snapshotPath,
    open,
    async openCaughtUp(openOptions) {
      const state = await open(openOptions);
      state.start();
      await state.follower.catchUpTo(await store.lastSeq());
      return state;
    },
    work,
    commit,
    async close() {
      await store.close();
      directory.remove();
    },
  };
}

/** Accounts and keys, some of them events that change nothing. */
function randomAccess(random: ReturnType<typeof seededRandom>): () => AccessEvent {
  const below = (n: number) => Math.floor(random.next() * n);
  const live: { account: string; key: string }[] = [];
  let count = 0;
  return () => {
    const account = `a${below(count + 1)}`;
    switch (below(7)) {
      case 0:
      case 1:
        return {
          kind: 'account.created',
          account: `a${count++}`,
          verified: true,
          slot: below(2) === 0 ? 'now' : 'first_key',
        };
      case 2:
        return { kind: 'account.disabled', account, disabled: below(2) === 0 };
      case 3:
        return { kind: 'account.quotas', account, readPerMinute: below(9), writePerMinute: 7 };
      case 4: {
        const key = `k${live.length}`;
        live.push({ account, key });
        return {
          kind: 'key.created',
          account,
          key,
          hash: random.bytes(32),
          facts: new Uint8Array(),
        };
      }
      case 5:
        return { kind: 'account.released', account };
      default:
        return { kind: 'key.revoked', ...(live[below(live.length)] ?? { account, key: 'none' }) };
    }
  };
}

function pagesShown({ firstPage, pages, encode }: PageSection): string[] {
  return Array.from({ length: pages }, (_, i) =>
    Buffer.from(encode(firstPage + i)).toString('hex'),
  );
}

/** All that the journal adds up to: entries, contributions, sources, accounts, counts. */
export function stateShown(state: State): Record<string, unknown> {
  const { contributions } = state.entries;
  const said: string[] = [];
  for (let node = 1; node <= contributions.highest(); node++) {
    const entry = contributions.owner[node]!;
    if (entry === 0) continue;
    const prefix = formatPrefix(state.index.prefixOf(entry)!);
    said.push(`${prefix} ${contributions.tag[node]} ${contributions.listed[node]}`);
  }
  const { firstPage, encode } = state.accountsInMemory.section;
  return {
    size: state.index.size(),
    entries: indexShown(state.index),
    contributions: said.sort(),
    count: contributions.count(),
    sources: state.sources.list(),
    accounts: Buffer.from(encode(firstPage)).toString('hex'),
    counts: pagesShown(state.counting.counts.section),
    signIns: pagesShown(state.counting.signIns.section),
  };
}
