/**
 * The decisions of agents at rest: a row for each, and the event that informs every node. The row
 * outlives the decision by a day, so that after a restart, too, clients are sent its end. Durable
 * when `save` or `retract` resolves.
 *
 * Bounds: what the memory holds at most, bans and ends (bans.ts). Rows that are idle go behind the commit
 * that made them so, or at the next ban or start.
 */

import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { createTurns } from '../../core/scheduling.ts';
import { type Prefix, parsePrefix } from '../../ip/prefix.ts';
import { commitOnce } from '../../storage/change.ts';
import { createEventId } from '../../storage/event-id.ts';
import { readTexts } from '../../storage/key-parts.ts';
import { agentBanKey, agentBanPrefix, erasureKey } from '../../storage/keys.ts';
import { pagesUnder } from '../../storage/pages.ts';
import type { NewEvent, Store } from '../../storage/store.ts';
import { isListableNetwork } from '../listable.ts';
import { agentBanned, agentUnbanned, type Decided, decisionRow } from './ban-events.ts';
import { type Bans, banBounds, endedMs } from './bans.ts';
import { type Decision, outweighs, type Wanted } from './decision.ts';

type Row = Omit<Decision, 'value'>;

const perCommitMax = 1_000;
/** Somebody else bans the same addresses all the time: the next ban tries again. */
const tidyTriesMax = 8;

export interface BanStore {
  /**
   * Decides from now on; special-use and allowlisted addresses and networks with such are left out, and so is
   * what a decision that stands outweighs. `unauthenticated`: the account is being deleted.
   */
  save(account: string, wanted: readonly Wanted[]): Promise<Result<void>>;
  /**
   * Ends those that last and are meant. @returns how many
   * `unauthenticated`: the account is being deleted.
   */
  retract(
    account: string,
    isMeant: (value: string, decision: Row) => boolean,
  ): Promise<Result<number>>;
  /** Brings the stored decisions into memory at a start, and removes rows that are idle. */
  load(): Promise<void>;
}

export function createBanStore(options: {
  store: Store;
  clock: Clock;
  random: Random;
  bans: Pick<Bans, 'add' | 'of' | 'idleRows' | 'settle'>;
  isSpared: (prefix: Prefix) => boolean;
  /** Resolves when the journal event is in memory. */
  catchUpTo: (seq: bigint) => Promise<void>;
}): BanStore {
  const { store, clock, random, bans, isSpared, catchUpTo } = options;

  function mayBeBanned(value: string): boolean {
    const prefix = parsePrefix(value);
    return prefix.ok && isListableNetwork(prefix.value) && !isSpared(prefix.value);
  }

  /** @param decided as they are from now on; `event` is the journal's, which says so */
  async function write({ account, decisions }: Decided, event: NewEvent): Promise<Result<void>> {
    const done = await store.commit({
      check: [{ key: erasureKey(account), version: null }],
      set: decisions.map((decision) => ({
        key: agentBanKey(account, decision.value),
        value: decisionRow.encode(decision),
        expiresAt: decision.untilMs + endedMs,
      })),
      events: [event],
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
      const keys = idle.map(({ account, value }) => agentBanKey(account, value));
      const found = await Promise.all(keys.map((key) => store.get(key)));
      const check = found.flatMap((row, i) => {
        const isOver = row && decisionRow.decode(row.value)?.untilMs === idle[i]!.untilMs;
        return isOver ? [{ key: keys[i]!, version: row.version }] : [];
      });
      const done = await commitOnce(store, { check, del: check.map(({ key }) => key) });
      if (done === 'lost') tries++;
      else if (done.ok) bans.settle(idle);
      else return;
    }
  }

  return {
    async save(account, given) {
      const turns = createTurns();
      const atMs = Math.floor(clock.now());
      const own = bans.of(account);
      const decisions = new Map<string, Decision>();
      for (const { value, type, durationMs, origin, scenario } of given) {
        if (turns.isOver()) await turns.next();
        const decision = { value, type, atMs, untilMs: atMs + durationMs, origin, scenario };
        const before = decisions.get(value);
        if (!outweighs(decision, before) || !outweighs(decision, own?.active.get(value))) continue;
        if (before === undefined && !mayBeBanned(value)) continue;
        // At its new place: the oldest go first.
        decisions.delete(value);
        decisions.set(value, decision);
      }
      const kept = [...decisions.values()].slice(-banBounds.perAccountMax);
      for (let at = 0; at < kept.length; at += perCommitMax) {
        const made = { account, atMs, decisions: kept.slice(at, at + perCommitMax) };
        const event = agentBanned.encode(createEventId(clock, random), made);
        const done = await write(made, event);
        if (!done.ok) return done;
        await removeIdle();
      }
      return ok(undefined);
    },
    async retract(account, isMeant) {
      const atMs = Math.floor(clock.now());
      const meant: Decision[] = [];
      for (const [value, { type, atMs: madeAtMs, untilMs, origin, scenario }] of bans.of(account)
        ?.active ?? []) {
        const decision = { value, type, atMs: madeAtMs, untilMs, origin, scenario };
        if (untilMs > atMs && isMeant(value, decision)) meant.push(decision);
      }
      for (let at = 0; at < meant.length; at += perCommitMax) {
        const ended = { account, atMs, decisions: meant.slice(at, at + perCommitMax) };
        const event = agentUnbanned.encode(createEventId(clock, random), ended);
        const over = ended.decisions.map((decision) => ({ ...decision, untilMs: atMs }));
        const done = await write({ account, atMs, decisions: over }, event);
        if (!done.ok) return done;
        await removeIdle();
      }
      return ok(meant.length);
    },
    async load() {
      const found: { account: string; decision: Decision }[] = [];
      for await (const page of pagesUnder(store, agentBanPrefix())) {
        for (const { key, value: stored } of page) {
          const row = decisionRow.decode(stored);
          const [account = '', value = ''] = readTexts(key);
          if (row !== undefined) found.push({ account, decision: { ...row, value } });
        }
      }
      // The oldest first, as they were made.
      found.sort((a, b) => a.decision.atMs - b.decision.atMs);
      for (const [i, { account, decision }] of found.entries()) {
        const { atMs } = decision;
        bans.add({ account, atMs, decisions: [decision] });
        if (i % perCommitMax === perCommitMax - 1) await removeIdle();
      }
      await removeIdle();
    },
  };
}
