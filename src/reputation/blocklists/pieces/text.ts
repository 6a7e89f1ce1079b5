/**
 * Text written as bytes into one growing array: a row costs some 20 ns instead of a string and its
 * encoding. Writers take a view and an offset and return the offset behind; they store whole words
 * (see ip/address-writer.ts), so a row needs `slackBytes` more room than its text.
 */

import { writeIp4, writeIp6, writeNumber } from '../../../ip/address-writer.ts';
import { familyOf, lengthOfRow, type Rows } from '../builder/rows.ts';

const slackBytes = 8;
const startBytes = 1 << 16;

export class TextSink {
  view = new DataView(new ArrayBuffer(startBytes));
  /** Bytes written: to be set by whoever writes through `view`. */
  length = 0;

  /** The view to go on with, with room for `more` bytes at `length`. */
  reserve(more: number): DataView {
    const needed = this.length + more + slackBytes;
    if (needed > this.view.byteLength) {
      const larger = new Uint8Array(Math.max(2 * this.view.byteLength, needed));
      larger.set(new Uint8Array(this.view.buffer, 0, this.length));
      this.view = new DataView(larger.buffer);
    }
    return this.view;
  }

  /** Returns the text in memory that is written over from now on, and empties the sink. */
  take(): Uint8Array {
    const text = new Uint8Array(this.view.buffer, 0, this.length);
    this.length = 0;
    return text;
  }

  /** Returns the text in memory of its own that threads share, and empties the sink. */
  takeShared(): Uint8Array {
    return sharedCopy(this.take());
  }

  /** Gives back a large array, so that one large list is not held for ever. */
  release(): void {
    this.view = new DataView(new ArrayBuffer(startBytes));
    this.length = 0;
  }
}

/** Returns a copy in memory that threads share. */
export function sharedCopy(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}

/** Text that is written many times over. */
export interface FixedText {
  /** Four bytes each, the last one filled up. */
  readonly words: Int32Array;
  readonly bytes: number;
}

export function fixedText(text: string): FixedText {
  const bytes = Buffer.from(text);
  const words = new Int32Array(Math.ceil(bytes.length / 4));
  new Uint8Array(words.buffer).set(bytes);
  // The words are stored as they lie: what a little-endian view writes must be the same bytes.
  const view = new DataView(words.buffer);
  for (let i = 0; i < words.length; i++) words[i] = view.getInt32(4 * i, true);
  return { words, bytes: bytes.length };
}

export function writeFixed(view: DataView, at: number, { words, bytes }: FixedText): number {
  for (let i = 0, to = at; i < words.length; i++, to += 4) view.setInt32(to, words[i]!, true);
  return at + bytes;
}

/** `1.2.3.4`, `1.2.3.0/24`, the same for IPv6: no length where it is the whole address. */
export function writePrefix(view: DataView, at: number, rows: Rows, row: number): number {
  const length = lengthOfRow(rows, row);
  if (familyOf(rows, row) === 4) {
    at = writeIp4(view, at, rows[row]!);
    if (length === 32) return at;
  } else {
    at = writeIp6(view, at, rows, row);
    if (length === 128) return at;
  }
  view.setUint8(at, 0x2f);
  return writeNumber(view, at + 1, length);
}
