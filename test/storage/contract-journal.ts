/** The part of the contract about events: order, ids, pruning, hints. Also counters. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { scratchKey, text } from '../../src/storage/keys.ts';
import {
  JournalPrunedError,
  type NewEvent,
  type Store,
  storeLimits,
} from '../../src/storage/store.ts';
import type { manualClock } from '../support/seeded.ts';

export type WithStore = (
  use: (store: Store, clock: ReturnType<typeof manualClock>) => Promise<void>,
) => Promise<void>;

const key = scratchKey(text('k'));

function event(id: string): NewEvent {
  return { id, kind: 'test', version: 3, body: Buffer.from(`body of ${id}`) };
}

async function append(store: Store, ...ids: string[]): Promise<bigint> {
  const result = await store.commit({ events: ids.map(event) });
  assert.ok(result.ok);
  return result.seq;
}

export function journalContract(name: string, withStore: WithStore): void {
  describe(`${name}: journal`, () => {
    it('numbers events from 1 without gaps and returns them as they were', async () => {
      await withStore(async (store, clock) => {
        assert.equal(await append(store, 'a', 'b'), 2n);
        clock.advance(5);
        await store.commit({ check: [{ key, version: 1 }], events: [event('refused')] });
        assert.equal(await append(store, 'c'), 3n);
        const events = await store.read(0n, 10);
        assert.deepEqual(
          events.map(({ seq, id, kind, version, at, body }) => [
            seq,
            id,
            kind,
            version,
            at,
            Buffer.from(body).toString(),
          ]),
          [
            [1n, 'a', 'test', 3, clock.now() - 5, 'body of a'],
            [2n, 'b', 'test', 3, clock.now() - 5, 'body of b'],
            [3n, 'c', 'test', 3, clock.now(), 'body of c'],
          ],
        );
        assert.deepEqual(
          (await store.read(1n, 1)).map((e) => e.seq),
          [2n],
        );
        assert.deepEqual(await store.read(3n, 10), []);
        assert.equal(await store.lastSeq(), 3n);
      });
    });

    it('stays gapless and complete under concurrent commits', async () => {
      await withStore(async (store) => {
        const seqs = await Promise.all(
          Array.from({ length: 500 }, (_, n) => append(store, `e${n}`)),
        );
        const events = await store.read(0n, 1_000);
        assert.deepEqual(
          events.map((e) => Number(e.seq)),
          Array.from({ length: 500 }, (_, n) => n + 1),
        );
        assert.deepEqual(
          seqs.map((seq) => events[Number(seq) - 1]!.id),
          seqs.map((_, n) => `e${n}`),
        );
      });
    });

    it('pages of any length are the same journal', async () => {
      await withStore(async (store) => {
        // The bytes of the third are the characters of the second.
        const kinds = ['test', 'tÃ©', 'té', 'test'];
        const made = [1, 7, 1, 120, 3].flatMap((count, n) =>
          Array.from({ length: count }, (_, i) => {
            const id = `${n}-${i}`;
            return { ...event(id), kind: kinds[i % kinds.length]!, body: Buffer.alloc(i, n) };
          }),
        );
        for (const n of [0, 1, 2, 3, 4]) {
          await store.commit({ events: made.filter(({ id }) => id.startsWith(`${n}-`)) });
        }
        for (const limit of [1, 2, 3, 8, 100, 1_000]) {
          const read: NewEvent[] = [];
          for (let page = await store.read(0n, limit); page.length > 0; ) {
            const last = page.at(-1)!.seq;
            read.push(...page.map(({ id, kind, version, body }) => ({ id, kind, version, body })));
            assert.equal(last, BigInt(read.length));
            page = await store.read(last, limit);
          }
          const plain = read.map((one) => ({ ...one, body: Buffer.from(one.body) }));
          assert.deepEqual(plain, made, `${limit} at a time`);
        }
      });
    });

    it('a page ends early at its byte bound and the next one goes on', async () => {
      await withStore(async (store) => {
        const body = new Uint8Array(storeLimits.eventBodyBytesMax);
        for (let n = 0; n < 6; n++) {
          await store.commit({ events: [{ id: `e${n}`, kind: 'big', version: 1, body }] });
        }
        const first = await store.read(0n, 1_000);
        assert.ok(first.length >= 1 && first.length < 6);
        const second = await store.read(first.at(-1)!.seq, 1_000);
        assert.equal(second[0]!.seq, first.at(-1)!.seq + 1n);
        assert.equal(first.length + second.length, 6);
      });
    });

    it('a retry with the same event id changes nothing and answers with the first seq', async () => {
      await withStore(async (store) => {
        const commit = {
          check: [{ key, version: null }],
          set: [{ key, value: Buffer.from('1') }],
          events: [event('x'), event('y')],
        };
        const first = await store.commit(commit);
        await append(store, 'later');
        const retry = await store.commit(commit);
        assert.ok(first.ok && retry.ok);
        assert.deepEqual([first.duplicate, retry.duplicate], [false, true]);
        assert.equal(retry.seq, first.seq);
        assert.equal(await store.lastSeq(), 3n);
        assert.equal((await store.get(key))!.version, first.versions[0]);
      });
    });

    it('the same commit made many times at once is applied once', async () => {
      await withStore(async (store) => {
        const retries = Array.from({ length: 20 }, () => store.commit({ events: [event('x')] }));
        const results = await Promise.all(retries);
        assert.ok(results.every((result) => result.ok && result.seq === 1n));
        assert.equal(await store.lastSeq(), 1n);
      });
    });

    it('a commit that mixes known and new event ids is a bug and harms no other commit', async () => {
      await withStore(async (store) => {
        await append(store, 'known');
        const mixed = store.commit({ events: [event('known'), event('new')] });
        const other = store.commit({ events: [event('other')] });
        await assert.rejects(mixed, /not a retry/);
        assert.ok((await other).ok);
        assert.equal(await store.lastSeq(), 2n);
      });
    });

    it('pruning removes the old events, keeps the numbering, and reading behind it throws', async () => {
      await withStore(async (store) => {
        for (let n = 1; n <= 1_200; n += 100) {
          await append(store, ...Array.from({ length: 100 }, (_, i) => `e${n + i}`));
        }
        assert.equal(await store.pruneEvents(1_100n), 1_100);
        assert.equal(await store.pruneEvents(1_100n), 0);
        await assert.rejects(store.read(1_099n, 10), JournalPrunedError);
        assert.equal((await store.read(1_100n, 1_000)).length, 100);
        assert.equal(await append(store, 'next'), 1_201n);
      });
    });

    it('an event id outlives its pruned event for a day, then is forgotten', async () => {
      await withStore(async (store, clock) => {
        await append(store, 'young');
        clock.advance(storeLimits.eventIdKeepMs - 1);
        await store.pruneEvents(1n);
        await store.sweep(10);
        assert.equal(await append(store, 'young'), 1n);
        clock.advance(1);
        assert.equal(await store.sweep(10), 1);
        assert.equal(await append(store, 'young'), 2n);
        clock.advance(storeLimits.eventIdKeepMs);
        assert.equal(await append(store, 'young'), 2n, 'its event is still in the journal');
        await store.pruneEvents(2n);
        assert.equal(await append(store, 'young'), 3n);
      });
    });

    it('hints tell of events in the same process until they are undone', async () => {
      await withStore(async (store) => {
        let hints = 0;
        const undo = store.onJournalGrowth(() => hints++);
        await append(store, 'a');
        await store.commit({ set: [{ key, value: Buffer.from('no event') }] });
        assert.equal(hints, 1);
        undo();
        await append(store, 'b');
        assert.equal(hints, 1);
      });
    });

    it('refuses every call after closing', async () => {
      await withStore(async (store) => {
        await store.close();
        await assert.rejects(async () => store.commit({ events: [event('a')] }), /closed/);
        await assert.rejects(async () => store.get(key), /closed/);
      });
    });
  });
}
