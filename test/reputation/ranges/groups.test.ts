/**
 * Groups of networks that the operator names: written out as lists, in step with the tables after a restart, not
 * written twice, and gone with their row; on a real store and a real memory.
 */

import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { openState, type State } from '../../../src/app/state.ts';
import { groupName, type NetworkGroup } from '../../../src/geo/network-groups.ts';
import { parseIp } from '../../../src/ip/address.ts';
import { parseRange } from '../../../src/ip/prefix.ts';
import { createEvidence } from '../../../src/reputation/address/evidence.ts';
import { openCheck } from '../../../src/reputation/check/check.ts';
import { joinRows, sortRows } from '../../../src/reputation/lists/import/parse.ts';
import { createRowSink } from '../../../src/reputation/lists/import/rows.ts';
import { createGroupKeeper } from '../../../src/reputation/ranges/groups.ts';
import {
  createAllowlist,
  createManualEntries,
} from '../../../src/reputation/ranges/operator-ranges.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import type { Store } from '../../../src/storage/store.ts';
import { nowhere } from '../../support/reputation/geo.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';
import { memoryLog } from '../../support/server/memory-log.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const random = seededRandom(5);
const terms = { score: 90, category: 0, note: '', endsAt: 0 };
let clock = manualClock(Date.UTC(2026, 10, 26, 23));
let directory: ReturnType<typeof makeTempDir>;
let store: Store;
let state: State;
/** The tables, as the node that has the lease reads them. */
let tables: Record<string, string[]> = {};
let expansions: string[] = [];
let keeper: ReturnType<typeof createGroupKeeper>;
let isMine = true;
const { log } = memoryLog();

/** @param kept the store, as the keeper sees it */
async function restart(kept: Store = store): Promise<void> {
  state = await openState({
    store,
    clock,
    random,
    log,
    onFailure: (error) => assert.fail(`${error}`),
  });
  state.start();
  await state.reconcile();
  keeper = createGroupKeeper({
    store: kept,
    clock,
    random,
    log,
    state,
    isMine: () => isMine,
    catchUpTo: state.follower.catchUpTo,
    async rowsOf(group: NetworkGroup, score: number) {
      const name = groupName(group);
      expansions.push(name);
      const sink = createRowSink({ allowDocumentation: true });
      for (const text of tables[name] ?? []) {
        const range = parseRange(text);
        assert.ok(range.ok, text);
        sink.range(range.value, score);
      }
      const { batches, rows } = sortRows(sink.take(true), sink.stats.rows);
      return joinRows(batches, rows);
    },
  });
}

beforeEach(async () => {
  clock = manualClock(Date.UTC(2026, 10, 26, 23));
  directory = makeTempDir('groups');
  store = openLmdbStore({ path: `${directory.path}/store`, clock, log });
  tables = {
    AS64500: ['45.10.0.0-45.10.1.127', '2a10:1::-2a10:1:ffff:ffff:ffff:ffff:ffff:ffff'],
    FR: ['6.0.0.0-7.255.255.255', '45.10.1.0-45.10.1.255'],
  };
  expansions = [];
  isMine = true;
  await restart();
});

afterEach(async () => {
  await state.stop();
  await store.close();
  directory.remove();
});

async function look() {
  await keeper.poll();
  await state.follower.catchUpTo(await store.lastSeq());
}

function verdictOf(ip: string) {
  const words = new Uint32Array(4);
  const family = parseIp(ip, words) as 4 | 6;
  const check = openCheck({ index: state.index, geo: nowhere });
  const evidence = createEvidence({
    index: state.index,
    sources: state.sources,
    check,
    contributions: state.entries.contributions,
  });
  const { score, allowlisted } = check.judge(family, words, clock.now());
  const [first] = evidence.of(family, words, clock.now()).lists;
  const by = first && `${first.kind} ${first.group ?? first.name} ${first.entry}`;
  return { score, allowlisted, by, endsAt: first?.endsAt };
}

test('each network of a system and of a country has the score, names the group, and goes with the row', async () => {
  const own = createManualEntries({ store, clock, random });
  assert.ok((await own.add('as64500', terms)).ok);
  assert.ok((await own.add('fr', { ...terms, score: 80, endsAt: Date.UTC(2026, 11, 1) })).ok);
  await look();
  assert.deepEqual(
    ['45.10.1.127', '2a10:1:8::1', '45.10.1.128', '7.1.2.3', '45.10.2.0'].map((ip) => {
      const { score, by } = verdictOf(ip);
      return [ip, score, by];
    }),
    [
      ['45.10.1.127', 90, 'own AS64500 45.10.1.0/25'],
      ['2a10:1:8::1', 90, 'own AS64500 2a10:1::/32'],
      ['45.10.1.128', 80, 'own FR 45.10.1.0/24'],
      ['7.1.2.3', 80, 'own FR 7.0.0.0/8'],
      ['45.10.2.0', 0, undefined],
    ],
  );
  assert.equal(verdictOf('7.1.2.3').endsAt, Date.UTC(2026, 11, 1));
  assert.equal(verdictOf('45.10.0.1').endsAt, undefined);
  assert.ok((await own.remove('AS64500')).ok);
  await look();
  assert.equal(verdictOf('45.10.0.1').score, 0);
  clock.advance(Date.UTC(2026, 11, 1) - clock.now());
  await look();
  assert.deepEqual([verdictOf('7.1.2.3').score, await own.list()], [0, []]);
});

test('a group says how many networks it has once they are written, also one that was taken away and comes again', async () => {
  const own = createManualEntries({ store, clock, random });
  const count = async () => (await own.list())[0]?.networks;
  for (const time of ['first', 'second']) {
    assert.ok((await own.add('AS64500', terms)).ok);
    assert.equal(await count(), null, time);
    await look();
    assert.equal(await count(), 3, time);
    assert.ok((await own.remove('AS64500')).ok);
  }
  // One without networks, set anew with another note.
  for (const note of ['', 'again']) {
    assert.ok((await own.add('AS64999', { ...terms, note })).ok);
    await look();
    assert.equal(await count(), 0);
  }
  assert.deepEqual((await own.add('45.10.0.1', terms)).ok, true);
  assert.equal((await own.list('45.10.0.1'))[0]?.networks, undefined);
  const union = await own.add('eu', terms);
  assert.match(union.ok ? '' : union.detail!, /EU is no country: name each country of it/);
});

test('a group on the allowlist beats every score, and its networks are no rules of their own', async () => {
  await createManualEntries({ store, clock, random }).add('45.10.0.0/16', { ...terms, score: 100 });
  await createAllowlist({ store, clock, random }).add('AS64500', 'ours');
  const changes = state.reducer.allowlistVersion();
  await look();
  const { by: _, ...verdict } = verdictOf('45.10.0.9');
  assert.deepEqual(verdict, { score: 0, allowlisted: true, endsAt: undefined });
  assert.equal(verdictOf('2a10:1::9').by, 'allow AS64500 2a10:1::/32');
  assert.equal(verdictOf('45.10.9.9').score, 100);
  assert.equal(state.entries.contributions.rules(), 0);
  assert.ok(state.reducer.allowlistVersion() > changes, 'feeds made before are of no use');
  await createAllowlist({ store, clock, random }).remove('as64500');
  await look();
  assert.equal(verdictOf('45.10.0.9').score, 100);
});

test('a restart writes what the tables changed, and nothing where they did not', async () => {
  const own = createManualEntries({ store, clock, random });
  await own.add('AS64500', terms);
  await own.add('FR', terms);
  await look();
  await state.stop();
  await restart();
  const before = await store.lastSeq();
  await look();
  assert.equal(await store.lastSeq(), before);
  await state.stop();
  tables.AS64500 = ['45.10.1.0-45.10.3.255'];
  await restart();
  await look();
  assert.deepEqual(
    ['45.10.0.1', '45.10.3.1', '2a10:1::1', '45.10.1.200'].map((ip) => verdictOf(ip).score),
    [0, 90, 0, 90],
  );
  const after = await store.lastSeq();
  await look();
  assert.deepEqual([await store.lastSeq(), expansions.length], [after, 6], 'looked at once');
});

test('a server that ends while it writes changed tables out loses no network of before, and the next one writes all', async () => {
  assert.ok((await createManualEntries({ store, clock, random }).add('AS64500', terms)).ok);
  await look();
  const seen = () =>
    ['45.10.0.1', '45.10.1.1', '45.20.0.1'].map((address) => verdictOf(address).score);
  assert.deepEqual(seen(), [90, 90, 0]);
  tables.AS64500 = ['45.10.1.0-45.10.1.255', '45.20.0.0-45.20.0.255'];
  for (const endsBefore of [1, 2, 3]) {
    await state.stop();
    let commits = 0;
    const cut: Store = {
      ...store,
      commit: (commit) =>
        ++commits > endsBefore ? Promise.reject(new Error('killed')) : store.commit(commit),
    };
    await restart(cut);
    await look();
    // All rows are there before the end of the run takes the others.
    assert.deepEqual(
      seen(),
      endsBefore === 1 ? [90, 90, 0] : endsBefore === 2 ? [90, 90, 90] : [0, 90, 90],
    );
  }
});

test('a row set anew is written anew, also when it was removed in between, and the score follows', async () => {
  const own = createManualEntries({ store, clock, random });
  await own.add('AS64500', terms);
  await look();
  await own.add('AS64500', { ...terms, score: 40 });
  await look();
  assert.equal(verdictOf('45.10.0.1').score, 40);
  await own.remove('AS64500');
  await own.add('AS64500', { ...terms, score: 40 });
  await look();
  assert.equal(verdictOf('45.10.0.1').score, 40);
});

test('a node without the lease writes nothing, and one that gets it has the networks of its own tables', async () => {
  await createManualEntries({ store, clock, random }).add('AS64500', terms);
  isMine = false;
  await look();
  assert.deepEqual([expansions, verdictOf('45.10.0.1').score], [[], 0]);
  isMine = true;
  await look();
  isMine = false;
  await look();
  tables.AS64500 = ['45.11.0.0-45.11.0.255'];
  isMine = true;
  await look();
  assert.deepEqual([verdictOf('45.10.0.1').score, verdictOf('45.11.0.1').score], [0, 90]);
});

test('an unknown system has no network; a category, a private range and one group too many are refused', async () => {
  const own = createManualEntries({ store, clock, random });
  tables.AS1 = ['9.255.255.0-10.0.0.255', '172.15.0.0-172.16.0.255'];
  await own.add('AS1', terms);
  await own.add('AS2', terms);
  await look();
  assert.deepEqual(
    ['9.255.255.1', '10.0.0.1', '172.15.9.9', '172.16.0.1'].map((ip) => verdictOf(ip).score),
    [90, 0, 90, 0],
  );
  const refused = async (name: string, category = 0) => {
    const done = await own.add(name, { ...terms, category });
    return done.ok ? undefined : done.error;
  };
  assert.equal(await refused('AS3', 14), 'invalid_parameter');
  for (const bad of ['AS0', 'UK', 'yu', 'ZZ', 'QQ']) {
    assert.equal(await refused(bad), 'invalid_prefix', bad);
  }
  for (let number = 3; number <= 100; number++)
    assert.equal(await refused(`AS${number}`), undefined);
  assert.equal(await refused('AS101'), 'capacity_exceeded');
  assert.equal(await refused('AS100'), undefined, 'one that is there is set anew');
});
