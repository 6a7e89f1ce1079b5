/**
 * How many of the spoken challenges programs understand, and how much of the speech reaches an ear. The
 * controls are the same voices as anybody has them, in no room and hardly any babble.
 */

import { type Acoustics, composeClip, usualAcoustics } from '../src/captcha/sound/audio.ts';
import { type SpeechVoices, stockManners, synthesiseVoices } from '../src/captcha/sound/speech.ts';
import { seededRandom } from '../src/core/random.ts';
import { seeds } from '../test/support/captcha/frames.ts';
import { correlationReader, type SoundReader, trainedReader } from './captcha-sound-readers.ts';
import { intelligibility } from './captcha-sound-spectrum.ts';
import type { BenchRow } from './row.ts';

/** `voices`: starts of a server whose recordings the reader learned, none of them the one it listens to. */
const sizes = {
  tiny: { clips: 1, slowClips: 1, voices: 1, learned: 6, rounds: 1 },
  full: { clips: 100, slowClips: 25, voices: 12, learned: 1_500, rounds: 10 },
} as const;

const easy: Acoustics = { equaliserDb: 0, reflections: 0, babbleDb: 24 };

export function soundRows(size: 'tiny' | 'full'): BenchRow[] {
  const { clips, slowClips, voices: starts, learned, rounds } = sizes[size];
  const stock = synthesiseVoices(seededRandom(80_001), stockManners);
  const own = synthesiseVoices(seededRandom(80_002));
  const clipsOf = (voices: SpeechVoices, acoustics: Acoustics, from: number, count: number) =>
    seeds(from, count).map((seed) => composeClip(voices, seed, acoustics));
  const understood = (reader: SoundReader, list: readonly ReturnType<typeof composeClip>[]) =>
    list.filter(({ answer, sound }) => reader(sound) === answer).length;
  const judged = (met: boolean) => (size === 'full' ? { ok: met } : {});

  const comparing = correlationReader(stock);
  const matched = understood(comparing, clipsOf(own, usualAcoustics, 81_001, slowClips));
  const control = understood(comparing, clipsOf(stock, easy, 81_002, slowClips));

  const known = Array.from({ length: starts }, (_, i) =>
    synthesiseVoices(seededRandom(82_000 + i)),
  );
  const trainedOn = (acoustics: Acoustics, count: number) => {
    const lessons = seeds(83_001, count).map((seed, i) =>
      composeClip(known[i % known.length]!, seed, acoustics),
    );
    return trainedReader(lessons, seededRandom(83_002), rounds);
  };
  const heard = clipsOf(own, usualAcoustics, 84_001, clips);
  const read = understood(trainedOn(usualAcoustics, learned), heard);
  const fewLessons = Math.ceil(learned / 2);
  const easyRead = understood(trainedOn(easy, fewLessons), clipsOf(own, easy, 84_002, clips));
  const shares = heard.map(({ spoken, sound }) => intelligibility(spoken, sound));
  const share = shares.reduce((sum, v) => sum + v, 0) / shares.length;
  return [
    {
      name: 'sound: correlation with the stock voices',
      ...{ unit: `of ${slowClips} clips`, ours: matched, goal: `≤ ${0.15 * slowClips}` },
      ...judged(matched <= 0.15 * slowClips),
    },
    {
      name: 'control: stock voices, no room, hardly any babble; correlation',
      ...{ unit: `of ${slowClips} clips`, ours: control, goal: `≥ ${0.8 * slowClips}` },
      ...judged(control >= 0.8 * slowClips),
    },
    {
      name: `sound: reader trained on ${learned} clips of ${starts} other starts`,
      ...{ unit: `of ${clips} clips`, ours: read, goal: `≤ ${0.35 * clips}` },
      ...judged(read <= 0.35 * clips),
    },
    {
      name: `control: no room, hardly any babble; reader trained on ${fewLessons} such clips`,
      ...{ unit: `of ${clips} clips`, ours: easyRead },
    },
    {
      name: 'sound: intelligibility for people (STOI)',
      ...{ unit: 'of 1', ours: Math.round(share * 1_000) / 1_000, goal: '≥ 0.71' },
      ...judged(share >= 0.71),
    },
  ];
}
