/**
 * Text written as bytes into one growing array: a row costs some 30 ns instead of a string and its
 * encoding. What is written must be ASCII, but for `bytes`.
 */

import { formatIp } from '../../ip/address.ts';
import { familyOf, lengthOf, type Rows } from './rows.ts';

/** Up to here a loop costs less than `set`. */
const loopBytesMax = 32;

export class TextSink {
  bytes = new Uint8Array(1 << 16);
  length = 0;

  /** Room for `more` bytes: to be called before each row. */
  reserve(more: number): void {
    if (this.length + more <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(2 * this.bytes.length, this.length + more));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
  }

  put(part: Uint8Array): void {
    const { bytes } = this;
    let to = this.length;
    if (part.length > loopBytesMax) {
      bytes.set(part, to);
      this.length = to + part.length;
      return;
    }
    for (let i = 0; i < part.length; i++) bytes[to++] = part[i]!;
    this.length = to;
  }

  /** A whole number from 0 to 2^32 - 1. */
  number(value: number): void {
    const { bytes } = this;
    let digits = 1;
    for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) digits++;
    let at = this.length + digits;
    this.length = at;
    do {
      const rest = Math.floor(value / 10);
      bytes[--at] = 48 + (value - 10 * rest);
      value = rest;
    } while (value > 0);
  }

  ascii(text: string): void {
    for (let i = 0; i < text.length; i++) this.bytes[this.length++] = text.charCodeAt(i);
  }

  /** `1.2.3.4`, `1.2.3.0/24`, the same for IPv6: no length where it is the whole address. */
  prefix(rows: Rows, at: number): void {
    const length = lengthOf(rows, at);
    if (familyOf(rows, at) === 4) {
      this.#address4(rows[at]!);
      if (length === 32) return;
    } else {
      this.ascii(formatIp(6, rows.subarray(at, at + 4)));
      if (length === 128) return;
    }
    this.bytes[this.length++] = 0x2f;
    this.number(length);
  }

  /** What was written, in memory of its own that threads share; the sink is empty afterwards. */
  takeShared(): Uint8Array {
    const copy = new Uint8Array(new SharedArrayBuffer(this.length));
    copy.set(this.bytes.subarray(0, this.length));
    this.length = 0;
    return copy;
  }

  /** Gives back a large array, so that one large list is not held for ever. */
  release(): void {
    this.bytes = new Uint8Array(1 << 16);
    this.length = 0;
  }

  #address4(word: number): void {
    const { bytes } = this;
    let to = this.length;
    for (let shift = 24; shift >= 0; shift -= 8) {
      const octet = (word >>> shift) & 255;
      if (octet >= 100) bytes[to++] = 48 + ((octet * 41) >>> 12);
      if (octet >= 10) bytes[to++] = 48 + tens[octet]!;
      bytes[to++] = 48 + ones[octet]!;
      if (shift > 0) bytes[to++] = 0x2e;
    }
    this.length = to;
  }
}

const tens = Uint8Array.from({ length: 256 }, (_, octet) => Math.floor(octet / 10) % 10);
const ones = Uint8Array.from({ length: 256 }, (_, octet) => octet % 10);
