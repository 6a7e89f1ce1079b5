/**
 * The two clouds of a challenge, independent fields of fair coin bits larger than the picture, and
 * what a frame shows of each. No bit of a field is shown twice in a frame, so every frame alone is
 * uniform noise whatever the letters are. Rows are shifted by words; a column takes its dots from
 * the row that its own shift says, for all columns of a word with the same shift at once.
 */

import type { Keystream } from './keystream.ts';
import type { NoiseField } from './motion.ts';
import type { PictureProfile } from './profiles.ts';

export interface Clouds {
  /** The letters' cloud and the background's, as `show` left them; laid out as a frame. */
  readonly front: Int32Array;
  readonly back: Int32Array;
  /** New clouds. */
  fill(stream: Keystream): void;
  show(field: NoiseField, k: number): void;
}

export function createClouds(profile: PictureProfile): Clouds {
  const { widthDots, heightDots, amplitudeDots } = profile;
  const words = (widthDots + 31) >> 5;
  // Larger than the picture by the reach of the motion on each side, and a word to shift from.
  const fieldWords = ((widthDots + 2 * amplitudeDots + 31) >> 5) + 1;
  const fieldRows = heightDots + 2 * amplitudeDots;
  const fieldA = new Int32Array(fieldWords * fieldRows);
  const fieldB = new Int32Array(fieldWords * fieldRows);
  // After the shift of rows; word by word, so that the rows of a word stand together.
  const shiftedA = new Int32Array(words * fieldRows);
  const shiftedB = new Int32Array(words * fieldRows);
  const front = new Int32Array(words * heightDots);
  const back = new Int32Array(words * heightDots);
  const shifts = 2 * amplitudeDots + 1;
  /** Of each shift and word the columns that have it. */
  const columns = new Int32Array(shifts * words);

  function shiftRows(field: NoiseField, k: number): void {
    for (let y = 0; y < fieldRows; y++) {
      const dx = field.dx(k, y - amplitudeDots);
      const xA = amplitudeDots + dx;
      const xB = amplitudeDots - dx;
      const rowA = y * fieldWords + (xA >> 5);
      const rowB = y * fieldWords + (xB >> 5);
      for (let w = 0; w < words; w++) {
        shiftedA[w * fieldRows + y] = shifted(fieldA, rowA + w, xA & 31);
        shiftedB[w * fieldRows + y] = shifted(fieldB, rowB + w, xB & 31);
      }
    }
  }

  function shiftColumns(field: NoiseField, k: number): void {
    columns.fill(0);
    for (let x = 0; x < widthDots; x++) {
      columns[(amplitudeDots + field.dy(k, x)) * words + (x >> 5)]! |= 1 << (x & 31);
    }
    front.fill(0);
    back.fill(0);
    for (let shift = 0; shift < shifts; shift++) {
      for (let w = 0; w < words; w++) {
        const bits = columns[shift * words + w]!;
        if (bits === 0) continue;
        const fromA = w * fieldRows + shift;
        const fromB = w * fieldRows + shifts - 1 - shift;
        for (let y = 0, i = w; y < heightDots; y++, i += words) {
          front[i]! |= shiftedA[fromA + y]! & bits;
          back[i]! |= shiftedB[fromB + y]! & bits;
        }
      }
    }
  }

  return {
    front,
    back,
    fill(stream) {
      stream.fill(fieldA);
      stream.fill(fieldB);
    },
    show(field, k) {
      shiftRows(field, k);
      shiftColumns(field, k);
    },
  };
}

/** 32 bits of a row that start `shift` bits into a word. */
function shifted(field: Int32Array, at: number, shift: number): number {
  // A shift by 32 is a shift by 0, so the upper part goes in two steps.
  return (field[at]! >>> shift) | ((field[at + 1]! << 1) << (31 - shift));
}
