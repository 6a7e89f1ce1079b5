/** The part of the contract about scanning a prefix page by page. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Key, scratchKey, text, u32 } from '../../src/storage/keys.ts';
import type { WithStore } from './contract-journal.ts';

const a = scratchKey(text('a'));
const bytes = (value: string): Uint8Array => Buffer.from(value);
const row = (n: number): Key => scratchKey(text('row'), u32(n));

export function scanContract(name: string, withStore: WithStore): void {
  describe(`${name}: scan`, () => {
    it('pages through a prefix in key order and stops at its end', async () => {
      await withStore(async (store) => {
        const set = Array.from({ length: 25 }, (_, n) => ({
          key: row(24 - n),
          value: bytes(`${n}`),
        }));
        await store.commit({ set: [...set, { key: a, value: bytes('before') }] });
        await store.commit({ set: [{ key: scratchKey(text('rox')), value: bytes('after') }] });
        const keys: Key[] = [];
        let page = await store.scan(scratchKey(text('row')), { limit: 10 });
        while (page.length > 0) {
          keys.push(...page.map((entry) => entry.key));
          page = await store.scan(scratchKey(text('row')), { after: keys.at(-1)!, limit: 10 });
        }
        assert.deepEqual(
          keys.map((key) => Buffer.from(key).toString('hex')),
          Array.from({ length: 25 }, (_, n) => Buffer.from(row(n)).toString('hex')),
        );
      });
    });

    it('passes over long runs of expired entries', async () => {
      await withStore(async (store, clock) => {
        const set = Array.from({ length: 3_000 }, (_, n) => ({
          key: row(n),
          value: bytes('x'),
          expiresAt: clock.now() + 1,
        }));
        await store.commit({ set });
        await store.commit({ set: [{ key: row(5_000), value: bytes('live') }] });
        clock.advance(1);
        const page = await store.scan(scratchKey(), { limit: 10 });
        assert.equal(page.length, 1);
      });
    });

    it('while others write, meets every entry that was there all along exactly once', async () => {
      await withStore(async (store) => {
        const stable = Array.from({ length: 200 }, (_, n) => row(n * 2));
        await store.commit({ set: stable.map((key) => ({ key, value: bytes('s') })) });
        const seen: string[] = [];
        let after: Key | undefined;
        for (let turn = 0; ; turn++) {
          const page = await store.scan(scratchKey(), {
            limit: 7,
            ...(after === undefined ? {} : { after }),
          });
          if (page.length === 0) break;
          after = page.at(-1)!.key;
          seen.push(...page.map((entry) => Buffer.from(entry.key).toString('hex')));
          const odd = row(((turn * 37) % 200) * 2 + 1);
          await store.commit(
            turn % 3 === 0 ? { del: [odd] } : { set: [{ key: odd, value: bytes('o') }] },
          );
        }
        assert.equal(new Set(seen).size, seen.length);
        const wanted = stable.map((key) => Buffer.from(key).toString('hex'));
        assert.deepEqual(
          wanted.filter((key) => !seen.includes(key)),
          [],
        );
      });
    });
  });
}
