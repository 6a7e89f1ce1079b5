/** Bytes written for an address or a number are those of its text. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatIp } from '../../src/ip/address.ts';
import { writeIp4, writeIp6, writeNumber } from '../../src/ip/address-writer.ts';
import { seededRandom } from '../support/seeded.ts';

const at = 5;

function written(write: (view: DataView) => number): string {
  const bytes = Buffer.alloc(64, 0xff);
  const end = write(new DataView(bytes.buffer, bytes.byteOffset, bytes.length));
  assert.ok(
    bytes.subarray(0, at).every((byte) => byte === 0xff),
    'nothing before is touched',
  );
  assert.ok(
    bytes.subarray(end + 4).every((byte) => byte === 0xff),
    'nothing far behind is',
  );
  return bytes.toString('latin1', at, end);
}

test('an IPv4 address: every octet in every place, and random ones', () => {
  const random = seededRandom(41);
  const addresses = Array.from({ length: 256 }, (_, octet) => Math.imul(octet, 0x0101_0101) >>> 0);
  for (let i = 0; i < 5_000; i++) addresses.push(Math.floor(random.next() * 2 ** 32));
  for (const address of addresses) {
    const text = formatIp(4, Uint32Array.of(address));
    assert.equal(
      written((view) => writeIp4(view, at, address)),
      text,
    );
  }
});

test('an IPv6 address: zeros in every place, groups of every length, and random ones', () => {
  const random = seededRandom(42);
  const groups = [0x1, 0xa2, 0xb03, 0xc004, 0xffff];
  const texts: Uint32Array[] = [];
  for (let zeros = 0; zeros < 256; zeros++) {
    const group = (i: number) =>
      (zeros >>> i) & 1 ? 0 : groups[Math.floor(random.next() * groups.length)]!;
    texts.push(
      Uint32Array.from({ length: 4 }, (_, i) => (group(2 * i) * 65_536 + group(2 * i + 1)) >>> 0),
    );
  }
  for (let i = 0; i < 2_000; i++) {
    texts.push(Uint32Array.from({ length: 4 }, () => Math.floor(random.next() * 2 ** 32)));
  }
  for (const words of texts) {
    const shifted = Uint32Array.of(7, ...words);
    assert.equal(
      written((view) => writeIp6(view, at, shifted, 1)),
      formatIp(6, words),
    );
  }
});

test('a number of any length', () => {
  const numbers = [0, 9, 10, 99, 100, 255, 256, 999, 1_000, 65_535, 999_999, 2 ** 32 - 1];
  for (const number of numbers) {
    assert.equal(
      written((view) => writeNumber(view, at, number)),
      String(number),
    );
  }
});
