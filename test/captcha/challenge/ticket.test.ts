/** Tickets: what was not made here, in one spelling, is none. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTickets } from '../../../src/captcha/challenge/ticket.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';

function setUp(seed = 1, startMs = 1_700_000_000_000) {
  const clock = manualClock(startMs);
  return { clock, tickets: createTickets({ clock, random: seededRandom(seed) }) };
}

test('a ticket tells its kind and when it was made', () => {
  const { tickets, clock } = setUp();
  for (const kind of ['challenge', 'longChallenge', 'browser'] as const) {
    clock.advance(1_000);
    const text = tickets.make(kind);
    assert.deepEqual(tickets.open(text), { kind, madeAtMs: clock.now() });
  }
});

test('a changed bit anywhere makes it none', () => {
  const { tickets } = setUp();
  const bytes = Buffer.from(tickets.make('challenge'), 'base64url');
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    const changed = Buffer.from(bytes);
    changed[bit >> 3]! ^= 1 << (bit & 7);
    assert.equal(tickets.open(changed.toString('base64url')), undefined, `bit ${bit}`);
  }
});

test('a ticket has one spelling', () => {
  const { tickets } = setUp();
  const text = tickets.make('challenge');
  for (const other of [
    `${text}=`,
    `${text} `,
    ` ${text}`,
    `${text}A`,
    text.slice(1),
    text.replace(/.$/, '+'),
    `${text}\n`,
    '',
    text.repeat(1_000),
  ]) {
    assert.equal(tickets.open(other), undefined, JSON.stringify(other.slice(0, 60)));
  }
});

test('a ticket of before a restart is none, with the same clock too', () => {
  const before = setUp(1).tickets.make('challenge');
  assert.equal(setUp(2).tickets.open(before), undefined);
});

test('one from the future is none', () => {
  const late = setUp(1, 1_700_000_100_000).tickets.make('challenge');
  const early = setUp(1);
  assert.equal(early.tickets.open(late), undefined);
  early.clock.advance(100_000);
  assert.notEqual(early.tickets.open(late), undefined);
});

test('a wall clock that is set anew changes no age', () => {
  let wallMs = 1_700_000_000_000;
  const clock = { now: () => wallMs, monotonicMs: () => 5_000.25 };
  const tickets = createTickets({ clock, random: seededRandom(1) });
  const text = tickets.make('challenge');
  wallMs += 86_400_000;
  assert.equal(tickets.open(text)!.madeAtMs, Math.floor(tickets.nowMs()));
  wallMs -= 2 * 86_400_000;
  assert.notEqual(tickets.open(text), undefined);
});

test('the node stands first, in clear', () => {
  const { tickets } = setUp();
  assert.equal(Buffer.from(tickets.make('challenge'), 'base64url').readUInt16BE(0), 0);
});
