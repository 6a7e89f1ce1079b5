/**
 * A compact binary layout for record and event bodies. Big-endian, lengths as varints, no field
 * names: the layout is versioned by its owner. Decoding never reads past the end: a reader that
 * runs out, or meets a malformed field, fails as a whole and `decode` gives undefined.
 */

const strictText = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export interface Writer {
  u8(value: number): Writer;
  u16(value: number): Writer;
  u32(value: number): Writer;
  u64(value: bigint): Writer;
  f32(value: number): Writer;
  f64(value: number): Writer;
  /** Unsigned LEB128, 0 to 2^53 − 1, in 1 to 8 bytes. */
  varint(value: number): Writer;
  /** Length as varint, then the bytes. */
  bytes(value: Uint8Array): Writer;
  /** The bytes alone, for fields of a fixed width. */
  raw(value: Uint8Array): Writer;
  /** UTF-8 length as varint, then UTF-8. */
  text(value: string): Writer;
  /** A copy of what was written; the writer may go on. */
  finish(): Uint8Array;
}

/** An out-of-range number is a bug and throws a RangeError. */
export function createWriter(initialBytes = 64): Writer {
  let buffer = Buffer.allocUnsafe(Math.max(16, initialBytes));
  let length = 0;

  /** Offset of `size` free bytes. */
  function take(size: number): number {
    const start = length;
    length += size;
    if (length > buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, buffer.length * 2));
      larger.set(buffer.subarray(0, start));
      buffer = larger;
    }
    return start;
  }

  const writer: Writer = {
    u8(value) {
      const at = take(1);
      buffer.writeUInt8(value, at);
      return writer;
    },
    u16(value) {
      const at = take(2);
      buffer.writeUInt16BE(value, at);
      return writer;
    },
    u32(value) {
      const at = take(4);
      buffer.writeUInt32BE(value, at);
      return writer;
    },
    u64(value) {
      const at = take(8);
      buffer.writeBigUInt64BE(value, at);
      return writer;
    },
    f32(value) {
      const at = take(4);
      buffer.writeFloatBE(value, at);
      return writer;
    },
    f64(value) {
      const at = take(8);
      buffer.writeDoubleBE(value, at);
      return writer;
    },
    varint(value) {
      if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${value} as varint`);
      while (value >= 0x80) {
        const at = take(1);
        buffer[at] = (value % 0x80) | 0x80;
        value = Math.floor(value / 0x80);
      }
      const at = take(1);
      buffer[at] = value;
      return writer;
    },
    bytes(value) {
      return writer.varint(value.length).raw(value);
    },
    raw(value) {
      const at = take(value.length);
      buffer.set(value, at);
      return writer;
    },
    text(value) {
      const size = Buffer.byteLength(value, 'utf8');
      writer.varint(size);
      // In two steps: `take` may put another buffer in place of this one.
      const at = take(size);
      buffer.write(value, at, size, 'utf8');
      return writer;
    },
    finish: () => Uint8Array.prototype.slice.call(buffer, 0, length),
  };
  return writer;
}

/** Fields in the order they were written. After a failure every field reads as zero or empty. */
export interface Reader {
  u8(): number;
  u16(): number;
  u32(): number;
  u64(): bigint;
  f32(): number;
  f64(): number;
  varint(): number;
  /** A view into the input, not a copy. */
  bytes(): Uint8Array;
  raw(length: number): Uint8Array;
  text(): string;
  /** Bytes left. Bound a loop over a decoded count with it: each item takes at least one byte. */
  remaining(): number;
  /** Marks the input as malformed: for a value outside its domain. */
  reject(): void;
  failed(): boolean;
}

const nothing = new Uint8Array();

export function createReader(input: Uint8Array): Reader {
  const view = new DataView(input.buffer, input.byteOffset, input.byteLength);
  let position = 0;
  let failed = false;

  /** Offset of the next `size` bytes, or −1 when there are not so many. */
  function take(size: number): number {
    if (failed || size > input.length - position) {
      failed = true;
      return -1;
    }
    const start = position;
    position += size;
    return start;
  }

  function varint(): number {
    let value = 0;
    let scale = 1;
    for (let i = 0; i < 8; i++) {
      const at = take(1);
      if (at < 0) return 0;
      const byte = input[at]!;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (Number.isSafeInteger(value) && (byte !== 0 || i === 0)) return value;
        break;
      }
      scale *= 0x80;
    }
    failed = true;
    return 0;
  }

  function raw(length: number): Uint8Array {
    const at = take(length);
    return at < 0 ? nothing : input.subarray(at, at + length);
  }

  function fixed<T>(size: number, read: (at: number) => T, zero: T): T {
    const at = take(size);
    return at < 0 ? zero : read(at);
  }

  return {
    u8: () => fixed(1, (at) => view.getUint8(at), 0),
    u16: () => fixed(2, (at) => view.getUint16(at), 0),
    u32: () => fixed(4, (at) => view.getUint32(at), 0),
    u64: () => fixed(8, (at) => view.getBigUint64(at), 0n),
    f32: () => fixed(4, (at) => view.getFloat32(at), 0),
    f64: () => fixed(8, (at) => view.getFloat64(at), 0),
    varint,
    bytes: () => raw(varint()),
    raw,
    text() {
      const bytes = raw(varint());
      try {
        return strictText.decode(bytes);
      } catch {
        failed = true;
        return '';
      }
    },
    remaining: () => (failed ? 0 : input.length - position),
    reject() {
      failed = true;
    },
    failed: () => failed,
  };
}

/** Undefined when the input ends early, is malformed, or goes on after the last field. */
export function decode<T>(input: Uint8Array, read: (reader: Reader) => T): T | undefined {
  const reader = createReader(input);
  const value = read(reader);
  return reader.failed() || reader.remaining() > 0 ? undefined : value;
}
