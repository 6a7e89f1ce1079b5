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

import type { Visitor } from '../../contracts/visitor.ts';
import type { Clock } from '../../core/clock.ts';
import type { ErrorCode } from '../../core/errors.ts';
import type { Random } from '../../core/random.ts';
import { type Failure, fail, ok, type Result } from '../../core/result.ts';
import { hourMs } from '../../core/time.ts';
import {
  type Change,
  type CommitAddition,
  commitOnce,
  retryOnConflict,
} from '../../storage/change.ts';
import type { Key } from '../../storage/keys.ts';
import type { RowCheck, SetRow, Store } from '../../storage/store.ts';
import type { Notices } from '../mail/notices.ts';
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
