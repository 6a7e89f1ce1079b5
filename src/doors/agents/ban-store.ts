/**
 * The bans of agents at rest: a row for each, and the event that tells every node. The row outlives the ban
 * by a day, so that after a restart, too, clients are told of its end. Durable when `save` resolves.
 *
 * Bounds: what the memory holds at most, bans and ends (bans.ts). Rows that are idle go behind the commit
 * that made them so, or at the next ban or start.
 */

import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { createTurns } from '../../core/work/turns.ts';
import { parseIp } from '../../ip/address.ts';
import { commitOnce } from '../../store/change.ts';
import { createEventId } from '../../store/event-id.ts';
import { readTexts } from '../../store/key-parts.ts';
import { agentBanKey, agentBanPrefix, erasureKey } from '../../store/keys.ts';
import { pagesUnder } from '../../store/pages.ts';
import { f64, record, since, text } from '../../store/record.ts';
import type { Store } from '../../store/store.ts';
import { isListable } from '../listable.ts';
import { encodeBanned } from './ban-events.ts';
import { type Bans, banBounds, banMs, endedMs } from './bans.ts';

const rows = record<{ untilMs: number; scenario: string }>(
  2,
  { untilMs: f64, scenario: since(2, text, '') },
  1,
);
const perCommitMax = 1_000;
/** Somebody else bans the same addresses all the time: the next ban tries again. */
const tidyTriesMax = 8;

export interface BanStore {
  /**
   * Bans for four hours from now; special-use and allowlisted addresses are left out.
   * `unauthenticated`: the account is being deleted.
   * @param addresses canonical
   * @param scenarios by address, what was seen of it
   */
  save(
    account: string,
    addresses: readonly string[],
    scenarios?: ReadonlyMap<string, string>,
  ): Promise<Result<void>>;
  /** What is stored, at a start. */
  load(): Promise<void>;
}

export function createBanStore(options: {
  store: Store;
  clock: Clock;
  random: Random;
  bans: Pick<Bans, 'apply' | 'idleRows' | 'settle'>;
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

  async function write(
    account: string,
    addresses: readonly string[],
    scenarioOf: (address: string) => string,
  ): Promise<Result<void>> {
    const now = Math.floor(clock.now());
    const untilMs = now + banMs;
    const scenarios = addresses.map(scenarioOf);
    const done = await store.commit({
      check: [{ key: erasureKey(account), version: null }],
      set: addresses.map((address, i) => ({
        key: agentBanKey(account, address),
        value: rows.encode({ untilMs, scenario: scenarios[i]! }),
        expiresAt: untilMs + endedMs,
      })),
      events: [
        encodeBanned(createEventId(clock, random), { account, untilMs, addresses, scenarios }),
      ],
    });
    if (!done.ok) {
      return fail(done.error === 'check_failed' ? 'unauthenticated' : 'store_unavailable');
    }
    await catchUpTo(done.seq);
    return ok(undefined);
  }

  /** Never a row of a later ban, which another node may have made since. */
  async function removeIdle(): Promise<void> {
    for (let tries = 0; tries < tidyTriesMax; ) {
      const idle = bans.idleRows(perCommitMax);
      if (idle.length === 0) return;
      const keys = idle.map(({ account, address }) => agentBanKey(account, address));
      const found = await Promise.all(keys.map((key) => store.get(key)));
      const check = found.flatMap((row, i) => {
        const isOver = row && (rows.decode(row.value)?.untilMs ?? 0) <= idle[i]!.untilMs;
        return isOver ? [{ key: keys[i]!, version: row.version }] : [];
      });
      const done = await commitOnce(store, { check, del: check.map(({ key }) => key) });
      if (done === 'lost') tries++;
      else if (done.ok) bans.settle(idle);
      else return;
    }
  }

  return {
    async save(account, given, scenarios) {
      const scenarioOf = (address: string) => scenarios?.get(address) ?? '';
      const turns = createTurns();
      const listable: string[] = [];
      for (const address of new Set(given)) {
        if (turns.isOver()) await turns.next();
        if (mayBeBanned(address)) listable.push(address);
      }
      const addresses = listable.slice(-banBounds.perAccountMax);
      for (let at = 0; at < addresses.length; at += perCommitMax) {
        const done = await write(account, addresses.slice(at, at + perCommitMax), scenarioOf);
        if (!done.ok) return done;
        await removeIdle();
      }
      return ok(undefined);
    },
    async load() {
      const found: { account: string; address: string; untilMs: number; scenario: string }[] = [];
      for await (const page of pagesUnder(store, agentBanPrefix())) {
        for (const { key, value } of page) {
          const row = rows.decode(value);
          const [account = '', address = ''] = readTexts(key);
          if (row !== undefined) found.push({ account, address, ...row });
        }
      }
      // The oldest first, as they were made.
      found.sort((a, b) => a.untilMs - b.untilMs);
      for (const [i, { account, address, untilMs, scenario }] of found.entries()) {
        bans.apply({ account, untilMs, addresses: [address], scenarios: [scenario] });
        if (i % perCommitMax === perCommitMax - 1) await removeIdle();
      }
      await removeIdle();
    },
  };
}
