/**
 * Invitations: an operator makes an account that waits, and its address gets a link with which a person
 * chooses a password or a passkey. The link signs nobody in, and works while registration is closed.
 *
 * The link's row is the invitation: it ends when the link is used, when the account is removed, or
 * after the week for which the account waits.
 */

import { type AccountRecord, decodeAccount } from '../../access/accounts/records.ts';
import { operatorsClient } from '../../contracts/visitor.ts';
import type { Clock } from '../../core/clock.ts';
import type { Language } from '../../core/language.ts';
import { readKnownAddress, readMailAddress } from '../../core/mail-address.ts';
import { type Random, randomToken } from '../../core/random.ts';
import { type Failure, fail, ok, type Result } from '../../core/result.ts';
import { hourMs } from '../../core/time.ts';
import { commitOnce, retryOnConflict } from '../../storage/change.ts';
import { accountByEmailKey, accountKey } from '../../storage/keys.ts';
import type { Store } from '../../storage/store.ts';
import type { Mailer } from '../mail/mailer.ts';
import { isVerified, noCredentials, type People, versionChecks } from '../people.ts';
import type { SecurityLog } from '../sessions/security-log.ts';
import { invitedAccounts, type Links, newInvitationData, type PageLinks } from './links.ts';
import { evictionOf, pendingLifeMs, pendingRows } from './pending.ts';
import type { RowCounter } from './row-counter.ts';

const idBytes = 12;
/**
 * The links that an address gets in an hour, counted in the store: a command beside a database has no mailer of
 * a server.
 */
const perHourMax = 3;

function tooManyInvitations(email: string): Failure {
  const left = `${email} had its mails of this hour: the links that it has work on`;
  return fail('client_limit_exceeded', left);
}

export type Invitation = {
  readonly id: string;
  readonly email: string;
  /** Milliseconds since 1970. */
  readonly until: number;
};

export function createInvitations(options: {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly people: People;
  readonly links: Pick<Links, 'make'>;
  readonly mailer: Pick<Mailer, 'post'>;
  readonly pages: Pick<PageLinks, 'verify' | 'host'>;
  readonly securityLog: Pick<SecurityLog, 'entry'>;
  /** Counts the accounts that wait, in the server. */
  readonly pendingAccounts?: Pick<RowCounter, 'prolonged'>;
}) {
  const { store, clock, random, people, links, mailer, pages, securityLog } = options;

  /**
   * Invites an address, or once more: the newest link and those before work, until one is used.
   * `invalid_parameter`; `conflict`: there is such an account; `capacity_exceeded`: too many invitations are
   * open; `client_limit_exceeded`: the address had its mails of this hour.
   */
  async function invite(address: string, language: Language): Promise<Result<Invitation>> {
    const email = readMailAddress(address);
    if (email === undefined) {
      return fail('invalid_parameter', `'${address.slice(0, 80)}' is not a mail address`, 'email');
    }
    return retryOnConflict<Invitation>(async () => {
      const person = await people.byEmail(email);
      if (person !== undefined && (isVerified(person) || person.account.disabled)) {
        const state = person.account.disabled ? 'that is disabled' : 'already';
        return fail('conflict', `${email} has an account ${state}`);
      }
      const sinceEnd = clock.now() - hourMs + pendingLifeMs;
      const ends = person && (await invitedAccounts(store)).get(person.id);
      if (ends !== undefined && ends.filter((end) => end > sinceEnd).length >= perHourMax) {
        return tooManyInvitations(email);
      }
      const id = person?.id ?? randomToken(random, idBytes);
      const until = clock.now() + pendingLifeMs;
      const account: AccountRecord = {
        email,
        createdAt: person?.account.createdAt ?? clock.now(),
        disabled: false,
        pendingUntil: until,
        keys: [],
      };
      const credentials = { ...(person?.credentials ?? noCredentials), language };
      const data = newInvitationData(until);
      const link = links.make('invite', { account: id, data, epoch: credentials.epoch });
      if (link.isFull) return fail('capacity_exceeded', 'too many invitations are open');
      const logged =
        person === undefined
          ? await securityLog.entry(id, 'registered', operatorsClient, until)
          : { check: [], set: [], del: [] };
      const done = await commitOnce(store, {
        check: person ? versionChecks(person) : [{ key: accountByEmailKey(email), version: null }],
        set: [...pendingRows(id, account, credentials), link.row, ...logged.set],
        del: logged.del,
      });
      if (done === 'conflict' || !done.ok) return done;
      options.pendingAccounts?.prolonged(email, until);
      const values = { link: pages.verify(link.token), host: pages.host };
      const isSent = mailer.post(email, language, 'invite', values, id);
      return isSent ? ok({ id, email, until }) : tooManyInvitations(email);
    });
  }

  return { invite };
}

export type Invitations = ReturnType<typeof createInvitations>;

export async function listInvitations(store: Store): Promise<Invitation[]> {
  const found: Invitation[] = [];
  for (const [id, ends] of await invitedAccounts(store)) {
    const row = await store.get(accountKey(id));
    const account = row && decodeAccount(row.value);
    if (!account || account.pendingUntil === 0 || account.disabled) continue;
    // The account waits longer where somebody registers it meanwhile; the link does not.
    found.push({ id, email: account.email, until: Math.max(...ends) || account.pendingUntil });
  }
  return found.sort((a, b) => (a.email < b.email ? -1 : 1));
}

/**
 * Removes the account that waits, so that its links open nothing. `unknown_account`: the address has no
 * open invitation.
 */
export async function withdrawInvitation(
  store: Store,
  people: People,
  address: string,
): Promise<Result<Pick<Invitation, 'email'>>> {
  const email = readKnownAddress(address) ?? '';
  return retryOnConflict<Pick<Invitation, 'email'>>(async () => {
    const person = (await people.byEmail(email)) ?? (await people.byName(address));
    const isInvited =
      person !== undefined &&
      !isVerified(person) &&
      !person.account.disabled &&
      (await invitedAccounts(store)).has(person.id);
    if (!isInvited) return fail('unknown_account', 'there is no open invitation of this address');
    const { check, del } = await evictionOf(store, person);
    const key = accountByEmailKey(person.account.email);
    const done = await commitOnce(store, { check, set: [], del: [...del, key] });
    if (done === 'conflict' || !done.ok) return done;
    return ok({ email: person.account.email });
  });
}
