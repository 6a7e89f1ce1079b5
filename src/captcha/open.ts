/**
 * The CAPTCHA as the server runs it: threads, stock and open challenges behind one handle. Start
 * is not kept waiting: a challenge asked for before the threads are warm waits for them. The
 * first challenge has the voices made, in the background.
 */

import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import type { Random } from '../core/random.ts';
import { type ChallengeStats, type Challenges, createChallenges } from './challenge.ts';
import { createRenderPool, type RenderPoolStats } from './render-pool.ts';
import { openRenderThreads } from './render-threads.ts';

export interface CaptchaOptions {
  readonly threads: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** See `captchaBounds` in config.ts. */
  readonly bounds: {
    readonly lifetimeMs: number;
    readonly stockMax: number;
    readonly stockBytesMax: number;
    readonly waitingMax: number;
    readonly economyFrom: number;
    readonly openMax: number;
    readonly openPerClientMax: number;
    readonly heldBytesMax: number;
  };
}

export interface Captcha {
  readonly challenges: Challenges;
  stats(): ChallengeStats & RenderPoolStats;
  /** Those who still wait for an image or a clip are refused. Calling it again waits for the same. */
  close(): Promise<void>;
}

export function openCaptcha({ threads, clock, random, log, bounds }: CaptchaOptions): Captcha {
  // Waiting requests and a batch for the stock on each thread, and one more as it is replaced.
  const queueMax = bounds.waitingMax + 2 * threads;
  const renderer = openRenderThreads({ threads, queueMax });
  const pool = createRenderPool({ renderer, random, log, ...bounds });
  const challenges = createChallenges({ pool, clock, random, ...bounds });
  let closing: Promise<void> | undefined;
  let isWarm = false;

  /** Voices take a second of work: made for the first who may listen, not for who never does. */
  function warmUp(): void {
    if (isWarm) return;
    isWarm = true;
    renderer.warmUp().catch((error: unknown) => {
      if (!closing)
        log.warn({ err: error }, 'captcha: no voices yet, tried again with the next clip');
    });
  }

  return {
    challenges: {
      ...challenges,
      issue(request) {
        warmUp();
        return challenges.issue(request);
      },
    },
    stats: () => ({ ...challenges.stats(), ...pool.stats() }),
    close() {
      closing ??= pool.close();
      return closing;
    },
  };
}
