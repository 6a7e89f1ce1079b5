/**
 * The word exists only in motion. Each test that finds nothing has a control in which the same
 * measure, with the same settings, finds a leak; or it would prove nothing.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { profiles } from '../../../src/captcha/challenge/profile.ts';
import {
  motionReaders,
  readingSigmaDots,
  stillAttacks,
  wordsRead,
} from '../../support/captcha/attacks.ts';
import { seeds, soundChallenge, variantChallenge } from '../../support/captcha/frames.ts';
import { noiseScores } from '../../support/captcha/noise.ts';
import { createTemplateReader } from '../../support/captcha/readers.ts';

const challengeSeeds = seeds(50_001, 50);
const challenges = challengeSeeds.map((seed) => soundChallenge('default', seed));
const { reads } = createTemplateReader(profiles.default, readingSigmaDots);

test('a single frame is uniform noise, inside the letters as outside', () => {
  for (const name of ['default', 'economy', 'long'] as const) {
    const scores = noiseScores(seeds(60_001, 60).map((seed) => soundChallenge(name, seed)));
    for (const [what, score] of Object.entries(scores)) {
      assert.ok(score < 4.5, `${name}, ${what}: ${score}`);
    }
  }
});

test('the same scores find a sparser cloud', () => {
  const leaky = challengeSeeds.map((seed) => variantChallenge('default', seed, 'density'));
  assert.ok(noiseScores(leaky).density > 10, JSON.stringify(noiseScores(leaky)));
});

test('the same scores find a field that repeats within the picture', () => {
  const leaky = challengeSeeds.map((seed) => variantChallenge('default', seed, 'tiled'));
  assert.ok(noiseScores(leaky).shifted > 10, JSON.stringify(noiseScores(leaky)));
});

for (const attack of stillAttacks) {
  test(`no word is read from: ${attack.name}`, () => {
    assert.equal(wordsRead(attack, challenges, reads), 0);
  });
}

test('the mean of all frames gives the word away if the clouds run straight around the edges', () => {
  const mean = stillAttacks.find((attack) => attack.name === 'mean of all frames')!;
  const straight = challengeSeeds.map((seed) => variantChallenge('default', seed, 'linear'));
  const circle = challengeSeeds.map((seed) => variantChallenge('default', seed, 'circular'));
  const read = wordsRead(mean, straight, reads);
  assert.ok(read >= 45, `${read} of 50`);
  assert.equal(wordsRead(mean, circle, reads), 0, 'the circle hides it without fresh noise too');
});

for (const [attack, least] of [
  [motionReaders[0]!, 45],
  [motionReaders[1]!, 48],
] as const) {
  test(`the word is there for who follows the motion: ${attack.name}`, () => {
    const read = wordsRead(attack, challenges, reads);
    assert.ok(read >= least, `${read} of 50`);
  });
}
