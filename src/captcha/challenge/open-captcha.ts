/**
 * The CAPTCHA as the server runs it: threads, stock and open challenges behind one handle. The first
 * challenge has the stock rendered and the voices made, in the background: a server that gives none
 * has neither threads nor pictures.
 */

import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log/log.ts';
import type { Random } from '../../core/random.ts';
import { createRenderPool, type RenderPoolStats } from '../rendering/render-pool.ts';
import { openRenderThreads, type Renderer } from '../rendering/render-threads.ts';
import { type ChallengeStats, type Challenges, createChallenges } from './challenge.ts';
import { createTickets, type Tickets } from './ticket.ts';

export interface OpenCaptchaOptions {
  readonly threads: number;
  /** The number of this node where several share a store; tickets carry it. */
  readonly node?: number;
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
    readonly placesMax: number;
    readonly openMax: number;
    readonly openPerNarrowMax: number;
    readonly openPerWideMax: number;
    readonly longWordFrom: number;
    readonly heldBytesMax: number;
  };
  /** False when CLIENT_LIMITS=off. */
  readonly sharesOn: boolean;
  /** Called for each batch of images and each clip: milliseconds from the request to the result. */
  readonly onRendered?: (ms: number) => void;
}

export interface Captcha {
  readonly challenges: Challenges;
  readonly tickets: Tickets;
  stats(): ChallengeStats & RenderPoolStats;
  /** Refuses the requests that still wait for an image or a clip. A second call waits for the first. */
  close(): Promise<void>;
}

export function openCaptcha(options: OpenCaptchaOptions): Captcha {
  const { threads, random, log, bounds, sharesOn } = options;
  // Waiting requests and a batch for the stock on each thread, and one more as it is replaced.
  const queueMax = bounds.waitingMax + 2 * threads;
  const renderer = timed(openRenderThreads({ threads, queueMax }), options.onRendered);
  const pool = createRenderPool({ renderer, random, log, ...bounds });
  const tickets = createTickets(options);
  const challenges = createChallenges({ pool, tickets, random, sharesOn, ...bounds });
  let closing: Promise<void> | undefined;
  let isWarm = false;

  /** Voices take a second of work: made for the first who may listen, not for who never does. */
  function warmUp(): void {
    if (isWarm) return;
    isWarm = true;
    pool.fill();
    renderer.warmUp().catch((error: unknown) => {
      if (!closing)
        log.warn({ err: error }, 'captcha: no voices yet, tried again with the next clip');
    });
  }

  return {
    tickets,
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

function timed<T extends Renderer>(renderer: T, onRendered: (ms: number) => void = () => {}): T {
  async function time<T>(work: Promise<T>): Promise<T> {
    const startMs = performance.now();
    const done = await work;
    onRendered(performance.now() - startMs);
    return done;
  }
  return {
    ...renderer,
    images: (profile, seeds) => time(renderer.images(profile, seeds)),
    clip: (seed) => time(renderer.clip(seed)),
  };
}
