/**
 * Sends the link for a new password: to whoever asked for it, and by an operator, who sees none. It goes to the
 * mailbox of the account alone, and stands in its security log.
 */

import { fail, ok, type Result } from '../../core/result.ts';
import { commitOnce } from '../../storage/change.ts';
import type { Store } from '../../storage/store.ts';
import type { Mailer } from '../mail/mailer.ts';
import { isActive, type People, type Person } from '../people.ts';
import type { SecurityLog } from '../sessions/security-log.ts';
import type { Visitor } from '../visitor.ts';
import { type Links, newResetData, type PageLinks } from './links.ts';

/** The visitor of a link that an operator sends has no browser: the link works in any, with no way on. */
const operatorsVisit: Visitor = { network: '', country: 'ZZ', userAgent: '', language: 'en' };

export function createResetLinks(options: {
  store: Store;
  people: Pick<People, 'byId'>;
  links: Pick<Links, 'make'>;
  mailer: Pick<Mailer, 'post'>;
  pages: Pick<PageLinks, 'reset'>;
  securityLog: Pick<SecurityLog, 'entry'>;
}) {
  const { store, people, links, mailer, pages, securityLog } = options;

  /**
   * Sends the link; the value says whether a mail is on its way. The work is the same without a
   * person.
   * @param onward comes back when the link is used in the visitor's browser
   */
  async function send(
    person: Person | undefined,
    visitor: Visitor,
    onward: string,
  ): Promise<Result<boolean>> {
    const account = person?.id ?? '';
    const epoch = person?.credentials.epoch ?? 0;
    const data = newResetData(account, visitor, onward);
    const link = links.make('reset', { account, data, epoch });
    const logged = await securityLog.entry(account, 'reset_requested', visitor);
    const known = person === undefined ? { check: [], set: [], del: [] } : logged;
    const set = [link.row, ...known.set];
    const done = await commitOnce(store, { check: known.check, set, del: known.del });
    // An account that is deleted at this very moment is answered like one that never was.
    if (done === 'lost') return ok(false);
    if (!done.ok) return done;
    if (person === undefined || link.isFull) return ok(false);
    const { language } = person.credentials;
    const to = person.account.email;
    return ok(mailer.post(to, language, 'reset', { link: pages.reset(link.token) }, person.id));
  }

  return {
    send,
    /**
     * Sends a link for an operator, who does not see it. `unknown_account`; `conflict`: the account is not one
     * that mail can open; `client_limit_exceeded`: its address had its links of this hour.
     */
    async sendByOperator(accountId: string): Promise<Result<void>> {
      const person = await people.byId(accountId);
      if (person === undefined) return fail('unknown_account');
      if (!isActive(person)) {
        return fail('conflict', `${person.account.email} is disabled or not verified`);
      }
      const sent = await send(person, operatorsVisit, '');
      if (!sent.ok) return sent;
      return sent.value ? ok(undefined) : fail('client_limit_exceeded');
    },
  };
}

export type ResetLinks = ReturnType<typeof createResetLinks>;
