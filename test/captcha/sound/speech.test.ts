/** The recordings: four voices, and a pitch and a length of its own for each digit, drawn anew each time. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordedVoices, synthesiseVoices } from '../../../src/captcha/sound/speech.ts';
import { seededRandom } from '../../support/seeded.ts';

for (const [language, make] of [
  ['English', synthesiseVoices],
  ['French', recordedVoices],
] as const) {
  test(`${language}: digits of a voice are as long as they are drawn, which differs from start to start`, () => {
    const [one, two] = [make(seededRandom(1)), make(seededRandom(2))];
    assert.equal(one.voices, 4);
    assert.equal(one.starts.length, 41);
    const lengthOf = (voices: typeof one, i: number) => voices.starts[i + 1]! - voices.starts[i]!;
    const ratios = Array.from({ length: 40 }, (_, i) => lengthOf(one, i) / lengthOf(two, i));
    // Stretched by 0.8 to 1.25: up to 1.56 times as long, or as short.
    assert.ok(Math.max(...ratios) > 1.15 && Math.min(...ratios) < 0.87, `${ratios}`);
    assert.ok(one.samples.every((v) => Math.abs(v) <= 1));
  });
}
