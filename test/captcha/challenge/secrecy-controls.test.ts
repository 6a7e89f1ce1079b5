/**
 * Words are read from pictures that give them away, and by whoever follows the motion: with the measures
 * and settings that find nothing in secrecy.test.ts.
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
import { solveFrames } from '../../support/captcha/solver.ts';
import { createTemplateReader } from '../../support/captcha/templates.ts';

const challengeSeeds = seeds(50_001, 25);
const challenges = challengeSeeds.slice(0, 12).map((seed) => soundChallenge('default', seed));
const reader = createTemplateReader(profiles.default, readingSigmaDots);

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
