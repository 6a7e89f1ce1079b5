/**
 * A forgotten password, and a changed one. A reset link works once, for an hour, and only while
 * the password is the one that was there when it was asked for. Setting a password ends all
 * sessions in the same commit (but the one in which it was changed). Passkeys and the second factor
 * stay: a mailbox alone must not undo them.
 *
 * Asking takes the same work and gives the same answer whether the address has an account or not.
 */

import { normaliseEmail } from '../access/accounts.ts';
import type { Clock } from '../core/clock.ts';
import { fail, ok, type Result } from '../core/result.ts';
import { credentialsKey } from '../store/keys.ts';
import type { Store } from '../store/store.ts';
import { type Change, commitOnce, untilUndisturbed } from './change.ts';
import { newResetData, onwardFor } from './link-data.ts';
import { type Links, unused } from './links.ts';
import type { PageLinks } from './links-to-pages.ts';
import type { Mailer } from './mail/mailer.ts';
import type { NewPasswords } from './new-password.ts';
import { credentialsRow, isActive, type People, type Person } from './people.ts';
import type { SecurityLog } from './security-log.ts';
import type { CarriedOver, Session, Sessions } from './sessions.ts';
import type { Visitor } from './visitor.ts';

export interface Recovery {
  /** `invalid_parameter` for what is no address at all; else always the same answer. */
  request(request: RecoveryRequest): Promise<Result<void>>;
  /** Whether a link is worth showing the form for. It stays unused. */
  isOpen(token: string): Promise<boolean>;
  /** `invalid_link`, `invalid_parameter`, `weak_password`, `overloaded`, `store_unavailable`. */
  reset(request: { token: string; password: string; visitor: Visitor }): Promise<Result<Reset>>;
  /** In a fresh session; else `reauthentication_required`. All other sessions end. */
  changePassword(session: Session, password: string, visitor: Visitor): Promise<Result<void>>;
}

export interface RecoveryRequest {
  readonly email: string;
  readonly visitor: Visitor;
  /** Comes back when the link is used in this browser: a query without `?`, checked by its reader. */
  readonly onward?: string;
}

export interface Reset {
  /** As it was given when the link was asked for; empty in another browser. */
  readonly onward: string;
}

const nothing: CarriedOver = { check: [], set: [] };

export function createRecovery(options: {
  store: Store;
  clock: Clock;
  people: People;
  links: Links;
  mailer: Pick<Mailer, 'post'>;
  pages: PageLinks;
  newPasswords: NewPasswords;
  sessions: Pick<Sessions, 'carryOver'>;
  securityLog: SecurityLog;
}): Recovery {
  const { store, clock, people, links, mailer, pages, newPasswords, sessions, securityLog } =
    options;

  async function request({ email, visitor, onward = '' }: RecoveryRequest) {
    const normal = normaliseEmail(email);
    if (normal === undefined) {
      return fail('invalid_parameter', 'This is not a mail address.', 'email');
    }
    const found = await people.byEmail(normal);
    const person = found && isActive(found) ? found : undefined;
    const account = person?.id ?? '';
    const epoch = person?.credentials.epoch ?? 0;
    const data = newResetData(account, visitor, onward);
    const link = links.make('reset', { account, data, epoch });
    const logged = await securityLog.entry(account, 'reset_requested', visitor);
    const known = person === undefined ? { check: [], set: [], del: [] } : logged;
    const set = [link.row, ...known.set];
    const done = await commitOnce(store, { check: known.check, set, del: known.del });
    // Deleted at this very moment: it is answered like any that never was.
    if (done === 'lost') return ok(undefined);
    if (done.ok && person) {
      const { language } = person.credentials;
      mailer.post(normal, language, 'reset', { link: pages.reset(link.token) }, person.id);
    }
    return done;
  }

  async function open(token: string) {
    const link = await links.find('reset', token);
    const person = link && (await people.byId(link.account));
    if (!link || !person || !isActive(person)) return undefined;
    return link.epoch === person.credentials.epoch ? { link, person } : undefined;
  }

  async function reset(given: { token: string; password: string; visitor: Visitor }) {
    const before = await open(given.token);
    if (before === undefined) return fail('invalid_link');
    const phc = await newPasswords.accept(given.password, before.person.account.email);
    if (!phc.ok) return phc;
    return untilUndisturbed<Reset>(async () => {
      const found = await open(given.token);
      if (found === undefined) return fail('invalid_link');
      const use = { check: [unused(found.link)], set: [], del: [found.link.key] };
      const done = await setPassword(found.person, phc.value, given.visitor, use);
      if (done === 'lost' || !done.ok) return done;
      return ok({ onward: onwardFor(found.link, given.visitor) });
    });
  }

  async function changePassword(session: Session, password: string, visitor: Visitor) {
    if (!session.fresh) return fail('reauthentication_required');
    const phc = await newPasswords.accept(password, session.email);
    if (!phc.ok) return phc;
    return untilUndisturbed<void>(async () => {
      const person = await people.byId(session.accountId);
      if (!person || !isActive(person)) return fail('forbidden');
      const epoch = person.credentials.epoch + 1;
      const kept = await sessions.carryOver(person.id, session.id, epoch);
      return setPassword(person, phc.value, visitor, kept);
    });
  }

  async function setPassword(
    person: Person,
    passwordHash: string,
    visitor: Visitor,
    more: CarriedOver & { del?: Parameters<Store['commit']>[0]['del'] } = nothing,
  ): Promise<Change<void>> {
    const { id, account, credentials } = person;
    const logged = await securityLog.entry(id, 'password_changed', visitor);
    const changed = {
      ...credentials,
      passwordHash,
      passwordChangedAt: clock.now(),
      epoch: credentials.epoch + 1,
    };
    const done = await commitOnce(store, {
      check: [
        { key: credentialsKey(id), version: person.credentialsVersion },
        ...logged.check,
        ...more.check,
      ],
      set: [credentialsRow(person, changed), ...logged.set, ...more.set],
      del: [...(more.del ?? []), ...logged.del],
    });
    if (done === 'lost' || !done.ok) return done;
    mailer.post(
      account.email,
      credentials.language,
      'passwordChanged',
      { link: pages.recover },
      id,
    );
    return ok(undefined);
  }

  return {
    request,
    reset,
    changePassword,
    isOpen: async (token) => (await open(token)) !== undefined,
  };
}
