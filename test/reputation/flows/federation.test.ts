/**
 * Three servers that all follow one another, as their operators set them up: what one says reaches the others and goes no
 * further, what it takes back is gone, and one of them lies, one ends, and one comes back from a backup. Their clocks are
 * one file, which the test moves on.
 */

import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { after, before, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { loadMasterKey } from '../../../src/access/keys/master-key.ts';
import { systemRandom } from '../../../src/core/random.ts';
import {
  type FederationHead,
  headLifeMs,
  writeHead,
} from '../../../src/reputation/federation/document/head.ts';
import type { SigningKey } from '../../../src/reputation/federation/document/key.ts';
import { chainAfter } from '../../../src/reputation/federation/document/segment.ts';
import {
  type Publication,
  publications,
  readPublication,
  segmentRows,
  signingKeyOf,
} from '../../../src/reputation/federation/publish/stored.ts';
import {
  changePeer,
  listPeers,
  type StoredPeer,
} from '../../../src/reputation/federation/subscribe/peers.ts';
import { federationPublicationKey, federationSegmentKey } from '../../../src/storage/keys.ts';
import type { SetRow, Store } from '../../../src/storage/store.ts';
import { accountsBeside } from '../../support/server/accounts-beside.ts';
import { freePort } from '../../support/server/free-port.ts';
import { runCli, startTestServer, type TestServer, within } from '../../support/server/server.ts';
import { openStoreBeside } from '../../support/server/shared-store.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const directory = makeTempDir('federation');
const file = `${directory.path}/ahead`;
const preload = `${new URL('../../support/server/moved-clock.js', import.meta.url).href}?file=${file}`;
let aheadMs = 0;
const clock = { now: () => Date.now() + aheadMs };

/** Lets time pass for all of them. */
function pass(ms: number): void {
  aheadMs += ms;
  writeFileSync(`${file}.new`, String(aheadMs));
  renameSync(`${file}.new`, file);
}

interface Owner {
  server: TestServer;
  readonly port: number;
  readonly url: string;
  store: Store;
  /** Of an account of staff. */
  key: string;
  line: string;
}

async function start(port: number, dataDir: string, access = 'peers'): Promise<TestServer> {
  return startTestServer({
    threads: 1,
    demo: false,
    dataDir,
    nodeArguments: ['--import', preload],
    env: {
      PORT: String(port),
      SECURE_URL: `http://127.0.0.1:${port}`,
      REPUTATION: 'private',
      SOURCE_ALLOW_PRIVATE: 'on',
      CLIENT_LIMITS: 'off',
      FEDERATION_ACCESS: access,
    },
  });
}

async function open(name: string): Promise<Owner> {
  const port = await freePort();
  const dataDir = `${directory.path}/${name}`;
  mkdirSync(dataDir);
  // The third one is read by the test too.
  const server = await start(port, dataDir, name === 'c' ? 'open' : 'peers');
  await using beside = accountsBeside(dataDir);
  assert.ok((await beside.accounts.create('sensor@portcullis.example', 'staff')).ok);
  const made = await beside.apiKeys.create('sensor@portcullis.example');
  assert.ok(made.ok);
  const { line } = await server.cliJson('federation', 'key');
  await server.cliJson('federation', 'publish', 'on');
  const url = `http://127.0.0.1:${port}`;
  return { server, port, url, store: openStoreBeside(dataDir), key: made.value.text, line };
}

const owners: Owner[] = [];
let [a, b, c] = [] as unknown as [Owner, Owner, Owner];

async function follow(owner: Owner, other: Owner): Promise<void> {
  const terms = ['--key', other.line, '--weight', '1', '--yes'];
  await owner.server.cliJson('peer', 'add', other.url, ...terms);
}

before(async () => {
  pass(0);
  owners.push(...(await Promise.all(['a', 'b', 'c'].map(open))));
  [a, b, c] = owners as [Owner, Owner, Owner];
  await Promise.all(
    owners.map(async (owner) => {
      for (const other of owners) if (other !== owner) await follow(owner, other);
    }),
  );
});
after(async () => {
  await Promise.all(owners.map(({ store }) => store.close()));
  await Promise.all(owners.map(({ server }) => server[Symbol.asyncDispose]()));
  directory.remove();
});

async function report({ server, key }: Owner, ip: string): Promise<void> {
  await within(async () => {
    const answer = await server.fetch('/api/v2/report', {
      method: 'POST',
      headers: { Key: key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ ip, categories: [18], comment: 'a secret of the sensor' }),
    });
    assert.ok([200, 401].includes(answer.status), answer.body);
    return answer.status === 200;
  });
}

async function score({ server, key }: Owner, ip: string): Promise<number> {
  const answer = await server.fetch(`/api/v2/check?ipAddress=${ip}`, { headers: { Key: key } });
  assert.equal(answer.status, 200, answer.body);
  return (answer.json() as { data: { abuseConfidenceScore: number } }).data.abuseConfidenceScore;
}

/** What a score comes of. It fades with the hours that pass, of which a busy machine takes more. */
async function wordOn(owner: Owner, ip: string): Promise<string> {
  const found = await score(owner, ip);
  if (found === 0) return 'none';
  return found > 80 ? 'own report' : found > 30 && found <= 35 ? 'vote' : String(found);
}

const words = (ip: string) => Promise.all(owners.map((owner) => wordOn(owner, ip)));
const published = async ({ store }: Owner) => (await readPublication(store)).publication;

async function peerOf(owner: Owner, other: Owner): Promise<StoredPeer> {
  return (await listPeers(owner.store)).find(({ url }) => url === other.url)!;
}

/** Makes the peer due, as `peer resume` does, and waits for that poll. @returns the peer behind it */
async function polled(owner: Owner, other: Owner): Promise<StoredPeer> {
  const { number } = await peerOf(owner, other);
  await changePeer(owner.store, number, () => ({ dueAt: 0, triedAt: 0 }));
  let peer = await peerOf(owner, other);
  await within(async () => {
    peer = await peerOf(owner, other);
    return peer.triedAt > 0 && peer.dueAt > 0;
  }, 'a poll');
  return peer;
}

/** Polls until the newest head of the other one was read: its routes know it a second later. */
async function caughtUp(owner: Owner, other: Owner): Promise<StoredPeer> {
  let peer = await peerOf(owner, other);
  await within(async () => {
    peer = await polled(owner, other);
    return peer.headSeq === (await published(other)).seq;
  }, 'the newest head');
  return peer;
}

/** Lets the waits of rows and segments pass, until the next segment is there. */
async function nextSegment(owner: Owner, act: () => Promise<unknown>): Promise<void> {
  const { seq } = await published(owner);
  await act();
  await within(async () => {
    pass(minuteMs);
    return (await published(owner)).seq > seq;
  }, 'a segment');
}

it('a report on one is a vote at the others, who do not carry it on, and nothing is left after it was taken back', async () => {
  await within(
    async () => (await published(a)).head.length > 0 && (await published(c)).head.length > 0,
  );
  await nextSegment(a, () => report(a, '45.1.1.1'));
  const seqs = await Promise.all([b, c].map(published));
  await caughtUp(b, a);
  await caughtUp(c, a);
  assert.deepEqual(await words('45.1.1.1'), ['own report', 'vote', 'vote']);
  const why = await b.server.fetch('/api/v2/check?ipAddress=45.1.1.1&verbose', {
    headers: { Key: b.key },
  });
  assert.deepEqual(
    [/"reason":"alone"/.test(why.body), /secret of the sensor/.test(why.body)],
    [true, false],
  );
  // B and C have the row of A, and are asked for what they say themselves.
  pass(12 * minuteMs);
  for (const [owner, other] of [
    [b, c],
    [c, b],
    [a, b],
    [a, c],
  ] as const) {
    assert.equal((await polled(owner, other)).failure, '');
  }
  assert.deepEqual(await words('45.1.1.1'), ['own report', 'vote', 'vote']);
  for (const [i, owner] of [b, c].entries()) {
    const { seq, snapshotRows } = await published(owner);
    assert.deepEqual([seq, snapshotRows], [seqs[i]!.seq, 0]);
  }
  const [{ id }] = await a.server.cliJson('report', 'list', '45.1.1.1');
  await nextSegment(a, () => a.server.cliJson('report', 'retract', id));
  for (const owner of [b, c]) await caughtUp(owner, a);
  assert.deepEqual(await words('45.1.1.1'), ['none', 'none', 'none']);
});

/** Lets C publish by its key what its program never would. */
async function lie(
  next: (of: Publication) => Partial<Publication>,
  head: (of: Publication) => Partial<FederationHead> = () => ({}),
  also: readonly SetRow[] = [],
): Promise<void> {
  const masterKey = loadMasterKey({
    dataDir: c.server.dataDir,
    strict: true,
    random: systemRandom(),
  });
  const signer = (await signingKeyOf({ store: c.store, masterKey, clock })) as SigningKey;
  await within(async () => {
    const { publication, version } = await readPublication(c.store);
    const of = { ...publication, ...next(publication) };
    const madeAt = clock.now();
    const note = writeHead(
      {
        seq: of.seq,
        chain: of.chain,
        madeAt,
        endsAt: madeAt + headLifeMs,
        snapshot: undefined,
        oldest: of.oldest,
        least: 1,
        licence: '',
        ...head(of),
      },
      [signer],
    );
    const key = federationPublicationKey();
    const value = publications.encode({ ...of, head: note, headAt: madeAt });
    return (await c.store.commit({ check: [{ key, version }], set: [{ key, value }, ...also] })).ok;
  });
  // A publication is known to the routes a second later.
  const { head: said } = await published(c);
  await within(async () => (await c.server.fetch('/federation/head')).bytes.equals(said));
}

it('one that lies is refused or held: heads sent again, of the future, of two histories, and a resolver', async () => {
  await nextSegment(c, () => report(c, '45.3.3.3'));
  await caughtUp(b, c);
  // A may have read it by itself, as its clock went on.
  assert.deepEqual((await words('45.3.3.3')).slice(1), ['vote', 'own report']);
  const honest = await published(c);
  const same = () => ({});
  for (const [head, reason] of [
    [{ seq: honest.seq - 1 }, /older than the last/],
    [{ madeAt: clock.now() + hourMs, endsAt: clock.now() + 2 * hourMs }, /in the future/],
    [{ seq: honest.seq + 1_000_000 }, /leaps too far/],
    [{ endsAt: clock.now() + 400 * 24 * hourMs }, /more than a day/],
  ] as const) {
    await lie(same, () => head);
    // The poll that ends first may have begun before.
    await within(async () => reason.test((await polled(b, c)).failure), String(reason));
  }
  assert.equal(await wordOn(b, '45.3.3.3'), 'vote', 'what it said before stays');
  const hour = Math.floor(clock.now() / hourMs);
  const bytes = Buffer.from(`+ 8.8.8.8 ${hour} ${hour} 18 1 s1\n`);
  const seq = honest.seq + 1;
  const key = federationSegmentKey(seq);
  const value = segmentRows.encode({
    madeAt: clock.now(),
    bytes: bytes.length,
    gzip: gzipSync(bytes),
  });
  await lie(
    ({ chain }) => ({ seq, chain: chainAfter(chain, bytes), madeAt: clock.now() }),
    () => ({}),
    [{ key, value }],
  );
  const heldBy = (why: string) =>
    within(async () => (await polled(b, c)).held === why, `held: ${why}`);
  await heldBy('a resolver or root server');
  assert.equal(await score(b, '8.8.8.8'), 0);
  await lie(same, () => ({ chain: 'ab'.repeat(32) }));
  await heldBy('two histories');
});

it('one that comes back from a backup goes on with a leap, and the others take its snapshot', async () => {
  await nextSegment(a, () => report(a, '45.1.2.1'));
  const backup = `${directory.path}/backup`;
  await a.server.cliJson('backup', backup);
  await nextSegment(a, () => report(a, '45.1.3.1'));
  await caughtUp(b, a);
  assert.deepEqual([await wordOn(b, '45.1.2.1'), await wordOn(b, '45.1.3.1')], ['vote', 'vote']);
  const { seq } = await published(a);
  await a.store.close();
  const { dataDir } = a.server;
  await a.server.stop();
  const restored = `${directory.path}/restored`;
  mkdirSync(restored);
  copyFileSync(`${dataDir}/master.key`, `${restored}/master.key`);
  const done = await runCli(['restore', backup], { DATA_DIR: restored });
  assert.equal(done.code, 0, done.stderr);
  a.server = await start(a.port, restored);
  a.store = openStoreBeside(restored);
  await within(async () => (await published(a)).seq > seq, 'a leap');
  const peer = await caughtUp(b, a);
  assert.deepEqual([peer.failure, peer.held], ['', 'none']);
  assert.deepEqual([await wordOn(b, '45.1.2.1'), await wordOn(b, '45.1.3.1')], ['vote', 'none']);
});

it('one that is gone says nothing any more a day after its head was over', async () => {
  await c.server.kill();
  // Some hours before the end: time went on since its last head was read.
  pass(40 * hourMs);
  await polled(b, c);
  assert.ok((await score(b, '45.3.3.3')) > 25);
  pass(9 * hourMs);
  await within(async () => {
    pass(2 * minuteMs);
    await polled(b, c);
    return (await score(b, '45.3.3.3')) === 0;
  });
  await within(async () => {
    pass(2 * minuteMs);
    return (await polled(b, a)).failure === '';
  });
  assert.ok((await score(b, '45.1.2.1')) > 25, 'those who are there count');
});
