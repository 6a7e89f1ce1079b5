/**
 * Tesseract against the motion challenge: it reads no word from frames, means, differences and
 * maxima. The control is a renderer that leaks: the same pictures with the same settings give its
 * words away, or the zeros would prove nothing. Letters are counted besides, for whole words depend more
 * on the version of the reader.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { profiles } from '../../src/captcha/picture/profiles.ts';
import { motionReaders, stillAttacks } from '../support/captcha/attacks.ts';
import { seeds, soundChallenge, variantChallenge } from '../support/captcha/frames.ts';
import { countByTesseract } from '../support/captcha/ocr.ts';
import { hasTool } from '../support/house/tools.ts';

const mean = stillAttacks.find((attack) => attack.name === 'mean of all frames')!;
const challengeSeeds = seeds(50_001, 24);
const challenges = challengeSeeds.map((seed) => soundChallenge('default', seed));
const letters = challenges.length * profiles.default.letters;
const readLetters = 0.8 * letters;
const readWords = 0.4 * challenges.length;
/** What guesses give at the most. */
const guessedLetters = 0.15 * letters;

for (const attack of stillAttacks) {
  test(`tesseract reads no word from: ${attack.name}`, (context) => {
    if (!hasTool(context, 'tesseract')) return;
    const read = countByTesseract(attack, challenges);
    assert.equal(read.words, 0);
    if (attack === mean) assert.ok(read.letters <= guessedLetters, `${read.letters} of ${letters}`);
  });
}

test('tesseract reads a straight loop from the mean of its frames', (context) => {
  if (!hasTool(context, 'tesseract')) return;
  const straight = challengeSeeds.map((seed) => variantChallenge('default', seed, 'linear'));
  const read = countByTesseract(mean, straight);
  assert.ok(read.letters >= readLetters, `${read.letters} of ${letters}`);
  assert.ok(read.words >= readWords, `${read.words} of ${challenges.length} words`);
});

test('tesseract reads the letters from the motion', (context) => {
  if (!hasTool(context, 'tesseract')) return;
  const read = countByTesseract(motionReaders[1]!, challenges);
  assert.ok(read.letters >= readLetters, `${read.letters} of ${letters}`);
});
