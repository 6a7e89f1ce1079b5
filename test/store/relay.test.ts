/** The relay between core and edge: the contract of a store through it, its memory of events, strangers. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it } from 'node:test';
import { manualClock } from '../../src/core/clock.ts';
import { createLog } from '../../src/core/log/log.ts';
import { seededRandom } from '../../src/core/random.ts';
import { scratchKey, text } from '../../src/store/keys.ts';
import type { PostgresStore } from '../../src/store/postgres/store.ts';
import { encode, type RelayQuestion } from '../../src/store/relay/messages.ts';
import { relayed } from '../../src/store/relay/relay.ts';
import { openRelayStore } from '../../src/store/relay/relay-store.ts';
import { createRing } from '../../src/store/relay/ring.ts';
import { macHeader, macOf, relayHeader, writeEnvelope } from '../../src/store/relay/signed.ts';
import type { StoreEvent } from '../../src/store/store.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';
import { storeContract } from './contract.ts';
import { lmdbFactory } from './lmdb-factory.ts';
import { open as openEmbedded } from './lmdb-opener.ts';
import { open, openCore } from './relay-opener.ts';

storeContract({
  ...{ ...lmdbFactory, name: 'relay', open },
  opener: new URL('./relay-opener.js', import.meta.url),
});

const eventOf = (seq: number, bytes: number): StoreEvent => {
  const body = Buffer.alloc(bytes);
  return { seq: BigInt(seq), at: seq, id: `e${seq}`, kind: 'k', version: 1, body };
};

it('the ring holds the newest events without gaps, or none, as a slow model does', () => {
  const random = seededRandom(5);
  const any = (n: number) => Buffer.from(random.bytes(2)).readUInt16BE(0) % n;
  const limits = { eventsMax: 40, bytesMax: 20_000 };
  const ring = createRing(limits);
  const journal: StoreEvent[] = [];
  let end = 0;
  for (let round = 0; round < 3_000; round++) {
    for (let n = any(6); n > 0; n--) journal.push(eventOf(journal.length + 1, any(900)));
    // The follower reads on; now and then somebody else reads from elsewhere.
    const after = any(4) === 0 ? any(journal.length + 1) : end;
    const page = journal.slice(after, after + any(5));
    ring.add(BigInt(after), page);
    end = Number(ring.last());
    const asked = any(journal.length + 3);
    const found = ring.after(BigInt(asked), 7);
    if (asked > end) assert.equal(found, undefined);
    if (found === undefined) continue;
    assert.deepEqual(found, journal.slice(asked, Math.min(end, asked + 7)));
    assert.ok(end - asked <= limits.eventsMax);
    for (const seq of [asked, asked + 1]) {
      assert.equal(ring.timeOf(BigInt(seq)) ?? seq, seq);
    }
    if (found.length > 0) assert.ok(ring.timeOf(BigInt(asked + 1)) !== undefined);
  }
  assert.ok(ring.after(BigInt(end - 1), 1) !== undefined, 'the newest is there');
});

/** @returns the status; undefined when the connection broke */
function post(
  address: string,
  headers: Record<string, string | number>,
  body: Uint8Array,
): Promise<number | undefined> {
  return new Promise((resolve) => {
    const sent = request(`http://${address}`, { method: 'POST', headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.once('error', () => resolve(undefined));
    sent.end(body);
  });
}

it('who lacks the key, says other than was sealed, or commits the same twice, is refused', async () => {
  const directory = makeTempDir('relay');
  const clock = manualClock(1_750_000_000_000);
  const store = await openEmbedded(directory.path, clock);
  const core = await openCore(store, clock);
  let nonces = 0;
  function sealed(
    asked: RelayQuestion,
    changes: object = {},
    key: Uint8Array = core.key,
    kind = 'relay',
  ) {
    const body = encode(asked);
    const hash = createHash('sha256').update(body).digest('hex');
    nonces += 1;
    const nonce = nonces.toString(16).padStart(32, '0');
    const at = { to: core.node, at: clock.now(), nonce, bytes: body.length, hash };
    const head = writeEnvelope({ ...at, ...changes });
    const mac = macOf(key, kind as 'relay', Buffer.from(head));
    return { headers: { [relayHeader]: head, [macHeader]: mac }, body };
  }
  const ask = ({ headers, body }: ReturnType<typeof sealed>, sent = body) =>
    post(core.address, headers, sent);
  const row = scratchKey(text('a'));
  const commit: RelayQuestion = {
    what: 'commit',
    commit: { set: [{ key: row, value: Buffer.from('1') }] },
  };
  try {
    for (const wrong of [
      sealed(commit, {}, Buffer.alloc(32, 8)),
      sealed(commit, {}, core.key, 'ask'),
      sealed(commit, { to: 0 }),
      sealed(commit, { bytes: 1 << 30 }),
      sealed(commit, { hash: '0'.repeat(64) }),
      sealed({ what: 'hello' }),
    ]) {
      assert.equal(await ask(wrong), 403);
    }
    for (const changes of [{ to: 2 }, { at: clock.now() - 31_000 }, { at: clock.now() + 31_000 }]) {
      assert.equal(await ask(sealed(commit, changes)), 409, 'of another moment, or core');
    }
    const good = sealed(commit);
    assert.equal(await ask(good, encode({ what: 'head' })), 403, 'another body');
    assert.notEqual(await ask(good, Buffer.concat([good.body, Buffer.from('x')])), 200);
    assert.equal(await post(core.address, { [relayHeader]: '1' }, good.body), 403);
    assert.equal(await store.get(row), undefined, 'none of them was a commit');
    assert.equal(await ask(good), 200);
    assert.equal((await store.get(row))!.version, 1);
    assert.equal(await ask(good), 403, 'the same once more');
    assert.equal((await store.get(row))!.version, 1);
    // Somebody holds room for a body with a head that was overheard.
    const heard = sealed({ what: 'head' });
    const headers = { ...heard.headers, 'Content-Length': heard.body.length };
    const holding = { method: 'POST', headers: { ...headers, Expect: '100-continue' } };
    const first = request(`http://${core.address}`, holding).on('error', () => undefined);
    first.flushHeaders();
    await once(first, 'continue');
    assert.equal(await ask(heard), 403, 'once at a time');
    first.destroy();
    // Its connection is gone when the core has seen that.
    while ((await ask(heard)) !== 200);
  } finally {
    await core.close();
    await store.close();
    directory.remove();
  }
});

it('an edge goes to the next core, waits for an event there, and says when there is none', async () => {
  const directory = makeTempDir('relay');
  const clock = manualClock(1_750_000_000_000);
  const store = await openEmbedded(directory.path, clock);
  const cores = [
    await openCore(store, clock, { waitMs: 60_000 }),
    await openCore(store, clock, { waitMs: 60_000 }),
  ];
  const url = `portcullis://${cores.map(({ address }) => address).join(',')}/`;
  const edge = await openRelayStore({ url, key: cores[0]!.key, log: createLog('silent') });
  const event = { id: 'e', kind: 'k', version: 1, body: Buffer.from('body') };
  try {
    await edge.commit({ events: [event] });
    assert.equal((await edge.read(0n, 10))[0]!.kind, 'k');
    await cores[0]!.close();
    // The core's own follower is at the end of the journal; the edge waits there for more.
    assert.deepEqual(await cores[1]!.store.read(1n, 10), []);
    const waiting = edge.read(1n, 10);
    while ((await edge.lastSeq()) < 2n) await edge.commit({ events: [{ ...event, id: 'f' }] });
    await cores[1]!.store.read(1n, 10);
    assert.equal((await waiting)[0]!.seq, 2n);
    assert.equal(edge.writeState().available, true);
    await cores[1]!.close();
    await assert.rejects(edge.read(2n, 10), { name: 'StoreUnavailableError' });
    const lost = await edge.commit({ events: [{ ...event, id: 'g' }] });
    assert.equal(!lost.ok && lost.error, 'store_unavailable');
    assert.equal(edge.writeState().available, false);
    assert.equal(await store.lastSeq(), 2n);
  } finally {
    await edge.close();
    for (const core of cores) await core.close().catch(() => undefined);
    await store.close();
    directory.remove();
  }
});

it('an edge does not go on at a core that has another journal', async () => {
  const directories = [makeTempDir('relay'), makeTempDir('relay-other')];
  const clock = manualClock(1_750_000_000_000);
  const [store, other] = [
    await openEmbedded(directories[0]!.path, clock),
    await openEmbedded(directories[1]!.path, clock),
  ];
  const event = { id: 'e', kind: 'k', version: 1, body: Buffer.from('body') };
  const cores = [await openCore(store, clock), await openCore(other, clock, { epoch: 'two' })];
  const url = `portcullis://${cores.map(({ address }) => address).join(',')}/`;
  const edge = await openRelayStore({ url, key: cores[0]!.key, log: createLog('silent') });
  try {
    await edge.commit({ events: [event] });
    // The other one is longer, so that its numbers would do.
    for (const id of ['a', 'b', 'c']) await other.commit({ events: [{ ...event, id }] });
    assert.equal((await edge.read(0n, 10)).length, 1);
    await cores[0]!.close();
    await assert.rejects(edge.read(1n, 10), { name: 'ForkedJournalError' });
  } finally {
    await edge.close();
    await cores[1]!.close();
    for (const one of [store, other]) await one.close();
    for (const directory of directories) directory.remove();
  }
});

it('a core tells an edge that followed another journal, from memory or from the database', async () => {
  const events = [1, 2, 3, 4].map((seq) => eventOf(seq, 10));
  const asked: (number | undefined)[] = [];
  const store = {
    async read(after: bigint, _limit: number, afterAt?: number) {
      asked.push(afterAt);
      return events.slice(Number(after));
    },
    writeState: () => ({ available: true, fatal: false, detail: '' }),
  } as unknown as PostgresStore;
  const core = relayed(store, { now: () => 0, waitMs: 1 });
  await core.store.read(2n, 9, 2);
  const ask = (after: bigint, afterAt: number) =>
    core.relay.answer({ what: 'read', after, limit: 9, afterAt }, 1);
  await ask(3n, 3);
  assert.deepEqual(asked, [2], 'what is in memory costs no question');
  // The ring begins behind event 2, and has another event 3.
  await ask(2n, 2);
  await ask(3n, 333);
  assert.deepEqual(asked, [2, 2, 333]);
});

it('a status that was altered on the way makes no commit come twice, and none be lost', async () => {
  const directory = makeTempDir('relay');
  const clock = manualClock(1_750_000_000_000);
  const store = await openEmbedded(directory.path, clock);
  const core = await openCore(store, clock);
  let status: number | undefined;
  let asks = 0;
  const between = createServer((asked, answer) => {
    asks += 1;
    const { method, headers } = asked;
    const passed = request(`http://${core.address}`, { method, headers }, (response) => {
      answer.writeHead(status ?? response.statusCode!, response.headers);
      response.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    asked.pipe(passed);
  }).listen(0, '127.0.0.1');
  await once(between, 'listening');
  const url = `portcullis://127.0.0.1:${(between.address() as AddressInfo).port}/`;
  const edge = await openRelayStore({ url, key: core.key, log: createLog('silent') });
  const row = scratchKey(text('a'));
  try {
    for (const altered of [409, 500]) {
      status = altered;
      asks = 0;
      const version = (await store.get(row))?.version ?? 0;
      const done = await edge.commit({ set: [{ key: row, value: Buffer.from('1') }] });
      assert.equal(done.ok, true, `${altered}`);
      assert.deepEqual([asks, (await store.get(row))!.version], [1, version + 1], `${altered}`);
    }
    // A core that takes nothing says so by an empty answer, whatever stands above it.
    status = 200;
    clock.advance(60_000);
    asks = 0;
    const done = await edge.commit({ set: [{ key: row, value: Buffer.from('2') }] });
    assert.equal(done.ok, true, 'asked again by the clock of the core');
    assert.equal(asks, 3, 'the commit, a greeting, the commit');
  } finally {
    await edge.close();
    between.close();
    between.closeAllConnections();
    await core.close();
    await store.close();
    directory.remove();
  }
});
