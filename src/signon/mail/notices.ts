/**
 * Notifies the owner of changes of the account: at its address, and for a while at its former addresses. So a thief
 * who changes the address can't cut off the owner, however often the address changes: the oldest ones are kept.
 *
 * Each mail is a row of the commit that makes the change, one for each address, and the row is removed when the mail
 * is sent. Rows that a stop, a full queue or an unreachable mail server left behind are sent at the next start or by
 * an hourly pass, for a day. After a crash a mail may be sent twice, but is never lost.
 */

import { agentName, type Visitor, visitorCountryOf } from '../../contracts/visitor.ts';
import type { Clock } from '../../core/clock.ts';
import { languages } from '../../core/language.ts';
import type { Log } from '../../core/log.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { dayMs, hourMs, minuteMs } from '../../core/time.ts';
import { type Key, noticeKey, noticePrefix } from '../../storage/keys.ts';
import type { Maintenance } from '../../storage/maintenance.ts';
import { type Decoded, type Field, flag, oneOf, record, text, time } from '../../storage/record.ts';
import { pagesUnder, type SetRow, type Store } from '../../storage/store.ts';
import type { PageLinks } from '../people/links.ts';
import type { Credentials, FormerEmail, Person } from '../people.ts';
import { type ChangeEvent, changeEvents, securityEvents } from '../sessions/security-log.ts';
import type { Delivery, Mailer } from './mailer.ts';

/** A mail that is not sent yet, as its row stores it. It is deleted with the account. */
type OpenNotice = Decoded<typeof rows.decode>;

/** A mail that could not be sent in a day is no news any more. */
const noticeLifeMs = dayMs;
/** A change is stored by its index among all events. */
const changeEvent: Field<ChangeEvent> = {
  write: (out, what) => out.u8(securityEvents.indexOf(what)),
  read(input) {
    const event = securityEvents[input.u8()];
    const what = changeEvents.find((one) => one === event);
    if (what === undefined) input.reject();
    return what ?? 'review_done';
  },
};
const rows = record(1, {
  what: changeEvent,
  language: oneOf(languages),
  /** The address is a former one of the account. */
  former: flag,
  /** The time of the change, ms since 1970. */
  at: time,
  to: text,
  /** The browser and system as `agentName` names them. */
  agent: text,
  country: text,
});

/** @param id 8 random bytes */
export function noticeRow(account: string, id: Uint8Array, notice: OpenNotice): SetRow {
  const expiresAt = Math.floor(notice.at) + noticeLifeMs;
  return { key: noticeKey(account, id), value: rows.encode(notice), expiresAt };
}

/** Returns undefined for a damaged row. */
export const readNotice = rows.decode;

/** Returns the account of a row. Its id is text, ended by a zero byte (see keys.ts). */
function noticeAccountOf(key: Key): string {
  return Buffer.from(key.subarray(1, -9)).toString('utf8');
}

/** A former address of an account gets mails about changes for this time. */
const formerEmailLifeMs = 7 * dayMs;
/**
 * The limit of former addresses, and so of changes of the address in that time: none may be pushed out by the
 * next.
 */
const formerEmailsMax = 5;

/** Mails about one change. */
export interface Notice {
  /** The rows for the commit that makes the change. */
  readonly set: readonly SetRow[];
  /** Sends the mails, after that commit. Never waits, and no limit drops a mail. */
  send(): void;
}

/** The limit of mails that passes have under way; the next ones wait in their rows. */
const underWayMax = 64;
const passMs = hourMs;
/** The pause between passes where several servers share a store: one that stopped leaves its mails to the others. */
const sharedPassMs = 30_000;
const retryMs = 10_000;
/** A younger row is left to the process that wrote it, which is sending it. */
const youngMs = 2 * minuteMs;
const idBytes = 8;

interface NoticeRow {
  readonly key: Key;
  readonly account: string;
  readonly notice: OpenNotice;
}

interface NoticesOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Pick<Log, 'warn'>;
  readonly mailer: Pick<Mailer, 'deliver'>;
  readonly pages: Pick<PageLinks, 'recover'>;
  /** Chooses the one of several servers that sends what another left; absent: this one. */
  readonly maintenance?: Pick<Maintenance, 'isMine' | 'isShared'>;
  /** Called with the outcome of each mail. */
  readonly onEnd?: (how: Delivery) => void;
}

export function createNotices(options: NoticesOptions) {
  const { store, clock, random, log, mailer, pages } = options;
  const { isMine = () => true, isShared = false } = options.maintenance ?? {};
  /** The mails under way, by the text of their keys. */
  const underWay = new Map<string, Promise<void>>();
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let serves = false;
  let closing = false;

  async function deliver({ key, account, notice }: NoticeRow): Promise<void> {
    const { to, language, ...change } = notice;
    const values = { ...change, link: pages.recover };
    const how = await mailer.deliver(to, language, 'changed', values, account);
    options.onEnd?.(how);
    if (how === 'not_now') return passIn(retryMs);
    // The pass of the next hour tries again, until the row expires.
    if (how === 'given_up') return;
    const done = await store.commit({ del: [key] });
    // If that fails the mail comes once more, which harms less than none.
    if (!done.ok) log.warn({ error: done.error }, 'mail: the row of a sent notice was not removed');
  }

  function send(named: NoticeRow): void {
    const name = Buffer.from(named.key).toString('latin1');
    if (closing || underWay.has(name)) return;
    const sending = deliver(named)
      .catch((error) => log.warn({ err: error }, 'mail: a notice waits for the next pass'))
      .finally(() => underWay.delete(name));
    underWay.set(name, sending);
  }

  async function pass(oldestFrom: number): Promise<void> {
    if (!isMine()) return;
    for await (const page of pagesUnder(store, noticePrefix())) {
      if (closing) return;
      for (const { key, value } of page) {
        const notice = readNotice(value);
        if (notice === undefined || notice.at > oldestFrom) continue;
        while (underWay.size >= underWayMax && !closing) await Promise.race(underWay.values());
        if (!isMine()) return;
        send({ key, account: noticeAccountOf(key), notice });
      }
    }
  }

  function start(oldestFrom: number): void {
    if (closing) return;
    running ??= pass(oldestFrom)
      .catch((error) => log.warn({ err: error }, 'mail: pass over notices failed, will retry'))
      .finally(() => {
        running = undefined;
        if (timer === undefined) passIn(isShared ? sharedPassMs : passMs);
      });
  }

  function passIn(ms: number): void {
    if (closing || !serves) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = undefined;
      start(clock.now() - youngMs);
    }, ms);
    timer.unref();
  }

  return {
    /** @param alsoTo addresses that are about to be the account's, which get the mail as its own do */
    about(
      person: Person,
      what: ChangeEvent,
      visitor: Visitor,
      alsoTo: readonly string[] = [],
    ): Notice {
      const { id, account, credentials } = person;
      const { language } = credentials;
      const at = clock.now();
      const lately = formerEmailsNow(credentials, at).map(({ email }) => email);
      const present = alsoTo.length > 0 ? alsoTo : [account.email];
      const former = [...new Set([...lately, account.email])].filter((to) => !present.includes(to));
      const agent = agentName(visitor.userAgent);
      const country = visitorCountryOf(visitor);
      const rows = [...present, ...former].map((to) => {
        const isFormer = !present.includes(to);
        const notice = { to, language, what, former: isFormer, agent, country, at };
        return { notice, row: noticeRow(id, random.bytes(idBytes), notice) };
      });
      return {
        set: rows.map(({ row }) => row),
        send() {
          for (const { row, notice } of rows) send({ key: row.key, account: id, notice });
        },
      };
    },
    /** Sends what was left, now and then each hour. The serving process calls it. */
    resume(): void {
      serves = true;
      start(isShared ? clock.now() - youngMs : Number.POSITIVE_INFINITY);
    },
    /** Resolves when no mail about a change is under way. */
    async idle(): Promise<void> {
      while (running !== undefined || underWay.size > 0) {
        await running;
        await Promise.all(underWay.values());
      }
    },
    /** Call it after or with `Mailer.close`, which ends what is under way. What is left is for the next start. */
    async close(): Promise<void> {
      closing = true;
      clearTimeout(timer);
      await running;
      await Promise.all(underWay.values());
    },
  };
}

export type Notices = ReturnType<typeof createNotices>;

function formerEmailsNow({ formerEmails }: Credentials, now: number): FormerEmail[] {
  return formerEmails.filter(({ until }) => until > now);
}

/**
 * Returns the former addresses after a change of the address. `too_many_attempts` when there are too many:
 * the oldest, which may be the owner's, must not be forgotten for the newest.
 */
export function formerEmailsAfter(
  { account, credentials }: Person,
  email: string,
  now: number,
): Result<readonly FormerEmail[]> {
  const others = formerEmailsNow(credentials, now).filter((former) => former.email !== email);
  const known = others.some((former) => former.email === account.email);
  if (known) return ok(others);
  if (others.length >= formerEmailsMax) {
    const endsAt = Math.min(...others.map(({ until }) => until));
    const retryAfterSeconds = Math.ceil((endsAt - now) / 1_000);
    return { ...fail('too_many_attempts'), retryAfterSeconds };
  }
  return ok([...others, { email: account.email, until: now + formerEmailLifeMs }]);
}
