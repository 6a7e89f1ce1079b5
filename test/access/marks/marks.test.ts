/** Marks of /connect: whose they are, how long they count, and what is told of them between threads. */

import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import {
  boardCells,
  createMarkNoter,
  createMarks,
  createSightingBoard,
  isMark,
  type MarkSender,
  networkCells,
  sightingEndsAt,
  startSightings,
} from '../../../src/access/marks.ts';
import { parseIp } from '../../../src/ip/address.ts';
import { manualClock } from '../../support/seeded.ts';
import { createMemoryStore } from '../../support/server/memory-store.ts';

const startMs = 1_800_000_000_000;
const hourMs = 3_600_000;
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const key = new Uint8Array(32).fill(7);

function from(address: string): MarkSender {
  const words = new Uint32Array(4);
  return { family: parseIp(address, words), words };
}
const ada = from('192.0.2.7');
/** Each of a network of its own. */
const other = (i: number) => from(`20.${i >> 8}.${i & 255}.9`);

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
  const spot = createMarkNoter({ key, board: board.buffer }, clock);
  const marks = createMarks({ key, clock });
  const [own] = marks.of('ada', 'nginx');
  const taken = () => board.take().map(({ sighting }) => hex(sighting));
  spot(own, ada);
  spot(own, ada);
  spot(undefined, ada);
  spot('0'.repeat(40), ada);
  assert.deepEqual(taken(), [hex(marks.sightingOf(own)!)]);
  spot(own, ada);
  assert.deepEqual(taken(), []);
  clock.advance(1_000);
  spot(own, ada);
  assert.equal(taken().length, 1);
  for (let i = 0; i < boardCells + 9; i++) spot(marks.of(`reader ${i}`, 'nginx')[0], other(i));
  assert.equal(taken().length, boardCells);
  const [late] = marks.of(`reader ${boardCells + 8}`, 'nginx');
  spot(late, other(1));
  assert.deepEqual(taken(), [hex(marks.sightingOf(late)!)], 'it comes with the next request');
});

it('a full board has a place for whoever comes from a network that fills none', () => {
  const clock = manualClock(startMs);
  const board = createSightingBoard();
  const spot = createMarkNoter({ key, board: board.buffer }, clock);
  const marks = createMarks({ key, clock });
  const mark = (reader: string) => marks.of(reader, 'nginx')[0];
  const floods: readonly (readonly [string, (i: number) => MarkSender, number])[] = [
    ['one address', () => from('198.51.100.9'), networkCells],
    ['a /24', (i) => from(`198.51.100.${i % 256}`), networkCells],
    ['a /48', (i) => from(`2001:db8:9:${i.toString(16)}::${i.toString(16)}`), networkCells],
    ['a /24 behind NAT64', (i) => from(`64:ff9b::198.51.100.${i % 256}`), networkCells],
    ['no address', () => from('nonsense'), networkCells],
    ['forty networks', (i) => other(i % 40), boardCells],
  ];
  for (const [what, sender, cellsMax] of floods) {
    for (let i = 0; i < 300; i++) spot(mark(`eve ${i}`), sender(i));
    spot(mark('ada'), ada);
    for (let i = 300; i < 600; i++) spot(mark(`eve ${i}`), sender(i));
    const taken = board.take().map(({ sighting }) => hex(sighting));
    assert.ok(taken.includes(hex(marks.sightingOf(mark('ada'))!)), what);
    assert.ok(taken.length <= cellsMax + 1, `${what}: ${taken.length}`);
    clock.advance(1_000);
  }
});

it('one node’s sighting is seen on another that shares the store, by its reader alone', async () => {
  const clock = manualClock(startMs);
  const store = createMemoryStore();
  const open = () => {
    const memory = { key, board: createSightingBoard().buffer };
    const sightings = startSightings({ memory, store, clock, log: { warn: assert.fail } });
    return { sightings, spot: createMarkNoter(memory, clock) };
  };
  const [one, other] = [open(), open()];
  one.spot(one.sightings.markOf('ada', 'nginx'), ada);
  while ((await other.sightings.seen('ada', 'nginx')) === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.equal(one.sightings.table.used(), 1);
  assert.equal(await one.sightings.seen('ada', 'caddy'), undefined);
  assert.equal(await one.sightings.seen('eve', 'nginx'), undefined);
  clock.advance(2 * hourMs);
  assert.equal(await other.sightings.seen('ada', 'nginx'), undefined);
  one.sightings.close();
  other.sightings.close();
});

/** Sightings whose rounds come when the test says so. */
function opened(t: TestContext, nodes = 1) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const clock = manualClock(startMs);
  const store = createMemoryStore();
  const all = Array.from({ length: nodes }, () => {
    const memory = { key, board: createSightingBoard().buffer };
    const sightings = startSightings({ memory, store, clock, log: { warn: assert.fail } });
    t.after(sightings.close);
    return { sightings, spot: createMarkNoter(memory, clock) };
  });
  async function round(): Promise<void> {
    t.mock.timers.tick(500);
    clock.advance(500);
    for (let i = 0; i < 4; i++) await new Promise(setImmediate);
  }
  const marks = createMarks({ key, clock });
  const send = (reader: string, sender: MarkSender) =>
    all[0]!.spot(marks.of(reader, 'nginx')[0], sender);
  return { clock, store, all, round, send, ...all[0]! };
}

it('marks of one network fill nothing: its oldest gives way, with its row', async (t) => {
  const { store, sightings, round, send } = opened(t);
  send('ada', ada);
  await round();
  for (let i = 0; i < 1_200; i++) {
    send(`eve ${i}`, from(`2001:db8:9:${i.toString(16)}::1`));
    if (i % networkCells === networkCells - 1) await round();
  }
  assert.ok(await sightings.seen('ada', 'nginx'), 'of before the flood');
  send('bob', from('192.0.2.99'));
  await round();
  assert.ok(await sightings.seen('bob', 'nginx'), 'of after it');
  assert.ok(await sightings.seen('eve 1199', 'nginx'));
  assert.equal(await sightings.seen('eve 0', 'nginx'), undefined);
  assert.equal(sightings.table.used(), 64 + 2);
  assert.equal(store.keys().length, 64 + 2, 'rows');
});

it('marks of many networks fill nothing: the network with most gives way, with its row', async (t) => {
  const { store, sightings, round, send } = opened(t);
  send('ada', ada);
  await round();
  const { limit } = sightings.table;
  for (let i = 0; i < limit + 600; i++) {
    send(`eve ${i}`, other(i % 150));
    if (i % boardCells === boardCells - 1) await round();
  }
  await round();
  assert.ok(await sightings.seen('ada', 'nginx'), 'of before the flood');
  send('bob', from('192.1.2.99'));
  await round();
  assert.ok(await sightings.seen('bob', 'nginx'), 'of after it');
  assert.equal(sightings.table.used(), limit);
  assert.equal(store.keys().length, limit, 'rows');
});

it('a mark that gave way is noted again when it comes again, on another node too', async (t) => {
  const { clock, all, sightings, round, send } = opened(t, 2);
  const [mark] = createMarks({ key, clock }).of('ada', 'nginx');
  send('ada', from('203.0.113.1'));
  all[1]!.spot(mark, from('203.0.113.1'));
  await round();
  for (let i = 0; i < 80; i++) {
    send(`eve ${i}`, from(`203.0.113.${i}`));
    if (i % networkCells === networkCells - 1) await round();
  }
  assert.equal(await sightings.seen('ada', 'nginx'), undefined, 'a network harms itself alone');
  clock.advance(10_000);
  all[1]!.spot(mark, from('203.0.113.1'));
  await round();
  assert.ok(await sightings.seen('ada', 'nginx'), 'noted by the other node');
  send('eve 0', from('203.0.113.1'));
  await round();
  assert.ok(await sightings.seen('eve 0', 'nginx'));
});
