/**
 * Our own challenge inside a form, as the pages of other modules use it: made for a page, judged
 * when the form is sent.
 */

import type { Result } from '../../core/result.ts';
import type { Header, Request } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import { anotherField, type ChallengeView } from '../components/challenge.tsx';

/** Returns whether the form only asks for another picture, so that nothing else in it counts. */
export function asksForAnother(form: Params): boolean {
  return form.has(anotherField);
}

/** An answer that was counted and not yet judged. */
export interface ChallengeAnswer {
  /** `none`: the form has no challenge. Takes the challenge, whatever the answer. */
  judge(): Promise<'none' | 'right' | 'wrong'>;
}

export interface FormChallenges {
  /** Fails with `client_limit_exceeded`, and for how long. */
  issue(request: Request): Result<ChallengeView>;
  /** Returns undefined for a client that has asked for too many. */
  make(request: Request): ChallengeView | undefined;
  /** Returns the headers of an answer that shows a challenge. */
  headers(request: Request): readonly Header[];
  /**
   * The answer in a form, counted at once and judged when the rest of the form is good: a slip
   * elsewhere wastes no challenge.
   */
  answerIn(request: Request, form: Params): ChallengeAnswer | { readonly waitSeconds: number };
}
