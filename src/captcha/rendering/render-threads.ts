/**
 * The rendering threads: a piscina pool for images and clips, whose threads start with the first
 * job and end after a quiet minute, and one short-lived thread that synthesises the voices when the
 * first clip is asked for or `warmUp` is called.
 */

import { Worker } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { minuteMs } from '../../core/time.ts';
import type { ProfileName } from '../picture/profiles.ts';
import type { MotionImage } from '../picture/render.ts';
import type { SpokenClip } from '../sound/audio.ts';
import type { SpeechVoices } from '../sound/speech.ts';
import type { RenderJob } from './render.worker.ts';

/** Rejects when a thread fails or after `close`; callers bound how much they ask for at once. */
export interface Renderer {
  readonly threads: number;
  images(profile: ProfileName, seeds: readonly Uint8Array[]): Promise<readonly MotionImage[]>;
  clip(seed: Uint8Array): Promise<SpokenClip>;
  close(): Promise<void>;
}

export interface RenderThreadsOptions {
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
    async clip(seed) {
      const voices = await speech.voices();
      return (await run({ kind: 'clip', seed, voices })) as SpokenClip;
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

function openSpeech(): { voices(): Promise<SpeechVoices>; close(): Promise<void> } {
  let pending: Promise<SpeechVoices> | undefined;
  let worker: Worker | undefined;
  let closed = false;
  function synthesise(): Promise<SpeechVoices> {
    return new Promise<SpeechVoices>((resolve, reject) => {
      if (closed) throw new Error('the rendering threads are closed');
      worker = new Worker(new URL('../sound/speech.worker.js', import.meta.url));
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
