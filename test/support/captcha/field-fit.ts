/**
 * Finds the motion of a challenge from its frames, as a program does that knows how the picture is
 * made: two smooth lines of angles, one over the rows and one over the columns, are all there is to
 * find. Rows and columns are fitted in turn, each as the smoothest line along which the frames
 * agree best. The letters' cloud and the background's can't be told apart: the letters may come
 * out darker instead of brighter.
 */

import type { NoiseField } from '../../../src/captcha/picture/motion-scene.ts';
import type { PictureProfile } from '../../../src/captcha/picture/profiles.ts';

/** Angles tried, a whole turn of them. */
const angles = 32;
const tileWidth = 6;
const tileHeight = 3;
/** Of so many rows and columns of tiles one is looked at before anything is known. */
const every = 2;
/** Frames between those compared: two steps of the motion tell its direction better than one. */
const gap = 2;
/** Largest step that is tabled, dots. */
const reach = 3;
const rounds = 3;
/** Angles tried on each side of what is known. */
const near = 3;

export function fitField(frames: readonly Uint8Array[], profile: PictureProfile): NoiseField {
  const { amplitudeDots, frames: count } = profile;
  const tiles = tileAgreements(frames, profile);
  const score = createScore(tiles, profile);
  let { rows, columns } = firstGuess(tiles, score, profile);
  for (let round = 0; round < rounds; round++) {
    const slopes = slopesOf(rows);
    const apart = tiles.strips.map((strip) => stripAngle(columns, strip, profile));
    columns = refined(columns, (column, q) =>
      sumOver(tiles.rows, (row) => {
        const p = rows[row]! + apart[column]!;
        return score(row, column, p, slopes[row]!, Math.round(q)) ** 2;
      }),
    );
    rows = refined(rows, (row, p) =>
      sumOver(tiles.columns, (column) => {
        const q = Math.round(columns[column]!);
        return score(row, column, p + apart[column]!, slopes[row]!, q) ** 2;
      }),
    );
  }
  const offset = (angle: number, k: number) =>
    Math.round(amplitudeDots * Math.cos(2 * Math.PI * (angle / angles + k / count)));
  return {
    dx: (k, y, x) =>
      offset(between(rows, (y + 0.5) / tileHeight - 0.5) + stripAngle(columns, x >> 5, profile), k),
    dy: (k, x) => offset(between(columns, (x + 0.5) / tileWidth - 0.5), k),
  };
}

/** By how much the rows of a strip are turned against those in the middle of the picture: as its columns are. */
function stripAngle(
  columns: readonly number[],
  strip: number,
  { hasStrips, widthDots }: PictureProfile,
): number {
  if (!hasStrips) return 0;
  const at = (x: number) => between(columns, (x + 0.5) / tileWidth - 0.5);
  return at(Math.min(32 * strip + 16, (32 * strip + widthDots) / 2)) - at(widthDots / 2);
}

/**
 * How much more a tile agrees along one cloud's way than along the other's: with the angle
 * `p` of its row, which changes by `slope` a dot, and the angle `q` of its column.
 */
type Score = (row: number, column: number, p: number, slope: number, q: number) => number;

function createScore(tiles: Tiles, { amplitudeDots, frames: count }: PictureProfile): Score {
  const moved = (angle: number, k: number) =>
    amplitudeDots * Math.cos(2 * Math.PI * (angle / angles + k / count));
  const at = Float64Array.from({ length: angles * count }, (_, i) =>
    moved(Math.floor(i / count), i % count),
  );
  const steps = Int8Array.from({ length: angles * count }, (_, i) => {
    const [angle, k] = [Math.floor(i / count), i % count];
    return Math.round(moved(angle, k)) - Math.round(moved(angle, k + gap));
  });
  return (row, column, p, slope, q) => {
    let sum = 0;
    const qAt = wrapped(q) * count;
    for (let k = 0; k < count; k++) {
      const bent = slope * at[qAt + k]!;
      const stepY = steps[qAt + k]!;
      const stepA = steps[wrapped(Math.round(p + bent)) * count + k]!;
      const stepB = steps[wrapped(Math.round(p - bent)) * count + k]!;
      sum += tiles.at(k, row, column, stepA, stepY) - tiles.at(k, row, column, -stepB, -stepY);
    }
    return sum;
  };
}

/**
 * Both lines as if they were straight: where each begins, and whether it goes up or down. Both angles
 * plus half a turn are the same motion with the clouds exchanged.
 */
function firstGuess(tiles: Tiles, score: Score, profile: PictureProfile) {
  const { curveDownRad, curveAcrossRad, heightDots, widthDots } = profile;
  const perTile = (rad: number, dots: number, tile: number) =>
    (((rad * angles) / (2 * Math.PI)) * tile) / dots;
  const down = perTile(curveDownRad, heightDots, tileHeight);
  const across = perTile(curveAcrossRad, widthDots, tileWidth);
  let best = { rows: [] as number[], columns: [] as number[], most: -1 };
  for (const way of [1, -1]) {
    const energies = energiesOf(tiles, score, (way * down) / tileHeight);
    for (const columnWay of [1, -1]) {
      const line = Array.from({ length: tiles.columns }, (_, i) => columnWay * across * i);
      const apart = tiles.strips.map((strip) => stripAngle(line, strip, profile));
      for (let p = 0; p < angles; p++) {
        for (let q = 0; q < angles / 2; q++) {
          let sum = 0;
          for (let row = 0; row < tiles.rows; row += every) {
            for (let column = 0; column < tiles.columns; column += every) {
              const atP = wrapped(Math.round(p + way * down * row + apart[column]!));
              const atQ = wrapped(Math.round(q + columnWay * across * column));
              const tile = row * tiles.columns + column;
              sum += energies[(tile * angles + atP) * angles + atQ]!;
            }
          }
          if (sum <= best.most) continue;
          best = {
            rows: Array.from({ length: tiles.rows }, (_, i) => p + way * down * i),
            columns: Array.from({ length: tiles.columns }, (_, i) => q + columnWay * across * i),
            most: sum,
          };
        }
      }
    }
  }
  return best;
}

/** The squared score of each tile for all pairs of angles. */
function energiesOf(tiles: Tiles, score: Score, slope: number): Float32Array {
  const energies = new Float32Array(tiles.rows * tiles.columns * angles * angles);
  for (let row = 0; row < tiles.rows; row += every) {
    for (let column = 0; column < tiles.columns; column += every) {
      let at = (row * tiles.columns + column) * angles * angles;
      for (let p = 0; p < angles; p++) {
        for (let q = 0; q < angles; q++) energies[at++] = score(row, column, p, slope, q) ** 2;
      }
    }
  }
  return energies;
}

function refined(line: readonly number[], score: (i: number, angle: number) => number): number[] {
  const sharp = line.map((angle, i) => {
    let best = angle;
    let most = Number.NEGATIVE_INFINITY;
    for (let step = -near; step <= near; step++) {
      const value = score(i, Math.round(angle) + step);
      if (value > most) {
        most = value;
        best = Math.round(angle) + step;
      }
    }
    return best;
  });
  return sharp.map((angle, i) => {
    const before = sharp[Math.max(0, i - 1)]!;
    const after = sharp[Math.min(sharp.length - 1, i + 1)]!;
    return angle / 2 + (before + after) / 4;
  });
}

function sumOver(count: number, value: (i: number) => number): number {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += value(i);
  return sum;
}

type Tiles = ReturnType<typeof tileAgreements>;

/** How many dots of a tile agree with those of the frame `gap` later, for each step. */
function tileAgreements(
  frames: readonly Uint8Array[],
  { widthDots: w, heightDots: h }: PictureProfile,
) {
  const columns = Math.ceil(w / tileWidth);
  const rows = Math.ceil(h / tileHeight);
  const size = 2 * reach + 1;
  const counts = new Float32Array(frames.length * size * size * rows * columns);
  for (const [k, frame] of frames.entries()) {
    const later = frames[(k + gap) % frames.length]!;
    for (let step = 0; step < size * size; step++) {
      const stepX = (step % size) - reach;
      const stepY = Math.floor(step / size) - reach;
      const base = (k * size * size + step) * rows * columns;
      for (let y = 0; y < h; y++) {
        const line = base + Math.floor(y / tileHeight) * columns;
        const inside = y + stepY >= 0 && y + stepY < h;
        for (let x = 0; x < w; x++) {
          const seen = inside && x + stepX >= 0 && x + stepX < w;
          const equal = seen
            ? frame[y * w + x] === later[(y + stepY) * w + x + stepX]
              ? 0.5
              : -0.5
            : 0;
          counts[line + Math.floor(x / tileWidth)]! += equal;
        }
      }
    }
  }
  return {
    rows,
    columns,
    /** Of each column of tiles the strip that its middle is in. */
    strips: Array.from({ length: columns }, (_, i) => (i * tileWidth + tileWidth / 2) >> 5),
    at(k: number, row: number, column: number, stepX: number, stepY: number): number {
      const step = (stepY + reach) * size + stepX + reach;
      return counts[((k * size * size + step) * rows + row) * columns + column]!;
    },
  };
}

/** Angles a dot, from the tiles around. */
function slopesOf(line: readonly number[]): number[] {
  return line.map((_, i) => {
    const [low, high] = [Math.max(0, i - 2), Math.min(line.length - 1, i + 2)];
    return (line[high]! - line[low]!) / ((high - low) * tileHeight);
  });
}

/** Between two tiles, or along the last two beyond them. */
function between(line: readonly number[], place: number): number {
  const i = Math.max(0, Math.min(line.length - 2, Math.floor(place)));
  return line[i]! + (place - i) * (line[i + 1]! - line[i]!);
}

function wrapped(angle: number): number {
  return ((angle % angles) + angles) % angles;
}
