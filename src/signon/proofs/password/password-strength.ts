/**
 * Refuses passwords that guessers try first: zxcvbn with its offline lists, on a thread of its own
 * that starts at the first question and ends after a quiet minute. Its lists take 90 ms to load
 * and a hostile password up to 80 ms to judge, far too long for the event loop.
 */

import type { BoundedTable } from '../../../core/bounded-tables.ts';
import { openLoneThread } from '../../../core/lone-thread.ts';
import { fail, ok, type Result } from '../../../core/result.ts';
import type { StrengthJob } from './password-strength.worker.ts';

/** The characters that zxcvbn gets of a password; its time grows with the square of the length. */
const judgedLengthMax = 64;
const waitingMax = 64;

export interface PasswordStrength {
  /** `weak_password`, `overloaded`. @param context words that a guesser knows: mail address, names */
  check(password: string, context: readonly string[]): Promise<Result<void>>;
  /** The calls that wait for the thread, if there is one. */
  readonly table?: BoundedTable;
  close(): Promise<void>;
}

export function openPasswordStrength(): PasswordStrength {
  const worker = new URL('./password-strength.worker.js', import.meta.url);
  const thread = openLoneThread<StrengthJob, boolean>(worker, waitingMax);
  return {
    async check(password, context) {
      if (thread.isClosed() || thread.waiting() >= waitingMax) return fail('overloaded');
      const job = {
        password: password.slice(0, judgedLengthMax),
        context: context.map((word) => word.slice(0, judgedLengthMax)),
      };
      const strong = await thread.run(job);
      return strong ? ok(undefined) : fail('weak_password', undefined, 'password');
    },
    table: { name: 'password_strength_queue', used: thread.waiting, limit: waitingMax },
    close: thread.close,
  };
}
