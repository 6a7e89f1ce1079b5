/**
 * The contract of the Store seam, run against every implementation. It knows nothing but the
 * interface; what the files or tables look like is not its business.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Key, scratchKey, text, u32 } from '../../src/storage/keys.ts';
import { type Store, storeLimits } from '../../src/storage/store.ts';
import { manualClock } from '../support/seeded.ts';
import { journalContract } from './contract-journal.ts';
import { modelContract } from './contract-model.ts';
import { aloneContract, raceContract } from './contract-races.ts';
import { scanContract } from './contract-scan.ts';
import type { StoreFactory } from './fixture.ts';

const startMs = 1_750_000_000_000;
const a = scratchKey(text('a'));
const b = scratchKey(text('b'));
const bytes = (value: string): Uint8Array => Buffer.from(value);
const row = (n: number): Key => scratchKey(text('row'), u32(n));

export function storeContract(factory: StoreFactory): void {
  /** A fresh store with a clock that stands still. */
  async function withStore(
    use: (store: Store, clock: ReturnType<typeof manualClock>) => Promise<void>,
  ): Promise<void> {
    const place = await factory.create();
    const clock = manualClock(startMs);
    const store = await factory.open(place.location, clock);
    try {
      await use(store, clock);
    } finally {
      await store.close();
      await place.destroy();
    }
  }

  describe(`${factory.name}: entries`, () => {
    it('returns what was set, byte for byte, also empty and large values', async () => {
      await withStore(async (store) => {
        const large = new Uint8Array(300_000).fill(7);
        const set = [
          { key: a, value: new Uint8Array() },
          { key: b, value: large },
        ];
        const result = await store.commit({ set });
        assert.ok(result.ok);
        assert.deepEqual([...(await store.get(a))!.value], []);
        const found = (await store.get(b))!;
        assert.ok(Buffer.from(large).equals(found.value));
        assert.equal(found.version, result.versions[1]);
        assert.equal(await store.get(scratchKey(text('c'))), undefined);
      });
    });

    it('copies its input: a caller may reuse its buffers at once', async () => {
      await withStore(async (store) => {
        const value = Buffer.from('before');
        const committed = store.commit({ set: [{ key: a, value }] });
        value.write('after!');
        await committed;
        assert.equal(Buffer.from((await store.get(a))!.value).toString(), 'before');
      });
    });

    it('changes nothing when one check of several fails, and says which', async () => {
      await withStore(async (store) => {
        await store.commit({ set: [{ key: a, value: bytes('1') }] });
        const result = await store.commit({
          check: [
            { key: b, version: null },
            { key: a, version: null },
          ],
          set: [{ key: b, value: bytes('2') }],
          del: [a],
          events: [{ id: 'refused', kind: 'test', version: 1, body: bytes('') }],
        });
        assert.ok(!result.ok && result.error === 'check_failed');
        assert.equal(result.failedCheck, 1);
        assert.equal(await store.get(b), undefined);
        assert.equal(Buffer.from((await store.get(a))!.value).toString(), '1');
        assert.equal(await store.lastSeq(), 0n);
      });
    });

    it('never gives a version twice, not after deletion and re-creation, not after reopening', async () => {
      const place = await factory.create();
      const clock = manualClock(startMs);
      let store = await factory.open(place.location, clock);
      const seen = new Set<number>();
      for (let i = 0; i < 6; i++) {
        const result = await store.commit({ set: [{ key: a, value: bytes('x') }] });
        assert.ok(result.ok);
        assert.ok(!seen.has(result.versions[0]!));
        seen.add(result.versions[0]!);
        if (i % 2 === 0) await store.commit({ del: [a] });
        if (i === 2) {
          await store.close();
          store = await factory.open(place.location, clock);
        }
      }
      await store.close();
      await place.destroy();
    });

    it('a version check fails after the entry was replaced by an equal value', async () => {
      await withStore(async (store) => {
        const first = await store.commit({ set: [{ key: a, value: bytes('x') }] });
        await store.commit({ set: [{ key: a, value: bytes('x') }] });
        assert.ok(first.ok);
        const late = await store.commit({ check: [{ key: a, version: first.versions[0]! }] });
        assert.ok(!late.ok && late.error === 'check_failed');
      });
    });

    it('of many concurrent claims of a single-use key exactly one wins', async () => {
      await withStore(async (store) => {
        const made = await store.commit({ set: [{ key: a, value: bytes('code') }] });
        assert.ok(made.ok);
        const check = [{ key: a, version: made.versions[0]! }];
        const claims = Array.from({ length: 50 }, () => store.commit({ check, del: [a] }));
        const won = (await Promise.all(claims)).filter((result) => result.ok);
        assert.equal(won.length, 1);
      });
    });

    it('commits at once that rely on the same absent key all succeed', async () => {
      await withStore(async (store) => {
        const check = [{ key: a, version: null }];
        // While it is written the others come together.
        const before = store.commit({ set: [{ key: b, value: bytes('x') }] });
        const made = await Promise.all(
          Array.from({ length: 20 }, (_, i) =>
            store.commit({ check, set: [{ key: row(i), value: bytes('x') }] }),
          ),
        );
        assert.ok((await before).ok && made.every(({ ok }) => ok));
        assert.equal(await store.get(a), undefined);
        const claims = Array.from({ length: 20 }, () =>
          store.commit({ check, set: [{ key: a, value: bytes('x') }] }),
        );
        const won = (await Promise.all(claims)).filter(({ ok }) => ok);
        assert.equal(won.length, 1);
      });
    });

    it('refuses keys, values, times and limits out of bounds before anything is written', async () => {
      await withStore(async (store) => {
        const value = bytes('x');
        const atMost = new Uint8Array(storeLimits.keyBytesMax).fill(0xf0) as Key;
        const tooLong = new Uint8Array(storeLimits.keyBytesMax + 1).fill(0xf0) as Key;
        const empty = new Uint8Array() as Key;
        const many = Array.from({ length: 50 }, (_, i) => Uint8Array.of(0xf0, i) as Key);
        const event = { id: 'e', kind: 'test', version: 1, body: value };
        assert.ok((await store.commit({ set: [{ key: atMost, value }] })).ok);
        assert.ok((await store.get(atMost)) !== undefined);
        const page = await store.scan(atMost.slice(0, 5) as Key, { limit: 10 });
        assert.equal(page[0]!.key.length, storeLimits.keyBytesMax);
        const bad = [
          () => store.get(tooLong),
          () => store.get(empty),
          () => store.scan(tooLong, { limit: 1 }),
          () => store.scan(a, { limit: 0 }),
          () => store.scan(a, { limit: storeLimits.scanLimitMax + 1 }),
          () => store.scan(a, { after: b, limit: 1 }),
          () => store.read(0n, storeLimits.readLimitMax + 1),
          () => store.sweep(storeLimits.sweepLimitMax + 1),
          () => store.commit({ set: [{ key: tooLong, value }] }),
          () => store.commit({ check: [{ key: tooLong, version: null }] }),
          () => store.commit({ del: [empty] }),
          () => store.commit({ set: [{ key: a, value, expiresAt: 0 }] }),
          () => store.commit({ set: [{ key: a, value, expiresAt: 1.5 }] }),
          () => store.commit({ set: [{ key: a, value }], del: [a] }),
          () => store.commit({ set: [a, b, a.slice() as Key].map((key) => ({ key, value })) }),
          // Many keys are told apart in another way than few.
          () => store.commit({ del: [...many, many[7]!.slice() as Key] }),
          () => store.commit({ events: [{ ...event, id: '' }] }),
          () => store.commit({ events: [{ ...event, id: 'x'.repeat(65) }] }),
          () => store.commit({ events: [event, event] }),
          () => store.commit({ events: [{ ...event, version: 70_000 }] }),
        ];
        for (const call of bad) await assert.rejects(call, RangeError, String(call));
        assert.equal(await store.get(a), undefined);
        assert.equal(await store.lastSeq(), 0n);
      });
    });
  });

  describe(`${factory.name}: expiry`, () => {
    it('an expired entry is absent to get, scan and check: null, swept or not', async () => {
      await withStore(async (store, clock) => {
        const set = [{ key: a, value: bytes('x'), expiresAt: startMs + 1_000 }];
        const made = await store.commit({ set });
        assert.ok(made.ok);
        clock.advance(999);
        assert.ok((await store.get(a)) !== undefined);
        assert.ok(!(await store.commit({ check: [{ key: a, version: null }] })).ok);
        clock.advance(1);
        assert.equal(await store.get(a), undefined);
        assert.deepEqual(await store.scan(scratchKey(), { limit: 10 }), []);
        const late = await store.commit({ check: [{ key: a, version: made.versions[0]! }] });
        assert.ok(!late.ok);
        const again = await store.commit({
          check: [{ key: a, version: null }],
          set: [{ key: a, value: bytes('y') }],
        });
        assert.ok(again.ok);
      });
    });

    it('a sweep removes what expired, at most its limit, and nothing that was renewed', async () => {
      await withStore(async (store, clock) => {
        for (let n = 0; n < 5; n++) {
          const set = [{ key: row(n), value: bytes('x'), expiresAt: startMs + 1_000 }];
          await store.commit({ set });
        }
        await store.commit({ set: [{ key: row(0), value: bytes('kept') }] });
        await store.commit({
          set: [{ key: row(1), value: bytes('k'), expiresAt: startMs + 9_000 }],
        });
        await store.commit({ del: [row(2)] });
        assert.equal(await store.sweep(10), 0);
        clock.advance(1_000);
        assert.equal(await store.sweep(1), 1);
        assert.equal(await store.sweep(10), 1);
        assert.equal(await store.sweep(10), 0);
        const left = await store.scan(scratchKey(), { limit: 10 });
        assert.deepEqual(
          left.map((entry) => Buffer.from(entry.value).toString()),
          ['kept', 'k'],
        );
      });
    });
  });

  scanContract(factory.name, withStore);
  journalContract(factory.name, withStore);
  modelContract(factory.name, withStore);
  if (factory.isShared) raceContract(factory);
  else aloneContract(factory);
}
