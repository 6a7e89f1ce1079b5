/** Killed again and again while it applies and checkpoints, the state is what the journal says. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openState } from '../../../src/app/state.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { createLog } from '../../../src/core/log.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import type { Store } from '../../../src/storage/store.ts';
import { indexShown, modelShown } from '../../support/reputation/entries-shown.ts';
import { decodeAccessEvent, decodeEvent, isAccessEvent } from '../../support/reputation/events.ts';
import { createListModel } from '../../support/reputation/list-model.ts';
import { seededRandom } from '../../support/seeded.ts';
import { type CrashRound, runCrashRounds } from '../../support/server/crash.ts';
import { crashEntriesMax } from './crash-plan.ts';

const rounds = 20;
const minAcks = 1_000;

/** Follows the journal from round to round, straight from its events. */
function createReplay() {
  const model = createListModel();
  const ids: string[] = [];
  const accounts = new Map<string, Set<string>>();

  async function goOn(store: Store): Promise<void> {
    for (;;) {
      const page = await store.read(BigInt(ids.length), 1_000);
      if (page.length === 0) return;
      for (const { id, kind, version, body, at } of page) {
        ids.push(id);
        if (!isAccessEvent(kind)) {
          model.apply(decodeEvent(kind, version, body)!, at);
          continue;
        }
        const event = decodeAccessEvent(kind, version, body)!;
        const takesSlot = event.kind === 'account.created' || event.kind === 'key.created';
        if (takesSlot && !accounts.has(event.account)) accounts.set(event.account, new Set());
        if (event.kind === 'key.created') accounts.get(event.account)?.add(event.key);
      }
    }
  }

  return { model, ids, accounts, goOn };
}

it('20 kills lose no acknowledged commit, and the state is what the journal says', async () => {
  const replay = createReplay();
  const checkpoints: bigint[] = [];
  const total = await runCrashRounds({
    childModule: new URL('./crash-child.js', import.meta.url),
    rounds,
    minAcks,
    verify: async (round) => {
      checkpoints.push(await verifyRound(round, replay));
    },
  });
  assert.ok(total >= rounds * minAcks);
  assert.ok(new Set(checkpoints).size > rounds / 2, 'checkpoints were written between the kills');
});

async function verifyRound(
  { round, directory, acks }: CrashRound,
  replay: ReturnType<typeof createReplay>,
): Promise<bigint> {
  const clock = systemClock();
  const log = createLog('fatal');
  const store = openLmdbStore({ path: directory, clock, log });
  try {
    await replay.goOn(store);
    for (const ack of acks) {
      const [id, seq] = ack.split(' ');
      assert.equal(replay.ids[Number(seq) - 1], id, `round ${round}: acknowledged ${ack}`);
    }
    const state = await openState({
      store,
      clock,
      random: seededRandom(round),
      log,
      entriesMax: crashEntriesMax,
      checkpointMs: 2 ** 30,
      snapshotPath: `${directory}/index.snapshot`,
      onFailure: (error) => assert.fail(String(error)),
    });
    const checkpointSeq = state.projection.checkpointSeq();
    state.start();
    await state.follower.catchUpTo(await store.lastSeq());
    assert.deepEqual(indexShown(state.index), modelShown(replay.model), `round ${round}`);
    for (const [id, keys] of replay.accounts) {
      assert.deepEqual([...(state.accountsInMemory.account(id)?.keys.keys() ?? [])], [...keys]);
    }
    // Every third round begins with a snapshot.
    if (round % 3 === 0) await state.stop();
    else await state.follower.stop();
    return checkpointSeq;
  } finally {
    await store.close();
  }
}
