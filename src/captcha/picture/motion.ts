/**
 * The offsets of the clouds in each frame. Every dot runs along a circle or an ellipse, and the dots of
 * the other cloud run opposite at the same place; but the places are at different angles of it,
 * so no one shift brings a frame onto the next. Rows are shifted by an offset of their own, then
 * columns by one of theirs: that moves dots and loses or doubles none, so a frame stays even. The
 * circle closes, so the loop has no seam and no wrap-around.
 */

import type { Keystream } from './keystream.ts';
import type { PictureProfile } from './profiles.ts';

const turn = 2 * Math.PI;
/** Angles are whole numbers of steps, so that a table has all the sines. */
const stepsPerFrame = 16;
/** The curve of angles leaves a straight line by at most this fraction of its span. */
const bend = 0.06;

/** The letters' cloud; the background's offsets are the negatives. */
export interface NoiseField {
  /** Dots that row `y` is shifted by in frame `k`; `y` from `-amplitudeDots` to as much past the last. */
  dx(k: number, y: number): number;
  /** Dots that column `x` is shifted by in frame `k`. */
  dy(k: number, x: number): number;
}

export function createField(profile: PictureProfile, stream: Keystream): NoiseField {
  const { frames, amplitudeDots, widthDots, heightDots } = profile;
  const steps = frames * stepsPerFrame;
  const offsets = offsetsOf(amplitudeDots, steps);
  const sense = stream.below(2) === 0 ? 1 : -1;
  const rows = angles(stream, heightDots, amplitudeDots, profile.curveDownRad, steps);
  const columns = angles(stream, widthDots, 0, profile.curveAcrossRad, steps);
  lock(rows, amplitudeDots + (heightDots >> 1), columns, widthDots >> 1, steps);
  const quarter = steps - steps / 4;
  const at = (angle: number, k: number) =>
    offsets[(angle + sense * k * stepsPerFrame + steps) % steps]!;
  return {
    dx: (k, y) => at(rows[y + amplitudeDots]!, k),
    // The sine of an angle is the cosine of one a quarter turn back.
    dy: (k, x) => at((columns[x]! + quarter) % steps, k),
  };
}

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
