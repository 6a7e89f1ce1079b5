/** Entries by band against a walk over all of them, with scores that are worked out plainly. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { IpIndex } from '../../../src/index/ip-index.ts';
import { ceilingOf, flagsOf, listScoreOf, metaOf, strengthOf } from '../../../src/index/records.ts';
import {
  countBands,
  createBusyAddresses,
  type SurveyPosition,
  surveyStart,
} from '../../../src/reputation/counts/entry-bands.ts';
import { applyEvent } from '../../support/reputation/events.ts';
import { createRandomJournal } from '../../support/reputation/random-journal.ts';
import { seededRandom } from '../../support/seeded.ts';
import { openFold } from '../state/fixture.ts';

const dayMs = 86_400_000;
const startMs = Date.UTC(2026, 0, 1);

function modelled(index: IpIndex, nowMs: number) {
  const bands = { clean: 0, low: 0, suspect: 0, malicious: 0 };
  const halfLives = (nowMs - Date.UTC(2025, 0, 1)) / (14 * dayMs);
  for (const family of [4, 6] as const) {
    index.walk({ family, words: new Uint32Array(4), length: 0 }, (entry) => {
      const meta = metaOf(index.records, entry);
      const evidence = 2 ** (strengthOf(index.records, entry) - halfLives);
      const ceiling = ceilingOf(meta);
      const isAllowed = (flagsOf(meta) & 4) !== 0;
      const reported =
        ceiling === 0 ? 0 : Math.round(ceiling * (1 - Math.exp((-40 * evidence) / ceiling)));
      const score = isAllowed ? 0 : Math.max(listScoreOf(meta), reported);
      if (score >= 75) bands.malicious++;
      else if (score >= 50) bands.suspect++;
      else if (score >= 10) bands.low++;
      else bands.clean++;
    });
  }
  return bands;
}

function surveyed(index: IpIndex, nowMs: number, isOver: () => boolean) {
  const bands = { clean: 0, low: 0, suspect: 0, malicious: 0 };
  let looks = 0;
  for (let next: SurveyPosition | undefined = surveyStart; next !== undefined; looks++) {
    next = countBands(index, next, { nowMs, isOver }, bands);
  }
  return { bands, looks };
}

for (const seed of [1, 2, 3]) {
  it(`any journal, reports that fade included, gives the bands of the model (seed ${seed})`, () => {
    const random = seededRandom(seed);
    const below = (n: number) => Math.floor(random.next() * n);
    const { index, fold, access } = openFold();
    const journal = createRandomJournal({ random, name: 'j', startMs, poolSize: 900, rowsMax: 90 });
    for (let i = 0; i < 20; i++) {
      const account = `a${i}`;
      applyEvent(
        access,
        { kind: 'account.created', account, verified: true, slot: 'now' },
        startMs,
      );
    }
    let seen = 0;
    for (let round = 0; round < 40; round++) {
      let now = startMs;
      for (let i = 0; i < 20; i++) {
        const { event, at } = journal.next();
        now = at;
        // All rows of one batch fit into a slice, and no list is swept in more than one.
        void applyEvent(fold, event, at);
        const account = `a${below(20)}`;
        const reported = { account, ...journal.address(), reportedSecond: Math.floor(at / 1_000) };
        applyEvent(
          fold,
          { kind: 'report.added', ...reported, network: below(9), categories: 2 },
          at,
        );
      }
      now += below(30) * dayMs;
      const { bands, looks } = surveyed(index, now, () => true);
      assert.deepEqual(bands, modelled(index, now), `seed ${seed}, round ${round}`);
      assert.deepEqual(surveyed(index, now, () => false).bands, bands);
      assert.ok(looks > 1, 'in slices');
      seen += Object.values(bands).filter((count) => count > 0).length;
    }
    assert.ok(seen > 100, `${seen} bands with entries`);
  });
}

// Addresses with many reports: whatever there are, each is taken in its turn.

const max = 10;

for (const count of [0, 9, 10, 11, 20, 35]) {
  it(`of ${count} each is taken by as many surveys as it takes, and then again`, () => {
    const crowd = createBusyAddresses(max);
    function survey(): number[] {
      for (let n = 0; n < count; n++) {
        crowd.meet({ family: 4, words: Uint32Array.of(n), reports: 20_000 });
      }
      return crowd.take().map(({ words }) => words[0]!);
    }
    const all = Array.from({ length: count }, (_, n) => n);
    for (let round = 0; round < 3; round++) {
      const taken: number[] = [];
      for (let n = 0; n < Math.max(1, Math.ceil(count / max)); n++) {
        const some = survey();
        assert.ok(some.length <= max);
        taken.push(...some);
      }
      assert.deepEqual(taken, all, `round ${round}`);
    }
  });
}

it('where they become fewer meanwhile, none is left out for long', () => {
  const crowd = createBusyAddresses(max);
  const survey = (count: number) => {
    for (let n = 0; n < count; n++) crowd.meet({ family: 4, words: Uint32Array.of(n), reports: 1 });
    return crowd.take().length;
  };
  assert.deepEqual([survey(25), survey(25), survey(5), survey(5)], [10, 10, 0, 5]);
});
