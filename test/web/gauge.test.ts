/** The score's word, and the gate that shows it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bandEnds, bandStarts, scoreBand, scoreBands } from '../../src/contracts/reputation.ts';
import { policyDefaults } from '../../src/integrations/forward-auth/policy.ts';
import { ceilings } from '../../src/reputation/votes/quorum.ts';
import { GateDrawing, Gauge } from '../../src/web/components/chart.tsx';
import { renderHtml } from '../../src/web/html.ts';
import { translationsFor } from '../../src/web/language.ts';

test('the bands cover 0 to 100 without gap or overlap', () => {
  let next = 0;
  for (const band of scoreBands) {
    assert.equal(bandStarts[band], next);
    assert.equal(scoreBand(bandStarts[band]), band);
    assert.equal(scoreBand(bandEnds[band]), band);
    next = bandEnds[band] + 1;
  }
  assert.equal(next, 101);
  assert.equal(scoreBand(61), 'suspect');
  assert.equal(scoreBand(75), 'malicious');
});

test('an address is suspect where the gate begins to ask, and new accounts alone make none so', () => {
  assert.equal(scoreBand(policyDefaults.challenge), 'suspect');
  assert.equal(scoreBand(policyDefaults.challenge - 1), 'low');
  assert.equal(scoreBand(policyDefaults.block), 'malicious');
  assert.equal(scoreBand(policyDefaults.block - 1), 'suspect');
  assert.equal(scoreBand(ceilings.none), 'low');
});

function lowestPoint(closed: number): number {
  return Number(/translate\(0 ([\d.]+)\)/.exec(renderHtml(GateDrawing({ id: 'g', closed })))?.[1]);
}

test('the gate comes down as the score rises, and stays within its arch', () => {
  let last = 0;
  for (let score = 0; score <= 100; score += 5) {
    const now = lowestPoint(score / 100);
    assert.ok(now > last);
    last = now;
  }
  assert.equal(lowestPoint(7), lowestPoint(1));
  assert.equal(lowestPoint(-1), lowestPoint(0));
});

test('the gauge says number and word to those who do not see it', () => {
  const markup = renderHtml(Gauge({ id: 'g', score: 97, text: translationsFor('en') }));
  assert.match(markup, /role="img" aria-label="Score 97 of 100: Malicious"/);
});
