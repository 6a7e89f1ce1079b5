/** The wait that a busy list server asks for: `Retry-After` of 429 and 503 (RFC 9110, 10.2.3). */

import { parseHttpDate } from '../../../core/dates.ts';
import { OperatorError } from '../../../core/errors.ts';
import { dayMs } from '../../../core/time.ts';

/** A longer wait counts as this one, a day. */
export const retryAfterMsMax = dayMs;

/** An answer that says when to come back. */
export class BusyServerError extends OperatorError {
  readonly waitMs: number;

  constructor(message: string, waitMs: number) {
    super(message);
    this.waitMs = waitMs;
  }
}

/**
 * Milliseconds to wait, at most a day; 0 where the server does not say, or says the past.
 * @param text the header: whole seconds, or a date in any of its forms
 */
export function retryAfterMs(status: number, text: string | undefined, now: number): number {
  if ((status !== 429 && status !== 503) || text === undefined) return 0;
  const said = text.trim();
  const waitMs = /^\d{1,15}$/.test(said)
    ? Number(said) * 1_000
    : (parseHttpDate(said, () => now) ?? now) - now;
  return Math.min(retryAfterMsMax, Math.max(0, waitMs));
}
