/** GIF encoders that take the frames of one challenge, each set up as its documentation advises. */

import { createRequire } from 'node:module';
import gifenc from 'gifenc';
import { encode as encodeModern } from 'modern-gif';
import sharp from 'sharp';
import { frameOptions, palette } from '../src/captcha/picture/gif.ts';
import type { PictureProfile } from '../src/captcha/picture/profiles.ts';

export interface PeerEncoder {
  readonly name: string;
  /** Bytes of the GIF. Frames have a dot a byte, 0 or 1. */
  encode(profile: PictureProfile, frames: readonly Uint8Array[]): number | Promise<number>;
}

const require = createRequire(import.meta.url);
const { GifWriter } = require('omggif') as {
  GifWriter: new (
    out: Uint8Array,
    width: number,
    height: number,
    options: { loop: number; palette: readonly number[] },
  ) => {
    addFrame(...frame: [number, number, number, number, Uint8Array, { delay: number }]): void;
    end(): number;
  };
};
const GifEncoder2 = require('gif-encoder-2') as new (
  width: number,
  height: number,
  algorithm: 'octree' | 'neuquant',
  useOptimizer: boolean,
) => {
  setDelay(delayMs: number): void;
  start(): void;
  addFrame(rgba: Uint8Array): void;
  finish(): void;
  out: { getData(): Buffer };
};

/** One encoder reused, as in production; the general LZW of gifenc itself. */
export function gifencPeer(): PeerEncoder {
  const gif = gifenc.GIFEncoder();
  return {
    name: 'gifenc',
    encode(profile, frames) {
      gif.reset();
      for (const [k, frame] of frames.entries()) {
        const options = k === 0 ? frameOptions : { colorDepth: 1 };
        gif.writeFrame(frame, profile.widthDots, profile.heightDots, {
          ...options,
          delay: profile.frameMs,
        });
      }
      gif.finish();
      return gif.bytes().length;
    },
  };
}

const colours = palette.map(([r, g, b]) => (r << 16) | (g << 8) | b);

/** Pixels of all frames below each other, red, green, blue and, with four channels, opaque. */
function coloured(frames: readonly Uint8Array[], channels: 3 | 4): Uint8Array[] {
  return frames.map((frame) => {
    const out = new Uint8Array(frame.length * channels).fill(255);
    for (let i = 0; i < frame.length; i++) out.set(palette[frame[i]!]!, i * channels);
    return out;
  });
}

export const otherEncoders: readonly PeerEncoder[] = [
  {
    name: 'omggif',
    encode({ widthDots, heightDots, frameMs }, frames) {
      const out = new Uint8Array(frames.length * widthDots * heightDots * 2);
      const gif = new GifWriter(out, widthDots, heightDots, { loop: 0, palette: colours });
      for (const frame of frames) {
        gif.addFrame(0, 0, widthDots, heightDots, frame, { delay: frameMs / 10 });
      }
      return gif.end();
    },
  },
  {
    name: 'gif-encoder-2 (octree)',
    encode({ widthDots, heightDots, frameMs }, frames) {
      const gif = new GifEncoder2(widthDots, heightDots, 'octree', false);
      gif.setDelay(frameMs);
      gif.start();
      for (const frame of coloured(frames, 4)) gif.addFrame(frame);
      gif.finish();
      return gif.out.getData().length;
    },
  },
  {
    name: 'modern-gif',
    async encode({ widthDots: width, heightDots: height, frameMs: delay }, frames) {
      const pixels = coloured(frames, 4).map(
        (frame) => new Uint8ClampedArray(frame.buffer as ArrayBuffer),
      );
      const gif = await encodeModern({
        width,
        height,
        maxColors: 2,
        frames: pixels.map((data) => ({ data, width, height, delay })),
      });
      return gif.byteLength;
    },
  },
  {
    name: 'sharp (cgif)',
    async encode({ widthDots: width, heightDots, frameMs }, frames) {
      const raw = {
        width,
        height: heightDots * frames.length,
        channels: 3,
        pageHeight: heightDots,
      } as const;
      const gif = await sharp(Buffer.concat(coloured(frames, 3)), { raw })
        .gif({ colours: 2, effort: 1, dither: 0, loop: 0, delay: frames.map(() => frameMs) })
        .toBuffer();
      return gif.length;
    },
  },
];
