/** A rendering thread: seeds in, finished challenges out, their buffers handed over uncopied. */

import { move, transferableSymbol, valueSymbol } from 'piscina';
import { mixClip, type SpokenClip } from './audio.ts';
import { loadOutlines } from './glyphs.ts';
import { yieldToRequests } from './niceness.ts';
import type { ProfileName } from './profile.ts';
import { createMotionRenderer, type MotionImage } from './render.ts';
import type { Voices } from './speech.ts';

export type RenderJob =
  | {
      readonly kind: 'images';
      readonly profile: ProfileName;
      readonly seeds: readonly Uint8Array[];
    }
  | { readonly kind: 'clip'; readonly seed: Uint8Array; readonly voices: Voices };

const render = createMotionRenderer(loadOutlines());
// After the start, which a request may be waiting for.
yieldToRequests();

export default function work(job: RenderJob): unknown {
  if (job.kind === 'clip') {
    const clip: SpokenClip = mixClip(job.voices, job.seed);
    return handOver(clip, [clip.wav.buffer]);
  }
  const images: MotionImage[] = job.seeds.map((seed) => render(job.profile, seed));
  return handOver(
    images,
    images.map((image) => image.gif.buffer),
  );
}

function handOver(value: object, buffers: readonly ArrayBuffer[]): unknown {
  // What piscina asks of a value with several buffers; its types know single ones alone.
  return move({ [transferableSymbol]: buffers, [valueSymbol]: value } as never);
}
