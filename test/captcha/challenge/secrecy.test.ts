/**
 * The word exists only in motion. Each measure that finds nothing has a control in which it finds a
 * leak with the same settings; or it would prove nothing. Those of what reads words take a minute:
 * they are in secrecy-controls.test.ts.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { profiles } from '../../../src/captcha/picture/profiles.ts';
import { readingSigmaDots, stillAttacks, wordsRead } from '../../support/captcha/attacks.ts';
import { seeds, soundChallenge, variantChallenge } from '../../support/captcha/frames.ts';
import { noiseScores } from '../../support/captcha/noise.ts';
import { createTemplateReader } from '../../support/captcha/templates.ts';

const challengeSeeds = seeds(50_001, 25);
const challenges = seeds(50_001, 100).map((seed) => soundChallenge('default', seed));
const reader = createTemplateReader(profiles.default, readingSigmaDots);
const hard = challengeSeeds.map((seed) => soundChallenge('hard', seed));
const hardReader = createTemplateReader(profiles.hard, readingSigmaDots);

test('a single frame is uniform noise, inside the letters as outside', () => {
  for (const name of ['default', 'economy', 'hard'] as const) {
    const scores = noiseScores(seeds(60_001, 60).map((seed) => soundChallenge(name, seed)));
    for (const [what, score] of Object.entries(scores)) {
      assert.ok(score < 4.5, `${name}, ${what}: ${score}`);
    }
  }
});

test('the same scores find a sparser cloud', () => {
  const leaky = challengeSeeds.map((seed) => variantChallenge('default', seed, 'density'));
  assert.ok(noiseScores(leaky).density > 8, JSON.stringify(noiseScores(leaky)));
});

test('the same scores find a field that repeats within the picture', () => {
  const leaky = challengeSeeds.map((seed) => variantChallenge('default', seed, 'tiled'));
  assert.ok(noiseScores(leaky).shifted > 10, JSON.stringify(noiseScores(leaky)));
});

for (const attack of stillAttacks) {
  test(`no word is read from: ${attack.name}`, () => {
    assert.equal(wordsRead(attack, challenges, reader), 0);
  });

  test(`no word of a hard picture is read from: ${attack.name}`, () => {
    assert.equal(wordsRead(attack, hard, hardReader), 0);
  });
}
