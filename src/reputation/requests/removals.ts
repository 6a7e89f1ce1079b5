/**
 * Requests to take back what is said of an address: the operator's queue. One for each address, at most
 * 1,000, each for 90 days; beyond that a new one is refused. Who asked is not kept.
 */

import type { Clock } from '../../core/clock.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { type Key, removalKey, removalPrefix } from '../../store/keys.ts';
import { bareRecord, flag, text, time } from '../../store/record.ts';
import type { Store } from '../../store/store.ts';

export interface Removal {
  readonly at: number;
  /** In the words of who asked. */
  readonly reason: string;
  /** It was asked for from the address itself. */
  readonly fromAddress: boolean;
  /** By somebody with a verified account; else with a solved challenge. */
  readonly signedIn: boolean;
}

export interface Removals {
  /** One that is there already stays as it is. `capacity_exceeded` at the bound. */
  add(address: string, request: Omit<Removal, 'at'>): Promise<Result<void>>;
  find(address: string): Promise<Removal | undefined>;
  /** Oldest first. */
  list(): Promise<(Removal & { readonly address: string })[]>;
  /** `not_found` when there is none. */
  remove(address: string): Promise<Result<Removal>>;
}

export const reasonLengths = { min: 10, max: 1_000 } as const;
export const removalsMax = 1_000;
const keptMs = 90 * 86_400_000;
const pageRows = 200;

const codec = bareRecord<Removal>({ at: time, reason: text, fromAddress: flag, signedIn: flag });

/** Of what was typed; undefined: too short or too long. Control characters become spaces. */
export function readReason(typed: string): string | undefined {
  const reason = typed.replace(/\p{C}+/gu, ' ').trim();
  const { length } = Array.from(reason);
  return length < reasonLengths.min || length > reasonLengths.max ? undefined : reason;
}

export function createRemovals(options: {
  store: Pick<Store, 'commit' | 'get' | 'scan'>;
  clock: Clock;
  max?: number;
}): Removals {
  const { store, clock, max = removalsMax } = options;

  async function list() {
    const found: (Removal & { readonly address: string })[] = [];
    let after: Key | undefined;
    for (;;) {
      const limits = { limit: pageRows, ...(after === undefined ? {} : { after }) };
      const page = await store.scan(removalPrefix(), limits);
      for (const { key, value } of page) {
        const removal = codec.decode(value);
        const address = Buffer.from(key.subarray(1, -1)).toString('utf8');
        if (removal !== undefined) found.push({ address, ...removal });
      }
      if (page.length === 0) return found.sort((a, b) => a.at - b.at);
      after = page.at(-1)!.key;
    }
  }

  async function find(address: string): Promise<Removal | undefined> {
    const row = await store.get(removalKey(address));
    return row && codec.decode(row.value);
  }

  return {
    find,
    list,
    async add(address, request) {
      const key = removalKey(address);
      if ((await find(address)) !== undefined) return ok(undefined);
      if ((await list()).length >= max) {
        return fail('capacity_exceeded', `There are ${max} requests already: ask again later.`);
      }
      const at = clock.now();
      const done = await store.commit({
        set: [{ key, value: codec.encode({ ...request, at }), expiresAt: at + keptMs }],
      });
      return done.ok ? ok(undefined) : fail('store_unavailable');
    },
    async remove(address) {
      const removal = await find(address);
      if (removal === undefined) return fail('not_found', `there is no request for ${address}`);
      const done = await store.commit({ del: [removalKey(address)] });
      return done.ok ? ok(removal) : fail('store_unavailable');
    },
  };
}
