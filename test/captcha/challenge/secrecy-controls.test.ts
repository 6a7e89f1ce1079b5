/**
 * Words are read from pictures that give them away, and by whoever follows the motion: with the measures
 * and settings that find nothing in secrecy.test.ts.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { profiles } from '../../../src/captcha/picture/profiles.ts';
import {
  motionReaders,
  readingSigmaDots,
  stillAttacks,
  wordsRead,
} from '../../support/captcha/attacks.ts';
import { createEye, goodEye, poorEye, wordsSeen } from '../../support/captcha/eye.ts';
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

test('means of pictures give no word away', () => {
  const mean = stillAttacks.find((attack) => attack.name === 'mean of all frames')!;
  // The bench has a thousand.
  const many = seeds(51_001, 150);
  let read = 0;
  // One at a time: all of their frames would fill the memory.
  for (const seed of many) read += wordsRead(mean, [soundChallenge('default', seed)], reader);
  assert.equal(read, 0);
});

for (const [name, count, kind, looks, least] of [
  ['default', 100, 'good', 6, { words: 0.98, letters: 0.98 }],
  ['default', 100, 'good', 1, { words: 0.95, letters: 0.99 }],
  ['default', 50, 'poor', 6, { words: 0.98, letters: 0.98 }],
  ['economy', 20, 'good', 6, { words: 0.98, letters: 0.98 }],
  ['hard', 40, 'good', 6, { words: 0.95, letters: 0.98 }],
  ['hard', 60, 'good', 1, { words: 0.9, letters: 0.97 }],
] as const) {
  test(`a ${kind} eye reads ${least.words * 100} of 100 words, ${name}, looks: ${looks}`, () => {
    const eye = createEye(profiles[name], { ...(kind === 'good' ? goodEye : poorEye), looks });
    const read = wordsSeen(
      eye,
      seeds(80_001, count).map((seed) => soundChallenge(name, seed)),
    );
    assert.ok(read.words >= least.words * count, `${read.words} of ${count} words`);
    assert.ok(read.letters >= least.letters, `${read.letters} of the letters`);
    if (kind === 'good' && looks === 6) assert.deepEqual(read.confused, []);
  });
}

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
    ['hard', 3, 2],
  ] as const) {
    const read = challengeSeeds.slice(0, count).filter((seed) => {
      const { frames, profile, answer } = soundChallenge(name, seed);
      return solveFrames(frames, profile) === answer;
    });
    assert.ok(read.length >= least, `${name}: ${read.length} of ${count}`);
  }
});
