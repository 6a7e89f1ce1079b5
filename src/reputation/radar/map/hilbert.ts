/**
 * The Hilbert curve over a square: what is near in number is near in the picture, and each power of four
 * of numbers is a square. Of all IPv4 a /8 is a square of sixteen by sixteen /16s, and each of these one
 * of sixteen by sixteen /24s: the places of a finer picture lie within those of the coarser one.
 */

export interface Dot {
  readonly x: number;
  readonly y: number;
}

/**
 * Returns the place of a number on the curve. @param side of the square, a power of two; `at` is
 * below its square
 */
export function placeOf(side: number, at: number): Dot {
  let x = 0;
  let y = 0;
  let rest = at;
  for (let s = 1; s < side; s *= 2) {
    const right = (rest >>> 1) & 1;
    const down = (rest ^ right) & 1;
    if (down === 0) {
      if (right === 1) {
        x = s - 1 - x;
        y = s - 1 - y;
      }
      [x, y] = [y, x];
    }
    x += s * right;
    y += s * down;
    rest >>>= 2;
  }
  return { x, y };
}

export const blockSide = 16;
const blockSize = blockSide * blockSide;

/**
 * The 256 numbers of a block, row by row as the picture shows them.
 * @param side of the square that the block is a piece of
 * @param block its number: those of its pieces begin at 256 times as many
 */
export function rowsOfBlock(side: number, block: number): Uint32Array {
  const numbers = new Uint32Array(blockSize);
  for (let i = 0; i < blockSize; i++) {
    const number = block * blockSize + i;
    const { x, y } = placeOf(side, number);
    numbers[(y % blockSide) * blockSide + (x % blockSide)] = number;
  }
  return numbers;
}
