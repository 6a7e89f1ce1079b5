/** The snapshot of a stop: used when it is exactly right, else ignored with a line in the log. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, it } from 'node:test';
import { projectionPagePrefix } from '../../../src/storage/keys.ts';
import { seededRandom } from '../../support/seeded.ts';
import { memoryLog } from '../../support/server/memory-log.ts';
import { makeState, type StateFixture, stateShown } from './fixture.ts';

let fixture: StateFixture;
let expected: Record<string, unknown>;
let snapshot: Buffer;

beforeEach(async () => {
  fixture = makeState(21);
  const state = await fixture.openCaughtUp();
  await fixture.work(120);
  await state.follower.catchUpTo(await fixture.store.lastSeq());
  expected = stateShown(state);
  await state.stop();
  snapshot = readFileSync(fixture.snapshotPath);
});

afterEach(() => fixture.close());

/** Opens with whatever file is there. Which snapshot lines it logged, and that the state is right. */
async function linesOfStart(): Promise<string[]> {
  const { log, lines } = memoryLog();
  const state = await fixture.openCaughtUp({ log });
  assert.deepEqual(stateShown(state), expected);
  // The state can be changed like any other.
  await state.follower.stop();
  assert.ok(!existsSync(fixture.snapshotPath), 'used up');
  return lines.map((line) => line.msg).filter((msg) => msg.includes('snapshot'));
}

it('gives the same state as the pages, and later events and checkpoints work on it', async () => {
  const state = await fixture.openCaughtUp();
  assert.deepEqual(stateShown(state), expected);
  const plain = await fixture.openCaughtUp({ snapshot: false });
  assert.deepEqual(stateShown(plain), expected);
  await fixture.work(120);
  const last = await fixture.store.lastSeq();
  await Promise.all([state.follower.catchUpTo(last), plain.follower.catchUpTo(last)]);
  assert.deepEqual(stateShown(state), stateShown(plain));
  await plain.follower.stop();
  await state.checkpoint();
  const again = await fixture.open({ snapshot: false });
  assert.deepEqual(stateShown(again), stateShown(state));
  await state.stop();
});

it('is really used: entry pages in the store are not looked at', async () => {
  const { store } = fixture;
  const [page] = await store.scan(projectionPagePrefix(), { limit: 1 });
  await store.commit({ set: [{ key: page!.key, value: Uint8Array.of(1, 2, 3, 4, 5) }] });
  const state = await fixture.open();
  assert.deepEqual(stateShown(state), expected);
  await assert.rejects(fixture.open(), /projection page \d+ is damaged/);
});

it('a right one says nothing', async () => {
  assert.deepEqual(await linesOfStart(), []);
});

it('without one nothing is said', async () => {
  await (await fixture.open()).follower.stop();
  assert.ok(!existsSync(fixture.snapshotPath));
  assert.deepEqual(await linesOfStart(), []);
});

it('one of another moment is ignored', async () => {
  const state = await fixture.openCaughtUp();
  await fixture.work(20);
  await state.follower.catchUpTo(await fixture.store.lastSeq());
  expected = stateShown(state);
  await state.stop();
  writeFileSync(fixture.snapshotPath, snapshot);
  assert.deepEqual(await linesOfStart(), ['snapshot: ignored, it is of another moment']);
});

it('a damaged or truncated one is ignored', async () => {
  const random = seededRandom(5);
  for (let i = 0; i < 12; i++) {
    const bytes = Buffer.from(snapshot);
    bytes[Math.floor(random.next() * bytes.length)]! ^= 1 << Math.floor(random.next() * 8);
    writeFileSync(fixture.snapshotPath, bytes);
    assert.deepEqual(await linesOfStart(), ['snapshot: ignored, it is damaged'], `flip ${i}`);
    const length = Math.floor(random.next() * snapshot.length);
    writeFileSync(fixture.snapshotPath, snapshot.subarray(0, length));
    assert.deepEqual(await linesOfStart(), ['snapshot: ignored, it is damaged'], `cut ${length}`);
  }
});
