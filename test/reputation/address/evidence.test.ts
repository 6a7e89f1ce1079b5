/** A score taken apart: layers of lists and reports, and the parts of what reports give. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { partsOf } from '../../../src/reputation/address/evidence.ts';
import { halfLivesAt, strengthOfEvidence } from '../../../src/reputation/check/score.ts';
import {
  contributionKinds,
  createContributions,
  reportDetail,
  tagOf,
} from '../../../src/reputation/state/contributions.ts';
import { nowMs } from '../../web/page-fixtures.ts';

const day = 86_400;
const now = { ms: nowMs, halfLives: halfLivesAt(nowMs) };

interface Said {
  readonly units: number;
  readonly ageDays: number;
  readonly evidence: number;
}

function worldOf(reporters: readonly Said[]) {
  const contributions = createContributions(10, reporters.length + 10);
  contributions.add(1, tagOf(contributionKinds.seed, 3));
  for (const [slot, { units, ageDays, evidence }] of reporters.entries()) {
    const node = contributions.add(1, tagOf(contributionKinds.reports, slot));
    contributions.strength[node] = strengthOfEvidence(evidence, now.halfLives);
    contributions.newest[node] = nowMs / 1_000 - ageDays * day;
    contributions.detail[node] = (units << reportDetail.unitsShift) | reportDetail.report;
  }
  return contributions;
}

it('gives each of the reporters to the part of its voice and age, by its evidence', () => {
  const parts = partsOf(
    worldOf([
      { units: 12, ageDays: 0.5, evidence: 3 },
      { units: 0, ageDays: 6, evidence: 0.5 },
      { units: 0, ageDays: 7, evidence: 0.5 },
      { units: 6, ageDays: 29, evidence: 0.75 },
      { units: 4, ageDays: 31, evidence: 0.25 },
    ]),
    1,
    80,
    now,
  );
  assert.deepEqual(parts, [
    { voice: 'staff', age: 'day', reporters: 1, score: 48 },
    { voice: 'none', age: 'week', reporters: 2, score: 16 },
    { voice: 'member', age: 'month', reporters: 1, score: 12 },
    { voice: 'earned', age: 'older', reporters: 1, score: 4 },
  ]);
});

it('divides all of the score, whatever the reporters are', () => {
  const reporter = fc.record({
    units: fc.constantFrom(0, 4, 6, 12),
    ageDays: fc.nat(400),
    evidence: fc.double({ min: 0, max: 6, noNaN: true }),
  });
  fc.assert(
    fc.property(
      fc.array(reporter, { maxLength: 40 }),
      fc.integer({ min: 0, max: 100 }),
      (reporters, score) => {
        const parts = partsOf(worldOf(reporters), 1, score, now);
        const sum = (of: (part: (typeof parts)[number]) => number) =>
          parts.reduce((whole, part) => whole + of(part), 0);
        assert.equal(
          sum((part) => part.reporters),
          reporters.length,
        );
        const isKnown = reporters.some(({ evidence: given }) => given > 1e-6);
        if (isKnown)
          assert.equal(
            sum((part) => part.score),
            score,
          );
        assert.ok(parts.every((part) => part.score >= 0));
      },
    ),
  );
});
