/** Pictures are made anew from their pixels, or refused; the event loop goes on meanwhile. */

import assert from 'node:assert/strict';
import { randomFillSync } from 'node:crypto';
import { test } from 'node:test';
import sharp from 'sharp';
import {
  avatarBytesMax,
  avatarFileBytesMax,
  avatarFormat,
  createAvatarImages,
} from '../../../../src/signon/people/profile/avatars.ts';
import { errorOf, value } from '../../../support/house/result.ts';
import { seededRandom } from '../../../support/seeded.ts';

const images = createAvatarImages();
const plain = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: '#336699' } });

test('the format is told by the first bytes alone', async () => {
  assert.equal(avatarFormat(await plain(4, 4).png().toBuffer()), 'png');
  assert.equal(avatarFormat(await plain(4, 4).jpeg().toBuffer()), 'jpeg');
  assert.equal(avatarFormat(await plain(4, 4).webp().toBuffer()), 'webp');
  for (const text of [
    '',
    'GIF89a',
    '<svg/>',
    '<!doctype html>',
    'RIFFxxxxWAVE',
    '%PDF-1.4',
    'BM',
  ]) {
    assert.equal(avatarFormat(Buffer.from(text)), undefined, text);
  }
});

test('each format becomes a square WebP without metadata, turned as the camera was', async () => {
  // Left half red; turned by a quarter, so red is at the top.
  const left = await sharp({ create: { width: 200, height: 400, channels: 3, background: '#f00' } })
    .png()
    .toBuffer();
  const both = plain(400, 400).composite([{ input: left, left: 0, top: 0 }]);
  const turned = await both.withMetadata({ orientation: 6 }).jpeg({ quality: 95 }).toBuffer();
  const made = value(await images.make(turned));
  const { width, height, format, orientation } = await sharp(made).metadata();
  assert.deepEqual([width, height, format, orientation], [256, 256, 'webp', undefined]);
  const { data, info } = await sharp(made).raw().toBuffer({ resolveWithObject: true });
  const pixel = (x: number, y: number) => data[(y * info.width + x) * info.channels]!;
  assert.ok(pixel(200, 20) > 200, 'red at the top right');
  assert.ok(pixel(20, 230) < 100, 'not at the bottom left');
  for (const file of [
    await plain(1, 1).png().toBuffer(),
    await plain(3_000, 10).webp().toBuffer(),
    await sharp(turned).greyscale().png({ palette: true }).toBuffer(),
    await plain(90, 90).toColourspace('cmyk').jpeg().toBuffer(),
  ]) {
    assert.equal((await sharp(value(await images.make(file))).metadata()).width, 256);
  }
});

test('noise, which nothing compresses, stays within the bound', async () => {
  const raw = randomFillSync(Buffer.alloc(400 * 400 * 3));
  const noise = await sharp(raw, { raw: { width: 400, height: 400, channels: 3 } })
    .jpeg({ quality: 90 })
    .toBuffer();
  assert.ok(value(await images.make(noise)).length <= avatarBytesMax);
});

test('what is hidden behind, or inside, a picture is not kept', async () => {
  const script = '<script>alert(document.domain)</script>';
  const png = await plain(64, 64).png().toBuffer();
  const comment = await plain(64, 64)
    .withExif({ IFD0: { ImageDescription: script } })
    .jpeg()
    .toBuffer();
  const jpeg = await plain(64, 64).jpeg().toBuffer();
  const text = chunk('tEXt', `Comment\0${script}`);
  const inside = Buffer.concat([png.subarray(0, 33), text, png.subarray(33)]);
  for (const file of [Buffer.concat([jpeg, Buffer.from(script)]), comment, inside]) {
    assert.ok(file.includes(script));
    assert.ok(!Buffer.from(value(await images.make(file))).includes('script'));
  }
});

/** A PNG's. */
function chunk(name: string, data: string | Uint8Array): Buffer {
  const named = Buffer.concat([Buffer.from(name), Buffer.from(data)]);
  const whole = Buffer.alloc(named.length + 8);
  whole.writeUInt32BE(named.length - 4);
  named.copy(whole, 4);
  whole.writeUInt32BE(crc32(named), whole.length - 4);
  return whole;
}

/** ISO 3309, as PNG has it. */
function crc32(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

test('animations, and files that another file follows, are refused', async () => {
  const png = await plain(64, 64).png().toBuffer();
  const webp = await plain(64, 64).webp().toBuffer();
  const frame = (background: string) =>
    sharp({ create: { width: 64, height: 64, channels: 3, background } })
      .png()
      .toBuffer();
  const frames = await sharp([await frame('#f00'), await frame('#0f0')], {
    join: { animated: true },
  })
    .webp()
    .toBuffer();
  assert.equal((await sharp(frames, { animated: true }).metadata()).pages, 2);
  const control = chunk('acTL', new Uint8Array([0, 0, 0, 1, 0, 0, 0, 0]));
  const animatedPng = Buffer.concat([png.subarray(0, 33), control, png.subarray(33)]);
  assert.equal((await sharp(animatedPng).metadata()).width, 64, 'a picture all the same');
  const zip = Buffer.from('PK\x03\x04<script>');
  for (const [name, file] of Object.entries({
    'animated WebP': frames,
    'animated PNG': animatedPng,
    'PNG and zip': Buffer.concat([png, zip]),
    'WebP and zip': Buffer.concat([webp, zip]),
    'PNG and one byte': Buffer.concat([png, Buffer.alloc(1)]),
  })) {
    assert.equal(errorOf(await images.make(file)), 'picture_not_still', name);
  }
  for (const file of [png, webp]) value(await images.make(file));
});

test('files that lie about their chunks are refused, and quickly', async () => {
  const png = await plain(64, 64).png().toBuffer();
  const webp = await plain(64, 64).webp().toBuffer();
  const random = seededRandom(4);
  for (let i = 0; i < 200; i++) {
    for (const whole of [png, webp]) {
      const file = Buffer.from(whole);
      file.writeUInt32LE(Math.floor(random.next() * 2 ** 32), 8 + Math.floor(random.next() * 40));
      await images.make(file);
    }
  }
  // As many chunks as fit.
  const empty = chunk('tEXt', '');
  const many = Array.from({ length: 80_000 }, () => empty);
  await images.make(Buffer.concat([png.subarray(0, 33), ...many, png.subarray(33)]));
});

test('bombs, cut-off files and other formats are refused', async () => {
  const bomb = await plain(10_000, 6_000).png({ compressionLevel: 9 }).toBuffer();
  assert.ok(bomb.length < avatarFileBytesMax);
  assert.equal(errorOf(await images.make(bomb)), 'body_too_large');
  assert.equal(errorOf(await images.make(Buffer.alloc(avatarFileBytesMax + 1))), 'body_too_large');
  const noise = randomFillSync(Buffer.alloc(90 * 90 * 3));
  const source = sharp(noise, { raw: { width: 90, height: 90, channels: 3 } });
  for (const whole of [
    await source.clone().png().toBuffer(),
    await source.clone().jpeg().toBuffer(),
    await source.clone().webp().toBuffer(),
  ]) {
    for (const share of [0.02, 0.3, 0.9]) {
      const cut = whole.subarray(0, Math.ceil(whole.length * share));
      assert.ok(!(await images.make(cut)).ok, `${share} of a ${avatarFormat(whole)}`);
    }
  }
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>');
  assert.equal(errorOf(await images.make(svg)), 'unsupported_media_type');
  assert.equal(errorOf(await images.make(new Uint8Array())), 'unsupported_media_type');
});

test('of many at once some wait and the rest are refused', async () => {
  const file = await plain(1_500, 1_500).png().toBuffer();
  const made = await Promise.all(Array.from({ length: 40 }, () => images.make(file)));
  const refused = made.filter((result) => errorOf(result) === 'overloaded');
  assert.equal(refused.length, 40 - 17);
  assert.equal(made.filter((result) => result.ok).length, 17);
});
