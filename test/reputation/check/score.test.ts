/** The score curve under its ceilings, decay, and their bounds. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  communityEvidence,
  communityScore,
  entryScore,
  fallsBelowAt,
  halfLifeMs,
  halfLivesAt,
  strengthOfEvidence,
} from '../../../src/reputation/check/score.ts';
import { ceilings } from '../../../src/reputation/votes/quorum.ts';

const start = halfLivesAt(Date.UTC(2026, 10, 21));
const ceiling = fc.constantFrom(...Object.values(ceilings));

test('reports come close to their ceiling and never above it', () => {
  fc.assert(
    fc.property(ceiling, fc.double({ min: 0, max: 1e6, noNaN: true }), (most, evidence) => {
      const score = communityScore(evidence, most);
      assert.ok(score >= 0 && score <= most);
      assert.ok(entryScore(0, most, strengthOfEvidence(evidence, start), start) <= most);
    }),
  );
});

test('more evidence, or a higher ceiling, is a higher score before rounding', () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0.001, max: 20, noNaN: true }),
      fc.double({ min: 0.001, max: 20, noNaN: true }),
      (evidence, more) => {
        for (const most of Object.values(ceilings)) {
          assert.ok(communityScore(evidence + more, most) > communityScore(evidence, most));
        }
        assert.ok(communityScore(evidence, 100) > communityScore(evidence, 74));
      },
    ),
  );
});

test('a list alone gives its own score; with reports the higher of both counts', () => {
  for (let seed = 0; seed <= 100; seed++) {
    assert.equal(entryScore(seed, 0, Number.NEGATIVE_INFINITY, start), seed);
    const reported = entryScore(0, 74, strengthOfEvidence(2, start), start);
    assert.equal(
      entryScore(seed, 74, strengthOfEvidence(2, start), start),
      Math.max(seed, reported),
    );
  }
});

test('community evidence halves in 14 days', () => {
  const later = halfLivesAt(Date.UTC(2026, 10, 21) + halfLifeMs);
  fc.assert(
    fc.property(fc.double({ min: 0.001, max: 20, noNaN: true }), (evidence) => {
      const strength = strengthOfEvidence(evidence, start);
      assert.ok(Math.abs(communityEvidence(strength, start) - evidence) < 1e-9);
      assert.ok(Math.abs(communityEvidence(strength, later) - evidence / 2) < 1e-9);
    }),
  );
});

test('no evidence has no strength, at any time', () => {
  assert.equal(strengthOfEvidence(0, 12), Number.NEGATIVE_INFINITY);
  assert.equal(communityEvidence(Number.NEGATIVE_INFINITY, 12), 0);
  assert.equal(communityScore(0, 49), 0);
});

test('the time from which a score is lower is that time', () => {
  fc.assert(
    fc.property(ceiling, fc.double({ min: 1e-3, max: 1e4, noNaN: true }), (most, evidence) => {
      const strength = strengthOfEvidence(evidence, start);
      const at = fallsBelowAt(strength, most, 75);
      const scoreAt = (ms: number) => entryScore(0, most, strength, halfLivesAt(ms));
      if (at === Number.NEGATIVE_INFINITY) {
        assert.ok(most < 75);
        return;
      }
      // To the second, which is finer than what is shown.
      assert.ok(scoreAt(at - 1_000) >= 75);
      assert.ok(scoreAt(at + 1_000) < 75);
    }),
  );
  assert.equal(fallsBelowAt(strengthOfEvidence(0, start), 100, 75), Number.NEGATIVE_INFINITY);
});
