/**
 * A server of federation alone, for kills: it publishes what its staff reports, and takes in what a peer says, whose
 * address and key are in FEDERATION_PEER. Its clock runs: each step is some minutes. It says `segment <seq> <chain>` and
 * `report <n>` for what others may know, after they may.
 */

import { accountCreated, accountVouched } from '../../../src/access/accounts/events.ts';
import { masterKeyFromBytes } from '../../../src/access/keys/master-key.ts';
import { openState } from '../../../src/app/state.ts';
import { createLog } from '../../../src/core/log.ts';
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
  readPublication,
  writeKey,
} from '../../../src/reputation/federation/publish/stored.ts';
import { createPeerPoller } from '../../../src/reputation/federation/subscribe/module.ts';
import {
  changePeer,
  listPeers,
  storePeer,
} from '../../../src/reputation/federation/subscribe/peers.ts';
import { reportAdded } from '../../../src/reputation/state/events.ts';
import { createEventId } from '../../../src/storage/journal/define-event.ts';
import { federationPublicationKey } from '../../../src/storage/keys.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import { seededRandom } from '../../support/seeded.ts';

const [directory, round] = process.argv.slice(2);
const [url, line] = process.env.FEDERATION_PEER!.split(' ');
const minuteMs = 60_000;
let aheadMs = Number(round) * 720 * minuteMs;
const clock = { now: () => Date.now() + aheadMs, monotonicMs: () => 1_000 * aheadMs };
const random = seededRandom(Number(round));
const log = createLog('fatal');
const store = openLmdbStore({ path: `${directory}/store`, clock, log });
const onFailure = (error: unknown) => {
  throw error;
};
const state = await openState({
  store,
  clock,
  random,
  log,
  onFailure,
  entriesMax: 60_000,
  checkpointMs: 50,
});
state.start();
const masterKey = masterKeyFromBytes(Buffer.alloc(32, 7));
const eventId = () => createEventId(clock, random);

if (round === '1') {
  const account = 'staff';
  const events = [
    accountCreated.encode(eventId(), { account, verified: true, slot: 'now' }),
    accountVouched.encode(eventId(), { account, vouched: 'staff' }),
  ];
  await store.commit({ events });
  await writeKey({ store, masterKey, random }, 'a.example', clock.now(), undefined);
  const value = publications.encode({ ...nothingPublished, isOn: true });
  await store.commit({ set: [{ key: federationPublicationKey(), value }] });
  const terms = { weight: 4, owner: '', isOwn: false, budget: 0, addedAt: clock.now() };
  await storePeer(store, { url: url!, key: line!, ...terms }, () => []);
  await changePeer(store, 1, () => ({ acceptedSeq: 1_000_000 }));
}

const { index, policy } = state;
const { contributions } = state.entries;
const publisher = createPublisher({
  store,
  masterKey,
  clock,
  log,
  least: 1,
  licence: '',
  changes: createChanges({
    index,
    clock,
    random,
    selection: createSelection({ index, contributions, policy, least: 1 }),
    appliedSeq: state.follower.appliedSeq,
    categoriesOf: async () => 1 << 18,
  }),
  thread: {
    write: async (rows) => writeSnapshot(rows),
    read: async (snapshot, segments) => readPublished(snapshot, segments),
  },
});
const poller = createPeerPoller({
  store,
  index,
  policy,
  clock,
  random,
  log,
  entries: state.entries,
  catchUpTo: state.follower.catchUpTo,
  isMine: () => true,
  allowPrivate: true,
  signer: async () => undefined,
});

const say = (text: string) => process.stdout.write(`${text}\n`);
const second = () => Math.floor(clock.now() / 1_000);
for (let step = 0; ; step++) {
  const n = 1_000 * Number(round) + (step % 1_000);
  const address = { family: 4 as const, words: Uint32Array.of(0x2d00_0000 + 256 * n, 0, 0, 0) };
  const said = { account: 'staff', reportedSecond: second(), network: 1, categories: 1 << 18 };
  await store.commit({ events: [reportAdded.encode(eventId(), { ...address, ...said })] });
  say(`report ${n}`);
  aheadMs += 6 * minuteMs;
  await publisher.tick();
  const { seq, chain } = (await readPublication(store)).publication;
  say(`segment ${seq} ${chain}`);
  await changePeer(store, 1, () => ({ dueAt: 0 }));
  await poller.poll();
  await poller.idle();
  const [peer] = await listPeers(store);
  if (peer!.failure !== '') throw new Error(peer!.failure);
}
