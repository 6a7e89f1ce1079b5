/**
 * Frames of one-bit dots to a looping GIF. gifenc writes the container; the frames' data is
 * compressed here, the same bytes in a third of the time. Frame size does not depend on the word.
 */

import gifenc from 'gifenc';
import type { PictureProfile } from './profiles.ts';

const codeBitsMax = 12;
const codesMax = 1 << codeBitsMax;
/** GIF's least code size, also for one bit: codes 0 to 3 are roots, 4 clears, 5 ends. */
const rootBits = 2;
const clearCode = 1 << rootBits;
const endCode = clearCode + 1;
const blockBytesMax = 254;

/** The most bytes that a frame can take: a 12-bit code for every pixel, and the blocks' lengths. */
export function lzwBytesMax(pixels: number): number {
  const codeBytes = Math.ceil(((pixels + 4) * codeBitsMax) / 8) + 8;
  return codeBytes + Math.ceil(codeBytes / blockBytesMax) + 3;
}

export function createBitLzw(width: number, height: number) {
  const children = new Uint16Array(codesMax * 2);
  // A code a pixel at most, and a clear for every 4,090 of them.
  const codes = new Uint16Array(width * height + Math.ceil((width * height) / 4_000) + 2);

  /** Pixels to codes. Returns how many. */
  function parse(rows: Int32Array, wordsPerRow: number): number {
    children.fill(0);
    let free = endCode + 1;
    let count = 0;
    let node = rows[0]! & 1;
    let skip = 1;
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x += 32) {
        let word = rows[y * wordsPerRow + (x >> 5)]! >>> skip;
        for (let left = Math.min(32, width - x) - skip; left > 0; left--) {
          const bit = word & 1;
          word >>>= 1;
          const edge = (node << 1) | bit;
          const next = children[edge]!;
          if (next !== 0) {
            node = next;
            continue;
          }
          codes[count++] = node;
          node = bit;
          if (free < codesMax) {
            children[edge] = free++;
          } else {
            children.fill(0);
            free = endCode + 1;
            codes[count++] = clearCode;
          }
        }
        skip = 0;
      }
    }
    codes[count++] = node;
    return count;
  }

  /**
   * Writes the frame's data from `at` on: code size, blocks, terminator. Returns the end. Pixel x
   * of row y is bit `x & 31` of `rows[y * wordsPerRow + (x >> 5)]`.
   */
  function encode(rows: Int32Array, wordsPerRow: number, out: Uint8Array, at: number): number {
    const count = parse(rows, wordsPerRow);
    let free = endCode + 1;
    let codeBits = rootBits + 1;
    let pending = clearCode;
    let pendingBits = codeBits;
    out[at++] = rootBits;
    let blockAt = at++;
    for (let i = 0; i <= count; i++) {
      const code = i < count ? codes[i]! : endCode;
      pending |= code << pendingBits;
      // The end is filled up with zeros to a whole byte.
      pendingBits += i < count ? codeBits : codeBits + 7;
      while (pendingBits >= 8) {
        if (at - blockAt > blockBytesMax) {
          out[blockAt] = blockBytesMax;
          blockAt = at++;
        }
        out[at++] = pending;
        pending >>>= 8;
        pendingBits -= 8;
      }
      if (code === clearCode) {
        free = endCode + 1;
        codeBits = rootBits + 1;
        continue;
      }
      // The width grows one code late: the decoder knows an entry less.
      if (free === 1 << codeBits && codeBits < codeBitsMax) codeBits++;
      if (free < codesMax) free++;
    }
    out[blockAt] = at - blockAt - 1;
    out[at++] = 0;
    return at;
  }
  return { encode };
}

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

export function createGifWriter(profile: PictureProfile) {
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
    /** `nextFrame` fills the rows of a frame, the profile's number of times. Returns a GIF in a buffer of its own. */
    write(nextFrame: (rows: Int32Array) => void): Uint8Array<ArrayBuffer> {
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

export type GifWriter = ReturnType<typeof createGifWriter>;
