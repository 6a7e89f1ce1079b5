/** One motion challenge from a seed: the word and its GIF. The same seed gives the same bytes. */

import { createGifWriter, type GifWriter } from './gif.ts';
import { createGlyphSet, type Outlines } from './glyphs.ts';
import { createSceneMaker, type SceneMaker } from './motion-scene.ts';
import { type ProfileName, profiles } from './profiles.ts';

export interface MotionImage {
  readonly answer: string;
  readonly gif: Uint8Array<ArrayBuffer>;
}

/** Keeps its buffers between calls: one for each thread. */
type RenderMotion = (profile: ProfileName, seed: Uint8Array) => MotionImage;

export function createMotionRenderer(outlines: Outlines): RenderMotion {
  const kept = new Map<ProfileName, { maker: SceneMaker; writer: GifWriter }>();
  return (name, seed) => {
    let tools = kept.get(name);
    if (!tools) {
      const profile = profiles[name];
      const maker = createSceneMaker(profile, createGlyphSet(outlines, profile));
      tools = { maker, writer: createGifWriter(profile) };
      kept.set(name, tools);
    }
    const scene = tools.maker.scene(seed);
    return { answer: scene.answer, gif: tools.writer.write(scene.nextFrame) };
  };
}
