/**
 * People read the picture: an eye that knows nothing of the way of the clouds makes the words out at once.
 * The same eye misses most words of a picture whose dots go many ways at a time. A hundred words, and those of
 * the other pictures, are read in secrecy-controls.test.ts.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { profiles } from '../../../src/captcha/picture/profiles.ts';
import { createEye, goodEye, wordsSeen } from '../../support/captcha/eye.ts';
import { seeds, soundChallenge, variantChallenge } from '../../support/captcha/frames.ts';

const challengeSeeds = seeds(80_001, 25);
const eye = createEye(profiles.default, goodEye);

test('an eye reads 25 words of 25 in six looks', () => {
  const challenges = challengeSeeds.map((seed) => soundChallenge('default', seed));
  assert.equal(wordsSeen(eye, challenges).words, 25);
});

test('the same eye misses most where clouds turn steeply, in much noise', () => {
  const steep = challengeSeeds
    .slice(0, 12)
    .map((seed) => variantChallenge('default', seed, 'steep'));
  const { words, letters } = wordsSeen(eye, steep);
  assert.ok(words <= 3, `${words} of 12 words`);
  assert.ok(letters < 0.6, `${letters} of the letters`);
});
