/**
 * The limits of mails that an address gets in an hour. Anybody who names the address can have five
 * sent in all, and at most three of one kind: so whoever asks for confirmations again and again
 * leaves the owner two links for a new password, and the other way round. Links to sign in (three,
 * sign-in.ts), notices and deletion notices (`farewell`) have a limit each of their own. A mail
 * about a completed change is never refused: the changes are bounded instead (account-changes.ts).
 */

import { createClientLimits } from '../../access/quota/client-limits.ts';
import type { DistributedLimits } from '../../access/quota/distributed-limits.ts';
import type { BoundedTable } from '../../core/bounded-tables.ts';
import { hourMs } from '../../core/time.ts';
import type { MailKind } from './mailer.ts';

/** The limit of the two kinds that anybody can ask for, together. */
const askedMailsMax = 5;
/** The limit of one of the two kinds. Less than both together, so that something is left for the other. */
const askedMailsOfKindMax = 3;
const unaskedMailsMax = 5;
/** An address takes two records: one of the kind, one of both kinds that are asked for. */
const subjectsMax = 32_768;

/** Returns whole seconds until the address may get one of this kind; 0: now, and it is counted. */
export interface MailBudget {
  (to: string, nowMs: number, kind: MailKind): number;
  /** The addresses that are counted. */
  readonly table: BoundedTable;
}

export function createMailBudget(shares: Pick<DistributedLimits, 'room'>): MailBudget {
  const ofKind = { max: askedMailsOfKindMax, windowMs: hourMs };
  const unasked = { max: unaskedMailsMax, windowMs: hourMs };
  const limits = createClientLimits(
    {
      asked: { max: askedMailsMax, windowMs: hourMs },
      verification: ofKind,
      recovery: ofKind,
      signInLink: ofKind,
      notice: unasked,
      farewell: unasked,
    },
    shares.room('mails', subjectsMax),
  );

  const take = (to: string, nowMs: number, kind: MailKind) => {
    if (kind === 'change') return 0;
    // The kind's own limit comes first: what it refuses must not count against the other kind.
    const waitSeconds = limits.take(kind, to, nowMs);
    const isAsked = kind === 'verification' || kind === 'recovery';
    return waitSeconds > 0 || !isAsked ? waitSeconds : limits.take('asked', to, nowMs);
  };
  return Object.assign(take, { table: limits.table('mail_limits') });
}
