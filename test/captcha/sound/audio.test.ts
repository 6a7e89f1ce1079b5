/** Spoken challenges from made-up voices: what is said is the answer, and answers are even. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mixClip } from '../../../src/captcha/sound/audio.ts';
import type { Voices } from '../../../src/captcha/sound/speech.ts';
import { seeds } from '../../support/captcha/frames.ts';

const recordingSamples = 2_400;

/** Every digit is silent but one, which is a steady level. */
function voicesThatSay(loud: number): Voices {
  return voicesWith((_, digit) => digit === loud);
}

function voicesWith(isLoud: (voice: number, digit: number) => boolean): Voices {
  const samples = new Float32Array(new SharedArrayBuffer(4 * 30 * recordingSamples));
  for (let i = 0; i < 30; i++) {
    if (!isLoud(Math.floor(i / 10), i % 10)) continue;
    samples.fill(1, i * recordingSamples, (i + 1) * recordingSamples);
  }
  const starts = Array.from({ length: 31 }, (_, i) => i * recordingSamples);
  return { samples, starts, voices: 3 };
}

interface Stretch {
  readonly from: number;
  readonly length: number;
}

/**
 * Louder than two pieces of babble and noise together (60), softer than the softest digit less
 * the noise (64).
 */
const digitLevel = 62;

/** Stretches louder than babble can be, of a tenth of a second and more. */
function loudStretches(wav: Uint8Array): Stretch[] {
  const stretches: Stretch[] = [];
  let length = 0;
  for (const [at, sample] of [...wav.subarray(44), 128].entries()) {
    if (sample > 128 + digitLevel) {
      length++;
      continue;
    }
    if (length > 800) stretches.push({ from: at - length, length });
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
        loudStretches(wav).length,
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

test('each voice says a third of the digits', () => {
  const counts = [0, 1, 2].map((loud) => {
    const voices = voicesWith((voice) => voice === loud);
    const clips = seeds(300, 60).map((seed) => mixClip(voices, seed));
    return clips.reduce((sum, { wav }) => sum + loudStretches(wav).length, 0);
  });
  assert.equal(counts[0]! + counts[1]! + counts[2]!, 360, 'the same clips, each digit once');
  for (const count of counts) assert.ok(count > 80 && count < 160, `${counts}`);
});

test('speed and gaps differ from digit to digit', () => {
  const voices = voicesWith(() => true);
  const digits = seeds(400, 20).map((seed) => loudStretches(mixClip(voices, seed).wav));
  const lengths = digits.flat().map(({ length }) => length / recordingSamples);
  const gaps = digits.flatMap((clip) =>
    clip.slice(1).map(({ from }, i) => (from - clip[i]!.from - clip[i]!.length) / 8_000),
  );
  // A speed of 0.85 to 1.15, gaps of 0.35 to 0.75 seconds.
  assert.ok(Math.min(...lengths) < 0.92 && Math.max(...lengths) > 1.1, `${lengths}`);
  assert.ok(Math.min(...gaps) < 0.45 && Math.max(...gaps) > 0.65, `${gaps}`);
});

test('babble fills the gaps, and noise what is left', () => {
  const [seed] = seeds(500, 1) as [Uint8Array];
  const deviations = (voices: Voices) =>
    [...mixClip(voices, seed).wav.subarray(44)].map((sample) => Math.abs(sample - 128));
  const silent = deviations(voicesWith(() => false));
  assert.equal(Math.max(...silent), 7, 'the floor of noise');
  assert.ok(silent.filter((v) => v > 0).length > 0.8 * silent.length);
  const speaking = deviations(voicesWith(() => true));
  const quiet = speaking.filter((v) => v <= digitLevel);
  const babbled = quiet.filter((v) => v > 7).length;
  assert.ok(babbled > 0.6 * quiet.length, `${babbled} of ${quiet.length}`);
});
