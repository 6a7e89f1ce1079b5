/**
 * Composes the frames of one challenge: a dot shows the letters' cloud inside the mask and the
 * background's outside, or fresh noise. 32 dots a word: masks, shifts and noise are bit operations.
 */

import gifenc from 'gifenc';
import { boxDots, createGlyphSet, type GlyphRows, type GlyphSet, type Outlines } from './glyphs.ts';
import { biasedDigits, createKeystream, type Keystream } from './keystream.ts';
import { type PictureProfile, type ProfileName, profiles } from './profiles.ts';

const turn = 2 * Math.PI;
/** Angles are whole numbers of steps, so that a table has all the sines. */
const stepsPerFrame = 16;
/** The curve of angles leaves a straight line by at most this fraction of its span. */
const bend = 0.06;

/** Returns the motion of the letters' cloud; the background's offsets are the negatives. */
export function createField(profile: PictureProfile, stream: Keystream) {
  const { frames, amplitudeDots, widthDots, heightDots } = profile;
  const steps = frames * stepsPerFrame;
  const offsets = offsetsOf(amplitudeDots, steps);
  const sense = stream.below(2) === 0 ? 1 : -1;
  const rows = angles(stream, heightDots, amplitudeDots, profile.curveDownRad, steps);
  const columns = angles(stream, widthDots, 0, profile.curveAcrossRad, steps);
  lock(rows, amplitudeDots + (heightDots >> 1), columns, widthDots >> 1, steps);
  const apart = Int32Array.from({ length: wordsPerRow(profile) }, (_, w) =>
    profile.hasStrips ? columns[middleOf(w, profile)]! - columns[widthDots >> 1]! + steps : 0,
  );
  const quarter = steps - steps / 4;
  const at = (angle: number, k: number) =>
    offsets[(angle + sense * k * stepsPerFrame + steps) % steps]!;
  return {
    /**
     * Returns the dots that row `y` is shifted by in frame `k`, in the strip of column `x`; `y` from
     * `-amplitudeDots` to as much past the last.
     */
    dx: (k: number, y: number, x: number): number =>
      at(rows[y + amplitudeDots]! + apart[x >> 5]!, k),
    // The sine of an angle is the cosine of one a quarter turn back.
    /** Returns the dots that column `x` is shifted by in frame `k`. */
    dy: (k: number, x: number): number => at((columns[x]! + quarter) % steps, k),
  };
}

export type NoiseField = ReturnType<typeof createField>;

const tables = new Map<string, Int8Array>();

function offsetsOf(amplitudeDots: number, steps: number): Int8Array {
  const name = `${amplitudeDots}/${steps}`;
  let table = tables.get(name);
  if (table === undefined) {
    table = Int8Array.from({ length: steps }, (_, i) =>
      Math.round(amplitudeDots * Math.cos((turn * i) / steps)),
    );
    tables.set(name, table);
  }
  return table;
}

/**
 * Turns the columns as one so that they are at the angle of the rows in the middle of the picture: there dots run
 * along circles. With angles apart they would run along ellipses or to and fro, and stop twice a loop.
 */
function lock(
  rows: Int32Array,
  row: number,
  columns: Int32Array,
  column: number,
  steps: number,
): void {
  const apart = rows[row]! - columns[column]! + steps;
  for (let x = 0; x < columns.length; x++) columns[x] = (columns[x]! + apart) % steps;
}

/** Returns the column in the middle of word `w`. */
function middleOf(w: number, { widthDots }: PictureProfile): number {
  return Math.min(32 * w + 16, (32 * w + widthDots) >> 1);
}

/**
 * A line of angles over `dots` and `beyond` on each side: from somewhere on the circle, up or down
 * by the span, and bent a little. An eye follows a steeper one badly.
 */
function angles(
  stream: Keystream,
  dots: number,
  beyond: number,
  spanRad: number,
  steps: number,
): Int32Array {
  const start = stream.unit() * turn;
  const up = stream.below(2) === 0 ? 1 : -1;
  const phase = stream.unit() * turn;
  return Int32Array.from({ length: dots + 2 * beyond }, (_, i) => {
    const along = (i - beyond) / dots;
    const angle = start + spanRad * (up * along + bend * Math.cos(phase + turn * along));
    const step = Math.round((angle / turn) * steps) % steps;
    return step < 0 ? step + steps : step;
  });
}

/** Dot x of row y is bit `x & 31` of word `y * wordsPerRow + (x >> 5)`; bits past the width are noise. */
interface Scene {
  readonly answer: string;
  /** Frames in order, each once: noise comes from a stream. Writes `height * wordsPerRow` words. */
  nextFrame(out: Int32Array): void;
  /** The letters of the frame composed last; laid out as the frame. For tests and benches. */
  lastMask(): Int32Array;
}

export function wordsPerRow(profile: PictureProfile): number {
  return (profile.widthDots + 31) >> 5;
}

export function drawWord(stream: Keystream, { letters, alphabet }: PictureProfile): string {
  let word = '';
  for (let i = 0; i < letters; i++) word += alphabet[stream.below(alphabet.length)];
  return word;
}

export function createSceneMaker(profile: PictureProfile, glyphs: GlyphSet) {
  const { heightDots, frames } = profile;
  const words = wordsPerRow(profile);
  const clouds = createClouds(profile);
  const digits = biasedDigits(profile.coherence64);
  const plane = words * heightDots;
  const noise = new Int32Array(plane * (digits.length + 1));
  const mask = new Int32Array(plane);
  const follows = new Int32Array(plane);

  /** Draws which dots follow their cloud in this frame: each with the profile's coherence. */
  function drawFollowers(): void {
    follows.fill(0);
    for (let d = 0; d < digits.length; d++) {
      const from = (d + 1) * plane;
      if (digits[d]) for (let i = 0; i < plane; i++) follows[i]! |= noise[from + i]!;
      else for (let i = 0; i < plane; i++) follows[i]! &= noise[from + i]!;
    }
  }

  /** A new scene reuses the buffers of the one before, which ends there. */
  function scene(seed: Uint8Array): Scene {
    const stream = createKeystream(seed);
    const answer = drawWord(stream, profile);
    const field = createField(profile, stream);
    const letters = drawLetters(profile, glyphs, answer, stream);
    clouds.fill(stream);
    let k = 0;
    return {
      answer,
      lastMask: () => mask.slice(),
      nextFrame(out) {
        if (k === frames) throw new RangeError('the scene has no more frames');
        mask.fill(0);
        for (const letter of letters) stamp(mask, words, letter.rows, poseAt(profile, letter, k));
        stream.fill(noise);
        drawFollowers();
        clouds.show(field, k);
        for (let i = 0; i < plane; i++) {
          const cloud = clouds.back[i]! ^ ((clouds.front[i]! ^ clouds.back[i]!) & mask[i]!);
          out[i] = noise[i]! ^ ((noise[i]! ^ cloud) & follows[i]!);
        }
        k++;
      },
    };
  }
  return { profile, wordsPerRow: words, scene };
}

export type SceneMaker = ReturnType<typeof createSceneMaker>;

/**
 * Creates the two clouds of a challenge, independent fields of fair coin bits larger than the
 * picture, or two for each strip. No bit of a field is shown twice in a frame, so every frame alone is uniform noise
 * whatever the letters are. Rows are shifted by words; a column takes its dots from the row that
 * its own shift says, for all columns of a word with the same shift at once.
 */
function createClouds(profile: PictureProfile) {
  const { widthDots, heightDots, amplitudeDots } = profile;
  const words = (widthDots + 31) >> 5;
  // Larger than what is shown by the reach of the motion on each side, and a word to shift from.
  const wordsApart = profile.hasStrips ? 2 : 1;
  const fieldWords = profile.hasStrips
    ? wordsApart * words
    : ((widthDots + 2 * amplitudeDots + 31) >> 5) + 1;
  const fieldRows = heightDots + 2 * amplitudeDots;
  const fieldA = new Int32Array(fieldWords * fieldRows);
  const fieldB = new Int32Array(fieldWords * fieldRows);
  // After the shift of rows; word by word, so that the rows of a word stand together.
  const shiftedA = new Int32Array(words * fieldRows);
  const shiftedB = new Int32Array(words * fieldRows);
  const front = new Int32Array(words * heightDots);
  const back = new Int32Array(words * heightDots);
  const shifts = 2 * amplitudeDots + 1;
  /** A mask for each shift and word: the columns of the word that move by that shift. */
  const columns = new Int32Array(shifts * words);

  function shiftRows(field: NoiseField, k: number): void {
    for (let y = 0; y < fieldRows; y++) {
      for (let w = 0; w < words; w++) {
        const dx = field.dx(k, y - amplitudeDots, 32 * w);
        const from = y * fieldWords + w * wordsApart;
        const xA = amplitudeDots + dx;
        const xB = amplitudeDots - dx;
        shiftedA[w * fieldRows + y] = shifted(fieldA, from + (xA >> 5), xA & 31);
        shiftedB[w * fieldRows + y] = shifted(fieldB, from + (xB >> 5), xB & 31);
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
    /** The letters' cloud and the background's, as `show` left them; laid out as a frame. */
    front,
    back,
    /** Draws new clouds. */
    fill(stream: Keystream): void {
      stream.fill(fieldA);
      stream.fill(fieldB);
    },
    show(field: NoiseField, k: number): void {
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

// The movement of a word's letters: each stands a little off its place, bobs and turns. A small turn is two slants,
// of columns and then of rows, which are shifts of bits: no letter is ever drawn anew for a frame.

/** The least distance between a letter and the border. */
const clearDots = 2;
/** A turned letter is higher by as much above and below. */
const turnRowsMax = 8;

/** A letter of the word, and its own slow movement, one full swing a loop. */
export interface Letter {
  readonly rows: GlyphRows;
  readonly centreX: number;
  readonly centreY: number;
  readonly bobPhase: number;
  readonly turnPhase: number;
}

interface Pose {
  /** Counter-clockwise. */
  readonly degrees: number;
  readonly centreX: number;
  readonly centreY: number;
}

/** Returns the centre of letter `i` before jitter, in dots from the left. */
export function letterCentre(profile: PictureProfile, i: number): number {
  const first = profile.marginDots + profile.letterWidthDotsMax / 2;
  return first + (i * (profile.widthDots - 2 * first)) / (profile.letters - 1);
}

export function drawLetters(
  profile: PictureProfile,
  glyphs: GlyphSet,
  word: string,
  stream: Keystream,
): Letter[] {
  const { heightDots, widthDots, jitterXDots, jitterYDots, bobDots } = profile;
  const jitter = (most: number) => stream.below(2 * most + 1) - most;
  return [...word].map((letter, i) => {
    const rows = glyphs.glyph(letter);
    const lean = Math.tan((profile.turnDegrees * Math.PI) / 180);
    const [halfWidth, halfHeight] = [halfWidthOf(rows), rows.length / 2];
    const reachX = halfWidth + lean * halfHeight + clearDots;
    const reachY = halfHeight + lean * halfWidth + bobDots + clearDots;
    return {
      rows,
      centreX: within(letterCentre(profile, i) + jitter(jitterXDots), reachX, widthDots),
      centreY: within(heightDots / 2 + jitter(jitterYDots), reachY, heightDots),
      bobPhase: stream.unit() * turn,
      turnPhase: stream.unit() * turn,
    };
  });
}

/** Half of what the letter takes of its box, to the farther side. */
function halfWidthOf(rows: GlyphRows): number {
  const all = rows.reduce((a, b) => a | b, 0);
  const left = Math.clz32(all & -all) ^ 31;
  const right = 32 - Math.clz32(all);
  return Math.max(boxDots / 2 - left, right - boxDots / 2);
}

/** Moves the centre so that the letter stays inside, or to the middle where it is too large. */
function within(centre: number, reach: number, size: number): number {
  if (2 * reach >= size) return size / 2;
  return Math.max(reach, Math.min(size - reach, centre));
}

export function poseAt(profile: PictureProfile, letter: Letter, k: number): Pose {
  const { bobDots, turnDegrees, frames } = profile;
  const swing = (phase: number) => Math.sin(phase + (turn * k) / frames);
  return {
    degrees: Math.round(turnDegrees * swing(letter.turnPhase)),
    centreX: letter.centreX,
    centreY: letter.centreY + bobDots * swing(letter.bobPhase),
  };
}

/** Columns of the box that a turn moves by the same number of rows. */
interface Slope {
  readonly down: number;
  readonly columns: number;
}
const slopes = new Map<number, readonly Slope[]>();

function slopesOf(degrees: number): readonly Slope[] {
  let list = slopes.get(degrees);
  if (list === undefined) {
    const lean = Math.tan((degrees * Math.PI) / 180);
    const columns = new Map<number, number>();
    for (let x = 0; x < boxDots; x++) {
      const down = Math.round(-lean * (x + 0.5 - boxDots / 2));
      columns.set(down, (columns.get(down) ?? 0) | (1 << x));
    }
    list = [...columns].map(([down, bits]) => ({ down, columns: bits }));
    slopes.set(degrees, list);
  }
  return list;
}

const turned = new Int32Array(128);

/** Adds the letter to a mask of `wordsPerRow` words a row; what is outside of it is cut off. */
export function stamp(
  mask: Int32Array,
  wordsPerRow: number,
  rows: GlyphRows,
  { degrees, centreX, centreY }: Pose,
): void {
  const height = rows.length + 2 * turnRowsMax;
  turned.fill(0, 0, height);
  for (const { down, columns } of slopesOf(degrees)) {
    const to = turnRowsMax + down;
    for (let y = 0; y < rows.length; y++) turned[y + to]! |= rows[y]! & columns;
  }
  const lean = Math.tan((degrees * Math.PI) / 180);
  const top = Math.round(centreY - height / 2);
  const last = mask.length / wordsPerRow;
  for (let y = Math.max(0, -top); y < height && top + y < last; y++) {
    const bits = turned[y]!;
    if (bits === 0) continue;
    const x = Math.round(centreX - boxDots / 2 + lean * (y + 0.5 - height / 2));
    const word = x >> 5;
    const at = (top + y) * wordsPerRow + word;
    if (word >= 0 && word < wordsPerRow) mask[at]! |= bits << (x & 31);
    if (word + 1 >= 0 && word + 1 < wordsPerRow) mask[at + 1]! |= (bits >>> 1) >>> (31 - (x & 31));
  }
}

// One motion challenge from a seed: the word and its GIF. The same seed gives the same bytes.

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

// Frames of one-bit dots to a looping GIF. gifenc writes the container; the frames' data is
// compressed here, the same bytes in a third of the time. Frame size does not depend on the word.

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

function createGifWriter(profile: PictureProfile) {
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

type GifWriter = ReturnType<typeof createGifWriter>;
