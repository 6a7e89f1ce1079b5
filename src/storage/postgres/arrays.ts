/**
 * Arrays as PostgreSQL reads them in binary: as text each byte would be two characters, and escaped.
 * A Buffer is sent as it is, in the binary format of the parameter's type.
 *
 *   dimensions u32 (1, or 0 when empty) · has-null u32 · element oid u32 · count u32 · first index u32
 *   and for each element its length u32 (2^32-1: null) and its bytes
 */

const oids = { bytea: 17, int8: 20, text: 25 } as const;
const headBytes = 20;
const nullLength = -1;

function encode(oid: number, parts: readonly (Uint8Array | null)[]): Buffer {
  if (parts.length === 0) {
    const empty = Buffer.alloc(12);
    empty.writeUInt32BE(oid, 8);
    return empty;
  }
  const size = parts.reduce((sum, part) => sum + 4 + (part?.length ?? 0), headBytes);
  const out = Buffer.allocUnsafe(size);
  out.writeUInt32BE(1, 0);
  out.writeUInt32BE(parts.includes(null) ? 1 : 0, 4);
  out.writeUInt32BE(oid, 8);
  out.writeUInt32BE(parts.length, 12);
  out.writeUInt32BE(1, 16);
  let at = headBytes;
  for (const part of parts) {
    at = out.writeInt32BE(part?.length ?? nullLength, at);
    if (part === null) continue;
    out.set(part, at);
    at += part.length;
  }
  return out;
}

export function byteaArray(values: readonly Uint8Array[]): Buffer {
  return encode(oids.bytea, values);
}

export function textArray(values: readonly string[]): Buffer {
  return encode(
    oids.text,
    values.map((value) => Buffer.from(value, 'utf8')),
  );
}

/** Whole numbers up to 2^53. */
export function int8Array(values: readonly (number | null)[]): Buffer {
  return encode(
    oids.int8,
    values.map((value) => {
      if (value === null) return null;
      const part = Buffer.allocUnsafe(8);
      part.writeBigInt64BE(BigInt(value));
      return part;
    }),
  );
}
