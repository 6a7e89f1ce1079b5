/** An expected failure is a value: `fail('code')`, never a throw. A bug throws. */

import type { ErrorCode } from './errors.ts';

export interface Failure {
  readonly ok: false;
  readonly error: ErrorCode;
  /** One sentence for a person; must not hold secrets. */
  readonly detail?: string;
  /** Name of the request parameter or setting at fault. */
  readonly parameter?: string;
  /** Whole seconds after which it may go better. */
  readonly retryAfterSeconds?: number;
}

interface Success<T> {
  readonly ok: true;
  readonly value: T;
}

export type Result<T> = Success<T> | Failure;

export function ok<T>(value: T): Success<T> {
  return { ok: true, value };
}

export function fail(error: ErrorCode, detail?: string, parameter?: string): Failure {
  return {
    ok: false,
    error,
    ...(detail === undefined ? {} : { detail }),
    ...(parameter === undefined ? {} : { parameter }),
  };
}
