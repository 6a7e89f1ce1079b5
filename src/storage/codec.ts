/**
 * A compact binary layout for record and event bodies. Big-endian, lengths as varints, no field
 * names: the layout is versioned by its owner. Decoding never reads past the end: a reader that
 * runs out, or meets a malformed field, fails as a whole and `decode` gives undefined.
 */

import { readAscii, writeAscii } from '../core/text.ts';

const strictText = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** An out-of-range number is a bug and throws a RangeError. */
export function createWriter(initialBytes = 64): Writer {
  return new Writer(Math.max(16, initialBytes));
}

/** A class, because closures would be allocated for each of thousands of rows a second. */
export class Writer {
  #buffer: Buffer;
  #length = 0;

  constructor(initialBytes: number) {
    this.#buffer = Buffer.allocUnsafe(initialBytes);
  }

  /** Offset of `size` free bytes. */
  #take(size: number): number {
    const start = this.#length;
    this.#length += size;
    if (this.#length > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.#length, this.#buffer.length * 2));
      larger.set(this.#buffer.subarray(0, start));
      this.#buffer = larger;
    }
    return start;
  }

  u8(value: number): Writer {
    const at = this.#take(1);
    this.#buffer.writeUInt8(value, at);
    return this;
  }

  u16(value: number): Writer {
    const at = this.#take(2);
    this.#buffer.writeUInt16BE(value, at);
    return this;
  }

  u32(value: number): Writer {
    const at = this.#take(4);
    this.#buffer.writeUInt32BE(value, at);
    return this;
  }

  u64(value: bigint): Writer {
    const at = this.#take(8);
    this.#buffer.writeBigUInt64BE(value, at);
    return this;
  }

  f32(value: number): Writer {
    const at = this.#take(4);
    this.#buffer.writeFloatBE(value, at);
    return this;
  }

  f64(value: number): Writer {
    const at = this.#take(8);
    this.#buffer.writeDoubleBE(value, at);
    return this;
  }

  /** Unsigned LEB128, 0 to 2^53 − 1, in 1 to 8 bytes. */
  varint(value: number): Writer {
    if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${value} as varint`);
    let rest = value;
    while (rest >= 0x80) {
      const at = this.#take(1);
      this.#buffer[at] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    const at = this.#take(1);
    this.#buffer[at] = rest;
    return this;
  }

  /** Length as varint, then the bytes. */
  bytes(value: Uint8Array): Writer {
    return this.varint(value.length).raw(value);
  }

  /** The bytes alone, for fields of a fixed width. */
  raw(value: Uint8Array): Writer {
    const at = this.#take(value.length);
    this.#buffer.set(value, at);
    return this;
  }

  /** UTF-8 length as varint, then UTF-8. */
  text(value: string): Writer {
    // The length of a short text of ASCII is one byte, known before; of any other this is written over.
    const start = this.#take(1 + value.length);
    if (writeAscii(this.#buffer, start + 1, value)) {
      this.#buffer[start] = value.length;
      return this;
    }
    this.#length = start;
    const size = Buffer.byteLength(value, 'utf8');
    this.varint(size);
    // In two steps: `#take` may put another buffer in place of this one.
    const at = this.#take(size);
    this.#buffer.write(value, at, size, 'utf8');
    return this;
  }

  /** A copy of what was written; the writer may go on. */
  finish(): Uint8Array {
    return Uint8Array.prototype.slice.call(this.#buffer, 0, this.#length);
  }

  /** Empties the writer and keeps its memory: a new writer for each of thousands of bodies would be garbage. */
  clear(): Writer {
    this.#length = 0;
    return this;
  }
}

const nothing = new Uint8Array();

export function createReader(input: Uint8Array): Reader {
  return new Reader(input);
}

/** Fields in the order they were written. After a failure every field reads as zero or empty. */
export class Reader {
  readonly #input: Buffer;
  #position = 0;
  #failed = false;

  constructor(input: Uint8Array) {
    this.#input = Buffer.isBuffer(input)
      ? input
      : Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  }

  /** Offset of the next `size` bytes, or −1 when there are not so many. */
  #take(size: number): number {
    if (this.#failed || size > this.#input.length - this.#position) {
      this.#failed = true;
      return -1;
    }
    const start = this.#position;
    this.#position += size;
    return start;
  }

  u8(): number {
    const at = this.#take(1);
    return at < 0 ? 0 : this.#input[at]!;
  }

  u16(): number {
    const at = this.#take(2);
    return at < 0 ? 0 : this.#input.readUInt16BE(at);
  }

  u32(): number {
    const at = this.#take(4);
    return at < 0 ? 0 : this.#input.readUInt32BE(at);
  }

  u64(): bigint {
    const at = this.#take(8);
    return at < 0 ? 0n : this.#input.readBigUInt64BE(at);
  }

  f32(): number {
    const at = this.#take(4);
    return at < 0 ? 0 : this.#input.readFloatBE(at);
  }

  f64(): number {
    const at = this.#take(8);
    return at < 0 ? 0 : this.#input.readDoubleBE(at);
  }

  varint(): number {
    let value = 0;
    let scale = 1;
    for (let i = 0; i < 8; i++) {
      const at = this.#take(1);
      if (at < 0) return 0;
      const byte = this.#input[at]!;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (Number.isSafeInteger(value) && (byte !== 0 || i === 0)) return value;
        break;
      }
      scale *= 0x80;
    }
    this.#failed = true;
    return 0;
  }

  /** A view into the input, not a copy. */
  bytes(): Uint8Array {
    return this.raw(this.varint());
  }

  raw(length: number): Uint8Array {
    const at = this.#take(length);
    return at < 0 ? nothing : this.#input.subarray(at, at + length);
  }

  text(): string {
    const size = this.varint();
    const at = this.#take(size);
    if (at < 0) return '';
    const plain = readAscii(this.#input, at, at + size);
    if (plain !== undefined) return plain;
    try {
      return strictText.decode(this.#input.subarray(at, at + size));
    } catch {
      this.#failed = true;
      return '';
    }
  }

  /** Bytes left. Bound a loop over a decoded count with it: each item takes at least one byte. */
  remaining(): number {
    return this.#failed ? 0 : this.#input.length - this.#position;
  }

  /** Marks the input as malformed: for a value outside its domain. */
  reject(): void {
    this.#failed = true;
  }

  failed(): boolean {
    return this.#failed;
  }
}

/** Undefined when the input ends early, is malformed, or goes on after the last field. */
export function decode<T>(input: Uint8Array, read: (reader: Reader) => T): T | undefined {
  const reader = createReader(input);
  const value = read(reader);
  return reader.failed() || reader.remaining() > 0 ? undefined : value;
}
