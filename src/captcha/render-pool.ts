/**
 * Challenges rendered ahead. Requests are served from the stock, the oldest first; when it is dry
 * they wait for a thread, at most so many at once, and the rest are refused. The stock is refilled
 * only while nobody waits, in small batches. Count and bytes of the stock have hard caps. A server
 * that nobody asks for a challenge renders none: the stock begins with `fill`, or the first request.
 */

import { Worker } from 'node:worker_threads';
import { Piscina } from 'piscina';
import type { Log } from '../core/log.ts';
import type { Random } from '../core/random.ts';
import { fail, ok, type Result } from '../core/result.ts';
import { minuteMs } from '../core/time.ts';
import { seedBytes } from './picture/keystream.ts';
import type { MotionImage } from './picture/motion-scene.ts';
import type { ProfileName } from './picture/profiles.ts';
import type { RenderJob } from './render.worker.ts';
import type { SpokenClip } from './sound/audio.ts';
import type { SpeechVoices, SpokenLanguage } from './sound/speech.ts';

// The rendering threads: a piscina pool for images and clips, whose threads start with the first
// job and end after a quiet minute, and one short-lived thread that synthesises the voices when the
// first clip is asked for or `warmUp` is called.

/** Rejects when a thread fails or after `close`; callers bound how much they ask for at once. */
export interface Renderer {
  readonly threads: number;
  images(profile: ProfileName, seeds: readonly Uint8Array[]): Promise<readonly MotionImage[]>;
  clip(seed: Uint8Array, language: SpokenLanguage): Promise<SpokenClip>;
  close(): Promise<void>;
}

interface RenderThreadsOptions {
  readonly threads: number;
  /** Jobs that wait for a thread; beyond it piscina rejects. */
  readonly queueMax: number;
}

const idleTimeoutMs = minuteMs;

export function openRenderThreads(
  options: RenderThreadsOptions,
): Renderer & { warmUp(): Promise<void> } {
  const pool = new Piscina<RenderJob, unknown>({
    filename: new URL('./render.worker.js', import.meta.url).href,
    minThreads: 0,
    maxThreads: options.threads,
    maxQueue: options.queueMax,
    idleTimeout: idleTimeoutMs,
    recordTiming: false,
  });
  const speech = openSpeech();
  let closed = false;

  async function run(job: RenderJob): Promise<unknown> {
    // A destroyed piscina pool would start threads anew.
    if (closed) throw new Error('the rendering threads are closed');
    return await pool.run(job);
  }

  return {
    threads: options.threads,
    images: async (profile, seeds) =>
      (await run({ kind: 'images', profile, seeds })) as readonly MotionImage[],
    async clip(seed, language) {
      const { [language]: voices } = await speech.voices();
      return (await run({ kind: 'clip', seed, voices, language })) as SpokenClip;
    },
    async warmUp() {
      await speech.voices();
    },
    async close() {
      closed = true;
      await Promise.all([pool.destroy(), speech.close()]);
    },
  };
}

type Speakers = Readonly<Record<SpokenLanguage, SpeechVoices>>;

function openSpeech(): { voices(): Promise<Speakers>; close(): Promise<void> } {
  let pending: Promise<Speakers> | undefined;
  let worker: Worker | undefined;
  let closed = false;
  function synthesise(): Promise<Speakers> {
    return new Promise<Speakers>((resolve, reject) => {
      if (closed) throw new Error('the rendering threads are closed');
      worker = new Worker(new URL('./sound/speech.worker.js', import.meta.url));
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.once('exit', () => {
        worker = undefined;
        reject(new Error('the speech thread ended without a word'));
      });
    });
  }
  return {
    voices() {
      if (pending) return pending;
      pending = synthesise();
      // A failure is not kept: the next clip tries again.
      pending.catch(() => {
        pending = undefined;
      });
      return pending;
    },
    async close() {
      closed = true;
      await worker?.terminate();
    },
  };
}

export interface RenderPoolOptions {
  readonly renderer: Renderer;
  readonly random: Random;
  readonly log: Log;
  /** Images kept ready; rendered by fours, so under 4 there are none. */
  readonly stockMax: number;
  readonly stockBytesMax: number;
  /** Images and clips being waited for; the next one is refused with `overloaded`. */
  readonly waitingMax: number;
  /** From this many waiting requests on, images have the economy profile. */
  readonly economyFrom: number;
}

export interface RenderedWord {
  readonly answer: string;
  readonly bytes: Uint8Array;
  /** Renders the same bytes again, for a challenge whose bytes were dropped. */
  again(): Promise<Result<Uint8Array>>;
}

/** A waiting request is behind one batch at most: 4 images, some 5 ms. */
const batch = 4;
/** A stock that is still half full is filled up once nobody asked for so long. */
const restMs = 1_000;

export function createRenderPool(options: RenderPoolOptions) {
  const { renderer, random, log } = options;
  const stock: { readonly image: MotionImage; readonly seed: Uint8Array }[] = [];
  let stockBytes = 0;
  let refilling = 0;
  let imageBytesMax = 1;
  let waiting = 0;
  let served = 0;
  let refused = 0;
  let closed = false;
  let rest: NodeJS.Timeout | undefined;
  const newSeed = () => random.bytes(seedBytes);

  /** Begins the stock, or fills it up. Without effect while it is being filled, or full. */
  function refill(): void {
    while (!closed && waiting === 0 && refilling < renderer.threads) {
      const ahead = (refilling + 1) * batch;
      if (stock.length + ahead > options.stockMax) return;
      if (stockBytes + ahead * imageBytesMax > options.stockBytesMax) return;
      refilling++;
      const seeds = Array.from({ length: batch }, newSeed);
      renderer.images('default', seeds).then(
        (images) => {
          refilling--;
          for (const [i, image] of images.entries()) keep(image, seeds[i]!);
          refill();
        },
        (error: unknown) => {
          // Tried again with the next request, never in a loop of its own.
          refilling--;
          if (!closed) log.error({ err: error }, 'rendering ahead failed');
        },
      );
    }
  }

  /** A burst of visitors needs the cores itself: what it takes is made good behind it, or when half is gone. */
  function refillInTime(): void {
    clearTimeout(rest);
    if (stock.length < options.stockMax / 2) refill();
    else rest = setTimeout(refill, restMs).unref();
  }

  function keep(image: MotionImage, seed: Uint8Array): void {
    imageBytesMax = Math.max(imageBytesMax, image.gif.length);
    if (stock.length >= options.stockMax) return;
    if (stockBytes + image.gif.length > options.stockBytesMax) return;
    stock.push({ image, seed });
    stockBytes += image.gif.length;
  }

  async function wait<T>(job: () => Promise<T>): Promise<Result<T>> {
    if (closed || waiting >= options.waitingMax) {
      refused++;
      return fail('overloaded');
    }
    waiting++;
    try {
      const value = await job();
      served++;
      return ok(value);
    } catch (error) {
      refused++;
      if (!closed) log.error({ err: error }, 'rendering failed');
      return fail('overloaded');
    } finally {
      waiting--;
      refillInTime();
    }
  }

  async function one(profile: ProfileName, seed: Uint8Array): Promise<MotionImage> {
    return (await renderer.images(profile, [seed]))[0]!;
  }

  function rendered(
    { answer, gif }: MotionImage,
    profile: ProfileName,
    seed: Uint8Array,
  ): RenderedWord {
    return { answer, bytes: gif, again: () => wait(async () => (await one(profile, seed)).gif) };
  }

  return {
    /** Makes a word of its own each time. A long one is never from the stock. */
    async image(word: 'normal' | 'long'): Promise<Result<RenderedWord>> {
      const ready = word === 'normal' ? stock.shift() : undefined;
      if (ready) {
        stockBytes -= ready.image.gif.length;
        served++;
        refillInTime();
        return ok(rendered(ready.image, 'default', ready.seed));
      }
      const calm: ProfileName = word === 'long' ? 'hard' : 'default';
      const profile = word === 'normal' && waiting >= options.economyFrom ? 'economy' : calm;
      const seed = newSeed();
      return await wait(async () => rendered(await one(profile, seed), profile, seed));
    },
    async clip(language: SpokenLanguage): Promise<Result<RenderedWord>> {
      const seed = newSeed();
      const again = () => wait(async () => (await renderer.clip(seed, language)).wav);
      return await wait(async () => {
        const { answer, wav } = await renderer.clip(seed, language);
        return { answer, bytes: wav, again };
      });
    },
    fill: refill,
    stats: () => ({ stock: stock.length, stockBytes, waiting, served, refused }),
    /** Ends the threads; those who wait are refused with `overloaded`. */
    async close(): Promise<void> {
      closed = true;
      stock.length = 0;
      stockBytes = 0;
      await renderer.close();
    },
  };
}

export type RenderPool = ReturnType<typeof createRenderPool>;
