/** Pieces stitched in any order are one stream that any decoder reads; CRCs combine. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliDecompressSync, crc32, gunzipSync } from 'node:zlib';
import {
  combineCrc,
  createPiece,
  stitchBrotli,
  stitchGzip,
  stitchText,
} from '../../../../src/reputation/blocklists/pieces/pieces.ts';
import { seededRandom } from '../../../support/seeded.ts';

const both = { gzip: true, brotli: true };

/** Words that brotli's own dictionary holds, addresses, noise, and nothing at all. */
function texts(): Uint8Array[] {
  const random = seededRandom(11);
  const addresses = Array.from({ length: 40_000 }, (_, i) => `10.${i >> 8}.${i & 255}.7\n`).join(
    '',
  );
  return [
    Buffer.from('time down life left back code data show only site city open just like free work '),
    Buffer.from(addresses),
    random.bytes(70_000),
    Buffer.from(',\n'),
    Buffer.alloc(0),
    Buffer.from('{"ipAddress":"192.0.2.1"}'.repeat(5_000)),
  ];
}

test('any order of pieces decodes to their texts behind one another', async () => {
  const pieces = await Promise.all(
    texts().map((text, i) => createPiece(text, i % 2 === 0 ? both : { ...both, gzip: 'letters' })),
  );
  const random = seededRandom(12);
  for (let round = 0; round < 60; round++) {
    const chosen = Array.from(
      { length: Math.floor(random.next() * 7) },
      () => pieces[Math.floor(random.next() * pieces.length)]!,
    );
    const text = Buffer.concat(stitchText(chosen).parts);
    assert.deepEqual(gunzipSync(Buffer.concat(stitchGzip(chosen)!.parts)), text);
    assert.deepEqual(brotliDecompressSync(Buffer.concat(stitchBrotli(chosen)!.parts)), text);
  }
});

test('one piece without a twin leaves the whole without it', async () => {
  const [first, second] = texts();
  const pieces = [
    await createPiece(first!, both),
    await createPiece(second!, { gzip: true, brotli: false }),
  ];
  assert.equal(stitchBrotli(pieces), undefined);
  assert.ok(stitchGzip(pieces));
});

test('a CRC is combined from those of the parts', () => {
  const random = seededRandom(13);
  for (let round = 0; round < 200; round++) {
    const a = random.bytes(Math.floor(random.next() * 300));
    const b = random.bytes(Math.floor(random.next() * 3_000));
    assert.equal(combineCrc(crc32(a), crc32(b), b.length), crc32(Buffer.concat([a, b])));
  }
});
