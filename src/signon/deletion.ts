/**
 * The end of an account, and the copy of everything that its owner may take along.
 *
 * First one commit disables the account and says so in the journal: from then on no key and no
 * session works. Then what is kept for the person is removed part by part, each step safe to run
 * again; last the account and its address go, and the address is free. A mark stands from the
 * first commit to the last, so a deletion that was cut short is finished by the next start.
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
import { createEventId } from '../store/event-id.ts';
import {
  accountByEmailKey,
  accountKey,
  apiKeyKey,
  credentialsKey,
  erasureKey,
  erasurePrefix,
} from '../store/keys.ts';
import type { Store } from '../store/store.ts';
import { commitOnce, untilUndisturbed } from './change.ts';
import { openPeople, type Person } from './people.ts';

/** What one part of the service keeps about a person. */
export interface PersonalData {
  /** Its place in the export. */
  readonly name: string;
  /** Plain JSON; undefined when there is nothing. */
  exportOf(accountId: string, email: string): Promise<unknown>;
  /** Safe to run again. @throws when something can't be removed now */
  erase(accountId: string, email: string): Promise<void>;
}

export interface Deletion {
  /** Done when it resolves `ok`. `unknown_account`; `store_unavailable`: ask again, it goes on. */
  delete(accountId: string): Promise<Result<void>>;
  /** Finishes what was cut short. For the start. @returns how many accounts */
  resume(): Promise<number>;
  /** Everything that is kept about the person, without secrets. */
  exportOf(accountId: string): Promise<Result<Record<string, unknown>>>;
}

const resumeMax = 1_000;

export function createDeletion(options: {
  store: Store;
  clock: Clock;
  random: Random;
  data: readonly PersonalData[];
}): Deletion {
  const { store, clock, random, data } = options;
  const people = openPeople(store);
  const keys = createKeyRecords(options);

  /** Disabled for good, and the journal knows. */
  function begin(person: Person): Promise<Result<void>> {
    const { id } = person;
    return untilUndisturbed<void>(async () => {
      const now = await people.byId(id);
      if (now === undefined || (now.account.disabled && (await isMarked(id)))) return ok(undefined);
      const { account } = now;
      const event = { kind: 'account.disabled', account: id, disabled: true } as const;
      return commitOnce(store, {
        check: [{ key: accountKey(id), version: now.accountVersion }],
        set: [
          { key: erasureKey(id), value: Buffer.from(id) },
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

  /** Revoked in the journal, then gone with their sealed text. Also those revoked long ago. */
  async function removeKeys(accountId: string): Promise<Result<void>> {
    for await (const { id, record } of keys.all()) {
      if (record.account !== accountId) continue;
      const revoked = await keys.revoke(id);
      if (!revoked.ok) return revoked;
      const done = await store.commit({ del: [apiKeyKey(id)] });
      if (!done.ok) return fail('store_unavailable');
    }
    return ok(undefined);
  }

  async function finish(id: string, email: string): Promise<Result<void>> {
    const owner = await store.get(accountByEmailKey(email));
    const own = owner !== undefined && Buffer.from(owner.value).toString('utf8') === id;
    const done = await commitOnce(store, {
      check: own ? [{ key: accountByEmailKey(email), version: owner.version }] : [],
      del: [
        accountKey(id),
        credentialsKey(id),
        erasureKey(id),
        ...(own ? [accountByEmailKey(email)] : []),
      ],
    });
    return done === 'lost' ? fail('store_unavailable') : done;
  }

  async function remove(id: string): Promise<Result<void>> {
    const person = await people.byId(id);
    if (person === undefined) return fail('unknown_account');
    const begun = await begin(person);
    if (!begun.ok) return begun;
    const keysGone = await removeKeys(id);
    if (!keysGone.ok) return keysGone;
    // Read again: a change of address may have been under way until the account was disabled.
    const email = (await people.byId(id))?.account.email ?? person.account.email;
    for (const part of data) {
      try {
        await part.erase(id, email);
      } catch (error) {
        return fail('store_unavailable', `${part.name}: ${(error as Error).message}`);
      }
    }
    return finish(id, email);
  }

  return {
    delete: remove,
    async resume() {
      const marks = await store.scan(erasurePrefix(), { limit: resumeMax });
      let finished = 0;
      for (const { value } of marks) {
        if ((await remove(Buffer.from(value).toString('utf8'))).ok) finished++;
      }
      return finished;
    },
    async exportOf(accountId) {
      const person = await people.byId(accountId);
      if (person === undefined) return fail('unknown_account');
      const { account, credentials } = person;
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
      for (const part of data) parts[part.name] = await part.exportOf(accountId, account.email);
      return ok(parts);
    },
  };
}

/** ISO 8601, null for "never". */
export function dateText(ms: number): string | null {
  return ms === 0 ? null : new Date(ms).toISOString().replace(/\.\d{3}Z$/, '+00:00');
}
