/** The part of opentype.js that is used here; the package carries no types of its own. */

declare module 'opentype.js' {
  namespace opentype {
    type PathCommand =
      | { type: 'M' | 'L'; x: number; y: number }
      | { type: 'Q'; x1: number; y1: number; x: number; y: number }
      | { type: 'C'; x1: number; y1: number; x2: number; y2: number; x: number; y: number }
      | { type: 'Z' };
    interface Path {
      readonly commands: readonly PathCommand[];
      getBoundingBox(): { x1: number; y1: number; x2: number; y2: number };
    }
    interface Font {
      charToGlyph(character: string): { getPath(x: number, y: number, size: number): Path };
    }
  }
  const opentype: {
    /** With `lowMemory` glyphs are read when they are asked for. */
    parse(file: ArrayBuffer, options?: { lowMemory?: boolean }): opentype.Font;
  };
  export default opentype;
}
