/** Checkpoints: what is loaded is the state of exactly one sequence number, whatever happened. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  createProjection,
  type PageSection,
  readCheckpointSeq,
} from '../../src/storage/journal/projection.ts';
import type { Store } from '../../src/storage/store.ts';
import { seededRandom } from '../support/seeded.ts';
import { createMemoryStore, type MemoryStore } from '../support/server/memory-store.ts';

const pageCount = 40;
const firstPage = 5;

/** The state: pages of bytes, and a header that counts changes. */
function openState(store: MemoryStore, partBytesMax = 100) {
  const pages: Uint8Array[] = Array.from({ length: pageCount }, () => new Uint8Array());
  let changes = 0;
  let seq = 0n;
  const section: PageSection = {
    firstPage,
    pages: pageCount,
    encode: (page) => Uint8Array.from(pages[page - firstPage]!),
    load(page, bytes) {
      pages[page - firstPage] = Uint8Array.from(bytes);
      return true;
    },
  };
  const projection = createProjection({
    store: store as unknown as Store,
    sections: [section],
    header: {
      encode: (out) => out.u32(changes),
      load(input) {
        changes = input.u32();
        return !input.failed();
      },
    },
    partBytesMax,
  });
  return {
    projection,
    async load() {
      seq = await projection.load();
      return seq;
    },
    /** One event: changes a page and the header. */
    change(page: number, bytes: Uint8Array) {
      projection.touch(firstPage + page);
      pages[page] = bytes;
      projection.touchHeader();
      changes++;
      seq++;
    },
    checkpoint: () => projection.checkpoint(seq),
    seq: () => seq,
    shown: () => `${changes} ${pages.map((bytes) => Buffer.from(bytes).toString('hex')).join('|')}`,
  };
}

type State = ReturnType<typeof openState>;

async function reopened(store: MemoryStore): Promise<State> {
  const state = openState(store.copy());
  await state.load();
  return state;
}

/** Pages of none to several parts. */
function randomChange(state: State, random: ReturnType<typeof seededRandom>): void {
  const below = (n: number) => Math.floor(random.next() * n);
  state.change(below(pageCount), random.bytes(below(4) === 0 ? below(500) : below(60)));
}

describe('a checkpoint', () => {
  it('loads as the same state, pages of several parts and empty ones too', async () => {
    const store = createMemoryStore();
    const state = openState(store);
    assert.equal(await state.load(), 0n);
    const random = seededRandom(1);
    for (let round = 0; round < 20; round++) {
      for (let i = 0; i < 15; i++) randomChange(state, random);
      if (round % 3 === 0) state.change(round, new Uint8Array());
      if (round % 4 === 0) state.change(round, random.bytes(1_000));
      await state.checkpoint();
      assert.equal(state.projection.changed(), 0);
      const again = await reopened(store);
      assert.equal(again.shown(), state.shown(), `round ${round}`);
      assert.equal(again.seq(), state.seq());
      assert.equal(await readCheckpointSeq(store as unknown as Store), state.seq());
    }
  });

  it('holds the state of its sequence number while events go on', async () => {
    const random = seededRandom(2);
    const store = createMemoryStore();
    const state = openState(store);
    for (let round = 0; round < 30; round++) {
      for (let i = 0; i < 30; i++) randomChange(state, random);
      const expected = state.shown();
      const seq = state.seq();
      store.beforeCommit = () => randomChange(state, random);
      const writing = state.checkpoint();
      randomChange(state, random);
      await writing;
      store.beforeCommit = () => {};
      const again = await reopened(store);
      assert.equal(again.shown(), expected, `seed 2, round ${round}`);
      assert.equal(again.seq(), seq);
    }
    await state.checkpoint();
    assert.equal((await reopened(store)).shown(), state.shown());
  });

  it('leaves one version of each page behind', async () => {
    const random = seededRandom(3);
    const store = createMemoryStore();
    const state = openState(store, 1_000);
    for (let page = 0; page < pageCount; page++) state.change(page, random.bytes(50));
    for (let round = 0; round < 10; round++) {
      for (let i = 0; i < 10; i++) randomChange(state, random);
      await state.checkpoint();
      assert.equal(store.keys().length, 1 + pageCount);
    }
  });

  it('without changes writes nothing', async () => {
    const store = createMemoryStore();
    const state = openState(store);
    state.change(1, Uint8Array.of(1));
    await state.checkpoint();
    const commits = store.commits();
    await state.checkpoint();
    assert.equal(store.commits(), commits);
  });

  it('is written in commits of a bounded size', async () => {
    const store = createMemoryStore();
    const state = openState(store, 10);
    state.change(1, seededRandom(1).bytes(2_540));
    for (let page = 2; page < pageCount; page++) state.change(page, new Uint8Array(2_000));
    await state.checkpoint();
    assert.ok(store.rowsMax() <= 1_000);
    assert.equal((await reopened(store)).shown(), state.shown());
  });

  it('of a page beyond 255 parts is refused, and the one before it stands', async () => {
    const store = createMemoryStore();
    const state = openState(store, 10);
    state.change(1, Uint8Array.of(1));
    await state.checkpoint();
    const before = state.shown();
    state.change(1, new Uint8Array(3_000));
    await assert.rejects(state.checkpoint());
    assert.equal((await reopened(store)).shown(), before);
    state.change(1, Uint8Array.of(2));
    await state.checkpoint();
    assert.equal((await reopened(store)).shown(), state.shown());
  });

  it('runs alone', async () => {
    const state = openState(createMemoryStore());
    state.change(1, Uint8Array.of(1));
    const first = state.checkpoint();
    state.change(1, Uint8Array.of(2));
    await assert.rejects(state.checkpoint(), /running already/);
    await first;
  });
});

describe('a checkpoint cut short', () => {
  it('at any commit: the former or the new one is loaded, and a later one is whole', async () => {
    for (let stopAt = 0, isDone = false; !isDone; stopAt++) {
      const random = seededRandom(4);
      const store = createMemoryStore();
      const state = openState(store, 40);
      for (let i = 0; i < 60; i++) randomChange(state, random);
      await state.checkpoint();
      const former = state.shown();
      for (let i = 0; i < 60; i++) randomChange(state, random);
      const next = state.shown();
      const recordBefore = await readCheckpointSeq(store as unknown as Store);
      store.failFrom(stopAt);
      // Many small commits, so that there are many places to stop at.
      await smallCommits(store, () => state.checkpoint()).then(
        () => {
          isDone = true;
        },
        () => {},
      );
      const recorded = await readCheckpointSeq(store as unknown as Store);
      const crashed = await reopened(store);
      const expected = recorded === recordBefore ? former : next;
      assert.equal(crashed.shown(), expected, `crash at commit ${stopAt}`);
      // The one that lives on: more events, and the next checkpoint works.
      store.failFrom(undefined);
      for (let i = 0; i < 20; i++) randomChange(state, random);
      await state.checkpoint();
      const later = await reopened(store);
      assert.equal(later.shown(), state.shown(), `after a failure at commit ${stopAt}`);
      const versions = new Set(store.keys().map((key) => key.slice(0, 10)));
      const parts = store.keys().filter((key) => key.endsWith('00') && key.length === 28);
      assert.equal(parts.length, versions.size - 1, 'one version a page');
      assert.ok(stopAt < 500);
    }
  });
});

/** Splits each commit's rows, as if the bound on a commit were three rows. */
async function smallCommits(store: MemoryStore, run: () => Promise<void>): Promise<void> {
  const whole = store.commit;
  store.commit = async ({ set = [], del = [] }) => {
    let result = await whole({ set: set.slice(0, 3), del: del.slice(0, 3) });
    for (let at = 3; at < Math.max(set.length, del.length) && result.ok; at += 3) {
      result = await whole({ set: set.slice(at, at + 3), del: del.slice(at, at + 3) });
    }
    return result;
  };
  try {
    await run();
  } finally {
    store.commit = whole;
  }
}

describe('damage', () => {
  async function damaged(
    isHit: (key: string) => boolean,
    change: (bytes: Uint8Array) => Uint8Array,
  ) {
    const store = createMemoryStore();
    const state = openState(store);
    for (let page = 0; page < 8; page++) state.change(page, seededRandom(page).bytes(30));
    await state.checkpoint();
    const key = store.keys().find(isHit)!;
    store.set(key, change(Uint8Array.from(store.value(key)!)));
    return reopened(store);
  }
  const flip = (at: number) => (bytes: Uint8Array) => {
    bytes[at]! ^= 4;
    return bytes;
  };
  const isRecord = (key: string) => key.startsWith('02');
  const isPage = (key: string) => key.startsWith('0300000007');

  it('of the record is a clear error, wherever it is', async () => {
    for (let at = 0; at < 18; at++) {
      await assert.rejects(damaged(isRecord, flip(at)), /checkpoint record is damaged/);
    }
    await assert.rejects(
      damaged(isRecord, () => new Uint8Array()),
      /checkpoint record is damaged/,
    );
  });

  it('of a page is a clear error that names it', async () => {
    for (let at = 0; at < 34; at++) {
      await assert.rejects(damaged(isPage, flip(at)), /projection page 7 is damaged/);
    }
    for (const length of [0, 3, 20]) {
      await assert.rejects(
        damaged(isPage, (bytes) => bytes.slice(0, length)),
        /projection page 7 is damaged/,
      );
    }
  });
});
