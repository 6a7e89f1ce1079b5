/** Records by their description: bytes as written out, former layouts, damage. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createWriter } from '../../src/storage/codec.ts';
import {
  bareRecord,
  bytes,
  fixed,
  flag,
  group,
  list,
  mapped,
  oneOf,
  optionalText,
  record,
  since,
  text,
  time,
  u8,
  u16,
  u32,
  varint,
} from '../../src/storage/record.ts';

const colours = ['red', 'green', 'blue'] as const;

interface Sample {
  readonly name: string;
  readonly at: number;
  readonly hash: Uint8Array;
  readonly mark: Uint8Array;
  readonly colour: (typeof colours)[number];
  readonly isOn: boolean;
  readonly place: { readonly x: number; readonly y: number };
  readonly tags: readonly string[];
  readonly note: string | undefined;
  readonly doubled: number;
  readonly level: number;
  readonly alias: string;
}

const samples = record<Sample>(
  3,
  {
    name: text,
    at: time,
    hash: bytes,
    mark: fixed(4),
    colour: oneOf(colours),
    isOn: flag,
    place: group<Sample['place']>({ x: u16, y: u32 }),
    tags: list(text),
    note: optionalText,
    doubled: mapped<number, number>(
      varint,
      (n) => n * 2,
      (n) => n / 2,
    ),
    level: since(2, u8, 7),
    alias: since(3, text, ({ name }) => `${name}!`),
  },
  1,
);

const plain = { noNullPrototype: true };
const anySample: fc.Arbitrary<Sample> = fc.record(
  {
    name: fc.string({ unit: 'grapheme' }),
    at: fc.double({ noNaN: true }),
    hash: fc.uint8Array(),
    mark: fc.uint8Array({ minLength: 4, maxLength: 4 }),
    colour: fc.constantFrom(...colours),
    isOn: fc.boolean(),
    place: fc.record({ x: fc.nat(65_535), y: fc.nat() }, plain),
    tags: fc.array(fc.string()),
    note: fc.option(fc.string({ minLength: 1 }), { nil: undefined }),
    doubled: fc.nat(),
    level: fc.nat(255),
    alias: fc.string(),
  },
  plain,
);

/** By hand, up to the fields that layout 1 had. */
function written(layout: number, sample: Sample) {
  const out = createWriter().u8(layout).text(sample.name).f64(sample.at).bytes(sample.hash);
  out.raw(sample.mark).u8(colours.indexOf(sample.colour));
  out
    .u8(sample.isOn ? 1 : 0)
    .u16(sample.place.x)
    .u32(sample.place.y);
  out.varint(sample.tags.length);
  for (const tag of sample.tags) out.text(tag);
  return out.text(sample.note ?? '').varint(sample.doubled * 2);
}

test('the bytes are the fields in their order, and come back as the same record', () => {
  fc.assert(
    fc.property(anySample, (sample) => {
      const encoded = samples.encode(sample);
      const byHand = written(3, sample).u8(sample.level).text(sample.alias).finish();
      assert.deepEqual(encoded, byHand);
      assert.deepEqual(samples.decode(encoded), sample);
    }),
  );
});

test('a former layout is read with what stands for the fields that it had not', () => {
  fc.assert(
    fc.property(anySample, (sample) => {
      const first = samples.decode(written(1, sample).finish());
      assert.deepEqual(first, { ...sample, level: 7, alias: `${sample.name}!` });
      const second = samples.decode(written(2, sample).u8(9).finish());
      assert.deepEqual(second, { ...sample, level: 9, alias: `${sample.name}!` });
    }),
  );
});

test('a part, a longer one, another layout and a value outside of the list are no record', () => {
  fc.assert(
    fc.property(anySample, fc.nat(), (sample, at) => {
      const encoded = samples.encode(sample);
      assert.equal(samples.decode(encoded.subarray(0, at % encoded.length)), undefined);
      assert.equal(samples.decode(Buffer.concat([encoded, Buffer.of(0)])), undefined);
      for (const layout of [0, 4, 255]) {
        assert.equal(
          samples.decode(Buffer.concat([Buffer.of(layout), encoded.subarray(1)])),
          undefined,
        );
      }
    }),
  );
  const one = bareRecord<{ colour: (typeof colours)[number] }>({ colour: oneOf(colours) });
  assert.deepEqual(one.decode(Buffer.of(2)), { colour: 'blue' });
  assert.equal(one.decode(Buffer.of(3)), undefined);
});

test('a damaged count asks for no memory', () => {
  const lists = bareRecord<{ tags: readonly string[] }>({ tags: list(text) });
  assert.equal(
    lists.decode(
      createWriter()
        .varint(2 ** 40)
        .text('x')
        .finish(),
    ),
    undefined,
  );
});

test('bytes that were read stay when the row that held them is written over', () => {
  const one = bareRecord<{ hash: Uint8Array; mark: Uint8Array }>({ hash: bytes, mark: fixed(2) });
  const row = one.encode({ hash: Buffer.of(1, 2), mark: Buffer.of(3, 4) });
  const found = one.decode(row);
  row.fill(0);
  assert.deepEqual(found, { hash: Uint8Array.of(1, 2), mark: Uint8Array.of(3, 4) });
});
