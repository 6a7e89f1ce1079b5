/** The part of the contract about several processes on one store. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../src/core/clock.ts';
import { accountByEmailKey, scratchKey, text, u32 } from '../../src/storage/keys.ts';
import { startChild } from '../support/server/child.ts';
import type { StoreFactory } from './fixture.ts';

const racer = new URL('./racer.js', import.meta.url);

export function raceContract(factory: StoreFactory): void {
  /** Two processes let off together; the numbers that each of them won. */
  async function race(location: string, role: string, count: number): Promise<number[][]> {
    const children = [1, 2].map((seed) =>
      startChild(racer, [factory.opener.href, location, role, String(count), String(seed)]),
    );
    try {
      await Promise.all(children.map((child) => child.line((line) => line === 'ready')));
      for (const child of children) child.process.stdin!.write('go\n');
      const lines = await Promise.all(
        children.map((child) => child.line((line) => line.startsWith('['))),
      );
      await Promise.all(children.map((child) => child.ended));
      return lines.map((line) => JSON.parse(line) as number[]);
    } finally {
      for (const child of children) child.process.kill('SIGKILL');
    }
  }

  describe(`${factory.name}: two processes`, () => {
    it('10,000 single-use keys have exactly 10,000 winners, some in each process', async () => {
      const count = 10_000;
      const place = await factory.create();
      const store = await factory.open(place.location, systemClock());
      try {
        for (let first = 0; first < count; first += 1_000) {
          const set = Array.from({ length: 1_000 }, (_, i) => ({
            key: scratchKey(text('once'), u32(first + i)),
            value: Buffer.from('code'),
          }));
          await store.commit({ set });
        }
        const won = await race(place.location, 'claim', count);
        const all = won.flat();
        assert.equal(all.length, count);
        assert.equal(new Set(all).size, count);
        assert.ok(won.every((numbers) => numbers.length > 0));
        assert.deepEqual(await store.scan(scratchKey(), { limit: 1 }), []);
      } finally {
        await store.close();
        await place.destroy();
      }
    });

    it('an e-mail is registered by one process only', async () => {
      const count = 500;
      const place = await factory.create();
      const store = await factory.open(place.location, systemClock());
      try {
        const won = await race(place.location, 'register', count);
        assert.equal(new Set(won.flat()).size, count);
        assert.equal(won.flat().length, count);
        assert.equal(await store.lastSeq(), BigInt(count));
        for (const [i, numbers] of won.entries()) {
          for (const n of numbers) {
            const found = await store.get(accountByEmailKey(`person-${n}@example.org`));
            assert.equal(Buffer.from(found!.value).toString(), String(i + 1));
          }
        }
      } finally {
        await store.close();
        await place.destroy();
      }
    });

    it('a commit of another process is seen by the next read, without a turn of the loop', async () => {
      const place = await factory.create();
      const store = await factory.open(place.location, systemClock());
      const key = accountByEmailKey('person-0@example.org');
      try {
        assert.equal(await store.get(key), undefined);
        const args = [
          fileURLToPath(racer),
          factory.opener.href,
          place.location,
          'register',
          '1',
          '7',
        ];
        assert.equal(spawnSync(process.execPath, args, { input: 'go\n' }).status, 0);
        assert.equal(Buffer.from((await store.get(key))!.value).toString(), '7');
        assert.equal((await store.read(0n, 10)).length, 1);
        assert.equal(await store.lastSeq(), 1n);
      } finally {
        await store.close();
        await place.destroy();
      }
    });
  });
}

/** For a store that one process alone may have open. */
export function aloneContract(factory: StoreFactory): void {
  describe(`${factory.name}: one process`, () => {
    it('another process is refused while the store is open, and let in afterwards', async () => {
      const place = await factory.create();
      const args = [
        fileURLToPath(racer),
        factory.opener.href,
        place.location,
        'register',
        '1',
        '7',
      ];
      const store = await factory.open(place.location, systemClock());
      try {
        const refused = spawnSync(process.execPath, args, { input: 'go\n', encoding: 'utf8' });
        assert.notEqual(refused.status, 0);
        assert.match(refused.stderr, /is in use by/);
        assert.equal(await store.lastSeq(), 0n);
        await store.close();
        assert.equal(spawnSync(process.execPath, args, { input: 'go\n' }).status, 0);
        const again = await factory.open(place.location, systemClock());
        assert.equal(await again.lastSeq(), 1n);
        await again.close();
      } finally {
        await place.destroy();
      }
    });

    it('1,000 single-use keys have exactly 1,000 winners when two ask for each', async () => {
      const count = 1_000;
      const place = await factory.create();
      const store = await factory.open(place.location, systemClock());
      try {
        const keys = Array.from({ length: count }, (_, n) => scratchKey(text('once'), u32(n)));
        const value = Buffer.from('code');
        const made = await store.commit({ set: keys.map((key) => ({ key, value })) });
        assert.ok(made.ok);
        const claims = keys.flatMap((key, n) =>
          [1, 2].map(() =>
            store.commit({ check: [{ key, version: made.versions[n]! }], del: [key] }),
          ),
        );
        const won = (await Promise.all(claims)).map(({ ok }) => ok);
        for (let n = 0; n < count; n++) assert.equal(won[2 * n] !== won[2 * n + 1], true);
        assert.deepEqual(await store.scan(scratchKey(), { limit: 1 }), []);
      } finally {
        await store.close();
        await place.destroy();
      }
    });
  });
}
