/** Marks of /connect: whose they are, how long they count, and what is told of them between threads. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createMarks, isMark, sightingEndsAt } from '../../../src/access/marks/marks.ts';
import {
  boardPlaces,
  createMarkSpotter,
  createSightingBoard,
} from '../../../src/access/marks/sighting-board.ts';
import { startSightings } from '../../../src/access/marks/sightings.ts';
import { manualClock } from '../../../src/core/clock.ts';
import { createMemoryStore } from '../../support/server/memory-store.ts';

const startMs = 1_800_000_000_000;
const hourMs = 3_600_000;
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const key = new Uint8Array(32).fill(7);

it('a mark is one reader’s, of one screen and hour, and another key makes none that counts', () => {
  const clock = manualClock(startMs);
  const marks = createMarks({ key, clock });
  const [own, former] = marks.of('ada', 'nginx');
  assert.ok(isMark(own));
  const others = [marks.of('eve', 'nginx')[0], marks.of('ada', 'caddy')[0], former];
  assert.equal(new Set([own, ...others]).size, 4);
  assert.deepEqual(marks.of('ada', 'nginx'), [own, former]);
  for (const text of [own, ...others]) assert.ok(marks.sightingOf(text), text);
  const foreign = createMarks({ key: new Uint8Array(32), clock }).of('ada', 'nginx')[0];
  const altered = own.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'));
  for (const text of [foreign, altered, own.toUpperCase(), `${own}00`, own.slice(2), '']) {
    assert.equal(marks.sightingOf(text), undefined, text);
  }
});

it('a mark counts in its hour and the next one', () => {
  const clock = manualClock(startMs);
  const marks = createMarks({ key, clock });
  const [own] = marks.of('ada', 'nginx');
  const sighting = marks.sightingOf(own)!;
  clock.advance(hourMs);
  assert.equal(marks.of('ada', 'nginx')[1], own, 'the page looks for it still');
  assert.deepEqual(marks.sightingOf(own), sighting);
  clock.advance(hourMs);
  assert.equal(marks.sightingOf(own), undefined);
  assert.ok(sightingEndsAt(sighting) <= clock.now());
  const ahead = createMarks({ key, clock: manualClock(startMs - hourMs) });
  assert.ok(ahead.sightingOf(own), 'a clock that is behind');
  const before = createMarks({ key, clock: manualClock(startMs - 3 * hourMs) });
  assert.equal(before.sightingOf(own), undefined);
});

it('a thread tells of a mark once a second, of none that is forged, and a full board takes no more', () => {
  const clock = manualClock(startMs);
  const board = createSightingBoard();
  const spot = createMarkSpotter({ key, board: board.buffer }, clock);
  const marks = createMarks({ key, clock });
  const [own] = marks.of('ada', 'nginx');
  spot(own);
  spot(own);
  spot(undefined);
  spot('0'.repeat(40));
  assert.deepEqual(board.take().map(hex), [hex(marks.sightingOf(own)!)]);
  spot(own);
  assert.deepEqual(board.take(), []);
  clock.advance(1_000);
  spot(own);
  assert.equal(board.take().length, 1);
  for (let i = 0; i < boardPlaces + 9; i++) spot(marks.of(`reader ${i}`, 'nginx')[0]);
  assert.equal(board.take().length, boardPlaces);
  const [late] = marks.of(`reader ${boardPlaces + 8}`, 'nginx');
  spot(late);
  assert.deepEqual(
    board.take().map(hex),
    [hex(marks.sightingOf(late)!)],
    'it comes with the next request',
  );
});

it('one node’s sighting is seen on another that shares the store, by its reader alone', async () => {
  const clock = manualClock(startMs);
  const store = createMemoryStore();
  const open = () => {
    const memory = { key, board: createSightingBoard().buffer };
    const sightings = startSightings({ memory, store, clock, log: { warn: assert.fail } });
    return { sightings, spot: createMarkSpotter(memory, clock) };
  };
  const [one, other] = [open(), open()];
  one.spot(one.sightings.markOf('ada', 'nginx'));
  while (!(await other.sightings.isSeen('ada', 'nginx'))) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.equal(one.sightings.table.used(), 1);
  assert.equal(await one.sightings.isSeen('ada', 'caddy'), false);
  assert.equal(await one.sightings.isSeen('eve', 'nginx'), false);
  clock.advance(2 * hourMs);
  assert.equal(await other.sightings.isSeen('ada', 'nginx'), false);
  one.sightings.close();
  other.sightings.close();
});
