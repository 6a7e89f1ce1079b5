/** What lists and rules do to addresses, against a model that tries every entry. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parsePrefix } from '../../../src/ip/prefix.ts';
import { runMsMax } from '../../../src/reputation/lists/sources.ts';
import type { ListKind, ListRef } from '../../../src/reputation/state/events.ts';
import { value } from '../../support/house/result.ts';
import { indexShown, modelShown } from '../../support/reputation/entries-shown.ts';
import { applyEvent, type ReputationEvent } from '../../support/reputation/events.ts';
import { createListModel, judgeSlowly } from '../../support/reputation/list-model.ts';
import { batchOf, createRandomJournal } from '../../support/reputation/random-journal.ts';
import { seededRandom } from '../../support/seeded.ts';
import { type FoldFixture, openFold } from './fixture.ts';

const dayMs = 86_400_000;
const startMs = Date.UTC(2026, 0, 1);
const seeds = [1, 2, 3, 4, 5, 6];
const eventsPerSeed = 400;
const probesPerEvent = 12;

const prefixOf = (text: string) => value(parsePrefix(text));

function refOf(run: string, source = 'a', list: ListKind = 'seed'): ListRef {
  return { list, source, run };
}

function rowsOf(ref: ListRef, rows: Record<string, number>): ReputationEvent {
  const list = Object.entries(rows).map(([text, score]) => ({ prefix: prefixOf(text), score }));
  return { kind: 'list.rows', ref, rows: batchOf(list) };
}

async function load(
  state: FoldFixture,
  ref: ListRef,
  rows: Record<string, number>,
  at = startMs,
): Promise<void> {
  await applyEvent(state.fold, { kind: 'list.begun', ref, holdDays: 30 }, at);
  await applyEvent(state.fold, rowsOf(ref, rows), at);
  await applyEvent(state.fold, { kind: 'list.ended', ref }, at);
}

function verdict(state: FoldFixture, text: string) {
  const prefix = prefixOf(text);
  const { score, anonymousExit, allowlisted, malicious } = state.check.judge(
    prefix.family,
    prefix.words,
    startMs,
  );
  return { score, anonymousExit, allowlisted, malicious };
}

it('rows that come and go leave the turn after sixteen when its time is over', async (context) => {
  let now = 0;
  // Each look at the clock finds all time used up.
  context.mock.method(performance, 'now', () => {
    now += 100;
    return now;
  });
  const state = openFold();
  const { contributions } = state.entries;
  const addresses = Array.from({ length: 40 }, (_, n) => [`45.0.0.${n}/32`, 90] as const);
  const ref = refOf('1');
  await applyEvent(state.fold, { kind: 'list.begun', ref, holdDays: 30 }, startMs);
  /** How many there are after each turn of the event loop, until the event is done. */
  async function countsDuring(event: ReputationEvent): Promise<number[]> {
    const counts: number[] = [];
    let isDone = false;
    const done = Promise.resolve(applyEvent(state.fold, event, startMs)).then(() => {
      isDone = true;
    });
    while (!isDone) {
      counts.push(contributions.count());
      await new Promise(setImmediate);
    }
    await done;
    return [...new Set([...counts, contributions.count()])];
  }
  assert.deepEqual(await countsDuring(rowsOf(ref, Object.fromEntries(addresses))), [16, 32, 40]);
  await applyEvent(state.fold, { kind: 'list.ended', ref }, startMs);
  const next = refOf('2');
  await applyEvent(state.fold, { kind: 'list.begun', ref: next, holdDays: 30 }, startMs);
  assert.deepEqual(await countsDuring({ kind: 'list.ended', ref: next }), [40, 24, 8, 0]);
});

describe('random journals', () => {
  for (const seed of seeds) {
    it(`every address shows what the model says after each event (seed ${seed})`, async () => {
      const random = seededRandom(seed);
      const state = openFold();
      const model = createListModel();
      const journal = createRandomJournal({ random, name: `s${seed}`, startMs });
      for (let step = 0; step < eventsPerSeed; step++) {
        const { event, at } = journal.next();
        await applyEvent(state.fold, event, at);
        model.apply(event, at);
        const entries = [...model.entries().values()];
        const said = `seed ${seed}, step ${step}, ${event.kind}`;
        assert.equal(state.index.size(), entries.length, said);
        const contributions = entries.reduce((sum, entry) => sum + entry.contributions, 0);
        assert.equal(state.entries.contributions.count(), contributions, said);
        for (let probe = 0; probe < probesPerEvent; probe++) {
          const { family, words } = journal.address();
          const { score, anonymousExit, allowlisted, malicious } = state.check.judge(
            family,
            words,
            at,
          );
          assert.deepEqual(
            { score, anonymousExit, allowlisted, malicious },
            judgeSlowly(entries, family, words),
            `${said}, IPv${family} ${[...words].map((w) => w.toString(16)).join(':')}`,
          );
        }
      }
      assert.deepEqual(indexShown(state.index), modelShown(model), `seed ${seed}`);
      assert.equal(state.refusals.total(), 0);
      await takeAllBack(state, journal.pool);
    });
  }
});

/** Nothing leaks: with every list ended and every rule removed, nothing is left. */
async function takeAllBack(
  { fold, sources, index, entries }: FoldFixture,
  pool: readonly { family: 4 | 6; words: Uint32Array; length: number }[],
): Promise<void> {
  const end = startMs + 10_000 * dayMs;
  for (const { list, source, run } of sources.list()) {
    await applyEvent(fold, { kind: 'list.expired', ref: { list, source, run } }, end);
  }
  const facts = { score: 1, category: 0, setSecond: 0, endSecond: 0 };
  for (const prefix of pool) {
    await applyEvent(fold, { kind: 'allow.removed', ...prefix }, end);
    await applyEvent(fold, { kind: 'entry.removed', ...prefix, ...facts }, end);
  }
  assert.deepEqual(sources.list(), []);
  assert.equal(entries.contributions.count(), 0);
  assert.equal(index.size(), 0);
  for (let page = 0; page < entries.section.pages; page++) {
    assert.equal(entries.section.encode(page).length, 0, `page ${page} is empty`);
  }
}

describe('lists', () => {
  it('loading the same list again changes nothing that shows', async () => {
    const state = openFold();
    const rows = { '192.0.2.1/32': 90, '198.51.100.0/24': 60, '2001:db8::/64': 75 };
    await load(state, refOf('1'), rows);
    const before = indexShown(state.index);
    await load(state, refOf('2'), rows);
    assert.deepEqual(indexShown(state.index), before);
    assert.equal(state.entries.contributions.count(), 3);
  });

  it('a row knows since when its list says so: a load that says the same keeps it', async () => {
    const state = openFold();
    const since = () => {
      const { words } = prefixOf('192.0.2.1/32');
      const { contributions } = state.entries;
      return contributions.newest[contributions.first(state.entries.get(4, words, 32))]! * 1_000;
    };
    await load(state, refOf('1'), { '192.0.2.1/32': 90 });
    await load(state, refOf('2'), { '192.0.2.1/32': 90 }, startMs + dayMs);
    assert.equal(since(), startMs);
    await load(state, refOf('3'), { '192.0.2.1/32': 50 }, startMs + 2 * dayMs);
    assert.equal(since(), startMs + 2 * dayMs, 'it says something else');
    await load(state, refOf('4'), {}, startMs + 3 * dayMs);
    await load(state, refOf('5'), { '192.0.2.1/32': 50 }, startMs + 4 * dayMs);
    assert.equal(since(), startMs + 4 * dayMs, 'it was gone meanwhile');
    // As loaded before this was kept.
    state.entries.contributions.newest.fill(0);
    await load(state, refOf('6'), { '192.0.2.1/32': 50 }, startMs + 5 * dayMs);
    assert.equal(since(), startMs + 5 * dayMs);
  });

  it('a row that vanished is taken back when the run ends, not before', async () => {
    const state = openFold();
    await load(state, refOf('1'), { '192.0.2.1/32': 90, '192.0.2.2/32': 80 });
    await applyEvent(state.fold, { kind: 'list.begun', ref: refOf('2'), holdDays: 30 }, startMs);
    await applyEvent(state.fold, rowsOf(refOf('2'), { '192.0.2.1/32': 50 }), startMs);
    assert.equal(verdict(state, '192.0.2.2/32').score, 80);
    assert.equal(verdict(state, '192.0.2.1/32').score, 50);
    await applyEvent(state.fold, { kind: 'list.ended', ref: refOf('2') }, startMs);
    assert.equal(verdict(state, '192.0.2.2/32').score, 0);
    assert.equal(state.index.size(), 1);
  });

  it('rows and the end of a run that was overtaken are ignored', async () => {
    const state = openFold();
    await applyEvent(state.fold, { kind: 'list.begun', ref: refOf('slow'), holdDays: 30 }, startMs);
    await load(state, refOf('fast'), { '192.0.2.1/32': 90 });
    await applyEvent(state.fold, rowsOf(refOf('slow'), { '192.0.2.9/32': 99 }), startMs);
    await applyEvent(state.fold, { kind: 'list.ended', ref: refOf('slow') }, startMs);
    assert.deepEqual(indexShown(state.index), ['192.0.2.1/32 90 17']);
  });

  it('several sources: the highest score counts, and what is left when it goes', async () => {
    const state = openFold();
    await load(state, refOf('1', 'low'), { '192.0.2.1/32': 40 });
    await load(state, refOf('2', 'high'), { '192.0.2.1/32': 95 });
    assert.equal(verdict(state, '192.0.2.1/32').score, 95);
    await load(state, refOf('3', 'high'), {});
    assert.equal(verdict(state, '192.0.2.1/32').score, 40);
  });

  it('a row that stands twice in a run keeps its higher score', async () => {
    const state = openFold();
    await applyEvent(state.fold, { kind: 'list.begun', ref: refOf('1'), holdDays: 30 }, startMs);
    for (const score of [60, 90, 30]) {
      await applyEvent(state.fold, rowsOf(refOf('1'), { '192.0.2.1/32': score }), startMs);
    }
    assert.equal(verdict(state, '192.0.2.1/32').score, 90);
  });

  it('the same name as a seed list and as an anonymous-exit list are two sources', async () => {
    const state = openFold();
    await load(state, refOf('1'), { '192.0.2.1/32': 90 });
    await load(state, refOf('2', 'a', 'anon'), { '192.0.2.1/32': 0 });
    const both = { score: 90, anonymousExit: true, allowlisted: false, malicious: true };
    assert.deepEqual(verdict(state, '192.0.2.1/32'), both);
  });

  it('an expiry decided before a load ended does not end the fresh list', async () => {
    const state = openFold();
    await load(state, refOf('1'), { '192.0.2.1/32': 90 });
    const overdue = startMs + 30 * dayMs;
    await applyEvent(state.fold, { kind: 'list.ended', ref: refOf('1') }, overdue);
    await applyEvent(state.fold, { kind: 'list.expired', ref: refOf('1') }, overdue);
    assert.equal(verdict(state, '192.0.2.1/32').score, 90);
    await applyEvent(state.fold, { kind: 'list.expired', ref: refOf('1') }, overdue + 30 * dayMs);
    assert.equal(state.index.size(), 0);
  });

  it('a list does not end in the middle of its next load, but soon after one that broke off', async () => {
    const state = openFold();
    await load(state, refOf('1'), { '192.0.2.1/32': 90 });
    const late = startMs + 30 * dayMs - 1;
    await applyEvent(state.fold, { kind: 'list.begun', ref: refOf('2'), holdDays: 30 }, late);
    await applyEvent(state.fold, { kind: 'list.expired', ref: refOf('2') }, late + 1);
    assert.equal(state.index.size(), 1);
    await applyEvent(state.fold, { kind: 'list.expired', ref: refOf('2') }, late + runMsMax);
    assert.equal(state.index.size(), 0);
  });
});

describe('bounds', () => {
  it('rows beyond the room for entries are refused and counted, the others stand', async () => {
    const state = openFold({ entriesMax: 2 });
    const rows = { '192.0.2.1/32': 90, '192.0.2.2/32': 90, '192.0.2.3/32': 90 };
    await load(state, refOf('1'), rows);
    assert.equal(state.index.size(), 2);
    assert.equal(state.refusals.total(), 1);
  });

  it('rows beyond the room for contributions leave no entry behind', async () => {
    const state = openFold({ contributionsMax: 1 });
    await load(state, refOf('1'), { '192.0.2.1/32': 90, '192.0.2.2/32': 90 });
    await applyEvent(state.fold, { kind: 'allow.added', ...prefixOf('10.0.0.0/8') }, startMs);
    assert.deepEqual(indexShown(state.index), ['192.0.2.1/32 90 17']);
    assert.equal(state.refusals.total(), 2);
  });

  it('a source beyond the most is ignored whole', async () => {
    const state = openFold({ sourcesMax: 1 });
    await load(state, refOf('1', 'a'), { '192.0.2.1/32': 90 });
    await load(state, refOf('2', 'b'), { '192.0.2.2/32': 90 });
    assert.deepEqual(indexShown(state.index), ['192.0.2.1/32 90 17']);
  });

  it('a page is announced before anything of it changes', async () => {
    const state = openFold();
    const { section } = state.entries;
    const page = 0xc000;
    await load(state, refOf('1'), { '192.0.0.1/32': 90 });
    const before = section.encode(page);
    state.touched.length = 0;
    let seen: Uint8Array | undefined;
    state.touched.push = (touched: number) => {
      if (touched === page) seen ??= section.encode(page);
      return 0;
    };
    await load(state, refOf('2'), { '192.0.0.2/32': 10 });
    assert.deepEqual(seen, before);
    seen = undefined;
    await applyEvent(state.fold, { kind: 'allow.added', ...prefixOf('192.0.0.0/24') }, startMs);
    const withRule = section.encode(page);
    assert.notDeepEqual(seen, withRule);
    seen = undefined;
    await applyEvent(state.fold, { kind: 'allow.removed', ...prefixOf('192.0.0.0/24') }, startMs);
    assert.deepEqual(seen, withRule);
  });
});
