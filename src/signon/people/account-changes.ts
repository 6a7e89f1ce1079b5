/**
 * The one way in which a person changes how their account is opened (password, address, second
 * factor, passkeys) and what acts in its name (API keys): in a session that shows a proof strong
 * enough, in one commit with the entry in the log and the mails about it, under a new cookie.
 *
 * The commit names the session's row and the credentials as they were read: a request that was
 * under way when the owner reset the password, or with a cookie that was renewed since, changes
 * nothing. Each change grows the credentials' `factors` if it is one of a factor, so a proof that
 * another session gave before it is stale.
 *
 * The mail about a change is never dropped for the sake of a limit. So the changes themselves are
 * bounded: over the bound a change is refused, and never made unseen.
 */

import { accountRow } from '../../access/accounts/accounts.ts';
import type { ClientLimits } from '../../access/quota/client-limits.ts';
import type { Visitor } from '../../contracts/visitor.ts';
import type { Clock } from '../../core/clock.ts';
import type { ErrorCode } from '../../core/errors.ts';
import { readMailAddress } from '../../core/mail-address.ts';
import type { Random } from '../../core/random.ts';
import { type Failure, fail, ok, type Result } from '../../core/result.ts';
import { hourMs } from '../../core/time.ts';
import {
  type Change,
  type CommitAddition,
  commitOnce,
  retryOnConflict,
} from '../../storage/change.ts';
import { accountByEmailKey, type Key } from '../../storage/keys.ts';
import type { RowCheck, SetRow, Store } from '../../storage/store.ts';
import type { Mailer } from '../mail/mailer.ts';
import { formerEmailsAfter, type Notices } from '../mail/notices.ts';
import {
  type Credentials,
  credentialsRow,
  isActive,
  type People,
  type Person,
  versionChecks,
  withBrowserAlone,
} from '../people.ts';
import { tooMany } from '../proofs/attempts.ts';
import { isFactorOn, passkeysOf } from '../proofs/factor-rows.ts';
import type { ChangeEvent, SecurityLog } from '../sessions/security-log.ts';
import {
  proofStrength,
  type Renewal,
  type Session,
  type SessionMethod,
  type Sessions,
} from '../sessions/sessions.ts';
import { signedOutNews } from '../sites/site-news.ts';
import { type Links, type PageLinks, unused } from './links.ts';
import { claimEmail, isEvictable } from './pending.ts';
import type { Profiles } from './profile/profile-store.ts';

/** The rows and credentials that one change writes, computed from the person as just loaded. */
export interface Step<T> {
  readonly value: T;
  readonly check?: readonly RowCheck[];
  readonly set?: readonly SetRow[];
  readonly del?: readonly Key[];
  readonly credentials?: Partial<Credentials>;
  /** A proof that comes with the change itself, such as the first code of a new second factor. */
  readonly proof?: SessionMethod;
}

export interface ChangeRequest {
  readonly session: Session;
  readonly visitor: Visitor;
  readonly event: ChangeEvent;
  /** The proof was asked for before: when the link that is used now was sent, or by the review. */
  readonly wasProven?: boolean;
  /** All other sessions end, and other browsers are forgotten. */
  readonly endsOthers?: boolean;
  /** Further addresses that get the mail, besides the account's own and its former ones. */
  readonly alsoTo?: readonly string[];
}

/** The limit of changes of one account, each of which sends a mail that no limit drops. */
const accountChangeLimit = { max: 30, windowMs: hourMs } as const;
/** The accounts whose changes are counted: at the bound the one that was quiet longest is evicted. */
const accountsMax = 16_384;

/** The events after which an earlier proof no longer counts. */
const factorEvents: readonly ChangeEvent[] = [
  'totp_enabled',
  'totp_disabled',
  'backup_codes_made',
  'passkey_added',
  'passkey_removed',
  'review_done',
];

export function createAccountChanges(options: {
  store: Store;
  clock: Clock;
  random: Random;
  people: Pick<People, 'byId'>;
  sessions: Pick<Sessions, 'transfer'>;
  securityLog: Pick<SecurityLog, 'entry' | 'add'>;
  notices: Pick<Notices, 'about'>;
}) {
  const { store, clock, random, people, sessions, securityLog, notices } = options;
  /** The monotonic times of each account's changes of this hour; accounts by last use, oldest first. */
  const made = new Map<string, readonly number[]>();

  /** Returns whether only a passkey is a proof strong enough: there is one, and no second factor. */
  async function needsPasskey(accountId: string): Promise<boolean> {
    if (await isFactorOn(store, accountId)) return false;
    return (await passkeysOf(store, accountId, 1)).length > 0;
  }

  /**
   * Returns the strength of the session's last proof: `strong` by passkey, or by a second factor of the account;
   * `missing` while it has neither.
   */
  const strengthOf = ({ accountId, proof }: Session): Promise<'missing' | 'weak' | 'strong'> =>
    proofStrength(store, accountId, proof);

  /**
   * Returns whether the session's proof is enough to change how the account is opened: a recent
   * passkey, or password and code; a password alone only where neither is set up.
   */
  async function allows(session: Session): Promise<boolean> {
    if (!session.fresh || !session.verified) return false;
    if (session.proof === 'passkey') return true;
    if (await isFactorOn(store, session.accountId)) return session.proof === 'password+totp';
    return !(await needsPasskey(session.accountId));
  }

  /** Counts a change. Returns undefined if it may be made. */
  function count(accountId: string): Failure | undefined {
    const { max, windowMs } = accountChangeLimit;
    const now = clock.monotonicMs();
    const times = (made.get(accountId) ?? []).filter((time) => now - time < windowMs);
    if (times.length >= max) return tooMany(Math.ceil((times[0]! + windowMs - now) / 1_000));
    made.delete(accountId);
    made.set(accountId, [...times, now]);
    if (made.size > accountsMax) made.delete(made.keys().next().value!);
    return undefined;
  }

  /** Takes back what was counted last: that change was not made. One whose end is unknown stays counted. */
  function uncount(accountId: string, error: ErrorCode): void {
    const times = made.get(accountId);
    if (times !== undefined && error !== 'store_unavailable') {
      made.set(accountId, times.slice(0, -1));
    }
  }

  /**
   * Makes a change. `reauthentication_required`, `form_expired` (the session ended or was renewed meanwhile),
   * `too_many_attempts` (too many changes, with `retryAfterSeconds`), `store_unavailable`, and the errors of the
   * step. `token` is the session's new cookie, `browser` the browser's, if it has one.
   */
  async function make<T>(
    request: ChangeRequest,
    step: (person: Person) => Promise<Change<Step<T>>>,
  ): Promise<Result<{ value: T } & Renewal>> {
    const { session, visitor, event, wasProven = false, endsOthers = false } = request;
    if (!wasProven && !(await allows(session))) return fail('reauthentication_required');
    const isOfFactor = factorEvents.includes(event);
    let counted = false;
    return retryOnConflict(async () => {
      const person = await people.byId(session.accountId);
      if (!person || !isActive(person)) return fail('forbidden');
      const next = await step(person);
      if (next === 'conflict' || !next.ok) return next;
      const { value, check = [], set = [], del = [], proof } = next.value;
      const { epoch } = person.credentials;
      const alone = endsOthers ? withBrowserAlone(person, visitor.browser, random) : undefined;
      const before = alone ? { ...alone.credentials, epoch: epoch + 1 } : person.credentials;
      const factors = before.factors + (isOfFactor ? 1 : 0);
      const credentials = { ...before, ...next.value.credentials, factors };
      const kept = await sessions.transfer(session, person, {
        epoch: credentials.epoch,
        ...(isOfFactor ? { factors } : {}),
        ...(proof === undefined ? {} : { proof }),
      });
      if (kept === undefined) return fail('form_expired');
      // A change counts once, and only if it would be made: a typing error uses nothing up.
      const refused = counted || event === 'review_done' ? undefined : count(person.id);
      if (refused !== undefined) return refused;
      counted = true;
      const logged = await securityLog.entry(person.id, event, visitor);
      const notice = notices.about({ ...person, credentials }, event, visitor, request.alsoTo);
      const news = endsOthers ? [signedOutNews(person.id, clock.now())] : [];
      const own = [credentialsRow(person, credentials), ...notice.set, ...news];
      const done = await commitOnce(store, {
        check: [...versionChecks(person), ...kept.check, ...logged.check, ...check],
        set: [...own, ...kept.set, ...logged.set, ...set],
        del: [...del, ...logged.del],
      });
      if (done === 'conflict' || !done.ok) return done;
      notice.send();
      return ok({ value, token: kept.token, browser: alone?.browser });
    });
  }

  /**
   * Returns the checks for the commit of a change that is made elsewhere than by `make`: the account is active, and
   * nothing that the session rests on was changed since the request came. Other changes of the account do not
   * hinder it.
   */
  async function checksOf({
    accountId,
    person: seen,
  }: Session): Promise<Result<readonly RowCheck[]>> {
    const person = await people.byId(accountId);
    const { epoch, factors } = seen.credentials;
    const isSame = person?.credentials.epoch === epoch && person.credentials.factors === factors;
    return isSame && isActive(person) ? ok(versionChecks(person)) : fail('form_expired');
  }

  /**
   * Makes what acts in an account's name and has rows of its own, an API key or a webhook: counted, and in one commit
   * with its mails. A failure counts only where `countsFailure` says so, or if its end is unknown.
   * @param write commits it with the checks and rows that it is given
   */
  async function makeOwn<T>(
    { session, visitor }: { readonly session: Session; readonly visitor: Visitor },
    event: ChangeEvent,
    write: (also: CommitAddition) => Promise<Result<T>>,
    countsFailure: (failure: Failure) => boolean = () => false,
  ): Promise<Result<T>> {
    const { accountId } = session;
    const tooOften = count(accountId);
    if (tooOften !== undefined) return tooOften;
    // The account is read again for its addresses as they are now.
    const person = (await people.byId(accountId)) ?? session.person;
    const notice = notices.about(person, event, visitor);
    const done = await write({ check: () => checksOf(session), set: notice.set });
    if (!done.ok) {
      if (!countsFailure(done)) uncount(accountId, done.error);
      return done;
    }
    notice.send();
    await securityLog.add(accountId, event, visitor);
    return done;
  }

  return {
    allows,
    strengthOf,
    needsPasskey,
    make,
    makeOwn,
    /** Forgets the changes counted before a reset: they must not keep the owner from undoing them. */
    forgive(accountId: string): void {
      made.delete(accountId);
    },
    table: { name: 'account_changes', used: () => made.size, limit: accountsMax },
  };
}

export type AccountChanges = ReturnType<typeof createAccountChanges>;

// Changes a mail address: requested in a fresh session, done when the link sent to the new address is opened. That
// commit takes the new address and frees the old one. An unverified registration of the new address is removed in the
// same commit, since it only claimed the mailbox. If the new address has an account, it gets a mail about the
// request; the answer to the requester is the same.
//
// A link works only in a session of the account that asked, so nobody can be tricked into moving an account to
// another mailbox. The change increases the epoch: it ends all other sessions, and links sent to the old mailbox to
// reset the password or to change the address again.
//
// Both addresses get a mail, and the old one gets those of later changes for a while (notices.ts).

/** The limit of requests of one account: each sends a mail to an address that need not be the asker's. */
export const emailChangeLimit = { max: 5, windowMs: hourMs } as const;

export function createEmailChange(options: {
  store: Store;
  people: People;
  links: Links;
  mailer: Pick<Mailer, 'post'>;
  pages: PageLinks;
  securityLog: SecurityLog;
  profiles: Pick<Profiles, 'emailChanged'>;
  changes: Pick<AccountChanges, 'allows' | 'make'>;
  clock: Clock;
  limits: Pick<ClientLimits<'emailChange'>, 'takeOrWait'>;
}) {
  const { clock, limits, changes, store, people, links, mailer, pages, securityLog, profiles } =
    options;

  /**
   * `reauthentication_required`, `invalid_parameter` (parameter `email`), `client_limit_exceeded`,
   * `store_unavailable`.
   */
  async function request(
    session: Session,
    address: string,
    visitor: Visitor,
  ): Promise<Result<void>> {
    if (!(await changes.allows(session))) return fail('reauthentication_required');
    const email = readMailAddress(address);
    if (email === undefined || email === session.email) {
      return fail('invalid_parameter', 'This is not a new mail address.', 'email');
    }
    const { id, credentials } = session.person;
    const waitSeconds = limits.takeOrWait('emailChange', id, clock.monotonicMs());
    if (waitSeconds > 0) {
      return { ...fail('client_limit_exceeded'), retryAfterSeconds: waitSeconds };
    }
    const { epoch, factors } = credentials;
    const link = links.make('email', { account: id, data: `${email} ${factors}`, epoch });
    const logged = await securityLog.entry(id, 'email_change_requested', visitor);
    const owner = await people.byEmail(email);
    const taken = owner !== undefined && !isEvictable(owner);
    const set = [link.row, ...logged.set];
    const done = await commitOnce(store, { check: logged.check, set, del: logged.del });
    if (done === 'conflict') return fail('forbidden');
    if (!done.ok) return done;
    const { language } = credentials;
    if (taken) mailer.post(email, language, 'alreadyRegistered', { link: pages.recover }, id);
    else mailer.post(email, language, 'confirmEmail', { link: pages.confirmEmail(link.token) }, id);
    return ok(undefined);
  }

  async function open(session: Session, token: string) {
    const link = await links.find('email', token);
    if (link?.account !== session.accountId) return undefined;
    const person = await people.byId(link.account);
    if (!person || !isActive(person)) return undefined;
    const { epoch, factors } = person.credentials;
    // The proof was asked for with the link: it is as stale as one of a session.
    const [address = '', factorsThen = '0'] = link.data.split(' ');
    if (link.epoch !== epoch || factorsThen !== String(factors)) return undefined;
    const email = readMailAddress(address);
    return email === undefined ? undefined : { link, email };
  }

  /** Returns the new address of a link of this session's account; the link stays unused. `invalid_link`. */
  async function offered(session: Session, token: string): Promise<Result<{ email: string }>> {
    const found = await open(session, token);
    return found === undefined ? fail('invalid_link') : ok({ email: found.email });
  }

  /**
   * Changes the address. The session stays under a new cookie, all others of the account end. `invalid_link`
   * also when the link is another account's, or when somebody took the address meanwhile; `too_many_attempts`:
   * the address was changed too often lately; and the errors of `AccountChanges.make`.
   */
  async function confirm(
    session: Session,
    token: string,
    visitor: Visitor,
  ): Promise<Result<{ email: string } & Renewal>> {
    const to = await open(session, token);
    if (to === undefined) return fail('invalid_link');
    const { email } = to;
    const event = 'email_changed' as const;
    // The proof was asked for with the link.
    const asked = { session, visitor, event, wasProven: true, endsOthers: true, alsoTo: [email] };
    const done = await changes.make<void>(asked, async (person) => {
      const found = await open(session, token);
      if (found === undefined) return fail('invalid_link');
      const claim = await claimEmail(store, people, email, person.id);
      if (claim === undefined) return fail('invalid_link');
      const formerEmails = formerEmailsAfter(person, email, clock.now());
      if (!formerEmails.ok) return formerEmails;
      const { id, account } = person;
      const extra = await profiles.emailChanged(id, email);
      return ok({
        value: undefined,
        check: [unused(found.link), ...claim.check, ...extra.check],
        set: [
          { key: accountByEmailKey(email), value: Buffer.from(id) },
          accountRow(id, { ...account, email }),
          ...extra.set,
        ],
        del: [accountByEmailKey(account.email), found.link.key, ...claim.del],
        credentials: { formerEmails: formerEmails.value },
      });
    });
    return done.ok ? ok({ ...done.value, email }) : done;
  }

  return { request, offered, confirm };
}
