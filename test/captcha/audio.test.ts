/** Spoken challenges from made-up voices: what is said is the answer, and answers are even. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mixClip } from '../../src/captcha/audio.ts';
import type { Voices } from '../../src/captcha/speech.ts';
import { seeds } from '../support/captcha-frames.ts';

const recordingSamples = 2_400;

/** Every digit is silent but one, which is a steady level. */
function voicesThatSay(loud: number): Voices {
  const samples = new Float32Array(new SharedArrayBuffer(4 * 30 * recordingSamples));
  for (let voice = 0; voice < 3; voice++) {
    const from = (voice * 10 + loud) * recordingSamples;
    samples.fill(1, from, from + recordingSamples);
  }
  const starts = Array.from({ length: 31 }, (_, i) => i * recordingSamples);
  return { samples, starts, voices: 3 };
}

/** Stretches louder than babble can be, of a tenth of a second and more. */
function loudStretches(wav: Uint8Array): number {
  let stretches = 0;
  let length = 0;
  for (const sample of [...wav.subarray(44), 128]) {
    if (sample > 128 + 64) {
      length++;
      continue;
    }
    if (length > 800) stretches++;
    length = 0;
  }
  return stretches;
}

test('each digit of the answer is said as often as it stands there', () => {
  for (let digit = 0; digit < 10; digit++) {
    const voices = voicesThatSay(digit);
    for (const seed of seeds(100 + digit, 10)) {
      const { answer, wav } = mixClip(voices, seed);
      assert.equal(
        loudStretches(wav),
        answer.split(`${digit}`).length - 1,
        `${digit} in ${answer}`,
      );
    }
  }
});

test('all digits come up evenly', () => {
  const voices = voicesThatSay(0);
  const counts = new Array<number>(10).fill(0);
  for (const seed of seeds(200, 200)) {
    for (const digit of mixClip(voices, seed).answer) counts[Number(digit)]!++;
  }
  const chiSquare = counts.reduce((sum, n) => sum + (n - 120) ** 2 / 120, 0);
  assert.ok(chiSquare < 30, `chi-square ${chiSquare} with 9 degrees of freedom: ${counts}`);
});
