/** A rendering thread: seeds in, finished challenges out. */

import { yieldToRequests } from '../core/threads.ts';
import { loadOutlines } from './picture/glyphs.ts';
import { createMotionRenderer, type MotionImage } from './picture/motion-scene.ts';
import type { ProfileName } from './picture/profiles.ts';
import { acousticsOf, mixClip, type SpokenClip } from './sound/audio.ts';
import type { SpeechVoices, SpokenLanguage } from './sound/speech.ts';

export type RenderJob =
  | {
      readonly kind: 'images';
      readonly profile: ProfileName;
      readonly seeds: readonly Uint8Array[];
    }
  | {
      readonly kind: 'clip';
      readonly seed: Uint8Array;
      readonly voices: SpeechVoices;
      readonly language: SpokenLanguage;
    };

const render = createMotionRenderer(loadOutlines());
// After the start, which a request may be waiting for.
yieldToRequests();

/**
 * Results are copied on their way, on purpose: to hand a buffer over would detach it, and once a
 * thread has detached one, V8's code for typed arrays checks at each access whether that has
 * happened. Measured: 0.25 ms more for every picture, where the copy takes 0.01.
 */
export default function work(job: RenderJob): readonly MotionImage[] | SpokenClip {
  if (job.kind === 'clip') return mixClip(job.voices, job.seed, acousticsOf[job.language]);
  return job.seeds.map((seed) => render(job.profile, seed));
}
