/** The score curve and its inverse, decay, and their bounds. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  communityEvidence,
  evidenceMax,
  halfLifeMs,
  halfLivesAt,
  scoreOf,
  seedEvidence,
  seedEvidenceTable,
  strengthOf,
} from '../../src/reputation/score.ts';

test('a seed score survives the way through evidence and back', () => {
  for (let score = 0; score <= 100; score++) {
    assert.equal(scoreOf(seedEvidence(score)), score);
    assert.equal(scoreOf(seedEvidenceTable[score]!), score);
  }
});

test('a score is an integer in 0..100 and never falls when evidence grows', () => {
  fc.assert(
    fc.property(
      fc.double({ noNaN: true }),
      fc.double({ min: 0, max: 1e6, noNaN: true }),
      (a, more) => {
        const low = scoreOf(a);
        assert.ok(Number.isInteger(low) && low >= 0 && low <= 100);
        assert.ok(scoreOf(a + more) >= low);
      },
    ),
  );
});

test('community evidence halves in 14 days', () => {
  const start = halfLivesAt(Date.UTC(2026, 10, 21));
  const later = halfLivesAt(Date.UTC(2026, 10, 21) + halfLifeMs);
  fc.assert(
    fc.property(fc.double({ min: 0.001, max: evidenceMax, noNaN: true }), (evidence) => {
      const strength = strengthOf(evidence, start);
      assert.ok(Math.abs(communityEvidence(strength, start) - evidence) < 1e-9);
      assert.ok(Math.abs(communityEvidence(strength, later) - evidence / 2) < 1e-9);
    }),
  );
});

test('no evidence has no strength, at any time', () => {
  assert.equal(strengthOf(0, 12), Number.NEGATIVE_INFINITY);
  assert.equal(communityEvidence(Number.NEGATIVE_INFINITY, 12), 0);
});
