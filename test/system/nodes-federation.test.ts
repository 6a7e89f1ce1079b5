/**
 * Two nodes of one database and peers: who lost the work gives no number a second time, and what a peer says and takes back
 * is the same in the memories of both.
 */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, it, type TestContext } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { masterKeyFromBytes } from '../../src/access/keys/master-key.ts';
import { systemClock } from '../../src/core/clock.ts';
import { createLog } from '../../src/core/log.ts';
import { headLifeMs, writeHead } from '../../src/reputation/federation/document/head.ts';
import { makeSigningKey } from '../../src/reputation/federation/document/key.ts';
import {
  chainAfter,
  chainStart,
  writeBatch,
} from '../../src/reputation/federation/document/segment.ts';
import { createChanges } from '../../src/reputation/federation/publish/changes.ts';
import { createPublisher } from '../../src/reputation/federation/publish/publisher.ts';
import { createSelection } from '../../src/reputation/federation/publish/selection.ts';
import { readPublished, writeSnapshot } from '../../src/reputation/federation/publish/snapshot.ts';
import {
  nothingPublished,
  publications,
  readPublication,
  segmentsFrom,
  writeKey,
} from '../../src/reputation/federation/publish/stored.ts';
import { federationPublicationKey } from '../../src/storage/keys.ts';
import { LeaseLostError } from '../../src/storage/maintenance.ts';
import { decodeDigests } from '../../src/storage/nodes/digests.ts';
import { createLease, fencedStore } from '../../src/storage/nodes/lease.ts';
import { openPostgresStore } from '../../src/storage/postgres/store.ts';
import type { Store } from '../../src/storage/store.ts';
import { openWorld } from '../reputation/reports/report-world.ts';
import { hasTool } from '../support/house/tools.ts';
import { manualClock, seededRandom } from '../support/seeded.ts';
import { startCluster } from '../support/server/cluster.ts';
import { postgresProgram, startPostgres, type TestPostgres } from '../support/server/postgres.ts';
import { metric, within } from '../support/server/server.ts';

const minuteMs = 60_000;
const log = createLog('fatal');
const masterKey = masterKeyFromBytes(Buffer.alloc(32, 7));
let server: TestPostgres;
before(async (context) => {
  if (hasTool(context as TestContext, postgresProgram)) server = await startPostgres();
});
after(() => server?.stop());

it('a node that does not know yet that it was replaced publishes nothing, and the other one goes on behind it', async () => {
  const real = systemClock();
  const store = await openPostgresStore({ url: await server.createDatabase(), clock: real, log });
  try {
    const clock = manualClock(Date.now());
    const random = seededRandom(1);
    const world = openWorld();
    let position = 0n;
    world.at.now = clock.now();
    world.account('staff');
    world.vouch('staff', 'staff');
    await writeKey({ store, masterKey, random }, 'a.example', clock.now(), undefined);
    const value = publications.encode({ ...nothingPublished, isOn: true });
    await store.commit({ set: [{ key: federationPublicationKey(), value }] });
    const lease = (boot: string) =>
      createLease({ store, clock: real, boot, isAlive: async () => false, aliveMs: 600_000 });
    function publisherOn(place: Store) {
      const { index, entries, policy } = world;
      const { contributions } = entries;
      return createPublisher({
        store: place,
        masterKey,
        clock,
        log,
        least: 1,
        licence: '',
        changes: createChanges({
          index,
          selection: createSelection({ index, contributions, policy: policy.get, least: 1 }),
          appliedSeq: () => position,
          categoriesOf: async () => 1 << 18,
          clock: { monotonicMs: () => clock.now() * 1_000 },
          random,
        }),
        thread: {
          write: async (rows) => writeSnapshot(rows),
          read: async (snapshot, segments) => readPublished(snapshot, segments),
        },
      });
    }
    const report = (ip: string) => {
      world.at.now = clock.now();
      world.report('staff', ip);
      position++;
    };
    const seq = async () => (await readPublication(store)).publication.seq;
    const [first, second] = [lease('first'), lease('second')];
    await first.poll(real.monotonicMs());
    const one = publisherOn(fencedStore(store, first));
    await one.tick();
    report('45.1.1.1');
    for (let i = 0; i < 3; i++) {
      clock.advance(6 * minuteMs);
      await one.tick();
    }
    assert.equal(await seq(), 2);
    report('45.1.2.1');
    clock.advance(6 * minuteMs);
    await one.tick();
    await second.poll(real.monotonicMs());
    const two = publisherOn(fencedStore(store, second));
    clock.advance(6 * minuteMs);
    await assert.rejects(one.tick(), LeaseLostError);
    assert.equal(await seq(), 2, 'the segment of who lost the work is not there');
    for (let i = 0; i < 3; i++) {
      await two.tick();
      clock.advance(6 * minuteMs);
    }
    const { publication } = await readPublication(store);
    let chain = publication.snapshotChain;
    const texts: string[] = [];
    for await (const { segment } of segmentsFrom(store, publication.snapshotSeq + 1)) {
      const bytes = gunzipSync(segment.gzip);
      chain = chainAfter(chain, bytes);
      texts.push(bytes.toString().split(' ')[1]!);
    }
    assert.deepEqual([publication.seq, texts], [3, ['45.1.1.1', '45.1.2.1']]);
    assert.equal(chain, publication.chain);
  } finally {
    await store.close();
  }
});

/** A peer of another owner, whose segments the test writes. */
async function openPeer() {
  const key = makeSigningKey('b.example', seededRandom(36));
  const segments: Buffer[] = [];
  const server = createServer((request, response) => {
    const [, first, to] = /segments\/(\d+)\?to=(\d+)/.exec(request.url!) ?? [];
    if (first !== undefined) {
      const asked = segments.slice(Number(first) - 1, Number(to));
      response.end(writeBatch(asked.map((bytes, i) => ({ seq: Number(first) + i, bytes }))));
      return;
    }
    const madeAt = Math.floor(Date.now() / 1_000) * 1_000;
    const chain = segments.reduce<string>(chainAfter, chainStart);
    const times = { madeAt, endsAt: madeAt + headLifeMs, snapshot: undefined };
    const more = { oldest: 1, least: 1, licence: 'CC0-1.0' };
    response.end(writeHead({ seq: segments.length, chain, ...times, ...more }, [key]));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const hour = Math.floor(Date.now() / 3_600_000) - 1;
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    line: key.line,
    says(ips: readonly string[]) {
      segments.push(Buffer.from(ips.map((ip) => `+ ${ip} ${hour} ${hour} 18 1 s1\n`).join('')));
    },
    takesBack(ips: readonly string[]) {
      segments.push(Buffer.from(ips.map((ip) => `- ${ip}\n`).join('')));
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

it('what a peer says, takes back and leaves when it is removed is the same in the memories of both nodes', async (context) => {
  const env = { REPUTATION: 'private', SOURCE_ALLOW_PRIVATE: 'on', CLIENT_LIMITS: 'off' };
  const cluster = await startCluster(context, env);
  if (cluster === undefined) return;
  await using _cluster = cluster;
  const peer = await openPeer();
  try {
    const nodes = [await cluster.startNode(0), await cluster.startNode(1)];
    const [node] = nodes;
    const database = cluster.env.DATABASE_URL!;
    /** Waits until both are at the last event. */
    async function digests(): Promise<string[]> {
      let last: (string | undefined)[] = [];
      await within(async () => {
        const head = await cluster!.postgres.ask(database, 'select last_seq from journal_head');
        const all = await cluster!.postgres.ask(database, 'select digests from nodes');
        const seq = BigInt(head.rows[0]!.last_seq);
        last = all.rows.map((row) => decodeDigests(row.digests).get(seq));
        return last.length === nodes.length && !last.includes(undefined);
      }, 'a digest of each node at the last event');
      return last as string[];
    }
    const rows = async (count: number | undefined) => {
      const said = await Promise.all(nodes.map((one) => metric(one, 'portcullis_peer_rows')));
      return said.every((one) => one.get('peer="1"') === count);
    };
    // Each start loads the list of known good names, behind the line that says where it listens.
    await within(async () => {
      const { isWhitelisted } = await node!.cliJson('check', '8.8.8.8');
      return isWhitelisted === true;
    }, 'the list of known good names');
    const seen = new Set<string>();
    async function proveSame(): Promise<void> {
      const [one, other] = await digests();
      assert.equal(one, other);
      seen.add(one!);
    }
    await proveSame();
    peer.says(['45.1.1.1', '45.1.2.1', '2a10:1::/64']);
    await node!.cliJson('peer', 'add', peer.url, '--key', peer.line, '--yes');
    await within(() => rows(3), 'the first load');
    await proveSame();
    peer.takesBack(['45.1.1.1']);
    peer.says(['45.1.3.1', '45.1.4.1']);
    await node!.cliJson('peer', 'resume', 'b.example');
    await within(() => rows(4), 'what came later, without what was taken back');
    await proveSame();
    await node!.cliJson('peer', 'set', 'b.example', '--weight', '1');
    await node!.cliJson('peer', 'remove', 'b.example');
    await within(() => rows(undefined), 'the removal');
    await proveSame();
    assert.equal(seen.size, 3, 'without the peer they are what they were before it');
  } finally {
    peer.close();
  }
});
