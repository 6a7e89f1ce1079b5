/**
 * Tesseract against the motion challenge: it reads no word from frames, means, differences and
 * maxima. The control is a renderer that leaks: the same pictures with the same settings give its
 * words away, or the zeros would prove nothing.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { motionReaders, stillAttacks } from '../support/captcha-attacks.ts';
import { seeds, soundChallenge, variantChallenge } from '../support/captcha-frames.ts';
import { wordsReadByTesseract } from '../support/captcha-ocr.ts';
import { hasTool } from '../support/tools.ts';

const challengeSeeds = seeds(50_001, 50);
const challenges = challengeSeeds.map((seed) => soundChallenge('default', seed));

for (const attack of stillAttacks) {
  test(`tesseract reads no word from: ${attack.name}`, (context) => {
    if (!hasTool(context, 'tesseract')) return;
    assert.equal(wordsReadByTesseract(attack, challenges), 0);
  });
}

test('tesseract reads a straight loop from the mean of its frames', (context) => {
  if (!hasTool(context, 'tesseract')) return;
  const mean = stillAttacks.find((attack) => attack.name === 'mean of all frames')!;
  const straight = challengeSeeds.map((seed) => variantChallenge('default', seed, 'linear'));
  const read = wordsReadByTesseract(mean, straight);
  assert.ok(read >= 45, `${read} of 50`);
});

test('tesseract reads the word from the motion', (context) => {
  if (!hasTool(context, 'tesseract')) return;
  const read = wordsReadByTesseract(motionReaders[1]!, challenges);
  assert.ok(read >= 40, `${read} of 50`);
});
