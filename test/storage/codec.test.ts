/** The codec: what is written comes back, and no input makes it read past the end. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createReader, createWriter, decode, type Reader } from '../../src/storage/codec.ts';
import { seededRandom } from '../support/seeded.ts';

const sample = () =>
  createWriter()
    .u8(255)
    .u16(65_535)
    .u32(4_294_967_295)
    .u64(2n ** 64n - 1n)
    .f32(1.5)
    .f64(Math.PI)
    .varint(300)
    .bytes(Uint8Array.of(1, 2, 3))
    .raw(Uint8Array.of(9, 8))
    .text('naïve ☃')
    .finish();

const readSample = (r: Reader) => [
  r.u8(),
  r.u16(),
  r.u32(),
  r.u64(),
  r.f32(),
  r.f64(),
  r.varint(),
  [...r.bytes()],
  [...r.raw(2)],
  r.text(),
];

it('reads back every kind of field', () => {
  assert.deepEqual(decode(sample(), readSample), [
    255,
    65_535,
    4_294_967_295,
    2n ** 64n - 1n,
    1.5,
    Math.PI,
    300,
    [1, 2, 3],
    [9, 8],
    'naïve ☃',
  ]);
});

it('fails on every truncation and on trailing bytes', () => {
  const whole = sample();
  for (let length = 0; length < whole.length; length++) {
    assert.equal(decode(whole.subarray(0, length), readSample), undefined, `${length} bytes`);
  }
  assert.equal(decode(Uint8Array.of(...whole, 0), readSample), undefined);
});

it('varints come back over their whole range, in one to eight bytes', () => {
  const values = [0, 1, 127, 128, 16_383, 16_384, 2 ** 31, 2 ** 32, 2 ** 49 - 1, 2 ** 53 - 1];
  for (const value of values) {
    const bytes = createWriter().varint(value).finish();
    assert.ok(bytes.length >= 1 && bytes.length <= 8);
    assert.equal(
      decode(bytes, (r) => r.varint()),
      value,
    );
  }
});

it('refuses varints that are too long, too large or padded, and values out of range', () => {
  const bad = [
    [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
    [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
    [0x80, 0x00],
    [0x80],
  ];
  for (const bytes of bad) {
    assert.equal(
      decode(Uint8Array.from(bytes), (r) => r.varint()),
      undefined,
      bytes.join(),
    );
  }
  for (const value of [-1, 1.5, 2 ** 53]) {
    assert.throws(() => createWriter().varint(value), RangeError);
  }
  assert.throws(() => createWriter().u8(256), RangeError);
});

it('refuses text that is not UTF-8 and what the caller rejects', () => {
  assert.equal(
    decode(Uint8Array.of(2, 0xc3, 0x28), (r) => r.text()),
    undefined,
  );
  assert.equal(
    decode(Uint8Array.of(7), (r) => {
      const value = r.u8();
      if (value > 5) r.reject();
      return value;
    }),
    undefined,
  );
});

it('a byte array is a view of the right part of a larger buffer', () => {
  const larger = Buffer.concat([Buffer.from([9, 9]), createWriter().u16(7).u8(1).finish()]);
  const reader = createReader(larger.subarray(2));
  assert.equal(reader.u16(), 7);
  assert.equal(reader.remaining(), 1);
});

it('random bytes never throw and never yield more than they hold', () => {
  const random = seededRandom(5);
  for (let turn = 0; turn < 5_000; turn++) {
    const input = random.bytes(Math.floor(random.next() * 40));
    const reader = createReader(input);
    let taken = 0;
    while (reader.remaining() > 0) {
      const kind = Math.floor(random.next() * 4);
      if (kind === 0) taken += reader.bytes().length;
      else if (kind === 1) taken += Buffer.byteLength(reader.text());
      else if (kind === 2) reader.varint();
      else reader.u32();
    }
    assert.ok(taken <= input.length, 'seed 5');
  }
});

it('texts of any length and script come back, beside others', () => {
  const random = seededRandom(5);
  const letters = ['a', '\u007f', '\0', 'é', '☃', '\u{1f40d}', '\ufeff'];
  for (let round = 0; round < 2_000; round++) {
    const ofAscii = random.next() < 0.5;
    const length = Math.floor(random.next() * 140);
    const texts = Array.from({ length: 3 }, () =>
      Array.from({ length }, () => letters[Math.floor(random.next() * (ofAscii ? 3 : 7))]).join(''),
    );
    const out = createWriter(16);
    for (const text of texts) out.text(text);
    const bytes = Buffer.concat(
      texts.map((text) => Buffer.concat([varintOf(Buffer.byteLength(text)), Buffer.from(text)])),
    );
    assert.deepEqual(Buffer.from(out.finish()), bytes);
    assert.deepEqual(
      decode(bytes, (input) => texts.map(() => input.text())),
      texts,
    );
  }
});

function varintOf(value: number): Uint8Array {
  return createWriter().varint(value).finish();
}
