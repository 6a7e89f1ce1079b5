/**
 * What a server publishes: which addresses go out and when, that numbers are never given twice whatever ends the
 * process, and that who follows has at each moment the rows of the server.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { masterKeyFromBytes } from '../../../src/access/keys/master-key.ts';
import { expect } from '../../../src/contracts/operation.ts';
import { createLog } from '../../../src/core/log.ts';
import { dayMs, hourMs, minuteMs } from '../../../src/core/time.ts';
import { formatIp } from '../../../src/ip/address.ts';
import { parsePrefix } from '../../../src/ip/prefix.ts';
import {
  type FederationHead,
  faultOfHead,
  readHead,
} from '../../../src/reputation/federation/document/head.ts';
import {
  chainAfter,
  createSegmentReader,
} from '../../../src/reputation/federation/document/segment.ts';
import { createChanges } from '../../../src/reputation/federation/publish/changes.ts';
import { createPublisher } from '../../../src/reputation/federation/publish/publisher.ts';
import { createSelection } from '../../../src/reputation/federation/publish/selection.ts';
import {
  readPublished,
  writeSnapshot,
} from '../../../src/reputation/federation/publish/snapshot.ts';
import {
  nothingPublished,
  publications,
  readKeys,
  readPublication,
  readSegment,
  readSnapshot,
  writeKey,
} from '../../../src/reputation/federation/publish/stored.ts';
import { federationBehindKey, federationPublicationKey } from '../../../src/storage/keys.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import type { Store } from '../../../src/storage/store.ts';
import { applyEvent } from '../../support/reputation/events.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';
import { openWorld, worldStart } from '../reports/report-world.ts';

const log = createLog('silent');
const masterKey = masterKeyFromBytes(Buffer.alloc(32, 5));
const directory = makeTempDir('federation');
const clock = manualClock(worldStart);
let stores = 0;
const open: Store[] = [];
after(async () => {
  await Promise.all(open.map((store) => store.close()));
  directory.remove();
});

function openPlace(): Store {
  const store = openLmdbStore({ path: `${directory.path}/${stores++}`, clock, log });
  open.push(store);
  return store;
}

/** A server that publishes, with accounts: `staff`, members `m0` to `m2`, newcomers `n0` to `n9`. */
async function openServer(options: { least?: number; seed?: number } = {}) {
  const { least = 1, seed = 1 } = options;
  const world = openWorld();
  const store = openPlace();
  const random = seededRandom(seed);
  let position = 0n;
  world.at.now = clock.now();
  world.account('staff');
  world.vouch('staff', 'staff');
  world.account('second');
  world.vouch('second', 'staff');
  for (const id of ['m0', 'm1', 'm2']) {
    world.account(id);
    world.vouch(id, 'member');
  }
  for (let i = 0; i < 10; i++) world.account(`n${i}`);
  expect(await writeKey({ store, masterKey, random }, 'a.example', clock.now(), undefined));

  function publisherOn(place: Store) {
    const { index, entries, policy } = world;
    const { contributions } = entries;
    const selection = createSelection({ index, contributions, policy: policy.get, least });
    return createPublisher({
      store: place,
      masterKey,
      clock,
      log,
      changes: createChanges({
        index,
        selection,
        appliedSeq: () => position,
        categoriesOf: async () => 1 << 18,
        clock: { monotonicMs: () => clock.now() * 1_000 },
        random,
      }),
      least,
      licence: 'CC0-1.0',
      thread: {
        write: async (rows) => writeSnapshot(rows),
        read: async (snapshot, segments) => readPublished(snapshot, segments),
      },
    });
  }

  let publisher = publisherOn(store);
  async function switchTo(isOn: boolean): Promise<void> {
    const { seq, chain, headAt } = (await readPublication(store)).publication;
    const next = { ...nothingPublished, isOn, seq, chain, headAt, oldest: seq + 1 };
    const set = [{ key: federationPublicationKey(), value: publications.encode(next) }];
    assert.ok((await store.commit({ set })).ok);
  }

  return {
    world,
    store,
    publisherOn,
    switchTo,
    /** Something happens, and the journal is longer by it. */
    does(what: (w: typeof world) => void): void {
      world.at.now = clock.now();
      what(world);
      position++;
    },
    restart(place: Store = store): void {
      publisher = publisherOn(place);
    },
    tick: () => publisher.tick(),
    /** Lets time pass, with housekeeping each half minute, or as told. */
    async pass(ms: number, stepMs = 30_000): Promise<void> {
      for (const end = clock.now() + ms; clock.now() < end; ) {
        clock.advance(Math.min(stepMs, end - clock.now()));
        await publisher.tick();
      }
    },
  };
}

/** Follows a server by its store, as a peer does by its answers, and checks all that it is given. */
async function openFollower(store: Store) {
  const { key } = expect((await readKeys(store, masterKey, clock.now()))!);
  const rows = new Map<string, string>();
  let cursor: Pick<FederationHead, 'seq' | 'chain' | 'madeAt'> | undefined;
  /** Lines of all segments, by number, as they came first. */
  const known = new Map<number, string>();

  function take(kind: 'segment' | 'snapshot', bytes: Uint8Array): void {
    const reader = createSegmentReader({
      kind,
      onRow({ isGone, family, words, length, ...said }) {
        const place = `${formatIp(family, words)}${length === 64 ? '/64' : ''}`;
        if (isGone) assert.ok(rows.delete(place), `${place} was there`);
        else rows.set(place, JSON.stringify(said));
      },
    });
    assert.equal(reader.push(bytes) ?? reader.end(), undefined);
  }

  return {
    rows,
    known,
    snapshots: 0,
    async follow(): Promise<FederationHead> {
      const { publication } = await readPublication(store);
      const { head, fault } = readHead(publication.head, key);
      assert.equal(fault, undefined);
      assert.equal(faultOfHead(head!, cursor, clock.now()), undefined);
      let { seq = -1, chain = '' } = cursor ?? {};
      if (seq + 1 < head!.oldest) {
        const { snapshot } = head!;
        const parts = await readSnapshot(store, snapshot!.seq);
        const bytes = gunzipSync(Buffer.concat(parts!));
        assert.equal(bytes.length, snapshot!.bytes);
        rows.clear();
        take('snapshot', bytes);
        assert.equal(rows.size, snapshot!.rows);
        this.snapshots++;
        ({ seq, chain } = snapshot!);
      }
      while (seq < head!.seq) {
        const bytes = gunzipSync((await readSegment(store, ++seq))!.gzip);
        const text = bytes.toString();
        assert.equal(known.get(seq) ?? text, text, `segment ${seq} is one`);
        known.set(seq, text);
        chain = chainAfter(chain, bytes);
        take('segment', bytes);
      }
      assert.equal(chain, head!.chain);
      cursor = { seq, chain, madeAt: head!.madeAt };
      return head!;
    },
  };
}

const sorted = (rows: Iterable<string>) => [...rows].sort();

test('addresses go out that staff, or two members, reported first-hand; nothing else does', async () => {
  const server = await openServer();
  const { world } = server;
  await server.switchTo(true);
  server.does((w) => {
    w.report('staff', '198.18.1.1');
    for (const id of ['m0', 'm1']) w.report(id, '198.18.1.2');
    // One member is no quorum, and newcomers are no vote, however many.
    w.report('m0', '198.18.1.3');
    for (let i = 0; i < 10; i++) w.report(`n${i}`, '198.18.1.4');
    // A list lifts the member's ceiling, and is a list all the same.
    w.report('m0', '198.18.1.5');
    w.report('m0', '198.18.1.6');
    // It was taken back, allowed, known good.
    w.report('staff', '198.18.1.7');
    w.withdraw('staff', '198.18.1.7', false);
    w.report('staff', '198.18.1.8');
    w.allow('198.18.1.8/32', true);
    w.report('staff', '198.18.1.9');
  });
  await world.seed('list', { '198.18.1.5/32': 100, '198.18.1.10/32': 100 });
  await world.good('198.18.1.9/32');
  // An own further server counts as staff here, and is not carried on all the same.
  await world.peer(1, { isOwn: true });
  await world.peerSays(1, ['198.18.1.11']);
  assert.ok(world.score('198.18.1.11') >= 75);
  const own = parsePrefix('198.18.1.6/32');
  assert.ok(own.ok);
  void applyEvent(
    world.fold,
    { kind: 'entry.set', ...own.value, score: 100, category: 18, setSecond: 1, endSecond: 0 },
    clock.now(),
  );
  await server.tick();
  const follower = await openFollower(server.store);
  await follower.follow();
  assert.deepEqual(sorted(follower.rows.keys()), ['198.18.1.1', '198.18.1.2']);
  assert.ok(world.score('198.18.1.5') === 100 && world.score('198.18.1.6') === 100);
});

test('behind a row are as many accounts as FEDERATION_LEAST says, or one of the staff', async () => {
  const server = await openServer({ least: 3 });
  await server.switchTo(true);
  server.does((w) => {
    w.report('staff', '198.18.1.1');
    for (const id of ['m0', 'm1']) w.report(id, '198.18.1.2');
    for (const id of ['m0', 'm1', 'm2']) w.report(id, '198.18.1.3');
  });
  await server.tick();
  const follower = await openFollower(server.store);
  const head = await follower.follow();
  assert.equal(head.least, 3);
  assert.deepEqual(sorted(follower.rows.keys()), ['198.18.1.1', '198.18.1.3']);
  assert.deepEqual(JSON.parse(follower.rows.get('198.18.1.3')!), {
    firstHour: Math.floor(clock.now() / hourMs),
    lastHour: Math.floor(clock.now() / hourMs),
    categories: 1 << 18,
    reports: 2,
    staff: 0,
    members: 3,
    earned: 0,
  });
});

test('an IPv6 address goes out with its /64 when both have a score of their own', async () => {
  const server = await openServer();
  await server.switchTo(true);
  server.does((w) => {
    for (const id of ['staff', 'm0', 'm1', 'm2']) w.report(id, '2001:db8:1::5');
  });
  await server.tick();
  const follower = await openFollower(server.store);
  await follower.follow();
  assert.deepEqual(sorted(follower.rows.keys()), ['2001:db8:1::/64', '2001:db8:1::5']);
});

test('a new row waits for its segment no longer than ten minutes, and one that goes two', async () => {
  const server = await openServer();
  await server.switchTo(true);
  await server.tick();
  const follower = await openFollower(server.store);
  const begin = await follower.follow();
  assert.equal(begin.snapshot!.rows, 0);
  await server.pass(minuteMs);
  const count = 40;
  server.does((w) => {
    for (let i = 0; i < count; i++) w.report('staff', `198.18.2.${i}`);
  });
  await server.pass(7 * minuteMs);
  await follower.follow();
  const early = follower.rows.size;
  assert.ok(early > 0 && early < count, 'some wait longer than others');
  await server.pass(3.5 * minuteMs);
  await follower.follow();
  assert.equal(follower.rows.size, count);
  server.does((w) => w.withdraw('staff', '198.18.2.7', false));
  await server.pass(2 * minuteMs);
  await follower.follow();
  assert.ok(!follower.rows.has('198.18.2.7'));
  server.does((w) => w.allow('198.18.2.0/29', true));
  await server.pass(2 * minuteMs);
  await follower.follow();
  assert.equal(follower.rows.size, count - 8);
});

test('a row is said again once a day while it is reported, and goes with its evidence', async () => {
  const server = await openServer();
  await server.switchTo(true);
  server.does((w) => w.report('staff', '198.18.3.1'));
  await server.tick();
  const follower = await openFollower(server.store);
  const { seq } = await follower.follow();
  for (let hours = 0; hours < 49; hours++) {
    server.does((w) => w.report('staff', '198.18.3.1'));
    await server.pass(hourMs, 20 * minuteMs);
  }
  assert.equal((await follower.follow()).seq, seq + 2);
  await server.pass(30 * dayMs, 3 * hourMs);
  assert.equal((await follower.follow()).seq, seq + 3);
  assert.equal(follower.rows.size, 0);
});

test('a head is signed anew each hour, and by both keys in a rotation', async () => {
  const server = await openServer({ seed: 9 });
  await server.switchTo(true);
  await server.tick();
  const follower = await openFollower(server.store);
  const first = await follower.follow();
  await server.pass(59 * minuteMs);
  assert.equal((await follower.follow()).madeAt, first.madeAt);
  await server.pass(2 * minuteMs);
  const second = await follower.follow();
  assert.equal(second.seq, first.seq);
  assert.ok(second.madeAt > first.madeAt);
  const { store } = server;
  const { key } = expect((await readKeys(store, masterKey, clock.now()))!);
  const until = clock.now() + dayMs;
  const tools = { store, masterKey, random: seededRandom(4) };
  const next = expect(await writeKey(tools, 'a.example', clock.now(), { key, until }));
  await server.pass(minuteMs);
  const both = await follower.follow();
  assert.deepEqual(
    both.keys.map(({ id }) => id),
    [next.id, key.id],
  );
  await server.pass(dayMs + hourMs, hourMs);
  const { publication } = await readPublication(store);
  assert.equal(readHead(publication.head, key).fault, 'strange_key');
  assert.equal(readHead(publication.head, next).head?.seq, first.seq);
});

test('switched off and on again, and restored from a backup, numbers go on and followers take the snapshot', async () => {
  const server = await openServer();
  const { store } = server;
  await server.switchTo(true);
  server.does((w) => w.report('staff', '198.18.4.1'));
  await server.tick();
  const follower = await openFollower(store);
  const first = await follower.follow();
  await server.switchTo(false);
  await server.tick();
  server.does((w) => {
    w.withdraw('staff', '198.18.4.1', false);
    w.report('staff', '198.18.4.2');
  });
  await server.switchTo(true);
  await server.tick();
  const second = await follower.follow();
  assert.equal(second.seq, first.seq + 1);
  assert.deepEqual([...follower.rows.keys()], ['198.18.4.2']);
  // Between two turns of housekeeping nobody sees that it was off.
  await server.switchTo(false);
  await server.switchTo(true);
  await server.tick();
  assert.equal((await follower.follow()).seq, second.seq + 1);
  assert.equal(follower.snapshots, 3);
  // A backup of now, two segments, and the backup again.
  const before = (await store.get(federationPublicationKey()))!.value;
  for (const host of ['198.18.4.3', '198.18.4.4']) {
    server.does((w) => w.report('staff', host));
    await server.pass(11 * minuteMs);
  }
  const third = await follower.follow();
  assert.ok(third.seq >= second.seq + 3);
  const behind = { key: federationBehindKey(), value: new Uint8Array() };
  await store.commit({ set: [{ key: federationPublicationKey(), value: before }, behind] });
  server.restart();
  await server.tick();
  const fourth = await follower.follow();
  assert.ok(fourth.seq > third.seq);
  assert.equal(follower.rows.size, 3);
  assert.equal(follower.snapshots, 4);
});

test('many changes make a snapshot, and old segments go when one stands for them', async () => {
  const server = await openServer();
  const { store } = server;
  await server.switchTo(true);
  await server.tick();
  const begin = (await readPublication(store)).publication;
  for (let round = 0; round < 3; round++) {
    server.does((w) => {
      for (let i = 0; i < 256; i++) w.report('staff', `198.18.${10 + round}.${i}`);
      for (let i = 0; i < 200; i++) w.report('second', `198.19.${10 + round}.${i}`);
    });
    await server.pass(11 * minuteMs);
  }
  const { publication } = await readPublication(store);
  assert.ok(publication.snapshotSeq > begin.snapshotSeq);
  assert.ok(publication.snapshotRows > 1_000);
  const follower = await openFollower(store);
  await follower.follow();
  assert.equal(follower.rows.size, 3 * (256 + 200));
  await server.pass(15 * dayMs, hourMs);
  const later = (await readPublication(store)).publication;
  assert.ok(later.oldest > publication.oldest);
  assert.equal(await readSegment(store, publication.oldest), undefined);
});

/** A store of which commits fail as told: nothing is written, or it is and nobody hears of it. */
function failing(store: Store, next: () => 'works' | 'lost' | 'unheard'): Store {
  return {
    ...store,
    async commit(commit) {
      const how = next();
      if (how === 'works') return store.commit(commit);
      if (how === 'unheard') await store.commit(commit);
      return { ok: false, error: 'store_unavailable', seq: 0n, detail: 'told to fail' };
    },
  };
}

test('whatever ends the process, at any commit, and whoever else holds the work, no number is given twice', async () => {
  for (let round = 0; round < 6; round++) {
    const server = await openServer({ seed: 100 + round });
    const { next } = seededRandom(round);
    const below = (n: number) => Math.floor(next() * n);
    const shaky = failing(server.store, () => {
      const draw = below(6);
      return draw === 0 ? 'lost' : draw === 1 ? 'unheard' : 'works';
    });
    const other = server.publisherOn(server.store);
    await server.switchTo(true);
    await server.tick();
    const follower = await openFollower(server.store);
    await follower.follow();
    const reported = new Set<string>();
    for (let step = 0; step < 60; step++) {
      const ip = `198.18.5.${below(30)}`;
      const isTaken = reported.has(ip);
      server.does((w) => (isTaken ? w.withdraw('staff', ip, false) : w.report('staff', ip)));
      if (isTaken) reported.delete(ip);
      else reported.add(ip);
      clock.advance(below(10) * minuteMs);
      const draw = below(4);
      if (draw === 0) server.restart(shaky);
      if (draw === 1) server.restart();
      await server
        .tick()
        .catch((error: Error) => assert.match(error.message, /told to fail|not written/));
      if (below(3) === 0) await other.tick();
      await follower.follow();
    }
    server.restart();
    await server.pass(20 * minuteMs);
    await follower.follow();
    assert.deepEqual(sorted(follower.rows.keys()), sorted(reported), `round ${round}`);
  }
});
