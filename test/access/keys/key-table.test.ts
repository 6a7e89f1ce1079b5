/** The key table and the cache above it: alone against a Map, and with readers at full speed. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { hashKey, makeKey } from '../../../src/access/keys/key-format.ts';
import {
  createKeyCache,
  createKeyTable,
  type KeyTableReader,
  openKeyTableReader,
} from '../../../src/access/keys/key-table.ts';
import { seededRandom } from '../../support/seeded.ts';
import type { KeyReaderInput, KeyReaderResult } from '../../support/signon/key-reader.ts';

function makeKeys(count: number, seed: number) {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => {
    const { text } = makeKey(random);
    return { text, hash: hashKey(text) };
  });
}

test('random adds and revocations agree with a Map, through slot reuse and rebuilds', () => {
  for (let seed = 1; seed <= 5; seed++) {
    const random = seededRandom(seed);
    const keys = makeKeys(100, seed);
    const table = createKeyTable(60);
    const reader = openKeyTableReader(table.handle);
    const cache = createKeyCache(reader, 16);
    const model = new Map<number, number>();
    for (let step = 0; step < 5_000; step++) {
      const k = Math.floor(random.next() * keys.length);
      const { text, hash } = keys[k]!;
      const where = `seed ${seed} step ${step}`;
      if (model.has(k) && random.next() < 0.5) {
        assert.equal(table.revoke(hash), true, where);
        model.delete(k);
        assert.equal(cache.authenticate(text), -1, where);
      } else if (!model.has(k)) {
        assert.equal(table.revoke(hash), false, where);
        const added = table.add(hash, k * 7);
        assert.equal(added.ok, model.size < 60, where);
        if (added.ok) model.set(k, k * 7);
        else assert.equal(added.error, 'capacity_exceeded');
      }
      assert.equal(table.size, model.size, where);
      const other = Math.floor(random.next() * keys.length);
      assert.equal(cache.authenticate(keys[other]!.text), model.get(other) ?? -1, where);
      assert.equal(reader.find(keys[other]!.hash), model.has(other), where);
    }
  }
});

test('adding a key again is no error for its account and a bug for another', () => {
  const table = createKeyTable(4);
  const [key] = makeKeys(1, 9);
  assert.ok(table.add(key!.hash, 3).ok);
  assert.ok(table.add(key!.hash, 3).ok);
  assert.equal(table.size, 1);
  assert.throws(() => table.add(key!.hash, 4), /two accounts/);
});

test('a full table works and says clearly that it is full', () => {
  const table = createKeyTable(1);
  const cache = createKeyCache(openKeyTableReader(table.handle), 4);
  const [first, second] = makeKeys(2, 10);
  assert.ok(table.add(first!.hash, 1).ok);
  const refused = table.add(second!.hash, 2);
  assert.ok(!refused.ok);
  assert.equal(refused.error, 'capacity_exceeded');
  assert.equal(cache.authenticate(first!.text), 1);
  assert.ok(table.revoke(first!.hash));
  assert.ok(table.add(second!.hash, 2).ok);
  assert.equal(cache.authenticate(first!.text), -1);
  assert.equal(cache.authenticate(second!.text), 2);
});

test('guesses are refused and push no key out of the cache', () => {
  const table = createKeyTable(4);
  const [key, ...guesses] = makeKeys(2_000, 11);
  table.add(key!.hash, 0);
  const reader = openKeyTableReader(table.handle);
  let finds = 0;
  const counting: KeyTableReader = Object.assign(Object.create(reader), {
    find(hash: Uint8Array) {
      finds++;
      return reader.find(hash);
    },
  });
  const cache = createKeyCache(counting, 4);
  assert.equal(cache.authenticate(key!.text), 0);
  for (const guess of guesses) assert.equal(cache.authenticate(guess.text), -1);
  for (const junk of ['', 'pcl_', 'x'.repeat(46), 'é'.repeat(46), 'x'.repeat(1e6)]) {
    assert.equal(cache.authenticate(junk), -1);
  }
  assert.equal(finds, 2_000);
  assert.equal(cache.authenticate(key!.text), 0);
  assert.equal(finds, 2_000);
});

/** Calls `act` just before the `n`th atomic load of `lookUp`; false if there are fewer loads. */
function interrupt(t: TestContext, n: number, lookUp: () => void, act: () => void): boolean {
  const load = Atomics.load;
  let loads = 0;
  const mock = t.mock.method(Atomics, 'load', (words: Int32Array, at: number) => {
    if (++loads === n) act();
    return load(words, at);
  });
  lookUp();
  mock.mock.restore();
  return loads >= n;
}

/** A hash whose probes start at `home`; the rest tells hashes apart. */
function hashAt(home: number, rest: number): Uint8Array {
  return new Uint8Array(Int32Array.of(home, rest, 0, 0, 0, 0, 0, 0).buffer);
}

test('a slot that changes hands at any moment of a look-up never lends its account', (t) => {
  const key = hashAt(3, 1);
  for (let n = 1, more = true; more; n++) {
    const table = createKeyTable(1);
    const reader = openKeyTableReader(table.handle);
    table.add(key, 100);
    let found = false;
    more = interrupt(
      t,
      n,
      () => {
        found = reader.find(key);
      },
      () => {
        table.revoke(key);
        table.add(hashAt(3, 2), 200);
      },
    );
    if (found) assert.equal(reader.accountSlot, 100, `before load ${n}`);
    assert.ok(n < 100);
  }
});

test('a living key is found although the cells flip twice at any moment of a look-up', (t) => {
  const key = hashAt(3, 1);
  for (let n = 1, more = true; more; n++) {
    const table = createKeyTable(2);
    const reader = openKeyTableReader(table.handle);
    // Behind another key's cell, which the rebuilt halves will not have.
    table.add(hashAt(3, 2), 200);
    table.add(key, 100);
    table.revoke(hashAt(3, 2));
    let found = false;
    const flipTwice = () => {
      const flips = new Int32Array(table.handle.buffer);
      for (let i = 0; flips[0]! < 2; i++) {
        table.add(hashAt(4 + (i % 7), 3 + i), 300);
        table.revoke(hashAt(4 + (i % 7), 3 + i));
        assert.ok(i < 100);
      }
    };
    more = interrupt(
      t,
      n,
      () => {
        found = reader.find(key);
      },
      flipTwice,
    );
    assert.ok(found, `before load ${n}`);
    assert.equal(reader.accountSlot, 100);
    assert.ok(n < 100);
  }
});

test('readers at full speed never see a revoked key live, a live one gone, or another account', async () => {
  const seed = 12;
  const random = seededRandom(seed);
  const keys = makeKeys(160, seed);
  const table = createKeyTable(64);
  const changes = new Int32Array(new SharedArrayBuffer((keys.length + 2) * 4));
  const texts = keys.map((key) => key.text);
  const source = new URL('../../support/signon/key-reader.js', import.meta.url);
  const results = Array.from({ length: 3 }, (_, i) => {
    const workerData: KeyReaderInput = {
      handle: table.handle,
      texts,
      changes,
      enough: 1_000,
      seed: seed + i,
    };
    const worker = new Worker(source, { workerData });
    return new Promise<KeyReaderResult>((resolve, reject) => {
      worker.on('message', resolve).on('error', reject);
    });
  });
  let revocations = 0;
  let isFailed = false;
  Promise.race(results).catch(() => {
    isFailed = true;
  });
  // As long as it takes: on a busy machine the readers get their turn late.
  for (let step = 1; !isFailed; step++) {
    if (revocations > 10_000 && Atomics.load(changes, keys.length + 1) === results.length) break;
    // Lets a reader's end be noticed: one that met something wrong never has enough.
    if (step % 1_000 === 0) await nextTurn();
    const k = Math.floor(random.next() * keys.length);
    const isLive = Atomics.load(changes, k) % 4 === 2;
    if (!isLive && table.size === 64) continue;
    Atomics.add(changes, k, 1);
    if (isLive) {
      assert.ok(table.revoke(keys[k]!.hash));
      revocations++;
    } else {
      assert.ok(table.add(keys[k]!.hash, k).ok);
    }
    Atomics.add(changes, k, 1);
    // Pauses of random length, so that answers between changes are checked too.
    for (let i = random.next() * 2_000; i > 0; i--) Atomics.load(changes, k);
  }
  Atomics.store(changes, keys.length, 1);
  for (const { wrong, accepted, refused } of await Promise.all(results)) {
    assert.deepEqual(wrong, [], `seed ${seed}`);
    assert.ok(accepted > 1_000 && refused > 1_000);
  }
});
