/** Two nodes of one database that publish to peers: who lost the work gives no number a second time. */

import assert from 'node:assert/strict';
import { after, before, it, type TestContext } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { masterKeyFromBytes } from '../../src/access/keys/master-key.ts';
import { manualClock, systemClock } from '../../src/core/clock.ts';
import { createLog } from '../../src/core/log.ts';
import { seededRandom } from '../../src/core/random.ts';
import { chainAfter } from '../../src/reputation/federation/document/segment.ts';
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
import { createLease, fencedStore } from '../../src/storage/nodes/lease.ts';
import { openPostgresStore } from '../../src/storage/postgres/store.ts';
import type { Store } from '../../src/storage/store.ts';
import { openWorld } from '../reputation/reports/report-world.ts';
import { hasTool } from '../support/house/tools.ts';
import { postgresProgram, startPostgres, type TestPostgres } from '../support/server/postgres.ts';

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
        ...{ store: place, masterKey, clock, log, least: 1, licence: '' },
        changes: createChanges({
          index,
          selection: createSelection({ index, contributions, policy: policy.get, least: 1 }),
          position: () => position,
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
