/** The rendered picture: deterministic, well-formed, seamless, and exactly what was composed. */

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import gifenc from 'gifenc';
import { createGlyphSet } from '../../../src/captcha/picture/glyphs.ts';
import { createKeystream } from '../../../src/captcha/picture/keystream.ts';
import {
  createBitLzw,
  createMotionRenderer,
  drawLetters,
  drawWord,
  frameOptions,
  letterCentre,
  lzwBytesMax,
  poseAt,
  stamp,
} from '../../../src/captcha/picture/motion-scene.ts';
import { type ProfileName, profiles } from '../../../src/captcha/picture/profiles.ts';
import { outlines, seeds, soundChallenge } from '../../support/captcha/frames.ts';
import { seededRandom } from '../../support/seeded.ts';

interface Reader {
  readonly width: number;
  readonly height: number;
  numFrames(): number;
  loopCount(): number;
  frameInfo(k: number): { delay: number };
  decodeAndBlitFrameRGBA(k: number, rgba: Uint8Array): void;
}
const { GifReader } = createRequire(import.meta.url)('omggif') as {
  GifReader: new (bytes: Uint8Array) => Reader;
};

const names = Object.keys(profiles) as ProfileName[];
const render = createMotionRenderer(outlines);

test('the same seed gives the same bytes, another seed others', () => {
  const [one, two] = seeds(1, 2) as [Uint8Array, Uint8Array];
  for (const name of names) {
    const first = render(name, one);
    assert.deepEqual(createMotionRenderer(outlines)(name, one), first);
    assert.notDeepEqual(render(name, two).gif, first.gif);
    assert.deepEqual(render(name, one), first, 'also after another one');
  }
});

test('words have the length of the profile and use the whole alphabet, evenly', () => {
  for (const name of names) {
    const profile = profiles[name];
    const counts = new Map<string, number>();
    for (const seed of seeds(2, 400)) {
      const answer = drawWord(createKeystream(seed), profile);
      assert.equal(answer.length, profile.letters);
      for (const letter of answer) counts.set(letter, (counts.get(letter) ?? 0) + 1);
    }
    assert.deepEqual([...counts.keys()].sort(), [...profile.alphabet].sort());
    const expected = (400 * profile.letters) / profile.alphabet.length;
    const chiSquare = [...counts.values()].reduce(
      (sum, n) => sum + (n - expected) ** 2 / expected,
      0,
    );
    assert.ok(chiSquare < 42, `${name}: chi-square ${chiSquare}, 13 degrees of freedom at most`);
  }
});

test('another decoder gets exactly the composed frames', () => {
  for (const name of names) {
    for (const seed of seeds(3, 3)) {
      const { frames, profile, answer } = soundChallenge(name, seed);
      const image = render(name, seed);
      assert.equal(image.answer, answer);
      const reader = new GifReader(image.gif);
      assert.equal(reader.numFrames(), profile.frames);
      assert.equal(reader.loopCount(), 0, 'for ever');
      assert.deepEqual([reader.width, reader.height], [profile.widthDots, profile.heightDots]);
      const rgba = new Uint8Array(4 * profile.widthDots * profile.heightDots);
      for (const [k, frame] of frames.entries()) {
        assert.equal(reader.frameInfo(k).delay * 10, profile.frameMs);
        reader.decodeAndBlitFrameRGBA(k, rgba);
        const dots = frame.map((_, i) => (rgba[4 * i] === frameOptions.palette[1][0] ? 1 : 0));
        assert.deepEqual(dots, frame, `${name}, frame ${k}`);
      }
    }
  }
});

test('the bytes are those that gifenc writes, past a full dictionary too', () => {
  const random = seededRandom(4);
  for (const [width, height] of [
    [1, 1],
    [2, 1],
    [33, 7],
    [150, 50],
    [500, 700],
  ] as const) {
    const words = (width + 31) >> 5;
    const rows = new Int32Array(random.bytes(4 * words * height).buffer);
    const bytes = new Uint8Array(width * height);
    for (let i = 0; i < bytes.length; i++) {
      const x = i % width;
      bytes[i] = (rows[((i - x) / width) * words + (x >> 5)]! >>> (x & 31)) & 1;
    }
    const gif = gifenc.GIFEncoder();
    gif.writeFrame(bytes, width, height, { ...frameOptions });
    const out = new Uint8Array(lzwBytesMax(width * height));
    const end = createBitLzw(width, height).encode(rows, words, out, 0);
    assert.deepEqual(out.subarray(0, end), gif.bytesView().subarray(56), `${width} × ${height}`);
  }
});

test('the step from the last frame to the first is like all others', () => {
  for (const name of names) {
    for (const seed of seeds(5, 20)) {
      const { path, profile, masks } = soundChallenge(name, seed);
      const steps = masks.map((mask, k) => {
        const next = (k + 1) % masks.length;
        const rows = Array.from({ length: profile.heightDots }, (_, y) =>
          Math.abs(path.dx(next, y, 0) - path.dx(k, y, 0)),
        );
        const columns = Array.from({ length: profile.widthDots }, (_, x) =>
          Math.abs(path.dy(next, x) - path.dy(k, x)),
        );
        const changed = mask.reduce((sum, v, i) => sum + (v ^ masks[next]![i]!), 0);
        return { furthest: Math.max(...rows, ...columns), changed };
      });
      const last = steps.pop()!;
      const arc = (2 * Math.PI * profile.amplitudeDots) / profile.frames;
      for (const { furthest } of [...steps, last]) assert.ok(furthest < arc + 1, `${furthest}`);
      assert.ok(last.changed <= Math.max(...steps.map((s) => s.changed)) * 1.3 + 10);
    }
  }
});

test('each place begins anywhere on its way and runs either way round', () => {
  for (const name of names) {
    const starts = new Set<number>();
    const senses = new Set<number>();
    const { widthDots, heightDots, frames } = profiles[name];
    for (const seed of seeds(7, 60)) {
      const { path } = soundChallenge(name, seed);
      const at = (k: number) =>
        [path.dx(k, heightDots >> 1, widthDots >> 1), path.dy(k, widthDots >> 1)] as const;
      starts.add(Math.floor(((Math.atan2(at(0)[1], at(0)[0]) + Math.PI) / (2 * Math.PI)) * 7.999));
      let area = 0;
      for (let k = 0; k < frames; k++) {
        const [x0, y0] = at(k);
        const [x1, y1] = at((k + 1) % frames);
        area += x0 * y1 - x1 * y0;
      }
      senses.add(Math.sign(area));
    }
    assert.equal(starts.size, 8, `${name}: starts in each eighth of the circle`);
    assert.ok(senses.has(1) && senses.has(-1), name);
  }
});

test('the clouds curve gently, a hard one more, and in the middle, of each strip too, dots run along circles', () => {
  for (const name of names) {
    const most = name === 'hard' ? 2 : 1.8;
    for (const seed of seeds(9, 10)) {
      const { path, profile } = soundChallenge(name, seed);
      const { heightDots: h, widthDots: w, frames, amplitudeDots } = profile;
      const furthest = (a: (k: number) => number, b: (k: number) => number) =>
        Math.max(...Array.from({ length: frames }, (_, k) => Math.abs(a(k) - b(k))));
      const rows = Array.from({ length: h }, (_, y) => (k: number) => path.dx(k, y, w >> 1));
      const columns = Array.from({ length: w }, (_, x) => (k: number) => path.dy(k, x));
      for (const lines of [rows, columns]) {
        const apart = Math.max(...lines.map((line) => furthest(line, lines[0]!)));
        assert.ok(apart >= 0.6 * amplitudeDots, `${name}: ${apart}`);
        assert.ok(apart <= most * amplitudeDots, `${name}: ${apart}`);
        const neighbours = lines.slice(1).map((line, i) => furthest(line, lines[i]!));
        assert.ok(Math.max(...neighbours) <= 1, `${name}: smooth, ${Math.max(...neighbours)}`);
      }
      for (const x of profile.hasStrips ? [16, 48, 80, 112, 139] : [w >> 1]) {
        for (let k = 0; k < frames; k++) {
          const radius = Math.hypot(path.dx(k, h >> 1, x), path.dy(k, x));
          assert.ok(Math.abs(radius - amplitudeDots) < 0.8, `${name}, ${x}, frame ${k}: ${radius}`);
        }
      }
    }
  }
});

test('each letter bobs and turns by what the profile says', () => {
  for (const name of names) {
    const { widthDots: w, bobDots, turnDegrees } = profiles[name];
    const reach = (values: number[]) => Math.max(...values) - Math.min(...values);
    const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1]!;
    const words = seeds(8, 9).map((seed) => {
      const { masks } = soundChallenge(name, seed);
      // The first letter alone: all that stands left of the gap before the second.
      const gap = (letterCentre(profiles[name], 0) + letterCentre(profiles[name], 1)) / 2;
      return masks.map((mask) => momentsOf(mask, w, gap));
    });
    const bob = median(words.map((letters) => reach(letters.map(({ middleY }) => middleY))));
    assert.ok(Math.abs(bob - 2 * bobDots) <= 1.5, `${name}: ${bob} dots up and down`);
    // The long axis of a round letter says little of its turn.
    const turn = median(words.map((letters) => reach(letters.map((one) => one.tiltDegrees))));
    assert.ok(turn > turnDegrees && turn < 4 * turnDegrees, `${name}: ${turn} degrees`);
  }
});

/** Where the middle of the dots left of `limit` is, and how their long axis is tilted. */
function momentsOf(mask: Uint8Array, width: number, limit: number) {
  const dots = [...mask.keys()].filter((i) => mask[i] === 1 && i % width < limit);
  const mean = (of: (i: number) => number) => dots.reduce((sum, i) => sum + of(i), 0) / dots.length;
  const x = (i: number) => i % width;
  const y = (i: number) => Math.floor(i / width);
  const middleX = mean(x);
  const middleY = mean(y);
  const xx = mean((i) => (x(i) - middleX) ** 2);
  const yy = mean((i) => (y(i) - middleY) ** 2);
  const xy = mean((i) => (x(i) - middleX) * (y(i) - middleY));
  return { middleY, tiltDegrees: (Math.atan2(2 * xy, yy - xx) / 2 / Math.PI) * 180 };
}

test('the clouds agree with themselves along their way, in each strip of a hard picture too, and at the seam as elsewhere', () => {
  for (const name of ['default', 'hard'] as const) {
    const { frames, masks, path, profile } = soundChallenge(name, seeds(6, 1)[0]!);
    const { widthDots: w, heightDots: h } = profile;
    for (let k = 0; k < frames.length; k++) {
      const next = (k + 1) % frames.length;
      let equal = 0;
      let count = 0;
      for (let y = 4; y < h - 4; y++) {
        for (let x = 4; x < w - 4; x++) {
          const sign = masks[k]![y * w + x] === 1 ? 1 : -1;
          const row = y + sign * path.dy(k, x);
          const tx = x + sign * (path.dx(k, row, x) - path.dx(next, row, x));
          const ty = row - sign * path.dy(next, tx);
          if (masks[next]![ty * w + tx] !== masks[k]![y * w + x]) continue;
          // The clouds of a strip end there.
          if (profile.hasStrips && tx >> 5 !== x >> 5) continue;
          equal += frames[k]![y * w + x] === frames[next]![ty * w + tx] ? 1 : 0;
          count++;
        }
      }
      // Half, and the other half where both dots follow.
      const expected = (1 + (profile.coherence64 / 64) ** 2) / 2;
      assert.ok(Math.abs(equal / count - expected) < 0.03, `${name}, pair ${k}: ${equal / count}`);
    }
  }
});

test('letters are large, stand apart and stay inside', () => {
  for (const name of names) {
    const profile = profiles[name];
    const glyphs = createGlyphSet(outlines, profile);
    const words = seeds(10, 40).map((seed, i) =>
      drawLetters(
        profile,
        glyphs,
        profile.alphabet[i % profile.alphabet.length]!.repeat(profile.letters),
        createKeystream(seed),
      ),
    );
    for (const letters of words) {
      for (const [i, { rows, centreX }] of letters.entries()) {
        assert.ok(rows.length >= 34 && rows.length <= 38, `${name}: ${rows.length} rows`);
        if (i === 0) continue;
        const apart = centreX - letters[i - 1]!.centreX;
        assert.ok(apart >= profile.letterWidthDotsMax + 1, `${name}: ${apart}`);
      }
    }
    const letters = words.flat();
    const words32 = (profile.widthDots + 31) >> 5;
    for (const letter of letters) {
      for (let k = 0; k < profile.frames; k += 6) {
        const pose = poseAt(profile, letter, k);
        const inked = (mask: Int32Array) =>
          mask.reduce((sum, bits) => sum + bits.toString(2).replaceAll(/[^1]/g, '').length, 0);
        const mask = new Int32Array(words32 * profile.heightDots);
        stamp(mask, words32, letter.rows, pose);
        const roomy = new Int32Array(words32 * (profile.heightDots + 64));
        stamp(roomy, words32, letter.rows, { ...pose, centreY: pose.centreY + 32 });
        assert.equal(inked(mask), inked(roomy), `${name}, frame ${k}: cut off`);
      }
    }
  }
});
