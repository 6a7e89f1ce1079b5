/**
 * How many mails an address gets in an hour. What anybody can have sent by naming the address is
 * five in all, and of these at most three of one kind: so whoever asks for confirmations again and
 * again leaves the owner two links for a new password, and the other way round. Notices and the
 * farewell are not asked for and have a share each of their own.
 */

import { createClientLimits } from '../../access/client-limits.ts';
import type { MailKind } from './mailer.ts';

const hourMs = 3_600_000;
/** The two kinds that are asked for, together. */
export const askedMailsMax = 5;
/** Of one of the two. Less than all: the rest is kept for the other. */
export const askedMailsOfKindMax = 3;
const unaskedMailsMax = 5;
/** An address takes two records: of its kind, and of all that is asked for. */
const subjectsMax = 32_768;

/** Whole seconds until the address may get one of this kind; 0: now, and it is counted. */
export type MailShares = (to: string, nowMs: number, kind: MailKind) => number;

export function createMailShares(): MailShares {
  const ofKind = { max: askedMailsOfKindMax, windowMs: hourMs };
  const unasked = { max: unaskedMailsMax, windowMs: hourMs };
  const limits = createClientLimits(
    {
      asked: { max: askedMailsMax, windowMs: hourMs },
      verification: ofKind,
      recovery: ofKind,
      notice: unasked,
      farewell: unasked,
    },
    subjectsMax,
  );

  return (to, nowMs, kind) => {
    // First: what a kind's own share refuses must not count against the other's.
    const waitSeconds = limits.take(kind, to, nowMs);
    if (waitSeconds > 0 || kind === 'notice' || kind === 'farewell') return waitSeconds;
    return limits.take('asked', to, nowMs);
  };
}
