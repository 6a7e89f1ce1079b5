/**
 * Spoken challenges from made-up voices: what is said is the answer, answers are even, and what lies
 * between the voices and the ear is there.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Acoustics,
  acousticsOf,
  addReflections,
  composeClip,
  equalise,
  mixClip,
  powerOf,
  usualAcoustics,
} from '../../../src/captcha/sound/audio.ts';
import {
  recordedVoices,
  type SpeechVoices,
  spokenLanguages,
  synthesiseVoices,
} from '../../../src/captcha/sound/speech.ts';
import { seeds } from '../../support/captcha/frames.ts';
import { intelligibility } from '../../support/captcha/sound-spectrum.ts';
import { seededRandom } from '../../support/seeded.ts';

/** The real ones, of one start. */
const people = synthesiseVoices(seededRandom(1));

const recordingSamples = 2_400;

/** Every digit is silent but one, which is a steady level. */
function voicesThatSay(loud: number): SpeechVoices {
  return voicesWith((_, digit) => digit === loud);
}

function voicesWith(isLoud: (voice: number, digit: number) => boolean): SpeechVoices {
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

/** The digits alone, so that the places where they are said can be found. */
const plain: Acoustics = {
  ...usualAcoustics,
  equaliserDb: 0,
  reflections: 0,
  babbleDb: Number.POSITIVE_INFINITY,
};

/** Above the floor of noise, below the softest digit: three quarters of the loudest one. */
const digitLevel = 62;

/** Stretches louder than noise can be, of a tenth of a second and more. */
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

test('each digit of the answer is said as often as it stands there, and all come up evenly', () => {
  const counts = new Array<number>(10).fill(0);
  for (let digit = 0; digit < 10; digit++) {
    const voices = voicesThatSay(digit);
    for (const seed of seeds(100 + digit, 15)) {
      const { answer, wav } = mixClip(voices, seed, plain);
      assert.equal(
        loudStretches(wav).length,
        answer.split(`${digit}`).length - 1,
        `${digit} in ${answer}`,
      );
      for (const said of answer) counts[Number(said)]!++;
    }
  }
  const chiSquare = counts.reduce((sum, n) => sum + (n - 90) ** 2 / 90, 0);
  assert.ok(chiSquare < 30, `chi-square ${chiSquare} with 9 degrees of freedom: ${counts}`);
});

test('each voice says a third of the digits', () => {
  const counts = [0, 1, 2].map((loud) => {
    const voices = voicesWith((voice) => voice === loud);
    const clips = seeds(300, 40).map((seed) => mixClip(voices, seed, plain));
    return clips.reduce((sum, { wav }) => sum + loudStretches(wav).length, 0);
  });
  assert.equal(counts[0]! + counts[1]! + counts[2]!, 240, 'the same clips, each digit once');
  for (const count of counts) assert.ok(count > 53 && count < 107, `${counts}`);
});

test('speed and gaps differ from digit to digit', () => {
  const voices = voicesWith(() => true);
  const digits = seeds(400, 20).map((seed) => loudStretches(mixClip(voices, seed, plain).wav));
  const lengths = digits.flat().map(({ length }) => length / recordingSamples);
  const gaps = digits.flatMap((clip) =>
    clip.slice(1).map(({ from }, i) => (from - clip[i]!.from - clip[i]!.length) / 8_000),
  );
  // A speed of 0.8 to 1.22, gaps of 0.35 to 0.75 seconds.
  assert.ok(Math.min(...lengths) < 0.88 && Math.max(...lengths) > 1.15, `${lengths}`);
  assert.ok(Math.min(...gaps) < 0.45 && Math.max(...gaps) > 0.65, `${gaps}`);
});

test('babble fills the gaps, and noise what is left', () => {
  const [seed] = seeds(500, 1) as [Uint8Array];
  const deviations = (voices: SpeechVoices) =>
    [...mixClip(voices, seed).wav.subarray(44)].map((sample) => Math.abs(sample - 128));
  const silent = deviations(voicesWith(() => false));
  assert.equal(Math.max(...silent), 7, 'the floor of noise');
  assert.ok(silent.filter((v) => v > 0).length > 0.8 * silent.length);
  const { sound, spans: places } = composeClip(people, seed);
  const gaps = places.slice(1).map(([from], i) => sound.slice(places[i]![1], from));
  // Rooms and babble: no gap is silent, and none is as loud as the digits.
  for (const gap of gaps) assert.ok(Math.sqrt(powerOf(gap)) > 0.01, `${Math.sqrt(powerOf(gap))}`);
});

test('the babble runs backwards, so that it says no digits', () => {
  // Each begins at once and fades: backwards, it swells and ends at once.
  const voices = voicesWith(() => true);
  for (const [i, start] of voices.starts.slice(0, -1).entries()) {
    for (let at = start; at < voices.starts[i + 1]!; at++) {
      voices.samples[at] = 1 - (at - start) / recordingSamples;
    }
  }
  /** Above 0 with sudden beginnings, below with sudden ends. */
  function suddenness(sound: Float32Array): number {
    return sound.reduce((sum, v, i) => sum + (v - (sound[i - 1] ?? v)) ** 3, 0);
  }
  const babbling: Acoustics = { ...plain, babbleDb: usualAcoustics.babbleDb };
  for (const seed of seeds(700, 5)) {
    const { sound, spans: places } = composeClip(voices, seed, babbling);
    const gaps = places.slice(1).map(([from], i) => sound.slice(places[i]![1] + 1, from));
    const sum = gaps.reduce((all, gap) => all + suddenness(gap), 0);
    assert.ok(sum < 0, `${sum}`);
    const [first] = places;
    assert.ok(suddenness(sound.slice(first![0] - 1, first![0] + 2)) > 0, 'digits run forwards');
  }
});

test('the babble is six decibels below the digits', () => {
  const bare: Acoustics = { ...plain, babbleDb: usualAcoustics.babbleDb };
  const ratios = seeds(600, 20).map((seed) => {
    const { sound, spans: places } = composeClip(people, seed, bare);
    const alone = composeClip(people, seed, plain).sound;
    const loudest = places.flatMap(([from, to]) => [...alone.subarray(from, to)]);
    // Both have the peak 1: in the gaps the babble is alone, and its scale is that of the digits.
    const gaps = places.slice(1).flatMap(([from], i) => [...sound.subarray(places[i]![1], from)]);
    const [from, to] = places[0]!;
    const scale = fitOf(sound.subarray(from, to), alone.subarray(from, to));
    const digits = scale ** 2 * powerOf(Float32Array.from(loudest));
    return 10 * Math.log10(digits / powerOf(Float32Array.from(gaps)));
  });
  const mean = ratios.reduce((sum, v) => sum + v, 0) / ratios.length;
  assert.ok(Math.abs(mean - 6) < 1, `${mean} dB`);
});

/** How large the second is in the first. */
function fitOf(whole: Float32Array, part: Float32Array): number {
  return whole.reduce((sum, v, i) => sum + v * part[i]!, 0) / (powerOf(part) * part.length);
}

test('each clip has a room and each digit a colour of its own', () => {
  const click = new Float32Array(2_000);
  click[0] = 1;
  const between = (from: number) => {
    const random = seededRandom(from);
    return (low: number, high: number) => low + (high - low) * random.next();
  };
  const rooms = [1, 2].map((from) =>
    addReflections(click, usualAcoustics.reflections, between(from)),
  );
  for (const room of rooms) {
    assert.equal(room[0], 1, 'what comes straight comes first');
    const answered = room.subarray(1).filter((v) => v !== 0).length;
    assert.ok(answered > 8 && answered <= usualAcoustics.reflections, `${answered} reflections`);
  }
  assert.notDeepEqual(rooms[0], rooms[1]);
  const colours = [1, 2].map((from) => equalise(click, usualAcoustics.equaliserDb, between(from)));
  assert.notDeepEqual(colours[0], colours[1]);
  assert.deepEqual(equalise(click, 0, between(1)), click, 'no gain changes nothing');
  const [seed] = seeds(700, 1) as [Uint8Array];
  const usual = composeClip(people, seed).sound;
  for (const without of [{ equaliserDb: 0 }, { reflections: 0 }]) {
    const { sound } = composeClip(people, seed, { ...usualAcoustics, ...without });
    assert.notDeepEqual(sound, usual);
  }
});

for (const language of spokenLanguages) {
  test(`a person gets most of the speech: ${language}`, () => {
    const voices = language === 'fr' ? recordedVoices(seededRandom(1)) : people;
    const values = seeds(800, 8).map((seed) => {
      const { spoken, sound } = composeClip(voices, seed, acousticsOf[language]);
      return intelligibility(spoken, sound);
    });
    const mean = values.reduce((sum, v) => sum + v, 0) / values.length;
    assert.ok(mean > 0.71, `${mean}`);
  });
}
