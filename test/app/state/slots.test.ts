/**
 * Slots of accounts that come and go, against a model that keeps everything of an account in one
 * object: few places, many accounts, three threads with caches of their own, and restarts from a
 * snapshot, from pages and from the journal.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAccounts } from '../../../src/access/accounts/accounts.ts';
import { slotRestMs } from '../../../src/access/accounts/slots.ts';
import { createApiKeys, createKeyRecords } from '../../../src/access/keys/api-keys.ts';
import { masterKeyFromBytes } from '../../../src/access/keys/master-key.ts';
import { trustFromPoints } from '../../../src/access/quota/points.ts';
import { openState, type State } from '../../../src/app/state.ts';
import { createLog } from '../../../src/core/log.ts';
import { createDeletion } from '../../../src/signon/people/deletion.ts';
import { createEventId } from '../../../src/storage/journal/define-event.ts';
import { readLedger } from '../../../src/storage/ledger.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import { encodeEvent, type ReputationEvent } from '../../support/reputation/events.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';
import { type GateThread, startGateThread } from '../../support/server/gate-thread.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const slotsMax = 4;
const threadCount = 3;

interface ModelAccount {
  readonly email: string;
  readonly id: string;
  readonly live: Map<string, string>;
  /** Addresses it reported, each with how often. */
  readonly reported: Map<number, number>;
  holds: boolean;
  deleted: boolean;
  readPerMinute: number;
  /** Of the account as last seen while it held a slot. */
  points: number;
  /** When housekeeping first saw that nothing was left. */
  idleSince: number | undefined;
  /** What its present minute has spent, newest last. */
  spent: { atMs: number; cost: number }[];
}

function openWorld(seed: number) {
  const directory = makeTempDir('slots');
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const random = seededRandom(seed);
  const log = createLog('silent');
  const store = openLmdbStore({ path: `${directory.path}/store`, clock, log });
  const masterKey = masterKeyFromBytes(new Uint8Array(32).fill(7));
  const accounts = createAccounts({ store, clock, random });
  const apiKeys = createApiKeys({ store, clock, random, masterKey, accounts, slotsMax });
  const records = createKeyRecords({ store, clock, random });
  const deletion = createDeletion({ store, clock, random, data: [] });
  const model: ModelAccount[] = [];
  /** Every key that was ever shown, with its owner. */
  const texts: { text: string; id: string; owner: ModelAccount }[] = [];
  const generations = new Map<number, ModelAccount>();
  const below = (n: number) => Math.floor(random.next() * n);
  let state!: State;
  let threads: GateThread[] = [];
  let refusals = 0;
  let reuses = 0;

  async function open(): Promise<void> {
    state = await openState({
      store,
      clock,
      random,
      log,
      onFailure: (error) => assert.fail(String(error)),
      entriesMax: 2_000,
      checkpointMs: 2 ** 30,
      snapshotPath: `${directory.path}/index.snapshot`,
    });
    state.start();
    await state.follower.catchUpTo(await store.lastSeq());
    await state.reconcile();
    threads = Array.from({ length: threadCount }, () => startGateThread(state.shared));
    for (const account of model) {
      account.idleSince = undefined;
      account.spent = [];
    }
  }

  async function shut(how: 'stop' | 'crash'): Promise<void> {
    await Promise.all(threads.map((thread) => thread.close()));
    await (how === 'stop' ? state.stop() : state.follower.stop());
  }

  const settle = async () => state.follower.catchUpTo(await store.lastSeq());
  const isEmpty = (a: ModelAccount) => a.live.size === 0 && a.reported.size === 0;

  async function commit(event: ReputationEvent): Promise<void> {
    const done = await store.commit({ events: [encodeEvent(createEventId(clock, random), event)] });
    assert.ok(done.ok);
  }

  async function createKey(account: ModelAccount): Promise<void> {
    const made = await apiKeys.create(account.email);
    if (account.live.size > 1) {
      assert.equal(!made.ok && made.error, 'conflict');
      return;
    }
    if (!account.holds && model.filter((a) => a.holds).length >= slotsMax) {
      assert.equal(!made.ok && made.error, 'capacity_exceeded');
      refusals++;
      return;
    }
    assert.ok(made.ok);
    const { id, text } = made.value;
    if (!account.holds) account.spent = [];
    account.holds = true;
    account.idleSince = undefined;
    account.live.set(id, text);
    texts.push({ text, id, owner: account });
  }

  /** Replaced keys live for a day; the clock here never gets so far within one run of a key. */
  async function revoke(account: ModelAccount): Promise<void> {
    const [id] = [...account.live.keys()];
    if (id === undefined) return;
    assert.ok((await records.revoke(id)).ok);
    account.live.delete(id);
  }

  async function report(account: ModelAccount, address: number): Promise<void> {
    if (account.live.size === 0) return;
    const words = Uint32Array.of(0x0808_0000 + address, 0, 0, 0);
    const reportedSecond = Math.floor(clock.now() / 1_000);
    const said = { account: account.id, family: 4, words, reportedSecond } as const;
    await commit({ kind: 'report.added', ...said, network: 0, categories: 0 });
    account.reported.set(address, (account.reported.get(address) ?? 0) + 1);
  }

  async function takeBack(account: ModelAccount, how: 'withdrawn' | 'expired'): Promise<void> {
    const [first] = [...account.reported];
    if (first === undefined) return;
    const [address, reports] = first;
    const said = {
      account: account.id,
      family: 4,
      words: Uint32Array.of(0x0808_0000 + address, 0, 0, 0),
    } as const;
    if (how === 'withdrawn') await commit({ kind: 'reports.withdrawn', ...said, penalty: false });
    else await commit({ kind: 'reports.expired', ...said, reports });
    account.reported.delete(address);
  }

  async function remove(account: ModelAccount): Promise<void> {
    assert.ok((await deletion.delete(account.id)).ok);
    account.live.clear();
    account.deleted = true;
  }

  /** Nothing of it is left, but the account itself. */
  async function leave(account: ModelAccount): Promise<void> {
    while (account.live.size > 0) await revoke(account);
    while (account.reported.size > 0) await takeBack(account, 'expired');
  }

  async function housekeep(): Promise<void> {
    await settle();
    for (const a of model)
      if (a.holds) a.points = state.accountsInMemory.account(a.id)!.standing.points;
    await state.housekeep();
    for (const account of model) {
      if (!account.holds) continue;
      if (!isEmpty(account)) account.idleSince = undefined;
      else if (account.idleSince === undefined) account.idleSince = clock.monotonicMs();
      else if (clock.monotonicMs() - account.idleSince >= slotRestMs) account.holds = false;
    }
  }

  /** What the three threads say of each key ever shown. */
  async function checkThreads(): Promise<void> {
    const nowMs = clock.monotonicMs();
    for (const thread of threads) {
      const asked = texts.map(({ text }) => ({ text, cost: below(4) }));
      const answers = await thread.ask(nowMs, asked);
      for (const [i, answer] of answers.entries()) {
        const { id, owner } = texts[i]!;
        if (!owner.live.has(id)) {
          assert.equal(answer.slot, -1, 'a key that ended works');
          continue;
        }
        assert.equal(
          state.accountsInMemory.idOf(answer.slot),
          owner.id,
          'a key works for somebody else',
        );
        const { points } = state.accountsInMemory.account(owner.id)!.standing;
        assert.equal(answer.trust, Math.fround(trustFromPoints(points)));
        if (owner.readPerMinute > 0) assert.equal(answer.limit, owner.readPerMinute);
        else assert.ok(answer.limit >= 1_000);
        owner.spent = owner.spent.filter(({ atMs }) => nowMs - atMs < 62_000);
        owner.spent.push({ atMs: nowMs, cost: asked[i]!.cost });
        const mine = owner.spent.reduce((sum, { cost }) => sum + cost, 0);
        assert.ok(answer.limit - answer.remaining <= mine, 'somebody else has spent its quota');
      }
    }
  }

  async function check(): Promise<void> {
    await settle();
    const held = model.filter((a) => a.holds);
    assert.equal(state.accountsInMemory.used(), held.length);
    assert.equal((await readLedger(store, 'account_slots')).used, held.length);
    const slots = new Set<number>();
    for (const account of model) {
      const known = state.accountsInMemory.account(account.id);
      assert.equal(known !== undefined, account.holds, account.email);
      if (known === undefined) continue;
      slots.add(known.slot);
      const before = generations.get(known.generation);
      assert.ok(before === undefined || before === account, 'two accounts have one generation');
      if (before === undefined) {
        if ([...generations.keys()].length >= slotsMax) reuses++;
        generations.set(known.generation, account);
        assert.equal(known.standing.points, account.points, 'its own points, nobody else has them');
      }
      assert.equal(state.entries.contributions.heldBy(known.slot), account.reported.size);
      assert.equal(known.readPerMinute, account.readPerMinute);
    }
    assert.ok(slots.size === held.length && [...slots].every((slot) => slot < slotsMax));
    await checkThreads();
  }

  async function create(): Promise<void> {
    const made = await accounts.create(`p${model.length}@example.org`);
    assert.ok(made.ok);
    const { email, id } = made.value;
    const empty = {
      live: new Map<string, string>(),
      reported: new Map<number, number>(),
      spent: [],
    };
    const state = {
      holds: false,
      deleted: false,
      idleSince: undefined,
      readPerMinute: 0,
      points: 0,
    };
    model.push({ email, id, ...empty, ...state });
  }

  async function step(): Promise<void> {
    const living = model.filter((a) => !a.deleted);
    const account = living[below(living.length)];
    const choice = below(20);
    if (account === undefined || choice < 2) return create();
    if (choice < 6) return createKey(account);
    if (choice < 9) return revoke(account);
    if (choice < 11) return report(account, below(6));
    const any = model[below(model.length)]!;
    if (choice < 12) return takeBack(any, 'withdrawn');
    if (choice < 13) return takeBack(any, 'expired');
    if (choice === 13) {
      account.readPerMinute = 500 + below(200);
      const quotas = { readPerMinute: account.readPerMinute };
      assert.ok((await accounts.setQuotas(account.email, quotas)).ok);
      return;
    }
    if (choice === 14) return remove(account);
    if (choice < 17) return leave(any);
    clock.advance(below(4) === 0 ? 5_000 : slotRestMs / 2);
    return housekeep();
  }

  return {
    open,
    shut,
    step,
    check,
    seen: () => ({ refusals, reuses }),
    async close() {
      await shut('stop');
      await store.close();
      directory.remove();
    },
  };
}

describe('slots of accounts, against a model', () => {
  for (const seed of [1, 2, 3]) {
    it(`come, go and are given to others, seed ${seed}`, async () => {
      const world = openWorld(seed);
      const random = seededRandom(seed + 100);
      await world.open();
      try {
        for (let i = 0; i < 300; i++) {
          await world.step();
          await world.check();
          if (random.next() >= 0.04) continue;
          // Seed 3 never writes a checkpoint: everything is read from the journal.
          await world.shut(seed === 3 || random.next() < 0.5 ? 'crash' : 'stop');
          await world.open();
          await world.check();
        }
      } finally {
        await world.close();
      }
      const { refusals, reuses } = world.seen();
      assert.ok(refusals > 0 && reuses > 5, `${refusals} refusals, ${reuses} reuses: too few`);
    });
  }
});
