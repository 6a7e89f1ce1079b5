/** The part of gifenc that is used here. Its named exports don't exist in Node: destructure. */

declare module 'gifenc' {
  namespace gifenc {
    interface FrameOptions {
      /** Red, green, blue of each colour; on the first frame alone it is the global table. */
      palette?: readonly (readonly [number, number, number])[];
      /** Milliseconds, rounded to 10. */
      delay?: number;
      /** 0 loops for ever. */
      repeat?: number;
      colorDepth?: number;
    }
    interface Stream {
      reset(): void;
      writeByte(byte: number): void;
      writeBytesView(bytes: Uint8Array, offset?: number, byteLength?: number): void;
    }
    interface Encoder {
      readonly stream: Stream;
      reset(): void;
      writeFrame(index: Uint8Array, width: number, height: number, options?: FrameOptions): void;
      finish(): void;
      /** A copy of what was written. */
      bytes(): Uint8Array<ArrayBuffer>;
      bytesView(): Uint8Array;
    }
  }
  const gifenc: { GIFEncoder(options?: { initialCapacity?: number }): gifenc.Encoder };
  export default gifenc;
}
