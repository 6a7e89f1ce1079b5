/** Time and randomness that a test or a bench decides: a clock that stands until it is advanced, bytes of a seed. */
import type { Clock } from '../../src/core/clock.ts';
import type { Random } from '../../src/core/random.ts';

/** A clock that stands still until it is advanced. */
export function manualClock(startMs: number): Clock & { advance(ms: number): void } {
  let elapsedMs = 0;
  return {
    now: () => startMs + elapsedMs,
    monotonicMs: () => elapsedMs,
    advance(ms) {
      elapsedMs += ms;
    },
  };
}

/** Deterministic bytes from a 32-bit seed (mulberry32). They are not secret. */
export function seededRandom(seed: number): Random & { next(): number } {
  let state = seed >>> 0;
  /** Uniform in [0, 1). */
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }
  return {
    next,
    bytes(length) {
      const out = new Uint8Array(length);
      for (let i = 0; i < length; i++) out[i] = Math.floor(next() * 256);
      return out;
    },
  };
}
