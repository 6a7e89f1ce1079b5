/**
 * The queue between sign-on and the mail server. `post` never waits and answers nothing about the
 * address, so a route takes the same time whether a mail goes out or not. Bounded; tried four
 * times over six minutes. Not kept over a restart: a mail that was lost can be asked for again.
 *
 * Nothing of a mail is logged here: neither address nor text.
 */

import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { Language } from '../visitor.ts';
import { type MailCatalogue, type MailName, mailCatalogues } from './catalogue.ts';

export interface Mail {
  /** A single address, `normaliseEmail`'s. */
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** What a developer needs without a mail server; no transport to real mailboxes may log it. */
  readonly link?: string;
}

export interface MailTransport {
  /** Rejects when the mail can't be delivered now. */
  send(mail: Mail): Promise<void>;
  close(): Promise<void>;
}

export type MailValues<Name extends MailName> = Omit<Parameters<MailCatalogue[Name]>[0], 'service'>;

/**
 * `asked`: anybody can have it sent by typing the address. `notice`: tells an owner what was done
 * in the account; what strangers ask for must not use up its share.
 */
export type MailKind = 'asked' | 'notice';

const notices: readonly MailName[] = ['newSignIn', 'passwordChanged', 'emailChanged'];

export interface Mailer {
  /** False: dropped, because the queue is full or the address had its mails of this hour. */
  post<Name extends MailName>(
    to: string,
    language: Language,
    name: Name,
    values: MailValues<Name>,
  ): boolean;
  /** Resolves when nothing waits or is under way. For tests and a graceful stop. */
  idle(): Promise<void>;
  /** Drops what waits. */
  close(): Promise<void>;
  readonly waiting: number;
}

const waitingMax = 1_000;
const runningMax = 2;
const retryDelaysMs = [5_000, 60_000, 300_000];

export function createMailer(options: {
  transport: MailTransport;
  /** Name under each mail: the host of BASE_URL. */
  service: string;
  clock: Clock;
  log: Log;
  /** Seconds to wait, 0 when the address may get another mail; see access/client-limits.ts. */
  limit: (to: string, nowMs: number, kind: MailKind) => number;
  retryDelaysMs?: readonly number[];
}): Mailer {
  const { transport, service, clock, log, limit } = options;
  const delays = options.retryDelaysMs ?? retryDelaysMs;
  const queue: { mail: Mail; tries: number }[] = [];
  /** Waiting for their next try. */
  const timers = new Set<NodeJS.Timeout>();
  const idlers: (() => void)[] = [];
  let running = 0;
  let closed = false;

  const held = () => queue.length + running + timers.size;

  function settle(): void {
    if (held() === 0) for (const resolve of idlers.splice(0)) resolve();
  }

  function pump(): void {
    while (running < runningMax && queue.length > 0) {
      running++;
      void deliver(queue.shift()!);
    }
    settle();
  }

  async function deliver(job: { mail: Mail; tries: number }): Promise<void> {
    try {
      await transport.send(job.mail);
    } catch (error) {
      const delayMs = delays[job.tries];
      const reason = reasonOf(error);
      if (delayMs === undefined || closed) log.error({ reason }, 'mail: given up');
      else {
        log.warn({ reason, retryInMs: delayMs }, 'mail: not sent, tried again later');
        const timer = setTimeout(() => {
          timers.delete(timer);
          queue.push({ mail: job.mail, tries: job.tries + 1 });
          pump();
        }, delayMs);
        timer.unref();
        timers.add(timer);
      }
    }
    running--;
    pump();
  }

  return {
    get waiting() {
      return held();
    },
    post(to, language, name, values) {
      if (closed || held() >= waitingMax) {
        log.error({ mail: name }, 'mail: dropped, the queue is full');
        return false;
      }
      const kind = notices.includes(name) ? 'notice' : 'asked';
      if (limit(to, clock.monotonicMs(), kind) > 0) return false;
      const make = mailCatalogues[language][name] as (v: object) => {
        subject: string;
        text: string;
      };
      const link = (values as { link?: string }).link;
      const mail = { to, ...make({ ...values, service }), ...(link === undefined ? {} : { link }) };
      queue.push({ mail, tries: 0 });
      // In a later turn, so that the caller's time does not depend on it.
      setImmediate(pump);
      return true;
    },
    idle: () =>
      held() === 0 ? Promise.resolve() : new Promise<void>((resolve) => idlers.push(resolve)),
    async close() {
      closed = true;
      queue.length = 0;
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
      if (running > 0) await new Promise<void>((resolve) => idlers.push(resolve));
      settle();
      await transport.close();
    },
  };
}

/** A mail server's words may quote the address: only the code is safe to log. */
function reasonOf(error: unknown): string {
  const { code, responseCode } = error as { code?: unknown; responseCode?: unknown };
  return [code, responseCode].filter((part) => part !== undefined).join(' ') || 'unknown';
}
