/**
 * Contact sheets of motion challenges, to be looked at: of each a single frame, one look of an eye, and six. A
 * gray PNG without a library: three chunks and a checksum.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import { createEye, type EyeOptions } from './eye.ts';
import type { Challenge } from './frames.ts';

const gapDots = 6;
const scale = 2;

/** Writes `rows` challenges, one below the other; all are of one profile. */
export function writeContactSheet(
  path: string,
  challenges: readonly Challenge[],
  options: EyeOptions,
): void {
  const { profile } = challenges[0]!;
  const [once, six] = [1, 6].map((looks) => createEye(profile, { ...options, looks }));
  const { widthDots: w, heightDots: h } = profile;
  const width = scale * (3 * w + 2 * gapDots);
  const height = scale * (challenges.length * (h + gapDots) - gapDots);
  const gray = new Uint8Array(width * height).fill(90);
  for (const [row, challenge] of challenges.entries()) {
    const pictures = [
      Float32Array.from(challenge.frames[0]!, (bit) => 6 * bit - 3),
      once!.picture(challenge, row),
      six!.picture(challenge, row),
    ];
    for (const [column, picture] of pictures.entries()) {
      for (let y = 0; y < scale * h; y++) {
        const top = scale * row * (h + gapDots) + y;
        for (let x = 0; x < scale * w; x++) {
          const value = picture[Math.floor(y / scale) * w + Math.floor(x / scale)]!;
          const left = scale * column * (w + gapDots) + x;
          gray[top * width + left] = Math.max(0, Math.min(255, 128 + 42 * value));
        }
      }
    }
  }
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, grayPng(gray, width, height));
}

function grayPng(gray: Uint8Array, width: number, height: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // Eight bits of gray.
  header.writeUInt8(8, 8);
  const lines = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++) {
    lines.set(gray.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
  }
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const body = [
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(lines)),
    chunk('IEND', Buffer.alloc(0)),
  ];
  return Buffer.concat([signature, ...body]);
}

function chunk(name: string, body: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), body]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(body.length, 0);
  ends.writeUInt32BE(crc32(named), 4);
  return Buffer.concat([ends.subarray(0, 4), named, ends.subarray(4)]);
}
