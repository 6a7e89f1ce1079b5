/** A restore to an earlier position: what the operator says of ranges is counted as it is then. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { forget, undoOf } from '../../src/commands/store/restore.ts';
import { createLog } from '../../src/core/log.ts';
import { createBanTable } from '../../src/integrations/crowdsec/ban-table.ts';
import { createBanStore, createBans } from '../../src/integrations/crowdsec/bans.ts';
import { agentEvents } from '../../src/integrations/crowdsec/events.ts';
import {
  createAllowlist,
  createManualEntries,
} from '../../src/reputation/ranges/operator-ranges.ts';
import { readLedger } from '../../src/storage/ledger.ts';
import { openLmdbStore } from '../../src/storage/lmdb/store.ts';
import { value } from '../support/house/result.ts';
import { wantedBans } from '../support/integrations/agent-bans.ts';
import { manualClock, seededRandom } from '../support/seeded.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

it('rules and manual entries that came or went since are counted as those that are left', async () => {
  const directory = makeTempDir('rewind');
  const clock = manualClock(1_800_000_000_000);
  const store = openLmdbStore({ path: directory.path, clock, log: createLog('silent') });
  const parts = { store, clock, random: seededRandom(3) };
  const [entries, rules] = [createManualEntries(parts), createAllowlist(parts)];
  const add = async (prefix: string) =>
    value(await entries.add(prefix, { score: 90, category: 0, note: '', endsAt: 0 }));
  const counts = async () => [
    (await readLedger(store, 'own_entries')).used,
    (await readLedger(store, 'allow_rules')).used,
  ];
  await add('45.10.0.1');
  await add('45.10.0.2');
  value(await rules.add('45.11.0.1', ''));
  assert.deepEqual(await counts(), [2, 1]);
  const before = await store.lastSeq();
  await add('45.10.0.3');
  value(await entries.remove('45.10.0.1'));
  value(await entries.remove('45.10.0.2'));
  value(await rules.add('45.11.0.1', 'another reason'));
  value(await rules.add('45.11.0.2', ''));
  value(await rules.add('45.11.0.3', ''));
  assert.deepEqual(await counts(), [1, 3]);
  await forget(store, (await store.read(before, 100)).map(undoOf));
  assert.deepEqual(
    [await entries.list(), await rules.list()].map((rows) => rows.map(({ prefix }) => prefix)),
    [['45.10.0.1/32', '45.10.0.2/32'], ['45.11.0.1/32']],
  );
  assert.deepEqual(await counts(), [2, 1]);
  await store.close();
  directory.remove();
});

it('what agents decided since is gone, and what was taken back since stands again', async () => {
  const directory = makeTempDir('rewind-bans');
  const clock = manualClock(1_800_000_000_000);
  const store = openLmdbStore({ path: directory.path, clock, log: createLog('silent') });
  const open = async () => {
    const bans = createBans({ clock, shared: createBanTable(64) });
    let seq = await store.lastSeq();
    async function catchUpTo(): Promise<void> {
      for (const event of await store.read(seq, 100)) {
        void agentEvents.find(({ kind }) => kind === event.kind)!.follow(bans, event);
        seq = event.seq;
      }
    }
    const options = { store, clock, random: seededRandom(5), bans, isExempt: () => false };
    const stored = createBanStore({ ...options, catchUpTo });
    await stored.load();
    return { bans, stored };
  };
  const { stored } = await open();
  value(await stored.save('a', wantedBans(['45.10.0.1', '45.10.0.2'])));
  const before = await store.lastSeq();
  clock.advance(60_000);
  assert.equal(value(await stored.retract('a', (name) => name === '45.10.0.1')), 1);
  value(await stored.save('a', wantedBans(['45.10.0.3', '45.10.0.4'])));
  value(await stored.retract('a', (name) => name === '45.10.0.4'));
  await forget(store, (await store.read(before, 100)).map(undoOf));
  const { bans } = await open();
  const left = [...bans.of('a')!.active].map(([name, { untilMs }]) => [name, untilMs]);
  const untilMs = 1_800_000_000_000 + 4 * 3_600_000;
  assert.deepEqual(left.sort(), [
    ['45.10.0.1', untilMs],
    ['45.10.0.2', untilMs],
  ]);
  assert.equal(bans.of('a')!.ended.size, 0);
  await store.close();
  directory.remove();
});
