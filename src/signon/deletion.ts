/**
 * The end of an account, in three steps that are each safe to run again.
 *
 * `begin` is one commit: it disables the account and says so in the journal, so from then on no key
 * and no session works. `erase` removes part by part what is kept for the person, in slices. `finish`
 * tells the person by mail, then removes the account and its address in one commit. A mark stands
 * from the first commit to the last: whatever was cut short is taken up again (erasures.ts).
 *
 * The mail comes before the last commit, for the address is in no other place: a process that dies
 * in between sends it once more. One that can't be delivered is given up and holds nothing up.
 *
 * What stays: the journal's events and the person's reports, under the account's random id, which
 * then leads to nobody. Bytes of removed rows stay in free pages of the file until the store is
 * compacted (store/compact.ts).
 */

import { accountRow } from '../access/accounts.ts';
import { encodeAccessEvent } from '../access/events.ts';
import { createKeyRecords } from '../access/key-records.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/random.ts';
import { fail, ok, type Result } from '../core/result.ts';
import { createTurns, type Pace } from '../core/turns.ts';
import { createEventId } from '../store/event-id.ts';
import {
  accountByEmailKey,
  accountKey,
  apiKeyKey,
  credentialsKey,
  erasureKey,
  erasurePrefix,
  type Key,
} from '../store/keys.ts';
import type { Store } from '../store/store.ts';
import { commitOnce, untilUndisturbed } from './change.ts';
import type { Delivery } from './mail/mailer.ts';
import { tracesOf } from './pending.ts';
import { openPeople } from './people.ts';
import type { Language } from './visitor.ts';

/** What one part of the service keeps about a person. */
export interface PersonalData {
  /** Its place in the export. */
  readonly name: string;
  /** Plain JSON; undefined when there is nothing. Long work asks `pace` for its turns. */
  exportOf(accountId: string, email: string, pace: Pace): Promise<unknown>;
  /** Safe to run again. @throws when something can't be removed now, and what `pace` throws */
  erase(accountId: string, email: string, pace: Pace): Promise<void>;
}

/** Tells a person that the account is gone. */
export type Farewell = (email: string, language: Language) => Promise<Delivery>;

export interface Deletion {
  /** Disabled and marked, durably. `unknown_account`, `store_unavailable`. */
  begin(accountId: string): Promise<Result<void>>;
  /** Accounts that are marked, in order of their ids, behind this one. */
  marked(after: string | undefined, limit: number): Promise<string[]>;
  /** After `begin`. `unknown_account`: finished by another; `store_unavailable`: run it again. */
  erase(accountId: string, pace: Pace): Promise<Result<void>>;
  /** After `erase`. Takes as long as the mail: minutes, when it has to be tried again. */
  finish(accountId: string): Promise<Result<void>>;
  /** All three. For who waits for the end of it. */
  delete(accountId: string): Promise<Result<void>>;
  /** Everything that is kept about the person, without secrets. */
  exportOf(accountId: string): Promise<Result<Record<string, unknown>>>;
}

/** Rows of revoked keys that go in one commit. */
const keyRowsMax = 200;
const toldByMail = Uint8Array.of(1);
const notTold = Uint8Array.of(0);

export function createDeletion(options: {
  store: Store;
  clock: Clock;
  random: Random;
  data: readonly PersonalData[];
  /** Without one nobody is told. */
  farewell?: Farewell;
}): Deletion {
  const { store, clock, random, data, farewell } = options;
  const people = openPeople(store);
  const keys = createKeyRecords(options);

  /** Disabled for good, and the journal knows. */
  function begin(id: string): Promise<Result<void>> {
    return untilUndisturbed<void>(async () => {
      const now = await people.byId(id);
      if (now === undefined) return fail('unknown_account');
      if (now.account.disabled && (await isMarked(id))) return ok(undefined);
      const { account } = now;
      const event = { kind: 'account.disabled', account: id, disabled: true } as const;
      return commitOnce(store, {
        check: [{ key: accountKey(id), version: now.accountVersion }],
        set: [
          // Who never showed that the address is theirs gets no mail there.
          { key: erasureKey(id), value: account.pendingUntil === 0 ? toldByMail : notTold },
          // Lasting: a row that expired half-way would leave the rest behind.
          accountRow(id, { ...account, disabled: true, pendingUntil: 0 }),
          { key: accountByEmailKey(account.email), value: Buffer.from(id) },
        ],
        events:
          account.pendingUntil === 0
            ? [encodeAccessEvent(createEventId(clock, random), event)]
            : [],
      });
    });
  }

  async function isMarked(id: string): Promise<boolean> {
    return (await store.get(erasureKey(id))) !== undefined;
  }

  async function marked(after: string | undefined, limit: number): Promise<string[]> {
    const from = after === undefined ? {} : { after: erasureKey(after) };
    const marks = await store.scan(erasurePrefix(), { ...from, limit });
    // The id is text, ended by a zero byte (see keys.ts).
    return marks.map(({ key }) => Buffer.from(key.subarray(1, -1)).toString('utf8'));
  }

  /** Revoked in the journal, then gone with their sealed text. Also those revoked long ago. */
  async function removeKeys(accountId: string): Promise<Result<void>> {
    let del: Key[] = [];
    for await (const { id, record } of keys.all()) {
      if (record.account !== accountId) continue;
      const revoked = await keys.revoke(id);
      if (!revoked.ok) return revoked;
      del.push(apiKeyKey(id));
      if (del.length < keyRowsMax) continue;
      if (!(await store.commit({ del })).ok) return fail('store_unavailable');
      del = [];
    }
    if (del.length === 0 || (await store.commit({ del })).ok) return ok(undefined);
    return fail('store_unavailable');
  }

  async function erase(id: string, pace: Pace): Promise<Result<void>> {
    const person = await people.byId(id);
    if (person === undefined) return fail('unknown_account');
    const keysGone = await removeKeys(id);
    if (!keysGone.ok) return keysGone;
    for (const part of data) {
      try {
        if (pace.isOver()) await pace.next();
        await part.erase(id, person.account.email, pace);
      } catch (error) {
        return fail('store_unavailable', `${part.name}: ${(error as Error).message}`);
      }
    }
    return ok(undefined);
  }

  async function finish(id: string): Promise<Result<void>> {
    const person = await people.byId(id);
    if (person === undefined) {
      await store.commit({ del: [erasureKey(id)] });
      return fail('unknown_account');
    }
    const mark = await store.get(erasureKey(id));
    if (farewell !== undefined && mark?.value[0] === toldByMail[0]) {
      const told = await farewell(person.account.email, person.credentials.language);
      if (told === 'not_now') return fail('store_unavailable', 'the mail waits');
    }
    return remove(id, person.account.email);
  }

  async function remove(id: string, email: string): Promise<Result<void>> {
    const owner = await store.get(accountByEmailKey(email));
    const own = owner !== undefined && Buffer.from(owner.value).toString('utf8') === id;
    const done = await commitOnce(store, {
      check: own ? [{ key: accountByEmailKey(email), version: owner.version }] : [],
      del: [
        accountKey(id),
        credentialsKey(id),
        erasureKey(id),
        ...(own ? [accountByEmailKey(email)] : []),
        // While the mail was waited for, somebody tried to sign in, or a request ended late.
        ...(await tracesOf(store, id)),
      ],
    });
    return done === 'lost' ? fail('store_unavailable') : done;
  }

  return {
    begin,
    marked,
    erase,
    finish,
    async delete(id) {
      const begun = await begin(id);
      if (!begun.ok) return begun;
      const erased = await erase(id, createTurns());
      return erased.ok ? finish(id) : erased;
    },
    async exportOf(accountId) {
      const person = await people.byId(accountId);
      if (person === undefined) return fail('unknown_account');
      const { account, credentials } = person;
      const pace = createTurns();
      const parts: Record<string, unknown> = {
        account: {
          email: account.email,
          verified: account.pendingUntil === 0,
          createdAt: dateText(account.createdAt),
          passwordChangedAt: dateText(credentials.passwordChangedAt),
          language: credentials.language,
          knownBrowsers: credentials.browsers.length,
        },
      };
      const own = [];
      for await (const { id, record } of keys.all()) {
        if (record.account !== accountId) continue;
        const { createdAt, revokedAt } = record;
        own.push({ id, createdAt: dateText(createdAt), revokedAt: dateText(revokedAt) });
      }
      parts.apiKeys = own;
      for (const part of data)
        parts[part.name] = await part.exportOf(accountId, account.email, pace);
      return ok(parts);
    },
  };
}

/** ISO 8601, null for "never". */
export function dateText(ms: number): string | null {
  return ms === 0 ? null : new Date(ms).toISOString().replace(/\.\d{3}Z$/, '+00:00');
}
