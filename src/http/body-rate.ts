/**
 * A body must keep coming: one that brings less than the least rate in any window is given up, and
 * so is one that is not whole in time. A window in which the server itself held the client back
 * doesn't count.
 */

import type { Exchange } from './exchange.ts';

export interface BodyRateRules {
  readonly windowMs: number;
  readonly bytesPerSecondMin: number;
  /** For the body, or with `untilAnswer` for the whole exchange. */
  readonly totalMs: number;
  readonly untilAnswer: boolean;
  /** True if the client was held back since the last call. */
  readonly wasHeld: () => boolean;
  readonly slow: () => void;
  readonly expired: () => void;
}

export function watchBody(exchange: Exchange, rules: BodyRateRules): void {
  const { windowMs, bytesPerSecondMin, totalMs } = rules;
  let elapsedMs = 0;
  let before = exchange.receivedBytes;

  function arm(): void {
    const stepMs = Math.min(windowMs, totalMs - elapsedMs);
    // When the thread was busy, bytes lie in the socket: they are read before the judgement.
    exchange.setDeadline(stepMs, () => setImmediate(look, stepMs));
  }
  function look(stepMs: number): void {
    if (!exchange.isOpen || (exchange.isBodyRead && !rules.untilAnswer)) return;
    elapsedMs += stepMs;
    const came = exchange.receivedBytes - before;
    before = exchange.receivedBytes;
    const wasHeld = rules.wasHeld();
    if (elapsedMs >= totalMs) rules.expired();
    else if (!exchange.isBodyRead && !wasHeld && came < (bytesPerSecondMin * stepMs) / 1_000) {
      rules.slow();
    } else arm();
  }
  arm();
}
