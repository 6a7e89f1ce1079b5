/**
 * The layout of a stored record, described once: from one description come the bytes, the value and
 * the refusal of what is neither. For records that are read and written now and then; what is read
 * thousands of times a second stands on `codec.ts` alone.
 *
 *     const visits = record(2, { site: text, at: time, device: since(2, text, '') });
 *     type Visit = Decoded<typeof visits.decode>;
 *
 * The order of the fields is the order of the bytes; the number of the layout comes first. A newer
 * layout adds fields with `since`, and rows of the former ones still decode.
 */

import { createWriter, decode, type Reader, type Writer } from './codec.ts';

export interface Field<T> {
  write(out: Writer, value: T): void;
  /** A value outside of its domain fails the reader. @param found what came before in the record */
  read(input: Reader, found: PrecedingFields): T;
}

interface PrecedingFields {
  readonly layout: number;
  /** By name, all fields before this one. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** All members of `T`, in the order of their bytes. */
type RecordFields<T> = { readonly [Name in keyof T]-?: Field<T[Name]> };

interface RecordCodec<T> {
  encode(value: T): Uint8Array;
  /** Undefined for damaged bytes and for a layout that is not known. */
  decode(bytes: Uint8Array): T | undefined;
}

/** The values of a record, by its `decode`. */
export type Decoded<Decode extends RecordCodec<unknown>['decode']> = Readonly<
  NonNullable<ReturnType<Decode>>
>;

/** The values of a field or group. */
export type FieldValue<F> = F extends Field<infer T> ? Readonly<T> : never;

export const u8: Field<number> = { write: (out, n) => out.u8(n), read: (input) => input.u8() };
export const u16: Field<number> = { write: (out, n) => out.u16(n), read: (input) => input.u16() };
export const u32: Field<number> = { write: (out, n) => out.u32(n), read: (input) => input.u32() };
export const varint: Field<number> = {
  write: (out, n) => out.varint(n),
  read: (input) => input.varint(),
};
export const f64: Field<number> = { write: (out, n) => out.f64(n), read: (input) => input.f64() };
/** Milliseconds since 1970. */
export const time = f64;
export const text: Field<string> = {
  write: (out, value) => out.text(value),
  read: (input) => input.text(),
};
/** Empty on disk when there is none. */
export const optionalText: Field<string | undefined> = {
  write: (out, value) => out.text(value ?? ''),
  read: (input) => input.text() || undefined,
};
export const flag: Field<boolean> = {
  write: (out, value) => out.u8(value ? 1 : 0),
  read: (input) => input.u8() === 1,
};
/** Read as a copy: the row may be a view of memory that the store takes back. */
export const bytes: Field<Uint8Array> = {
  write: (out, value) => out.bytes(value),
  read: (input) => Uint8Array.from(input.bytes()),
};

/** Bytes without their length. */
export function fixed(length: number): Field<Uint8Array> {
  return {
    write: (out, value) => out.raw(value),
    read: (input) => Uint8Array.from(input.raw(length)),
  };
}

/** Its place in the list, as a u8: a value is only ever added at the end. */
export function oneOf<const T>(values: readonly [T, ...T[]]): Field<T> {
  return {
    write: (out, value) => out.u8(values.indexOf(value)),
    read(input) {
      const value = values[input.u8()];
      if (value === undefined) input.reject();
      return value ?? values[0];
    },
  };
}

export function list<T>(item: Field<T>): Field<readonly T[]> {
  return {
    write(out, values) {
      out.varint(values.length);
      for (const value of values) item.write(out, value);
    },
    read(input, found) {
      const count = input.varint();
      // Each item takes a byte at least: a damaged count asks for no memory.
      if (count > input.remaining()) input.reject();
      return Array.from({ length: input.failed() ? 0 : count }, () => item.read(input, found));
    },
  };
}

export function group<T>(fields: RecordFields<T>): Field<T> {
  const entries = Object.entries(fields) as [string, Field<unknown>][];
  return {
    write(out, value) {
      for (const [name, field] of entries) field.write(out, (value as never)[name]);
    },
    read(input, { layout }) {
      const found: Record<string, unknown> = {};
      for (const [name, field] of entries) {
        found[name] = field.read(input, { layout, fields: found });
      }
      return found as T;
    },
  };
}

/** A field that layouts before `layout` don't have. */
export function since<T>(
  layout: number,
  field: Field<T>,
  former: T | ((fields: PrecedingFields['fields']) => T),
): Field<T> {
  return {
    write: field.write,
    read(input, found) {
      if (found.layout >= layout) return field.read(input, found);
      return typeof former === 'function'
        ? (former as (fields: PrecedingFields['fields']) => T)(found.fields)
        : former;
    },
  };
}

/** A last field that layouts before `layout` don't have: a value that needs no such layout is undefined. */
export function onlySince<T>(layout: number, field: Field<T>): Field<T | undefined> {
  return {
    write(out, value) {
      if (value !== undefined) field.write(out, value);
    },
    read: (input, found) => (found.layout >= layout ? field.read(input, found) : undefined),
  };
}

/** Wraps a field of which not every value is good: the reader fails for the others. */
export function checked<T>(
  field: Field<T>,
  isGood: (value: T, layout: number) => boolean,
): Field<T> {
  return {
    write: field.write,
    read(input, found) {
      const value = field.read(input, found);
      if (!isGood(value, found.layout)) input.reject();
      return value;
    },
  };
}

/** The members of two groups as those of one. */
export function both<A, B>(first: Field<A>, second: Field<B>): Field<A & B> {
  return {
    write(out, value) {
      first.write(out, value);
      second.write(out, value);
    },
    read: (input, found) => ({ ...first.read(input, found), ...second.read(input, found) }),
  };
}

/** Kept as something else than it is worked with. */
export function mapped<T, Stored>(
  stored: Field<Stored>,
  store: (value: T) => Stored,
  load: (value: Stored) => T,
): Field<T> {
  return {
    write: (out, value) => stored.write(out, store(value)),
    read: (input, found) => load(stored.read(input, found)),
  };
}

/**
 * @param layout that is written
 * @param oldest that is still read
 */
export function record<T>(
  layout: number,
  fields: RecordFields<T>,
  oldest = layout,
): RecordCodec<T> {
  const body = group(fields);
  return {
    encode(value) {
      const out = createWriter(128).u8(layout);
      body.write(out, value);
      return out.finish();
    },
    decode: (input) =>
      decode(input, (reader) => {
        const found = reader.u8();
        if (found < oldest || found > layout) reader.reject();
        return body.read(reader, { layout: found, fields: {} });
      }),
  };
}

/** The same without a number in front: its layout never changes, or its owner wrote the number. */
export function bareRecord<T>(fields: RecordFields<T>): RecordCodec<T> {
  const body = group(fields);
  return {
    encode(value) {
      const out = createWriter(128);
      body.write(out, value);
      return out.finish();
    },
    decode: (input) => decode(input, (reader) => body.read(reader, { layout: 0, fields: {} })),
  };
}
