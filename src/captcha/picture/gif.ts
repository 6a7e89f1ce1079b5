/**
 * Frames of one-bit dots to a looping GIF. gifenc writes the container; the frames' data comes
 * from `lzw.ts`, the same bytes in a third of the time. Frame size does not depend on the word.
 */

import gifenc from 'gifenc';
import { createBitLzw, lzwBytesMax } from './lzw.ts';
import type { PictureProfile } from './profiles.ts';

/** Soft colours: the two clouds must be distinguished by motion, not glare. */
export const palette = [
  [0xee, 0xf1, 0xf4],
  [0x5d, 0x6b, 0x7e],
] as const;

export const frameOptions = { colorDepth: 1, repeat: 0, palette } as const;

/** Signature, screen, two colours, loop extension. */
const headBytes = 6 + 7 + 6 + 19;
/** Graphic control extension and image descriptor. */
const frameHeadBytes = 8 + 10;

export interface GifWriter {
  /**
   * `nextFrame` fills the rows of a frame, the profile's number of times. Returns a GIF in a buffer
   * of its own.
   */
  write(nextFrame: (rows: Int32Array) => void): Uint8Array<ArrayBuffer>;
}

export function createGifWriter(profile: PictureProfile): GifWriter {
  const { widthDots, heightDots, frames, frameMs } = profile;
  const wordsPerRow = (widthDots + 31) >> 5;
  const rows = new Int32Array(wordsPerRow * heightDots);
  const lzw = createBitLzw(widthDots, heightDots);
  const data = new Uint8Array(lzwBytesMax(widthDots * heightDots));
  const gif = gifenc.GIFEncoder();
  gif.writeFrame(new Uint8Array(widthDots * heightDots), widthDots, heightDots, {
    ...frameOptions,
    delay: frameMs,
  });
  const sample = gif.bytes();
  const head = sample.slice(0, headBytes);
  const frameHead = sample.slice(headBytes, headBytes + frameHeadBytes);
  if (frameHead[0] !== 0x21 || frameHead[1] !== 0xf9 || frameHead[8] !== 0x2c) {
    throw new Error('gifenc lays its container out otherwise than expected');
  }
  return {
    write(nextFrame) {
      gif.reset();
      gif.stream.writeBytesView(head);
      for (let k = 0; k < frames; k++) {
        nextFrame(rows);
        gif.stream.writeBytesView(frameHead);
        gif.stream.writeBytesView(data, 0, lzw.encode(rows, wordsPerRow, data, 0));
      }
      gif.finish();
      return gif.bytes();
    },
  };
}

/** A dot a byte, 0 or 1, as general encoders and decoders have it. */
export function dotsToBytes(
  rows: Int32Array,
  wordsPerRow: number,
  width: number,
  height: number,
): Uint8Array {
  const bytes = new Uint8Array(width * height);
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at++) {
      bytes[at] = (rows[y * wordsPerRow + (x >> 5)]! >>> (x & 31)) & 1;
    }
  }
  return bytes;
}
