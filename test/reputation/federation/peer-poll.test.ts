/**
 * Polls of a peer, from its answers to the score: what is taken, what waits for the operator, what is refused whole. The peer is
 * a small HTTP server of this file, which lies as it is told.
 */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { openState } from '../../../src/app/state.ts';
import { createLog } from '../../../src/core/log.ts';
import { parseIp } from '../../../src/ip/address.ts';
import { parsePrefix } from '../../../src/ip/prefix.ts';
import { openCheck } from '../../../src/reputation/check/check.ts';
import {
  type FederationHead,
  writeHead,
} from '../../../src/reputation/federation/document/head.ts';
import {
  makeSigningKey,
  type SigningKey,
  signingKey,
} from '../../../src/reputation/federation/document/key.ts';
import {
  chainAfter,
  chainStart,
  writeBatch,
} from '../../../src/reputation/federation/document/segment.ts';
import { openPeerReader } from '../../../src/reputation/federation/subscribe/fetch.ts';
import {
  createPeerPoller,
  openPeers,
} from '../../../src/reputation/federation/subscribe/module.ts';
import {
  acceptHeld,
  heldRowsOf,
  type NoticeKind,
  sendNotices,
  shownHash,
} from '../../../src/reputation/federation/subscribe/notices.ts';
import {
  listPeersNow,
  resumePeer,
  setPeer,
  showPeer,
} from '../../../src/reputation/federation/subscribe/operations.ts';
import {
  changePeer,
  deletePeer,
  findPeer,
  listPeers,
  type PeerInput,
  readCursor,
  type StoredPeer,
  storePeer,
} from '../../../src/reputation/federation/subscribe/peers.ts';
import { loadList } from '../../../src/reputation/lists/load-list.ts';
import { createWriter } from '../../../src/storage/codec.ts';
import { peerCursorKey, peerNotesPrefix, peerPrefix } from '../../../src/storage/keys.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import type { Store } from '../../../src/storage/store.ts';
import { nowhere } from '../../support/reputation/geo.ts';
import { batchOf } from '../../support/reputation/random-journal.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';
import { within } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const [hourMs, dayMs] = [3_600_000, 86_400_000];
const start = Date.UTC(2026, 10, 26, 1);
const random = seededRandom(36);
const log = createLog('silent');
const ends: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A publisher with segments and a head of its own making. */
async function publisher(clock: { now(): number }, name = 'b.example') {
  let key: SigningKey = makeSigningKey(name, random);
  let signers: SigningKey[] = [key];
  let segments: Buffer[] = [];
  const oldest = { value: 1 };
  let more: Partial<FederationHead> = {};
  let snapshot: { seq: number; body: Buffer } | undefined;
  let answer: ((path: string, response: ServerResponse) => boolean) | undefined;
  const asked: string[] = [];
  const chainAt = (seq: number) => segments.slice(0, seq).reduce<string>(chainAfter, chainStart);

  function head(): Buffer {
    const named = snapshot && {
      seq: snapshot.seq,
      sha256: createHash('sha256').update(snapshot.body).digest('hex'),
      bytes: snapshot.body.length,
      rows: snapshot.body.toString().split('\n').length - 1,
      chain: chainAt(snapshot.seq),
    };
    const madeAt = Math.floor(clock.now() / 1_000) * 1_000;
    return writeHead(
      {
        seq: segments.length,
        chain: chainAt(segments.length),
        madeAt,
        endsAt: madeAt + dayMs,
        snapshot: named,
        oldest: oldest.value,
        least: 1,
        licence: 'CC0-1.0',
        ...more,
      },
      signers,
    );
  }

  const server = createServer((request, response) => {
    const path = request.url!;
    asked.push(path);
    if (answer?.(path, response)) return;
    const [, first, to] = /segments\/(\d+)\?to=(\d+)/.exec(path) ?? [];
    if (path === '/federation/head') response.end(head());
    else if (first !== undefined) {
      const found = segments.slice(Number(first) - 1, Number(to));
      response.end(
        gzipSync(writeBatch(found.map((bytes, i) => ({ seq: Number(first) + i, bytes })))),
      );
    } else if (path === `/federation/snapshot/${snapshot?.seq}`) response.end(snapshot!.body);
    else response.writeHead(404).end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  ends.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const hour = () => Math.floor(clock.now() / hourMs);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key: () => key,
    asked,
    segments: () => segments,
    oldest,
    head,
    publish(lines: readonly string[]) {
      segments.push(Buffer.from(lines.map((line) => `${line}\n`).join('')));
    },
    /** Lines of addresses in order, seen in this hour. */
    says(ips: readonly string[], at = hour()) {
      segments.push(Buffer.from(ips.map((ip) => `+ ${ip} ${at} ${at} 18 1 s1\n`).join('')));
    },
    snapshot(ips: readonly string[]) {
      const body = Buffer.from(ips.map((ip) => `+ ${ip} ${hour()} ${hour()} 18 1 s1\n`).join(''));
      snapshot = { seq: segments.length, body };
    },
    lie(next: Partial<FederationHead>) {
      more = next;
    },
    restore(to: number) {
      segments = segments.slice(0, to);
    },
    rotate(withOld: boolean) {
      const former = key;
      key = makeSigningKey(name, random);
      signers = withOld ? [key, former] : [key];
    },
    answers(next: typeof answer) {
      answer = next;
    },
  };
}

async function subscriber() {
  const clock = manualClock(start);
  const directory = makeTempDir('peers');
  let store: Store = openLmdbStore({ path: `${directory.path}/store`, clock, log });
  const onFailure = (error: unknown) => assert.fail(String(error));
  const state = await openState({ store, clock, random, log, onFailure, entriesMax: 20_000 });
  state.start();
  ends.push(async () => {
    await state.stop();
    await store.close();
    directory.remove();
  });
  const failing = { from: Number.POSITIVE_INFINITY };
  const inner = store;
  store = {
    ...inner,
    async commit(commit) {
      if (failing.from-- <= 0 && (commit.events?.length ?? 0) > 0) throw new Error('killed');
      return inner.commit(commit);
    },
  };
  const accept = async (shown?: string) => {
    const [peer] = await listPeers(store);
    return acceptHeld(store, peer!, () => undefined, shown);
  };
  const check = openCheck({ index: state.index, geo: nowhere });
  const told: NoticeKind[] = [];
  const poller = createPeerPoller({
    store,
    isMine: () => true,
    entries: state.entries,
    index: state.index,
    policy: state.policy,
    catchUpTo: state.follower.catchUpTo,
    allowPrivate: true,
    clock,
    random,
    log,
    signer: async () => undefined,
    onNotice: (_, kind) => told.push(kind),
  });
  ends.push(poller.stop);
  return {
    clock,
    store,
    state,
    failing,
    told,
    /** The operator takes what waits. */
    accept,
    async add(from: { url: string; key(): SigningKey }, more: Partial<PeerInput> = {}) {
      const input = { url: from.url, key: from.key().line, weight: 4, owner: '', isOwn: false };
      const made = await storePeer(
        store,
        { ...input, budget: 0, addedAt: clock.now(), ...more },
        () => [],
      );
      assert.ok(made.ok);
      return made.value;
    },
    /** As if five minutes were over. @returns the first peer */
    async poll(): Promise<StoredPeer> {
      for (const { number } of await listPeers(store)) {
        await changePeer(store, number, () => ({ dueAt: 0 }));
      }
      await poller.poll();
      await poller.idle();
      return (await listPeers(store))[0]!;
    },
    /** As the server looks every two seconds. */
    look: poller.poll,
    /** Lets so many minutes pass, and looks. @returns the first peer */
    async wait(minutes: number): Promise<StoredPeer> {
      clock.advance(60_000 * minutes);
      await poller.poll();
      await poller.idle();
      return (await listPeers(store))[0]!;
    },
    score(ip: string) {
      const words = new Uint32Array(4);
      const family = parseIp(ip, words);
      assert.ok(family !== 0);
      return check.judge(family, words, clock.now()).score;
    },
    rows: () => state.entries.contributions.ofPeers(),
    async good(prefix: string, service: number) {
      const parsed = parsePrefix(prefix);
      assert.ok(parsed.ok);
      const batch = batchOf([{ prefix: parsed.value, score: 0 }]);
      const batches = [{ ...batch, reports: Uint8Array.of(service) }];
      const list = { list: 'good', source: `good ${prefix}`, holdDays: 30, batches } as const;
      assert.ok((await loadList({ store, clock, random, ...list, onRows: () => {} })).ok);
      await state.follower.catchUpTo(await store.lastSeq());
    },
  };
}

/** A server that was added long ago, so that its weight is whole. */
const old = { addedAt: start - 30 * dayMs };

/** A peer of long ago that names an address, not read yet. */
async function followed() {
  const w = await subscriber();
  const from = await publisher(w.clock);
  from.says(['45.1.1.1']);
  await w.add(from, old);
  return { w, from };
}

it('before the first peer there is no timer, no row and no byte of a checkpoint', async (t) => {
  const w = await subscriber();
  const timers = [
    t.mock.method(globalThis, 'setTimeout'),
    t.mock.method(globalThis, 'setInterval'),
  ];
  const calls = () => timers.flatMap(({ mock }) => mock.calls);
  // The embedded store has timers of its own for its reads.
  const begun = () => calls().filter(({ stack }) => !/node_modules/.test(stack.stack!)).length;
  const heard: (() => void)[] = [];
  const state = { ...w.state, onPeers: (next: () => void) => heard.push(next) };
  const maintenance = { store: w.store, isMine: () => true } as never;
  const config = { sourceAllowPrivate: true } as never;
  const { clock, store } = w;
  const needs = { state, maintenance, clock, random, log, config, signer: async () => undefined };
  const opened = await openPeers(needs);
  const terms = createWriter();
  w.state.entries.peers.encodeTerms(terms);
  const rows = await store.scan(peerPrefix(), { limit: 1 });
  const nothing = [begun(), opened.tables[0]!.used(), terms.finish().length, rows.length];
  assert.deepEqual(nothing, [0, 0, 0, 0]);
  heard[0]!();
  assert.ok(begun() > 0, 'the first word of a peer begins it');
  await opened.close();
});

it('rows come with segments and go with tombstones, and how far it was read goes along', async () => {
  const w = await subscriber();
  const from = await publisher(w.clock);
  from.says(['45.1.1.1', '45.1.2.1', '2a10:1::/64']);
  const { number } = await w.add(from, old);
  const first = await w.poll();
  assert.deepEqual([first.failure, first.held, w.rows()], ['', 'none', 3]);
  assert.deepEqual([w.score('45.1.1.1'), w.score('2a10:1::9')], [45, 45]);
  from.publish(['- 45.1.1.1']);
  await w.poll();
  assert.deepEqual([w.score('45.1.1.1'), w.score('45.1.2.1')], [0, 45]);
  assert.equal((await readCursor(w.store, number))?.seq, 2);
  const before = from.asked.length;
  await w.poll();
  assert.deepEqual(
    from.asked.slice(before),
    ['/federation/head'],
    'without news the head alone is read',
  );
});

it('a segment of more rows than an event holds comes whole, what goes before what comes', async () => {
  const w = await subscriber();
  const from = await publisher(w.clock);
  const ipAt = (net: number, i: number) => `${net}.${1 + (i >> 8)}.${i & 255}.1`;
  const ips = (net: number, count: number) => Array.from({ length: count }, (_, i) => ipAt(net, i));
  const hour = Math.floor(w.clock.now() / hourMs);
  const six = Array.from({ length: 9 }, (_, i) => `2a10:${i + 1}::/64`);
  from.says([...ips(46, 1_500), ...six]);
  const gone = ips(46, 700).map((ip) => `- ${ip}`);
  from.publish([...gone, ...ips(47, 1_600).map((ip) => `+ ${ip} ${hour - 1} ${hour} 18 1 s1`)]);
  await w.add(from, old);
  assert.equal((await w.poll()).failure, '');
  assert.equal(w.rows(), 1_500 + 9 - 700 + 1_600);
  const looked = [ipAt(46, 0), ipAt(46, 699), ipAt(46, 700), ipAt(46, 1_499), '2a10:9::1'];
  assert.deepEqual(looked.map(w.score), [0, 0, 45, 45, 45]);
  const added = [0, 299, 300, 1_299, 1_300, 1_599].map((i) => w.score(ipAt(47, i)));
  assert.deepEqual(added, [45, 45, 45, 45, 45, 45]);
});

it('whoever is too far behind takes the snapshot, and what is not in it goes', async () => {
  const w = await subscriber();
  const from = await publisher(w.clock);
  from.says(['45.1.1.1', '45.1.2.1']);
  await w.add(from, old);
  await w.poll();
  from.publish(['- 45.1.1.1']);
  from.says(['45.1.3.1']);
  from.snapshot(['45.1.2.1', '45.1.3.1']);
  from.oldest.value = 4;
  const peer = await w.poll();
  assert.equal(peer.failure, '');
  assert.deepEqual(['45.1.1.1', '45.1.2.1', '45.1.3.1'].map(w.score), [0, 45, 45]);
});

it('rows and place are written together: what a kill cut short is read again', async () => {
  const w = await subscriber();
  const from = await publisher(w.clock);
  const ips = Array.from({ length: 400 }, (_, i) => `45.${1 + Math.floor(i / 200)}.${i % 200}.1`);
  from.says(ips.slice(0, 200));
  from.says(ips.slice(200));
  const { number } = await w.add(from, old);
  await w.poll().catch(() => {});
  // The worth of the peer is told first, then each segment is a commit.
  const again = await subscriber();
  await again.add(from, old);
  again.failing.from = 2;
  await again.poll();
  assert.equal((await readCursor(again.store, number))?.seq ?? 0, again.rows() / 200);
  again.failing.from = Number.POSITIVE_INFINITY;
  await again.poll();
  assert.deepEqual([again.rows(), w.rows()], [400, 400]);
});

it('a peer that is removed or decided on while it is read leaves nothing behind, and its number begins anew', async () => {
  const w = await subscriber();
  const from = await publisher(w.clock);
  from.says(['45.1.1.1']);
  const { number } = await w.add(from, old);
  /** Lets the operator act between a poll's question for segments and its answer. */
  const during = (act: () => Promise<unknown>) =>
    from.answers((path, response) => {
      const [, first] = /segments\/(\d+)/.exec(path) ?? [];
      if (first === undefined) return false;
      from.answers(undefined);
      const all = from.segments().map((bytes, i) => ({ seq: 1 + i, bytes }));
      act().then(() => response.end(writeBatch(all.slice(Number(first) - 1))));
      return true;
    });
  during(() => deletePeer(w.store, number, []));
  await w.poll();
  assert.deepEqual([w.rows(), await readCursor(w.store, number)], [0, undefined]);
  w.clock.advance(1);
  assert.equal((await w.add(from, { addedAt: w.clock.now() })).number, number);
  during(() => changePeer(w.store, number, () => ({ acceptedSeq: 1 })));
  await w.poll();
  assert.deepEqual([w.rows(), await readCursor(w.store, number)], [0, undefined]);
  during(async () =>
    resumePeer.run({ store: w.store, clock: w.clock } as never, { peer: 'b.example' }, {} as never),
  );
  assert.equal((await w.poll()).dueAt, w.clock.now(), 'asked for meanwhile, it stays due');
  assert.deepEqual([w.rows(), (await readCursor(w.store, number))?.seq], [1, 1]);
  from.says(['45.1.2.1']);
  // The operator has it read from the start, under the key that it has.
  const none = { headSeq: 0, headChain: '', headMadeAt: 0 };
  during(() => changePeer(w.store, number, () => none, { del: [peerCursorKey(number)] }));
  await w.poll();
  assert.equal(await readCursor(w.store, number), undefined);
  await w.poll();
  assert.deepEqual([w.rows(), (await readCursor(w.store, number))?.seq], [2, 2]);
});

it('a head that is replayed, of the future, of another history or too far ahead is refused', async () => {
  const w = await subscriber();
  const from = await publisher(w.clock);
  from.says(['45.1.1.1']);
  from.says(['45.1.2.1']);
  await w.add(from, old);
  await w.poll();
  const { headMadeAt } = (await listPeers(w.store))[0]!;
  const lies: readonly [Partial<FederationHead>, RegExp][] = [
    [{ seq: 1 }, /older than the last/],
    [{ madeAt: headMadeAt - 60_000, endsAt: headMadeAt + hourMs }, /older than the last/],
    [{ madeAt: start + hourMs, endsAt: start + 2 * hourMs }, /future/],
    [{ endsAt: start + 365 * dayMs }, /more than a day/],
    [{ seq: 1_000_000 }, /leaps too far/],
    [{ madeAt: start, endsAt: start + 1_000 }, /it is over/],
  ];
  for (const [lie, reason] of lies) {
    if (String(reason) === '/it is over/') w.clock.advance(2_000);
    from.lie(lie);
    assert.match((await w.poll()).failure, reason);
    assert.equal(w.rows(), 2);
  }
  from.lie({ chain: 'ab'.repeat(32) });
  assert.equal((await w.poll()).held, 'two histories');
});

it('a peer that is gone counts nothing once its head was over for a day, and counts again later', async () => {
  const { w, from } = await followed();
  await w.poll();
  from.answers((_, response) => response.writeHead(500).end() !== undefined);
  w.clock.advance(47 * hourMs);
  await w.poll();
  assert.ok(w.score('45.1.1.1') > 40);
  w.clock.advance(2 * hourMs);
  await w.poll();
  assert.equal(w.score('45.1.1.1'), 0);
  from.answers(undefined);
  await w.poll();
  assert.ok(w.score('45.1.1.1') > 40);
});

it('a peer that was restored from a backup is refused until it is ahead of what was read', async () => {
  const w = await subscriber();
  const from = await publisher(w.clock);
  from.says(['45.1.1.1']);
  from.says(['45.1.2.1']);
  await w.add(from, old);
  await w.poll();
  from.restore(1);
  w.clock.advance(hourMs);
  assert.match((await w.poll()).failure, /older than the last/);
  from.says(['45.1.3.1']);
  from.says(['45.1.4.1']);
  assert.match((await w.poll()).failure, /not those of its head/);
  assert.equal(w.rows(), 2);
});

it('what looks like poison waits, what is taken back meanwhile goes, and the operator takes or leaves it', async () => {
  const ips = (net: string, count: number) =>
    Array.from({ length: count }, (_, i) => `${net}.${i + 1}`);
  const many = Array.from({ length: 501 }, (_, i) => `46.${1 + Math.floor(i / 250)}.${i % 250}.1`);
  const cases: readonly [StoredPeer['held'], readonly string[]][] = [
    ['many new rows', many],
    ['a resolver or root server', ['8.8.8.8']],
    ['a resolver or root server', ['2a10:9::/64']],
    ['allowed or known good addresses', ips('9.9.9', 4)],
    ['many rows of one network', ips('46.1.1', 65)],
  ];
  for (const [reason, said] of cases) {
    const w = await subscriber();
    const from = await publisher(w.clock);
    await w.good('8.8.8.0/24', 5);
    await w.good('9.9.9.0/24', 1);
    await w.good('2a10:9::53/128', 5);
    from.says(['45.1.1.1', '45.1.2.1']);
    await w.add(from, old);
    await w.poll();
    from.says(said);
    const held = await w.poll();
    assert.equal(held.held, reason);
    assert.equal((await heldRowsOf(w.store, held))!.count, said.length);
    assert.equal(w.rows(), 2);
    from.publish(['- 45.1.1.1']);
    from.says(['47.1.1.1']);
    assert.equal((await w.poll()).held, reason);
    assert.deepEqual(['45.1.1.1', '45.1.2.1', '47.1.1.1'].map(w.score), [0, 45, 0]);
    await w.accept();
    assert.equal((await w.poll()).held, 'none');
    assert.equal(w.score('47.1.1.1'), 45);
    const taken = reason === 'many new rows' ? 501 : reason === 'many rows of one network' ? 16 : 0;
    assert.equal(w.rows(), 2 + taken, reason);
  }
});

it('a row from the future waits, and one that is wider than a host is refused with its segment', async () => {
  const { w, from } = await followed();
  await w.poll();
  from.says(['45.1.2.1'], Math.floor(start / hourMs) + 3);
  assert.equal((await w.poll()).held, 'rows from the future');
  const other = await subscriber();
  const wide = await publisher(other.clock);
  wide.publish(['+ 45.0.0.0/8 1 1 18 1 s1']);
  await other.add(wide, old);
  assert.match((await other.poll()).failure, /not a line of this format/);
  wide.restore(0);
  wide.publish(['+ 45.1.1.1 1 1193047 18 1 s1']);
  assert.match((await other.poll()).failure, /not a line of this format/);
  assert.equal(other.rows(), 0);
});

it('of addresses that nobody meets nothing is taken, not even from an own server', async () => {
  const w = await subscriber();
  const from = await publisher(w.clock);
  from.says(['10.0.0.5', '127.0.0.1', '198.51.100.7', '64:ff9b::/64', '64:ff9b:1::/64', 'fe80::1']);
  await w.add(from, { ...old, isOwn: true });
  assert.equal((await w.poll()).failure, '');
  assert.equal(w.rows(), 1);
  assert.deepEqual(['10.0.0.5', '64:ff9b::101:101', '198.51.100.7'].map(w.score), [0, 0, 91]);
});

it('what says nothing new is not written, and snapshots without end are read as seldom as heads', async () => {
  const { w, from } = await followed();
  await w.poll();
  const before = await w.store.lastSeq();
  from.publish(Array.from({ length: 3_000 }, (_, i) => `- 46.1.${i >> 8}.${i & 255}`));
  from.says(['45.1.1.1'], Math.floor(start / hourMs) + 1);
  from.snapshot(['45.1.1.1']);
  from.says([]);
  assert.equal((await w.poll()).failure, '');
  from.says([]);
  from.snapshot(['45.1.1.1']);
  from.says([]);
  from.oldest.value = 7;
  assert.ok((await w.poll()).dueAt > w.clock.now() + 60_000);
  assert.ok(from.asked.at(-1)!.includes('snapshot'));
  assert.equal(await w.store.lastSeq(), before);
});

it('who was read is led back by no snapshot, and told no other history than the one that waits', async () => {
  const { w, from } = await followed();
  await w.poll();
  from.snapshot(['45.1.1.1']);
  from.says(['45.1.2.1']);
  await w.poll();
  from.says(['45.1.3.1']);
  from.oldest.value = 4;
  assert.match((await w.poll()).failure, /older than what was read/);
  from.oldest.value = 1;
  from.says(['8.8.8.8']);
  await w.good('8.8.8.0/24', 5);
  assert.equal((await w.poll()).held, 'a resolver or root server');
  from.restore(3);
  from.says(['66.1.1.1']);
  from.says(['66.2.1.1']);
  await w.accept();
  assert.equal((await w.poll()).held, 'two histories');
  assert.equal(w.score('66.1.1.1'), 0);
});

it('an operator accepts one snapshot, not those that follow under older numbers', async () => {
  const { w, from } = await followed();
  const many = (net: number) =>
    Array.from({ length: 501 }, (_, i) => `${net}.${i >> 8}.${i & 255}.1`);
  await w.poll();
  for (const net of [46, 47]) {
    from.says([]);
    from.snapshot(many(net));
    from.says([]);
    from.oldest.value = from.segments().length + 1;
    assert.equal((await w.poll()).held, 'many new rows');
    assert.equal(w.score(`${net}.0.1.1`), 0);
    if (net === 47) break;
    await w.accept();
    await w.poll();
    assert.equal(w.score('46.0.1.1'), 45);
  }
});

it('of a snapshot and of segments that wait the operator takes what was shown, and nothing in its place', async () => {
  const many = (net: number) =>
    Array.from({ length: 501 }, (_, i) => `${net}.${i >> 8}.${i & 255}.1`);
  const waiting = async (w: Awaited<ReturnType<typeof subscriber>>) => {
    const [peer] = await listPeers(w.store);
    const { count, examples, hasChanged, ...of } = await heldRowsOf(w.store, peer!);
    return { said: [peer!.held, count, examples[0], hasChanged], shown: shownHash(of) };
  };
  for (const isSnapshot of [true, false]) {
    const { w, from } = await followed();
    await w.poll();
    from.says(isSnapshot ? [] : many(46));
    if (isSnapshot) from.snapshot(many(46));
    from.says([]);
    if (isSnapshot) from.oldest.value = from.segments().length + 1;
    assert.equal((await w.poll()).held, 'many new rows');
    const first = await waiting(w);
    assert.deepEqual(first.said, ['many new rows', 501, '46.0.0.1', false]);
    // The peer has another body now, under the same number and a later one.
    from.snapshot(many(47));
    from.oldest.value = from.segments().length + 1;
    await w.accept(first.shown);
    await w.poll();
    const second = await waiting(w);
    assert.deepEqual(second.said, ['many new rows', 501, '47.0.0.1', true]);
    assert.deepEqual([w.score('46.0.1.1'), w.score('47.0.1.1')], [0, 0]);
    const stale = await w.accept(first.shown);
    assert.ok(!stale.ok && /has changed since it was shown: 47\.0\.0\.1/.test(stale.detail ?? ''));
    assert.ok((await w.accept(second.shown)).ok);
    assert.equal((await w.poll()).held, 'none');
    assert.deepEqual([w.score('46.0.1.1'), w.score('47.0.1.1')], [0, 45]);
  }
});

it('of two histories the operator takes the one that was shown, and none that the peer tells in its place', async () => {
  const many = (net: number) =>
    Array.from({ length: 501 }, (_, i) => `${net}.${i >> 8}.${i & 255}.1`);
  const shown = async ({ store }: Awaited<ReturnType<typeof subscriber>>) => {
    const [peer] = await listPeers(store);
    const { hasChanged, ...of } = await heldRowsOf(store, peer!);
    return { said: [peer!.held, hasChanged], hash: shownHash(of) };
  };
  for (const isSnapshot of [true, false]) {
    const { w, from } = await followed();
    const tell = (net: number, more = 0) => {
      from.restore(0);
      from.says(many(net));
      if (isSnapshot) from.snapshot(many(net));
      for (let i = 0; i < more; i++) from.says([]);
    };
    await w.poll();
    tell(46, from.segments().length - 1);
    assert.equal((await w.poll()).held, 'two histories');
    const first = await shown(w);
    assert.deepEqual(first.said, ['two histories', false]);
    // It has a third one now, under the same number, and later under another one.
    tell(47, from.segments().length - 1);
    assert.ok((await w.accept(first.hash)).ok);
    assert.equal((await w.poll()).held, 'two histories');
    assert.deepEqual((await shown(w)).said, ['two histories', true]);
    const stale = await w.accept(first.hash);
    assert.ok(!stale.ok && /has changed since it was shown/.test(stale.detail ?? ''));
    const second = await shown(w);
    tell(48, from.segments().length);
    assert.ok((await w.accept(second.hash)).ok);
    assert.equal((await w.poll()).held, 'many new rows');
    assert.deepEqual(
      [46, 47, 48].map((net) => w.score(`${net}.0.1.1`)),
      [0, 0, 0],
    );
    // The one that waits still says it when nothing was read of it before.
    assert.equal((await w.poll()).held, 'many new rows');
    assert.ok((await w.accept((await shown(w)).hash)).ok);
    assert.equal((await w.poll()).held, 'none');
    assert.deepEqual([w.score('45.1.1.1'), w.score('48.0.1.1')], [0, 45]);
  }
});

it('what a peer says behind what waits is not accepted with it', async () => {
  const { w, from } = await followed();
  await w.good('8.8.8.0/24', 5);
  await w.poll();
  from.says(['8.8.8.8', '46.1.1.1']);
  await w.poll();
  from.says(['8.8.8.9', '47.1.1.1']);
  await w.poll();
  await w.accept();
  assert.equal((await w.poll()).held, 'a resolver or root server');
  assert.deepEqual([w.score('46.1.1.1'), w.score('47.1.1.1')], [45, 0]);
  const [peer] = await listPeers(w.store);
  const { examples, hasChanged } = await heldRowsOf(w.store, peer!);
  assert.deepEqual([examples, hasChanged], [['8.8.8.9'], false]);
});

it('peers leave a third of all addresses to those that others name', async () => {
  const w = await subscriber();
  const from = await publisher(w.clock);
  from.says(Array.from({ length: 14_000 }, (_, i) => `45.${i >> 8}.${i & 255}.1`));
  await w.add(from, old);
  await w.poll();
  assert.equal(w.rows(), 13_333);
  assert.ok(w.state.entries.hasRoomFor(4, Uint32Array.of(0x01010101)));
});

it('a peer that is paused counts nothing from the next moment, though its poll hangs', async () => {
  const { w, from } = await followed();
  const { number } = await w.poll();
  from.says(['45.1.2.1']);
  let answer: () => void = () => {};
  const asked = new Promise<void>((resolve) => {
    from.answers((path, response) => {
      if (!path.includes('segments')) return false;
      answer = () => response.writeHead(500).end();
      resolve();
      return true;
    });
  });
  const polled = w.poll();
  await asked;
  await changePeer(w.store, number, () => ({ state: 'paused' }));
  await w.look();
  assert.equal(w.score('45.1.1.1'), 0);
  answer();
  await polled;
});

it('peers that answer without end hold up others for half a minute', async () => {
  const w = await subscriber();
  const names = ['b.example', 'c.example', 'd.example'];
  const peers = await Promise.all(names.map((name) => publisher(w.clock, name)));
  const held: ServerResponse[] = [];
  for (const from of peers.slice(0, 2)) from.answers((_, response) => held.push(response) > 0);
  for (const from of peers) await w.add(from, old);
  await w.look();
  const isRead = async () => (await findPeer(w.store, 'd.example'))!.freshAt > 0;
  assert.equal(await isRead(), false);
  w.clock.advance(30_000);
  await w.look();
  await within(isRead, 'the third is read');
  for (const response of held) response.destroy();
});

it('four peers that answer without end hold up a fifth for half a minute, too', async () => {
  const w = await subscriber();
  const names = ['b.example', 'c.example', 'd.example', 'e.example', 'f.example'];
  const peers = await Promise.all(names.map((name) => publisher(w.clock, name)));
  for (const from of peers.slice(0, 4)) from.answers((_, response) => response.write('x'));
  for (const from of peers) await w.add(from, old);
  await w.look();
  w.clock.advance(30_000);
  await w.look();
  const isRead = async () => (await findPeer(w.store, 'f.example'))!.freshAt > 0;
  assert.equal(await isRead(), false);
  w.clock.advance(30_000);
  await w.look();
  const failed = async () => (await listPeers(w.store)).filter(({ failures }) => failures > 0);
  await within(async () => (await failed()).length === 1, 'one ends');
  assert.match((await failed())[0]!.failure, /takes long, and other peers wait/);
  await w.look();
  await within(isRead, 'the fifth is read');
});

it('bytes that come too slowly for a poll end it', async () => {
  const from = await publisher(manualClock(start));
  from.answers((_, response) => response.write('x'));
  const reader = openPeerReader({
    url: from.url,
    allowPrivate: true,
    signer: undefined,
    now: () => start,
    deadlineMs: 20,
  });
  await assert.rejects(reader.head(from.key), /reading it takes longer/);
});

it('hostile answers are cut off: bombs, endless bodies, other hosts, changed bytes', async () => {
  const { w, from } = await followed();
  const bomb = gzipSync(Buffer.alloc(64 * 1_048_576));
  const head =
    (status: number, headers: OutgoingHttpHeaders = {}, body?: string | Buffer) =>
    (path: string, response: ServerResponse) =>
      path.endsWith('head') &&
      response.writeHead(status, headers).end(body ?? from.head()) !== undefined;
  const batch = (body: string | Buffer) => (path: string, response: ServerResponse) =>
    path.includes('segments') && response.end(body) !== undefined;
  const raw =
    (text: string) =>
    (path: string, { socket }: ServerResponse) =>
      path.endsWith('head') && socket!.end(text) !== undefined;
  const lies: readonly [(path: string, response: ServerResponse) => boolean, RegExp][] = [
    [head(200, {}, '[]'), /it is no signed head/],
    [head(200, {}, '{"seq":1,"seq":2}'), /it is no signed head/],
    [head(200, {}, '['.repeat(4_000)), /it is no signed head/],
    [head(200, {}, '\n\n'.repeat(2_000)), /it is no signed head/],
    [head(200, {}, Buffer.alloc(4_000, 0xff)), /it is no signed head/],
    [head(200, {}, Buffer.from('fffe', 'hex')), /it is no signed head/],
    [head(200, {}, gzipSync(gzipSync(from.head()))), /gzip inside gzip/],
    [head(200, {}, gzipSync(from.head()).subarray(0, 100)), /ends early/],
    [head(200, {}, Buffer.from('1f8b08ffffffffffffffffff', 'hex')), /damaged|ends early/],
    [head(200, {}, Buffer.from('504b0304ffffffffffffffff', 'hex')), /zip/],
    [head(200, { 'content-encoding': 'br' }), /encoding that is not read/],
    [head(200, { 'content-encoding': 'gzip, gzip' }), /encoding that is not read/],
    [head(204), /answered 204/],
    [head(206), /answered 206/],
    [head(304), /answered 304/],
    [head(401), /answered 401/],
    [head(500), /answered 500/],
    [head(503, { 'retry-after': '9'.repeat(400) }), /answered 503/],
    [head(302, { location: '/federation/head' }), /more than 5 redirects/],
    [head(302, { location: 'file:///etc/passwd' }), /not http/],
    [head(302, { location: 'http://[' }), /not http/],
    [head(302, { location: `http://x@${new URL(from.url).host}/` }), /user name/],
    [raw('HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\nx'), /can't be read/],
    [raw('HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\nx'), /broke off|can't be read/],
    [raw('HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx'), /can't be read/],
    [raw('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'), /can't be read/],
    [raw(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`), /can't be read/],
    [raw('SSH-2.0-OpenSSH_9.2\r\n'), /can't be read/],
    [raw(''), /can't be read|broke off/],
    [batch(''), /not in order/],
    [batch('segment 1 4000000000\n'), /not in order/],
    [batch('segment 1 -1\n'), /not in order/],
    [batch('segment 2 0\n'), /not in order/],
    [batch('segment 1 1e9\n'), /not in order/],
    [batch(Buffer.alloc(4_096, 0xff)), /not in order/],
    [
      batch(writeBatch([{ seq: 1, bytes: Buffer.from('+ 45.9.9.9 9999999999 1 18 1 s1\n') }])),
      /line 1/,
    ],
    [batch(writeBatch([{ seq: 1, bytes: Buffer.alloc(1_000_000, 0x2b) }])), /line 1/],
    [(_, response) => response.end(bomb) !== undefined, /larger than 4096 bytes/],
    [
      (_, response) => {
        const more = () => !response.destroyed && response.write('x'.repeat(65_536), more);
        more();
        return true;
      },
      /larger than 4096 bytes/,
    ],
    [
      // Gzip that unpacks to nothing: blocks of no bytes.
      (_, response) => {
        const block = Buffer.from('000000ffff', 'hex');
        const blocks = Buffer.alloc(65_535, block);
        const more = () => !response.destroyed && response.write(blocks, more);
        response.write(gzipSync('').subarray(0, 10), more);
        return true;
      },
      /larger than 4096 bytes/,
    ],
    [
      (_, response) =>
        response.writeHead(302, { location: 'http://169.254.169.254/head' }).end() !== undefined,
      /another host/,
    ],
    [
      (_, response) => response.writeHead(404).end() !== undefined,
      /404, not 200: it publishes nothing, or has not added this server/,
    ],
    [
      (path, response) => path.includes('segments') && response.end(bomb) !== undefined,
      /larger than/,
    ],
    [
      (path, response) => {
        const bytes = Buffer.from('+ 45.9.9.9 1 1 18 1 s1\n');
        return (
          path.includes('segments') && response.end(writeBatch([{ seq: 1, bytes }])) !== undefined
        );
      },
      /not those of its head/,
    ],
    [
      (path, response) =>
        path.endsWith('head') &&
        response.end(from.head().toString().replace('seq 1', 'seq 2')) !== undefined,
      /its signature is false/,
    ],
  ];
  for (const [lie, reason] of lies) {
    from.answers(lie);
    assert.match((await w.poll()).failure, reason);
    assert.equal(w.rows(), 0);
  }
  // Nobody needs a type that nothing is read by.
  from.answers(head(200, { 'content-type': 'image/png' }));
  assert.deepEqual([(await w.poll()).failure, w.rows()], ['', 1]);
});

it('a peer that says when to come back is asked no sooner, an hour at most', async () => {
  const { w, from } = await followed();
  const waits = async (retryAfter: string) => {
    from.answers((_, response) => {
      response.writeHead(429, { 'retry-after': retryAfter }).end();
      return true;
    });
    const { dueAt, failure } = await w.poll();
    assert.match(failure, /answered 429/);
    return Math.round((dueAt - w.clock.now()) / 60_000);
  };
  const [short, long, endless] = [await waits('1'), await waits('1800'), await waits('999999')];
  assert.ok(short < 3 && long >= 30 && long < 35 && endless >= 60 && endless < 67);
});

it('a look that finds the same head asks for nothing more, and is written twice an hour', async () => {
  const { w, from } = await followed();
  const note = from.head();
  const statuses: number[] = [];
  from.answers((path, response) => {
    if (!path.endsWith('head')) return false;
    const isKnown = response.req.headers['if-none-match'] === '"1"';
    response.setHeader('etag', '"1"');
    response.writeHead(isKnown ? 304 : 200).end(isKnown ? '' : note);
    statuses.push(response.statusCode);
    return true;
  });
  const first = await w.wait(0);
  const noted: number[] = [];
  for (let look = 0; look < 7; look++) noted.push((await w.wait(6)).freshAt - first.freshAt);
  const minutes = noted.map((ms) => ms / 60_000);
  assert.deepEqual(statuses, [200, ...noted.map(() => 304)]);
  assert.deepEqual(minutes, [0, 0, 0, 0, 30, 30, 30]);
  assert.deepEqual([w.rows(), (await w.wait(6)).failure], [1, '']);
  await changePeer(w.store, first.number, () => ({ dueAt: 0 }));
  await w.wait(0);
  assert.equal(statuses.length, 10, 'the operator asked for it now');
  const late = await w.wait(24 * 60);
  assert.match(late.failure, /it is over/, 'a head that stays the same ends all the same');
  await deletePeer(w.store, first.number, []);
  await w.look();
  await w.add(from, old);
  await w.wait(0);
  assert.equal(statuses.at(-1), 200, 'nothing is remembered of a peer that was removed');
});

it('segments of more rows than a peer may have are left, and its snapshot is read', async () => {
  const w = await subscriber();
  const from = await publisher(w.clock);
  const lines = Array.from(
    { length: 2 ** 18 },
    (_, i) => `- 45.${i >> 16}.${(i >> 8) & 255}.${i & 255}`,
  );
  for (let i = 0; i < 4; i++) from.publish(lines);
  from.answers((path, response) => {
    const seq = Number(/segments\/(\d+)/.exec(path)?.[1]);
    if (!(seq > 0)) return false;
    response.end(gzipSync(writeBatch([{ seq, bytes: from.segments()[seq - 1]! }])));
    return true;
  });
  await w.add(from, old);
  assert.match((await w.poll()).failure, /no snapshot yet/);
});

it('a key that the old one signed is followed; another one holds the peer, and nothing of it counts', async () => {
  const { w, from } = await followed();
  await w.poll();
  from.rotate(true);
  assert.equal((await w.poll()).key, from.key().line);
  const own = from.head();
  from.rotate(false);
  const held = await w.poll();
  assert.deepEqual([held.held, w.score('45.1.1.1')], ['strange key', 0]);
  from.answers((path, response) => path.endsWith('head') && response.end(own) !== undefined);
  const again = await w.poll();
  assert.deepEqual([again.failure, again.held], ['', 'strange key'], 'until the operator says so');
});

it('operators hear once of what begins, of each kind once a day at most, and of what still goes on then', async () => {
  const { w, from } = await followed();
  await w.good('8.8.8.0/24', 5);
  await w.poll();
  const heard = async () => {
    await w.poll();
    return w.told.splice(0);
  };
  assert.deepEqual(await heard(), []);
  from.says(['8.8.8.8', '8.8.8.9']);
  assert.deepEqual([await heard(), await heard()], [['held'], []]);
  const [peer] = await listPeers(w.store);
  const { count, examples } = await heldRowsOf(w.store, peer!);
  assert.deepEqual([count, examples], [2, ['8.8.8.8', '8.8.8.9']]);
  // A day of a peer that flips each hour, in key and rows.
  const all: NoticeKind[] = [];
  for (let hour = 0; hour < 24; hour++) {
    await w.accept();
    all.push(...(await heard()));
    from.says([`8.8.8.${10 + hour}`]);
    from.rotate(true);
    all.push(...(await heard()));
    if (hour === 0) assert.deepEqual(all, ['rotated']);
    w.clock.advance(hourMs);
  }
  assert.deepEqual(all, ['rotated']);
  assert.deepEqual((await heard()).sort(), ['held', 'rotated']);
  from.rotate(false);
  assert.deepEqual([await heard(), await heard()], [['strange key'], []]);
  await changePeer(w.store, 1, () => ({ held: 'none', key: from.key().line }));
  from.answers((_, response) => response.writeHead(500).end() !== undefined);
  w.clock.advance(49 * hourMs);
  assert.deepEqual([await heard(), await heard()], [['stale'], []]);
  await changePeer(w.store, 1, () => ({ held: 'many new rows', newToday: 9 }));
  const memory = { entries: w.state.entries, index: w.state.index, policy: w.state.policy };
  const tools = {
    store: w.store,
    clock: w.clock,
    withMemory: (read: (of: object) => Promise<unknown>) => read({ peers: memory }),
  } as never;
  const call = { signal: new AbortController().signal } as never;
  const listed = await listPeersNow.run(tools, {} as never, call);
  assert.match(
    listPeersNow.lines!(listed, {} as never).join('\n'),
    /b\.example: nothing that it said counts/,
  );
  const shown = await showPeer.run(tools, { peer: 'b.example' } as never, call);
  const lines = showPeer.lines!(shown, {} as never).join('\n');
  assert.match(lines, /^state: out of date; held: many new rows; nothing that it said counts$/m);
  assert.match(lines, /^rows: \d+, 0 with a vote/m);
  assert.match(lines, /^new rows today: 0$/m, 'those of the last look are of another day');
  await changePeer(w.store, 1, () => ({ held: 'none' }));
  const said: string[] = [];
  for (const open of [799, 800, 900, 700, 800]) {
    await sendNotices(w.store, await listPeers(w.store), {
      now: w.clock.now(),
      budgetOf: () => ({ open, limit: 1_000 }),
      notify: (_, kind) => said.push(`${kind} ${open}`),
    });
  }
  assert.deepEqual(said, ['budget 800']);
  await deletePeer(w.store, 1, []);
  assert.equal((await w.store.scan(peerNotesPrefix(), { limit: 1 })).length, 0);
});

it('eight peers of more than half a weight need four that agree, and the operator is told', async () => {
  const w = await subscriber();
  for (let i = 1; i <= 8; i++) {
    const key = makeSigningKey(`p${i}.example`, random);
    await w.add({ url: `https://p${i}.example`, key: () => key }, { weight: i < 8 ? 3 : 2 });
  }
  const { signal } = new AbortController();
  const advises = async (weight: '0.5' | '0.75', agree: number, blocks = true) => {
    const config = { federationAgree: agree, federationBlocks: blocks };
    const tools = { ...w, random, log, config } as never;
    const call = { signal } as never;
    const done = await setPeer.run(tools, { peer: 'p8.example', weight } as never, call);
    return done.advisesAgree;
  };
  assert.equal(await advises('0.5', 3), false);
  assert.equal(await advises('0.75', 3), true);
  assert.equal(await advises('0.75', 4), false);
  assert.equal(await advises('0.75', 3, false), false);
});

it('a new peer has half of its weight for 14 days, then whole; peers of one host are one vote', async () => {
  const w = await subscriber();
  const from = await publisher(w.clock);
  from.says(['45.1.1.1']);
  const one = await w.add(from);
  await w.poll();
  assert.equal(w.score('45.1.1.1'), 35);
  assert.equal(w.state.entries.peers.get(one.number)?.quarters, 12);
  w.clock.advance(14 * dayMs);
  await w.poll();
  assert.equal(w.state.entries.peers.get(one.number)?.quarters, 24);
  const second = await publisher(w.clock, 'c.example');
  await w.add(second, { owner: 'us' });
  await changePeer(w.store, one.number, () => ({ owner: 'us' }));
  await w.poll();
  assert.equal(w.state.entries.peers.get(2)?.group, 1);
  assert.equal((await findPeer(w.store, 'c.example'))?.number, 2);
});

it('one key under two names is no second peer', async () => {
  const { w, from } = await followed();
  const twin = signingKey('c.example', from.key().seed);
  const input = { url: 'http://127.0.0.2', key: twin.line, weight: 4, owner: '', isOwn: false };
  const made = await storePeer(w.store, { ...input, budget: 0, ...old }, () => []);
  assert.ok(!made.ok);
  assert.match(made.detail ?? '', /the key is that of the peer b\.example/);
  assert.equal((await listPeers(w.store)).length, 1);
});

it('a peer that is found to follow another one is its vote, until the operator knows better', async () => {
  const w = await subscriber();
  const [one, other] = [await publisher(w.clock), await publisher(w.clock, 'c.example')];
  await w.add(one, old);
  await w.add(other, old);
  await w.poll();
  const group = () => w.state.entries.peers.get(2)?.group;
  assert.equal(group(), 2);
  await changePeer(w.store, 2, () => ({ follows: 1 }));
  await w.poll();
  assert.equal(group(), 1);
  await changePeer(w.store, 2, () => ({ isIndependent: true }));
  await w.poll();
  assert.equal(group(), 2);
});

it('who repeats another one is found, though some peer answers without end', async () => {
  const w = await subscriber();
  const names = ['b.example', 'c.example', 'd.example'];
  const [first, mirror, slow] = await Promise.all(names.map((name) => publisher(w.clock, name)));
  for (const from of [first!, mirror!, slow!]) await w.add(from, old);
  // A peer's first rows don't count.
  for (const from of [first!, mirror!]) from.says(['45.1.1.1']);
  await w.poll();
  const rows = Array.from({ length: 250 }, (_, i) => `45.2.${i}.1`);
  for (const from of [first!, mirror!]) {
    w.clock.advance(hourMs);
    from.says(rows);
    await w.poll();
  }
  const held: ServerResponse[] = [];
  slow!.answers((_, response) => held.push(response) > 0);
  await changePeer(w.store, 3, () => ({ dueAt: 0 }));
  await w.look();
  await within(() => held.length > 0, 'a poll hangs');
  w.clock.advance(dayMs);
  await w.look();
  assert.equal((await findPeer(w.store, 'c.example'))?.follows, 1);
  for (const response of held) response.destroy();
});
