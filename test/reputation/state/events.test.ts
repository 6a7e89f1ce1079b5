/** Reputation events come back as they were written, and bad bytes are refused, never applied. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { canRead } from '../../../src/app/journal-events.ts';
import { isPrefix } from '../../../src/index/prefix.ts';
import { parsePrefix } from '../../../src/ip/prefix.ts';
import { rowsPerEventMax } from '../../../src/reputation/state/events.ts';
import { value } from '../../support/house/result.ts';
import { corrupted } from '../../support/reputation/corrupted.ts';
import {
  applyEvent,
  decodeEvent,
  encodeEvent,
  type ReputationEvent,
} from '../../support/reputation/events.ts';
import { batchOf, createRandomJournal } from '../../support/reputation/random-journal.ts';
import { seededRandom } from '../../support/seeded.ts';
import { openFold } from './fixture.ts';

function bodyOf(event: ReputationEvent): Uint8Array {
  return encodeEvent('id', event).body;
}

function randomEvents(seed: number, count: number): ReputationEvent[] {
  const journal = createRandomJournal({ random: seededRandom(seed), name: 'events' });
  return Array.from({ length: count }, () => journal.next().event);
}

it('every event comes back as it was written', () => {
  const kinds = new Set<string>();
  for (const event of randomEvents(11, 400)) {
    const { kind, version, body } = encodeEvent('id', event);
    kinds.add(kind);
    assert.ok(canRead({ kind, version }), `nodes know nothing of ${kind} ${version}`);
    assert.deepEqual(decodeEvent(kind, version, body), event);
  }
  assert.equal(kinds.size, 8);
});

it('damaged bytes are refused or are another valid event, which the fold takes', async () => {
  const random = seededRandom(12);
  const { fold } = openFold();
  let survived = 0;
  for (const event of randomEvents(12, 60)) {
    for (const body of corrupted(bodyOf(event), random, 20)) {
      const decoded = decodeEvent(event.kind, 1, body);
      if (decoded === undefined) continue;
      survived++;
      assertValid(decoded);
      await applyEvent(fold, decoded, 0);
    }
  }
  assert.ok(survived > 0);
});

function assertValid(event: ReputationEvent): void {
  if ('length' in event) assert.ok(isPrefix(event));
  if (event.kind !== 'list.rows') return;
  const { rows } = event;
  for (let i = 0; i < rows.count; i++) {
    const family = rows.families[i] === 4 ? 4 : 6;
    const words = rows.words.subarray(4 * i, 4 * i + 4);
    assert.ok(isPrefix({ family, words, length: rows.lengths[i]! }));
    assert.ok(rows.scores[i]! <= 100);
  }
}

it('a prefix with bits beyond its length, or a length that does not exist, is refused', () => {
  const good = bodyOf({ kind: 'allow.added', ...prefix('10.0.0.0/8') });
  assert.deepEqual([...good], [8, 10, 0, 0, 0]);
  assert.ok(decodeEvent('allow.added', 1, good));
  for (const bad of [
    [8, 10, 0, 0, 1],
    [33, 10, 0, 0, 0],
    [63, 10, 0, 0, 0],
    [64 + 129, ...new Array(16).fill(0)],
  ]) {
    assert.equal(decodeEvent('allow.added', 1, Uint8Array.from(bad)), undefined);
  }
});

it('an unknown kind, an unknown version and an unknown list are refused', () => {
  const ref = { list: 'seed', source: 'a', run: '1' } as const;
  const body = bodyOf({ kind: 'list.ended', ref });
  assert.ok(decodeEvent('list.ended', 1, body));
  assert.equal(decodeEvent('list.vanished', 1, body), undefined);
  assert.equal(decodeEvent('list.ended', 9, body), undefined);
  const stranger = Uint8Array.from(body);
  stranger[0] = 5;
  assert.equal(decodeEvent('list.ended', 1, stranger), undefined);
});

it('an event holds the most rows it may, and not one more', () => {
  const rows = (count: number) =>
    batchOf(Array.from({ length: count }, () => ({ prefix: prefix('10.0.0.0/8'), score: 1 })));
  const ref = { list: 'seed', source: 'a', run: '1' } as const;
  const body = bodyOf({ kind: 'list.rows', ref, rows: rows(rowsPerEventMax) });
  assert.ok(decodeEvent('list.rows', 1, body));
  assert.throws(
    () => bodyOf({ kind: 'list.rows', ref, rows: rows(rowsPerEventMax + 1) }),
    RangeError,
  );
});

const prefix = (text: string) => value(parsePrefix(text));

it('a withdrawal says how many reports, or all', () => {
  const said = { kind: 'reports.withdrawn', account: 'a', family: 4, words: words4(9) } as const;
  for (const [version, reports] of [
    [1, undefined],
    [2, 7],
  ] as const) {
    const event = encodeEvent('id', { ...said, penalty: true, reports });
    assert.equal(event.version, version);
    assert.deepEqual(decodeEvent(event.kind, version, event.body), {
      ...said,
      penalty: true,
      reports,
    });
  }
});

function words4(first: number): Uint32Array {
  return Uint32Array.of(first, 0, 0, 0);
}
