/**
 * The bans of agents at rest: a row for each, and the event that tells every node. The row outlives the ban
 * by a day, so that after a restart, too, clients are told of its end. Durable when `save` resolves.
 */

import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { parseIp } from '../../ip/address.ts';
import { createEventId } from '../../store/event-id.ts';
import { readTexts } from '../../store/key-parts.ts';
import { agentBanKey, agentBanPrefix, erasureKey } from '../../store/keys.ts';
import { pagesUnder } from '../../store/pages.ts';
import { f64, record } from '../../store/record.ts';
import type { Store } from '../../store/store.ts';
import { isListable } from '../listable.ts';
import { encodeBanned } from './ban-events.ts';
import { type Bans, banBounds, banMs, endedMs } from './bans.ts';

const rows = record<{ untilMs: number }>(1, { untilMs: f64 });
const perCommitMax = 1_000;

export interface BanStore {
  /**
   * Bans for four hours from now; special-use and allowlisted addresses are left out.
   * `unauthenticated`: the account is being deleted.
   * @param addresses canonical
   */
  save(account: string, addresses: readonly string[]): Promise<Result<void>>;
  /** What is stored, at a start. */
  load(): Promise<void>;
}

export function createBanStore(options: {
  store: Store;
  clock: Clock;
  random: Random;
  bans: Pick<Bans, 'apply' | 'overflowOf'>;
  isSpared: (family: 4 | 6, words: Uint32Array) => boolean;
  /** Resolves when the journal event is in memory. */
  catchUpTo: (seq: bigint) => Promise<void>;
}): BanStore {
  const { store, clock, random, bans, isSpared, catchUpTo } = options;
  const words = new Uint32Array(4);

  function mayBeBanned(address: string): boolean {
    const family = parseIp(address, words);
    return family !== 0 && isListable(family, words) && !isSpared(family, words);
  }

  async function write(account: string, addresses: readonly string[]): Promise<Result<void>> {
    const now = Math.floor(clock.now());
    const untilMs = now + banMs;
    const value = rows.encode({ untilMs });
    const done = await store.commit({
      check: [{ key: erasureKey(account), version: null }],
      set: addresses.map((address) => ({
        ...{ key: agentBanKey(account, address), value },
        expiresAt: untilMs + endedMs,
      })),
      del: bans.overflowOf(account, addresses).map((address) => agentBanKey(account, address)),
      events: [encodeBanned(createEventId(clock, random), { account, untilMs, addresses })],
    });
    if (!done.ok) {
      return fail(done.error === 'check_failed' ? 'unauthenticated' : 'store_unavailable');
    }
    await catchUpTo(done.seq);
    return ok(undefined);
  }

  return {
    async save(account, given) {
      const addresses = [...new Set(given)].filter(mayBeBanned).slice(-banBounds.perAccountMax);
      for (let at = 0; at < addresses.length; at += perCommitMax) {
        const done = await write(account, addresses.slice(at, at + perCommitMax));
        if (!done.ok) return done;
      }
      return ok(undefined);
    },
    async load() {
      const found: { account: string; address: string; untilMs: number }[] = [];
      for await (const page of pagesUnder(store, agentBanPrefix())) {
        for (const { key, value } of page) {
          const row = rows.decode(value);
          const [account = '', address = ''] = readTexts(key);
          if (row !== undefined) found.push({ account, address, ...row });
        }
      }
      // The oldest first, as they were made.
      found.sort((a, b) => a.untilMs - b.untilMs);
      for (const { account, address, untilMs } of found) {
        bans.apply({ account, untilMs, addresses: [address] });
      }
    },
  };
}
