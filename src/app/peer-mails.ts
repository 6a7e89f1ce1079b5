/**
 * Mails operators about a peer: new rows are held, an unknown key signs, its head has expired, its key was rotated,
 * or its budget is nearly used. reputation/federation/subscribe/notices.ts limits how often. Two wings meet here:
 * reputation knows the peer, sign-on the address.
 */

import { activeOperators } from '../access/accounts/records.ts';
import type { Log } from '../core/log.ts';
import type { NoticeKind } from '../reputation/federation/subscribe/notices.ts';
import { peerNameOf, type StoredPeer } from '../reputation/federation/subscribe/peers.ts';
import type { Mailer } from '../signon/mail/mailer.ts';
import { isActive, type People } from '../signon/people.ts';
import type { Store } from '../storage/store.ts';

/** Beyond them an operator reads of it on the console. */
const operatorsMax = 20;

export function createPeerMails(needs: {
  readonly store: Pick<Store, 'get' | 'scan'>;
  readonly people: Pick<People, 'byId'>;
  readonly mailer: Pick<Mailer, 'post'>;
  readonly log: Log;
  readonly secureUrl: string;
}) {
  const { store, people, mailer, log } = needs;

  async function send(peer: StoredPeer, notice: NoticeKind): Promise<void> {
    const name = peerNameOf(peer);
    const link = new URL(`/admin/peers?peer=${encodeURIComponent(name)}`, needs.secureUrl).href;
    const values = { link, peer: name, notice };
    for (const id of (await activeOperators(store)).slice(0, operatorsMax)) {
      const person = await people.byId(id);
      if (person === undefined || !isActive(person)) continue;
      mailer.post(person.account.email, person.credentials.language, 'peerNotice', values, id);
    }
  }

  return (peer: StoredPeer, notice: NoticeKind): void => {
    send(peer, notice).catch((err: unknown) =>
      log.warn({ err }, 'peers: operators were not notified'),
    );
  };
}
