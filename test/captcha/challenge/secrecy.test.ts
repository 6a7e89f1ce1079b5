/**
 * The word exists only in motion. Each test that finds nothing has a control in which the same
 * measure, with the same settings, finds a leak; or it would prove nothing.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { profiles } from '../../../src/captcha/picture/profiles.ts';
import {
  blindSolvers,
  motionReaders,
  readingSigmaDots,
  stillAttacks,
  wordsRead,
} from '../../support/captcha/attacks.ts';
import { seeds, soundChallenge, variantChallenge } from '../../support/captcha/frames.ts';
import { noiseScores } from '../../support/captcha/noise.ts';
import { solveFrames } from '../../support/captcha/solver.ts';
import { createTemplateReader } from '../../support/captcha/templates.ts';

const challengeSeeds = seeds(50_001, 25);
const challenges = challengeSeeds.map((seed) => soundChallenge('default', seed));
const reader = createTemplateReader(profiles.default, readingSigmaDots);

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
    assert.equal(wordsRead(attack, challenges, reader), 0);
  });
}

test('the mean of all frames gives the word away if the clouds run straight around the edges', () => {
  const mean = stillAttacks.find((attack) => attack.name === 'mean of all frames')!;
  const straight = challengeSeeds.map((seed) => variantChallenge('default', seed, 'linear'));
  const curved = challengeSeeds.map((seed) => variantChallenge('default', seed, 'curved'));
  const read = wordsRead(mean, straight, reader);
  assert.ok(read >= 22, `${read} of 25`);
  assert.equal(
    wordsRead(mean, curved, reader),
    0,
    'the curved way hides it without fresh noise too',
  );
});

test('no one motion of the whole picture gives the word away, as it does if clouds run as one', () => {
  const attack = blindSolvers[0]!;
  assert.ok(wordsRead(attack, challenges.slice(0, 8), reader) <= 1);
  const circle = challengeSeeds
    .slice(0, 6)
    .map((seed) => variantChallenge('default', seed, 'circular'));
  const read = wordsRead(attack, circle, reader);
  assert.ok(read >= 2, `${read} of 3`);
});

for (const [attack, count, least] of [
  [motionReaders[0]!, 6, 5],
  [motionReaders[1]!, 12, 11],
] as const) {
  test(`the word is there for who follows the motion: ${attack.name}`, () => {
    const read = wordsRead(attack, challenges.slice(0, count), reader);
    assert.ok(read >= least, `${read} of ${count}`);
  });
}

test('the solver of other tests reads pictures of each kind', () => {
  for (const [name, count, least] of [
    ['default', 6, 5],
    ['economy', 3, 2],
    ['long', 3, 2],
  ] as const) {
    const read = challengeSeeds.slice(0, count).filter((seed) => {
      const { frames, profile, answer } = soundChallenge(name, seed);
      return solveFrames(frames, profile) === answer;
    });
    assert.ok(read.length >= least, `${name}: ${read.length} of ${count}`);
  }
});
