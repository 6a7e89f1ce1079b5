/**
 * The bytes of SPOP 2.0, the protocol in which HAProxy asks an agent (its doc/SPOE.txt, section 3):
 *
 *   length u32 · type u8 · flags u32 · stream id varint · frame id varint · payload
 *
 * The length counts what follows it. Nothing here throws, whatever the bytes: a reader that has run over
 * its end is broken, stays so, and says nothing else that counts.
 */

/** HAProxy's own default: its buffer of 16,384 less the length. */
export const spoeFrameBytesMax = 16_380;
/** No peer may ask for less. */
export const frameBytesMin = 256;
/** Type, flags, two ids. */
export const headBytesMin = 7;

export const frameType = {
  unset: 0,
  hello: 1,
  haproxyDisconnect: 2,
  notify: 3,
  agentHello: 101,
  agentDisconnect: 102,
  ack: 103,
} as const;

/** The last piece of a payload; here always the only one. */
export const finFlag = 1;

/** Why a connection ends, as the protocol counts it. */
export const status = {
  normal: 0,
  timeout: 2,
  tooBig: 3,
  invalid: 4,
  noVersion: 5,
  noFrameSize: 6,
  noCapabilities: 7,
  badVersion: 8,
  badFrameSize: 9,
  fragmented: 10,
  noRoom: 13,
} as const;

export type Status = (typeof status)[keyof typeof status];

const messages: Record<Status, string> = {
  0: 'normal',
  2: 'a timeout occurred',
  3: 'frame is too big',
  4: 'invalid frame received',
  5: 'version value not found',
  6: 'max-frame-size value not found',
  7: 'capabilities value not found',
  8: 'unsupported version',
  9: 'max-frame-size too big or too small',
  10: 'payload fragmentation is not supported',
  13: 'resource allocation error',
};

export const valueType = {
  null: 0,
  bool: 1,
  int32: 2,
  uint32: 3,
  int64: 4,
  uint64: 5,
  ipv4: 6,
  ipv6: 7,
  string: 8,
  binary: 9,
} as const;

const trueFlag = 0x10;
const varintBytesMax = 10;

/** Reads a part of some bytes; after `value()` its fields say what that was. */
export class WireReader {
  at = 0;
  isBroken = false;
  /** A `valueType`. */
  type = 0;
  /** The value if it was a number, or 0 or 1 if it was a boolean. */
  number = 0;
  /** The place of the value's bytes if it was an address, a string or binary. */
  start = 0;
  length = 0;
  #bytes: Buffer = Buffer.alloc(0);
  #end = 0;

  begin(bytes: Buffer, at: number, end: number): void {
    this.#bytes = bytes;
    this.at = at;
    this.#end = end;
    this.isBroken = false;
  }

  get isAtEnd(): boolean {
    return this.at >= this.#end;
  }

  byte(): number {
    if (this.at < this.#end) return this.#bytes[this.at++]!;
    this.isBroken = true;
    return 0;
  }

  /** Big endian. */
  u32(): number {
    return ((this.byte() << 24) | (this.byte() << 16) | (this.byte() << 8) | this.byte()) >>> 0;
  }

  /** Four bits and a flag in the first byte from 240 on, then seven each. Inexact from 2^53 on. */
  varint(): number {
    let value = this.byte();
    if (value < 240) return value;
    let weight = 16;
    for (let i = 1; i < varintBytesMax; i++) {
      const byte = this.byte();
      value += byte * weight;
      if (byte < 128) return value;
      weight *= 128;
    }
    this.isBroken = true;
    return 0;
  }

  /** ASCII, or bytes as characters. */
  text(): string {
    this.#take(this.varint());
    return this.valueText();
  }

  /** Returns the bytes of the string read last, each as one character. */
  valueText(): string {
    return this.#bytes.toString('latin1', this.start, this.start + this.length);
  }

  /** Returns one of the 32-bit words of the address read last, the first at 0. */
  word(i: number): number {
    return this.#bytes.readUInt32BE(this.start + 4 * i);
  }

  value(): void {
    const head = this.byte();
    this.type = head & 0x0f;
    this.length = 0;
    switch (this.type) {
      case valueType.null:
        return;
      case valueType.bool:
        this.number = (head & trueFlag) === 0 ? 0 : 1;
        return;
      case valueType.int32:
      case valueType.uint32:
      case valueType.int64:
      case valueType.uint64:
        this.number = this.varint();
        return;
      case valueType.ipv4:
        this.#take(4);
        return;
      case valueType.ipv6:
        this.#take(16);
        return;
      case valueType.string:
      case valueType.binary:
        this.#take(this.varint());
        return;
      default:
        this.isBroken = true;
    }
  }

  #take(length: number): void {
    if (this.isBroken || length > this.#end - this.at) {
      this.isBroken = true;
      this.length = 0;
      return;
    }
    this.start = this.at;
    this.length = length;
    this.at += length;
  }
}

/** Collects answers: all that answer one read go out in one write. */
export class WireWriter {
  #bytes = Buffer.allocUnsafe(65_536);
  #length = 0;

  /** Appends a frame with the FIN flag alone; its ids are the bytes of `ids` from `from` to `to`. */
  frame(
    type: number,
    ids: Buffer,
    from: number,
    to: number,
    ...payload: readonly Uint8Array[]
  ): void {
    let length = 5 + to - from;
    for (const part of payload) length += part.length;
    this.#reserve(4 + length);
    const bytes = this.#bytes;
    let at = bytes.writeUInt32BE(length, this.#length);
    at = bytes.writeUInt8(type, at);
    at = bytes.writeUInt32BE(finFlag, at);
    at += ids.copy(bytes, at, from, to);
    for (const part of payload) {
      bytes.set(part, at);
      at += part.length;
    }
    this.#length = at;
  }

  disconnect(code: Status): void {
    this.frame(frameType.agentDisconnect, noIds, 0, noIds.length, disconnects[code]);
  }

  get length(): number {
    return this.#length;
  }

  /** Returns a copy of the bytes written since the last call. */
  take(): Buffer {
    const taken = Buffer.from(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
    return taken;
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#length + more));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}

/** The ids of a frame that belongs to no stream: both are 0. */
export const noIds = Buffer.of(0, 0);

function varintBytes(value: number): number[] {
  if (value < 240) return [value];
  const bytes = [(value & 0x0f) | 0xf0];
  let rest = Math.floor((value - 240) / 16);
  for (; rest >= 128; rest = Math.floor((rest - 128) / 128)) bytes.push((rest & 0x7f) | 0x80);
  return [...bytes, rest];
}

export function textBytes(text: string): number[] {
  return [...varintBytes(text.length), ...Buffer.from(text, 'latin1')];
}

export const stringValue = (text: string) => [valueType.string, ...textBytes(text)];
export const uintValue = (value: number) => [valueType.uint32, ...varintBytes(value)];

const disconnects = Object.fromEntries(
  Object.entries(messages).map(([code, message]) => [
    code,
    Buffer.from([
      ...[...textBytes('status-code'), ...uintValue(Number(code))],
      ...[...textBytes('message'), ...stringValue(message)],
    ]),
  ]),
) as unknown as Record<Status, Buffer>;
