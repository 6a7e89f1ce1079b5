/**
 * Parts of keys: bytes that sort as their values do. Made into keys by `keys.ts` alone, which hands on
 * those that tests and tools make keys of.
 */

/** A part of a key: its bytes, sorting as the value does. */
export type KeyPart = Uint8Array;

export function u8(value: number): KeyPart {
  return Uint8Array.of(checkedInteger(value, 0xff));
}

export function u16(value: number): KeyPart {
  const part = Buffer.alloc(2);
  part.writeUInt16BE(checkedInteger(value, 0xffff));
  return part;
}

export function u32(value: number): KeyPart {
  const part = Buffer.alloc(4);
  part.writeUInt32BE(checkedInteger(value, 0xffff_ffff));
  return part;
}

export function u64(value: bigint): KeyPart {
  const part = Buffer.alloc(8);
  part.writeBigUInt64BE(value);
  return part;
}

/** UTF-8, each 0x00 escaped as 0x00 0xff, ended by 0x00: sorts right also when parts follow. */
export function text(value: string): KeyPart {
  const size = Buffer.byteLength(value, 'utf8');
  const ended = Buffer.allocUnsafe(size + 1);
  ended.write(value, 0, size, 'utf8');
  ended[size] = 0;
  if (ended.indexOf(0) === size) return ended;
  const bytes = ended.subarray(0, size);
  const out: number[] = [];
  for (const byte of bytes) {
    out.push(byte);
    if (byte === 0) out.push(0xff);
  }
  out.push(0);
  return Uint8Array.from(out);
}

/** The texts of a key that is made of texts alone, none with a zero byte. */
export function readTexts(key: Uint8Array): string[] {
  return Buffer.from(key).toString('utf8', 1).split('\0').slice(0, -1);
}

/** Raw bytes: only as the last part, or where every key of the namespace has the same width here. */
export function raw(value: Uint8Array): KeyPart {
  return value;
}

/** 48 bits, earlier times first. */
export function time(ms: number): KeyPart {
  const part = Buffer.allocUnsafe(6);
  part.writeUIntBE(ms, 0, 6);
  return part;
}

/** 48 bits, later times first. */
export const descendingTime = (ms: number): KeyPart => time(0xffff_ffff_ffff - ms);

function checkedInteger(value: number, max: number): number {
  if (!Number.isInteger(value) || value < 0 || value > max) {
    throw new RangeError(`${value} is not an integer from 0 to ${max}`);
  }
  return value;
}
