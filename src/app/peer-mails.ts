/**
 * Tells operators by mail that a peer waits for them: its new rows are held, or a strange key signs. Once for each time
 * that it begins, since the peer's row keeps what is held. Here the wings meet: reputation knows the peer, sign-on the address.
 */

import { activeOperators } from '../access/accounts/records.ts';
import type { Log } from '../core/log.ts';
import {
  type HoldReason,
  nameOf,
  type StoredPeer,
} from '../reputation/federation/subscribe/peers.ts';
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

  async function send(peer: StoredPeer, reason: HoldReason): Promise<void> {
    const name = nameOf(peer);
    const link = new URL(`/admin/peers?peer=${encodeURIComponent(name)}`, needs.secureUrl).href;
    const values = { link, peer: name, isStrangeKey: reason === 'strange key' };
    for (const id of (await activeOperators(store)).slice(0, operatorsMax)) {
      const person = await people.byId(id);
      if (person === undefined || !isActive(person)) continue;
      mailer.post(person.account.email, person.credentials.language, 'peerHeld', values, id);
    }
  }

  return (peer: StoredPeer, reason: HoldReason): void => {
    send(peer, reason).catch((err: unknown) => log.warn({ err }, 'peers: operators were not told'));
  };
}
