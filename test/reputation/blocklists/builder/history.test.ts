/** The changes of a day: applied to the list of any version known, they give the list of today. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  advance,
  type Changes,
  changesOf,
  decodeHead,
  decodeStep,
  encodeHead,
  encodeStep,
  type History,
  historyLimits,
  rebuildList,
} from '../../../../src/reputation/blocklists/builder/history.ts';
import {
  compareFeedRows,
  FEED_ROW,
  packInfo,
  type Rows,
  rowFlags,
} from '../../../../src/reputation/blocklists/builder/rows.ts';
import { corrupted } from '../../../support/reputation/corrupted.ts';
import { seededRandom } from '../../../support/seeded.ts';

const startMs = Date.UTC(2026, 10, 21);
const none = new Uint32Array();

function rowsOf(hosts: Iterable<number>): Rows {
  const sorted = [...hosts].sort((a, b) => a - b);
  const rows = new Uint32Array(sorted.length * FEED_ROW);
  for (const [i, host] of sorted.entries()) {
    rows[i * FEED_ROW] = 0x0a00_0000 + host;
    rows[i * FEED_ROW + 4] = packInfo(32, 80, 0);
  }
  return rows;
}

const textOf = (host: number) => `10.0.${host >> 8}.${host & 255}`;
const textsOf = (hosts: Iterable<number>) => [...hosts].map(textOf).sort();

/** As a client reads them. */
function changesSince(changes: Changes, at: number): { added: string[]; removed: string[] } {
  const read = (bytes: Uint8Array, end: number) =>
    JSON.parse(`[${Buffer.from(bytes.subarray(0, end)).toString()}]`) as string[];
  return {
    added: read(changes.added, changes.addedBytes[at]!),
    removed: read(changes.removed, changes.removedBytes[at]!),
  };
}

describe('the history', () => {
  it('leads from every version known to the present list', () => {
    for (let seed = 1; seed <= 30; seed++) {
      const random = seededRandom(seed);
      const lists = new Map<number, ReadonlySet<number>>();
      let present = new Set<number>([1, 2, 3]);
      let history: History = advance(undefined, none, rowsOf(present), startMs).history;
      lists.set(history.version, present);
      for (let build = 1; build <= 40; build++) {
        const before = present;
        present = new Set(before);
        for (let i = Math.floor(random.next() * 6); i > 0; i--) {
          const host = Math.floor(random.next() * 40);
          if (!present.delete(host)) present.add(host);
        }
        const nowMs = startMs + build * 60_000;
        history = advance(history, rowsOf(before), rowsOf(present), nowMs).history;
        lists.set(history.version, present);
      }
      const changes = changesOf(history);
      assert.deepEqual(changes.since, [...lists.keys()], `seed ${seed}`);
      assert.equal(changes.version, changes.since.at(-1));
      for (const [at, since] of changes.since.entries()) {
        const list = new Set(textsOf(lists.get(since)!));
        const { added, removed } = changesSince(changes, at);
        for (const text of removed) list.delete(text);
        for (const text of added) list.add(text);
        assert.deepEqual([...list].sort(), textsOf(present), `seed ${seed}, since ${since}`);
      }
    }
  });

  it('tells of a value again when another word on it comes or goes', () => {
    const withFlags = (flags: number) => {
      const rows = Uint32Array.from(rowsOf([1, 2]));
      rows[4] = packInfo(32, 80, flags);
      return rows;
    };
    const { own, listed, reported, anon } = rowFlags;
    for (const word of [own, listed, reported]) {
      for (const [before, after] of [
        [anon, anon | word],
        [anon | word, anon],
      ] as const) {
        const first = advance(undefined, none, withFlags(before), startMs).history;
        const next = advance(first, withFlags(before), withFlags(after), startMs + 1).history;
        assert.deepEqual(changesSince(changesOf(next), 0), { added: ['10.0.0.1'], removed: [] });
      }
    }
    const first = advance(undefined, none, withFlags(0), startMs).history;
    const next = advance(first, withFlags(0), withFlags(anon), startMs + 1).history;
    assert.deepEqual(changesSince(changesOf(next), 0), { added: [], removed: [] });
  });

  it('tells of a value again when a word on it came and went between two builds', () => {
    const withTurn = (turn: number, flags: number) => {
      const rows = Uint32Array.from(rowsOf([1, 2]));
      rows[4] = packInfo(32, 80, flags, turn);
      return rows;
    };
    for (const [turn, flags, added] of [
      [2, rowFlags.own, ['10.0.0.1']],
      [1, rowFlags.own, []],
      // By whom it was there before is not known: nothing was told.
      [2, rowFlags.own | rowFlags.ownUnknown, []],
    ] as const) {
      const before = withTurn(1, flags);
      const first = advance(undefined, none, before, startMs).history;
      const next = advance(first, before, withTurn(turn, rowFlags.own), startMs + 1).history;
      assert.deepEqual(changesSince(changesOf(next), 0), { added, removed: [] });
    }
  });

  it('keeps a day, and the steps that the stored list needs', () => {
    let present = new Set<number>();
    let history = advance(undefined, none, none, startMs).history;
    let base = { version: history.version, hosts: present };
    const stored = new Map<number, NonNullable<ReturnType<typeof advance>['step']>>();
    const hours = 100;
    for (let hour = 1; hour <= hours; hour++) {
      const before = present;
      present = new Set(before).add(hour);
      const nowMs = startMs + hour * 3_600_000;
      const next = advance(history, rowsOf(before), rowsOf(present), nowMs);
      history = next.history;
      if (next.step) stored.set(next.step.version, next.step);
      for (const version of next.dropped) stored.delete(version);
      if (next.needsBase) base = { version: history.baseVersion, hosts: present };
      assert.equal(history.baseVersion, base.version);
      const later = [...stored.values()].filter((step) => step.version > base.version);
      const list = rebuildList(textsOf(base.hosts).join('\n'), later);
      assert.deepEqual(
        [...list!].filter((_, i) => i % FEED_ROW === 0),
        [...rowsOf(present)].filter((_, i) => i % FEED_ROW === 0),
      );
      assert.deepEqual(
        [...stored.keys()],
        history.steps.map((step) => step.version),
      );
    }
    const oldest = changesOf(history).since[0]!;
    assert.ok(oldest <= startMs + (hours - 24) * 3_600_000, 'a whole day is known');
    assert.ok(oldest >= startMs + (hours - 40) * 3_600_000, 'and not much more');
  });

  it('begins anew when a step is too large, and stays within its bounds', () => {
    const { stepEntriesMax, entriesMax, stepsMax } = historyLimits;
    const first = advance(undefined, none, none, startMs).history;
    const many = rowsOf(Array.from({ length: stepEntriesMax + 1 }, (_, i) => i));
    const next = advance(first, none, many, startMs + 1);
    assert.equal(next.step, undefined);
    assert.equal(next.needsBase, true);
    assert.deepEqual(changesOf(next.history).since, [startMs + 1]);
    let history = first;
    const half = rowsOf(Array.from({ length: stepEntriesMax / 2 }, (_, i) => i));
    for (let i = 1; i < 30; i++) {
      const [before, after] = i % 2 === 1 ? [none, half] : [half, none];
      history = advance(history, before, after, startMs + i).history;
      const size = history.steps.reduce((sum, s) => sum + s.added.length + s.removed.length, 0);
      assert.ok(size <= entriesMax, `${size}`);
    }
    for (let i = 30; i < 2 * stepsMax; i++) {
      const [before, after] = i % 2 === 1 ? [none, rowsOf([1])] : [rowsOf([1]), none];
      history = advance(history, before, after, startMs + i).history;
      assert.ok(history.steps.length <= stepsMax);
    }
  });
});

describe('what is stored', () => {
  it('comes back as it was, and damaged bytes are refused or harmless', () => {
    const head = {
      version: startMs + 5,
      floor: startMs,
      baseVersion: startMs + 2,
      baseParts: 3,
      contents: [
        {
          name: 'blocklist.txt 75',
          hash: new Uint8Array(16).fill(7),
          changedAtMs: startMs,
          version: startMs,
        },
      ],
    };
    assert.deepEqual(decodeHead(encodeHead(head)), head);
    const step = { version: 9, added: ['10.0.0.1', '2001:db8::/32'], removed: [] };
    assert.deepEqual(decodeStep(9, encodeStep(step)), step);
    for (const bytes of corrupted(encodeHead(head), seededRandom(4), 300)) decodeHead(bytes);
    for (const bytes of corrupted(encodeStep(step), seededRandom(4), 300)) decodeStep(9, bytes);
    assert.equal(decodeHead(Uint8Array.of(2)), undefined);
    assert.equal(rebuildList('10.0.0.1\nnonsense', []), undefined);
  });

  it('is put in order again', () => {
    const step = {
      version: 1,
      added: ['2001:db8::1', '9.0.0.1', '10.0.0.0/8'],
      removed: ['10.0.0.1'],
    };
    const rows = rebuildList('10.0.0.1\n10.0.0.2', [step])!;
    assert.equal(rows.length, 4 * FEED_ROW);
    for (let at = FEED_ROW; at < rows.length; at += FEED_ROW) {
      assert.ok(compareFeedRows(rows, at - FEED_ROW, rows, at) < 0);
    }
  });
});
