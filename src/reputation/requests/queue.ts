/**
 * What visitors ask or say of addresses and the operator has to decide: one row for each address, bounded,
 * each for a while. Beyond the bound a new one is refused.
 */

import type { Clock } from '../../core/clock.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import type { Key } from '../../store/keys.ts';
import { pagesUnder } from '../../store/pages.ts';
import type { Store } from '../../store/store.ts';

export interface AddressQueue<T extends { readonly at: number }> {
  /** One that is there already stays as it is. `capacity_exceeded` at the bound. */
  add(address: string, row: Omit<T, 'at'>): Promise<Result<void>>;
  find(address: string): Promise<T | undefined>;
  /** Oldest first. */
  list(): Promise<(T & { readonly address: string })[]>;
  /** `not_found` when there is none. */
  remove(address: string): Promise<Result<T>>;
}

export interface QueueOptions {
  readonly store: Pick<Store, 'commit' | 'get' | 'scan'>;
  readonly clock: Clock;
  /** Rows at one time. */
  readonly max?: number;
}

const queueMax = 1_000;
const keptMs = 90 * 86_400_000;

/** @param rows how a row is written, and where: the address is the text of its key. */
export function createAddressQueue<T extends { readonly at: number }>(
  { store, clock, max = queueMax }: QueueOptions,
  rows: {
    readonly codec: { encode(row: T): Uint8Array; decode(bytes: Uint8Array): T | undefined };
    readonly keyOf: (address: string) => Key;
    readonly prefix: () => Key;
  },
): AddressQueue<T> {
  const { codec, keyOf, prefix } = rows;

  async function list() {
    const found: (T & { readonly address: string })[] = [];
    for await (const page of pagesUnder(store, prefix())) {
      for (const { key, value } of page) {
        const row = codec.decode(value);
        const address = Buffer.from(key.subarray(1, -1)).toString('utf8');
        if (row !== undefined) found.push({ ...row, address });
      }
    }
    return found.sort((a, b) => a.at - b.at);
  }

  async function find(address: string): Promise<T | undefined> {
    const row = await store.get(keyOf(address));
    return row && codec.decode(row.value);
  }

  return {
    find,
    list,
    async add(address, row) {
      if ((await find(address)) !== undefined) return ok(undefined);
      if ((await list()).length >= max) {
        return fail('capacity_exceeded', `There are ${max} requests already: ask again later.`);
      }
      const at = clock.now();
      const value = codec.encode({ ...row, at } as T);
      const done = await store.commit({
        set: [{ key: keyOf(address), value, expiresAt: at + keptMs }],
      });
      return done.ok ? ok(undefined) : fail('store_unavailable');
    },
    async remove(address) {
      const row = await find(address);
      if (row === undefined) return fail('not_found', `nothing waits for ${address}`);
      const done = await store.commit({ del: [keyOf(address)] });
      return done.ok ? ok(row) : fail('store_unavailable');
    },
  };
}
