/**
 * The queue between sign-on and the mail server. `post` never waits and returns nothing about the address, so a route
 * takes the same time whether a mail is sent or not. The queue is bounded; a mail is tried four times over six
 * minutes. The queue is lost at a restart: most mails can be requested again, and the others have a row until they
 * are sent (notices.ts, deletion.ts). Mails about completed changes and deletions go first and have a capacity of
 * their own, so requests for other mails can't keep them out.
 *
 * Nothing of a mail is logged here: neither address nor text.
 */

import { createClientLimits } from '../../access/quota/client-limits.ts';
import type { DistributedLimits } from '../../access/quota/distributed-limits.ts';
import type { Clock } from '../../core/clock.ts';
import type { Language } from '../../core/language.ts';
import type { Log } from '../../core/log.ts';
import { hourMs, minuteMs } from '../../core/time.ts';
import { type Mail, type MailSender, signature } from './mail-format.ts';
import { type MailName, type MailValues, mailText } from './texts.ts';

export interface MailTransport {
  /** Rejects when the mail can't be delivered now. */
  send(mail: Mail): Promise<void>;
  close(): Promise<void>;
}

/**
 * The kind whose limit for an address a mail counts against. `recovery` and `verification` (all
 * that somebody who names an address can cause in order to have it confirmed) are asked for by
 * typing the address, so neither may use up the other's. `signInLink`: asked for as well, by
 * whoever answers a challenge at a sign-in that is limited; it has a limit of its own. `notice`:
 * informs an owner of what was done in the account; mails that others ask for must not use up its
 * limit. `change`: of a completed change, which nothing may hold back; account-changes.ts bounds
 * the changes. `deletion`: the notice of a deletion, which whoever took an account over must not be
 * able to suppress by causing notices first.
 */
type MailKind = 'verification' | 'recovery' | 'signInLink' | 'notice' | 'change' | 'deletion';

const kindOf: Readonly<Record<MailName, MailKind>> = {
  verify: 'verification',
  alreadyRegistered: 'verification',
  confirmEmail: 'verification',
  invite: 'verification',
  reset: 'recovery',
  signInLink: 'signInLink',
  newSignIn: 'notice',
  failedSignIns: 'notice',
  budgetNear: 'notice',
  peerNotice: 'notice',
  changed: 'change',
  accountDeleted: 'deletion',
  test: 'notice',
};

/** `not_now`: the queue is full or closing; nobody tried, so it can be asked for again. */
export type Delivery = 'sent' | 'given_up' | 'not_now';

/** @param account see `Mail` */
type MailArguments<Name extends MailName> = [
  to: string,
  language: Language,
  name: Name,
  values: MailValues<Name>,
  account?: string,
];

interface Job {
  readonly mail: Mail;
  readonly tries: number;
  /** True for a mail that nobody can ask for again. */
  readonly isKept: boolean;
  readonly ended?: ((how: Delivery) => void) | undefined;
}

export const mailsWaitingMax = 1_000;
/** The further capacity for mails that nobody can ask for again. */
const reservedMax = 1_000;
const runningMax = 2;
const retryDelaysMs = [5_000, minuteMs, 5 * minuteMs];

export function createMailer(options: {
  transport: MailTransport;
  /** The name and contact under each mail. */
  sender: Pick<MailSender, 'name' | 'contact'>;
  clock: Clock;
  log: Log;
  /** Seconds to wait, 0 when the address may get another mail; see `createMailBudget`. */
  limit: (to: string, nowMs: number, kind: MailKind) => number;
  retryDelaysMs?: readonly number[];
}) {
  const { transport, sender, clock, log, limit } = options;
  const delays = options.retryDelaysMs ?? retryDelaysMs;
  const queue: Job[] = [];
  /** Waiting for their next try. */
  const timers = new Map<NodeJS.Timeout, Job>();
  const idlers: (() => void)[] = [];
  let running = 0;
  let closed = false;
  let isFailing = false;

  const held = () => queue.length + running + timers.size;

  function wakeIdle(): void {
    if (held() === 0) for (const resolve of idlers.splice(0)) resolve();
  }

  function pump(): void {
    while (running < runningMax && queue.length > 0) {
      running++;
      void deliver(queue.shift()!);
    }
    wakeIdle();
  }

  async function deliver(job: Job): Promise<void> {
    try {
      await transport.send(job.mail);
      isFailing = false;
      job.ended?.('sent');
    } catch (error) {
      const delayMs = delays[job.tries];
      const reason = reasonOf(error);
      // A refused address says nothing of the server.
      if ((error as { code?: unknown }).code !== 'EENVELOPE') isFailing = true;
      if (delayMs === undefined || closed) {
        log.error({ reason }, 'mail: given up');
        job.ended?.(delayMs === undefined ? 'given_up' : 'not_now');
      } else {
        log.warn({ reason, retryMs: delayMs }, 'mail: not sent, will retry');
        const timer = setTimeout(() => {
          timers.delete(timer);
          const again = { ...job, tries: job.tries + 1 };
          if (job.isKept) queue.unshift(again);
          else queue.push(again);
          pump();
        }, delayMs);
        // Somebody may wait for the end of this one, with nothing else that keeps the process.
        if (job.ended === undefined) timer.unref();
        timers.set(timer, job);
      }
    }
    running--;
    pump();
  }

  /** `given_up`: the address had its mails of this hour. Undefined: it waits now. */
  function enqueue<Name extends MailName>(
    [to, language, name, values, account]: MailArguments<Name>,
    ended?: Job['ended'],
  ): Delivery | undefined {
    const isKept = kindOf[name] === 'change' || kindOf[name] === 'deletion';
    if (closed || held() >= mailsWaitingMax + (isKept ? reservedMax : 0)) {
      log.error({ mail: name }, 'mail: dropped, the queue is full');
      return 'not_now';
    }
    if (limit(to, clock.monotonicMs(), kindOf[name]) > 0) return 'given_up';
    const link = (values as { link?: string }).link;
    const mail = {
      to,
      language,
      ...mailText(language, name, values, signature(sender), clock.now()),
      link,
      account,
    };
    const job = { mail, tries: 0, ended, isKept };
    // The mail goes after those of its own kind, before all that can be asked for again.
    if (isKept) queue.splice(queue.filter((waiting) => waiting.isKept).length, 0, job);
    else queue.push(job);
    // Sent in a later turn, so that the caller's time does not depend on it.
    setImmediate(pump);
    return undefined;
  }

  return {
    get waiting(): number {
      return held();
    },
    /** True if the mail server took no mail at the last try; addresses that it refuses do not count. */
    get isFailing(): boolean {
      return isFailing;
    },
    /** Returns false for a mail that is dropped: the queue is full, or the address had its mails of this hour. */
    post: <Name extends MailName>(...asked: MailArguments<Name>): boolean =>
      enqueue(asked) === undefined,
    /** Queues as `post` does, and resolves with the outcome. */
    deliver: <Name extends MailName>(...asked: MailArguments<Name>): Promise<Delivery> =>
      new Promise((resolve) => {
        const refused = enqueue(asked, resolve);
        if (refused !== undefined) resolve(refused);
      }),
    /** Resolves when nothing waits or is under way. For tests and a graceful stop. */
    idle: (): Promise<void> =>
      held() === 0 ? Promise.resolve() : new Promise<void>((resolve) => idlers.push(resolve)),
    /** Drops what waits. */
    async close(): Promise<void> {
      closed = true;
      const waiting = [...queue.splice(0), ...timers.values()];
      for (const timer of timers.keys()) clearTimeout(timer);
      timers.clear();
      for (const job of waiting) job.ended?.('not_now');
      if (running > 0) await new Promise<void>((resolve) => idlers.push(resolve));
      wakeIdle();
      await transport.close();
    },
  };
}

export type Mailer = ReturnType<typeof createMailer>;

/** A mail server's words may quote the address: only the code is safe to log. */
function reasonOf(error: unknown): string {
  const { code, responseCode } = error as { code?: unknown; responseCode?: unknown };
  return [code, responseCode].filter((part) => part !== undefined).join(' ') || 'unknown';
}

// The limits of mails that an address gets in an hour. Anybody who names the address can have five
// sent in all, and at most three of one kind: so whoever asks for confirmations again and again
// leaves the owner two links for a new password, and the other way round. Links to sign in (three,
// sign-in.ts), notices and deletion notices (`deletion`) have a limit each of their own. A mail
// about a completed change is never refused: the changes are bounded instead (account-changes.ts).

/** The limit of the two kinds that anybody can ask for, together. */
const askedMailsMax = 5;
/** The limit of one of the two kinds. Less than both together, so that something is left for the other. */
const askedMailsOfKindMax = 3;
const unaskedMailsMax = 5;
/** An address takes two records: one of the kind, one of both kinds that are asked for. */
const subjectsMax = 32_768;

export function createMailBudget(distributedLimits: Pick<DistributedLimits, 'room'>) {
  const ofKind = { max: askedMailsOfKindMax, windowMs: hourMs };
  const unasked = { max: unaskedMailsMax, windowMs: hourMs };
  const limits = createClientLimits(
    {
      asked: { max: askedMailsMax, windowMs: hourMs },
      verification: ofKind,
      recovery: ofKind,
      signInLink: ofKind,
      notice: unasked,
      deletion: unasked,
    },
    distributedLimits.room('mails', subjectsMax),
  );

  /** Returns whole seconds until the address may get one of this kind; 0: now, and it is counted. */
  const take = (to: string, nowMs: number, kind: MailKind): number => {
    if (kind === 'change') return 0;
    // The kind's own limit comes first: what it refuses must not count against the other kind.
    const waitSeconds = limits.takeOrWait(kind, to, nowMs);
    const isAsked = kind === 'verification' || kind === 'recovery';
    return waitSeconds > 0 || !isAsked ? waitSeconds : limits.takeOrWait('asked', to, nowMs);
  };
  const table = limits.table('mail_limits');
  return Object.assign(take, { table });
}
