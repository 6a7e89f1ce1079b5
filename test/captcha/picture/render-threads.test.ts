/** The real threads: pictures and clips come back whole, and closing ends them. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { after, test } from 'node:test';
import { createMotionRenderer } from '../../../src/captcha/picture/motion-scene.ts';
import { openRenderThreads } from '../../../src/captcha/render-pool.ts';
import { digitsSpoken } from '../../../src/captcha/sound/audio.ts';
import { backgroundNiceness } from '../../../src/core/threads.ts';
import { outlines, seeds } from '../../support/captcha/frames.ts';

const threads = openRenderThreads({ threads: 2, queueMax: 100 });
after(() => threads.close());

test('threads render the same bytes as here', async () => {
  const list = seeds(1, 8);
  const here = createMotionRenderer(outlines);
  const [four, long] = await Promise.all([
    threads.images('default', list.slice(0, 4)),
    threads.images('hard', list.slice(4, 5)),
  ]);
  assert.deepEqual(
    four,
    list.slice(0, 4).map((seed) => here('default', seed)),
  );
  assert.deepEqual(long, [here('hard', list[4]!)]);
});

test('on Linux the threads stand back behind those that answer', async () => {
  if (process.platform !== 'linux') return;
  await threads.images('economy', seeds(2, 1));
  const niceness = readdirSync('/proc/self/task').map((id) => {
    const fields = readFileSync(`/proc/self/task/${id}/stat`, 'utf8')
      .split(') ')
      .at(-1)!
      .split(' ');
    return Number(fields[16]);
  });
  const behind = Math.min(19, getPriority(process.pid) + backgroundNiceness);
  assert.equal(niceness.filter((n) => n === behind).length, 2, `${niceness}`);
});

test('a clip is a WAV of six digits, its own for each seed and the same for one', async () => {
  const [one, two] = seeds(3, 2) as [Uint8Array, Uint8Array];
  const clip = await threads.clip(one, 'en');
  assert.match(clip.answer, new RegExp(`^[0-9]{${digitsSpoken}}$`));
  assert.deepEqual(await threads.clip(one, 'en'), clip);
  assert.notDeepEqual((await threads.clip(two, 'en')).wav, clip.wav);
  const wav = Buffer.from(clip.wav);
  assert.equal(wav.toString('latin1', 0, 4), 'RIFF');
  assert.equal(wav.readUInt32LE(4), wav.length - 8);
  assert.equal(wav.toString('latin1', 8, 16), 'WAVEfmt ');
  assert.deepEqual([wav.readUInt16LE(20), wav.readUInt16LE(22)], [1, 1], 'PCM, mono');
  assert.deepEqual([wav.readUInt32LE(24), wav.readUInt16LE(34)], [8_000, 8]);
  assert.equal(wav.readUInt32LE(40), wav.length - 44);
  const seconds = (wav.length - 44) / 8_000;
  assert.ok(seconds > 3 && seconds < 12, `${seconds} s`);
  const samples = wav.subarray(44);
  const power = samples.reduce((sum, v) => sum + (v - 128) ** 2, 0) / samples.length;
  assert.ok(power > 50, `as good as silent: ${power}`);
  const clipped = samples.filter((v) => v === 0 || v === 255).length;
  assert.ok(clipped < samples.length / 100, `${clipped} samples cut`);
});

test('closed threads refuse', async () => {
  const closing = openRenderThreads({ threads: 1, queueMax: 10 });
  await closing.close();
  await assert.rejects(closing.images('default', seeds(4, 1)));
  await assert.rejects(closing.clip(seeds(4, 1)[0]!, 'en'));
});
