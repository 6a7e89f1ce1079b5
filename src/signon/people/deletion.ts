/**
 * The end of an account, in three steps that are each safe to run again.
 *
 * `begin` is one commit: it disables the account and says so in the journal, so from then on no key
 * and no session works and nothing is added to the account (people.ts). `erase` removes part
 * by part what is kept for the person, in slices, and with the last commit the account and its
 * address: whoever holds the mailbox may register it again. `sendNotice` sends the deletion notice.
 *
 * Until it is sent or given up that mail waits in the tombstone of the deletion, which stands from the
 * first commit on: whatever was cut short is taken up again (`createErasures`). A process that dies just
 * after it was sent sends it once more.
 *
 * What stays: the journal's events and the person's reports, under the account's random id, which
 * then leads to nobody. Bytes of removed rows stay in free pages of the file until the store is
 * compacted (storage/lmdb/compact.ts).
 */

import { accountRow } from '../../access/accounts/accounts.ts';
import { accountDisabled } from '../../access/accounts/events.ts';
import { otherOperator } from '../../access/accounts/records.ts';
import { createKeyRecords, keysOfKeyRows, readKeyUse } from '../../access/keys/api-keys.ts';
import { keyScopeNames } from '../../access/keys/key-format.ts';
import type { PersonalData } from '../../contracts/personal-data.ts';
import type { Clock } from '../../core/clock.ts';
import { dateTextOrNull } from '../../core/dates.ts';
import type { Language } from '../../core/language.ts';
import type { Log } from '../../core/log.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { createScheduler, type Scheduler } from '../../core/scheduling.ts';
import { type ErasedList, erasedRow } from '../../storage/backup/erased.ts';
import { boundKeysOf, commitOnce, retryOnConflict } from '../../storage/change.ts';
import { createEventId } from '../../storage/journal/define-event.ts';
import {
  accountByEmailKey,
  accountKey,
  accountRoleKey,
  accountStandingKey,
  credentialsKey,
  erasureKey,
  erasurePrefix,
  type Key,
  pendingAccountKey,
} from '../../storage/keys.ts';
import { LeaseLostError, type Maintenance } from '../../storage/maintenance.ts';
import { pagesUnder, type RowCheck, type Store } from '../../storage/store.ts';
import type { Delivery } from '../mail/mailer.ts';
import {
  isErased,
  isVerified,
  openPeople,
  type Person,
  readTombstone,
  tombstoneRow,
} from '../people.ts';

/** Sends a person the notice that the account is deleted. */
export type DeletionNotice = (email: string, language: Language) => Promise<Delivery>;

/** The rows of revoked keys that are removed in one commit. */
const keyRowsMax = 200;

export function createDeletion(options: {
  store: Store;
  clock: Clock;
  random: Random;
  data: readonly PersonalData[];
  /** Sends the deletion notice; without it no address is kept for one. */
  deletionNotice?: DeletionNotice | undefined;
  /** Gets each account whose deletion has begun, durably. */
  erased?: Pick<ErasedList, 'add'> | undefined;
  /**
   * The store that records a sent mail, where `store` needs a lease: the record is true whoever has the lease then. A
   * commit to `store` before it shows that this node still has the lease.
   */
  noticeStore?: Store | undefined;
  /** Called when an account was erased without the notice that its person would have got. */
  onNoticeDropped?: (() => void) | undefined;
}) {
  const { store, clock, random, data, deletionNotice, erased, onNoticeDropped, noticeStore } =
    options;
  const people = openPeople(store);
  const keys = createKeyRecords(options);

  /** Disables the account permanently, with an event in the journal. */
  function begin(
    id: string,
    { keepsOne = false }: { readonly keepsOne?: boolean } = {},
  ): Promise<Result<void>> {
    return retryOnConflict<void>(async () => {
      const now = await people.byId(id);
      if (now === undefined) return fail('unknown_account');
      if (now.account.disabled && (await isErased(store, id))) return ok(undefined);
      const { account } = now;
      const stays = keepsOne ? await operatorStays(id) : [];
      if (stays === undefined) return fail('conflict', `${account.email} is the last operator`);
      const at = clock.now();
      const begun = await commitOnce(store, {
        check: [{ key: accountKey(id), version: now.accountVersion }, ...stays],
        set: [
          erasedRow(id, at),
          // No mail goes to an address that its claimant never confirmed.
          tombstoneRow(id, { state: isVerified(now) ? 'notify' : 'silent' }, clock),
          // The row must not expire: half-way it would leave the rest behind.
          accountRow(id, { ...account, disabled: true, pendingUntil: 0 }),
          { key: accountByEmailKey(account.email), value: Buffer.from(id) },
        ],
        del: [pendingAccountKey(id)],
        events:
          account.pendingUntil === 0
            ? [
                accountDisabled.encode(createEventId(clock, random), {
                  account: id,
                  disabled: true,
                }),
              ]
            : [],
      });
      if (begun !== 'conflict' && begun.ok) await erased?.add(id, at);
      return begun;
    });
  }

  /** Returns the checks that the account is no operator, or another one stays. Undefined: it is the last one. */
  async function operatorStays(id: string): Promise<RowCheck[] | undefined> {
    const key = accountRoleKey(id);
    const role = await store.get(key);
    if (role === undefined) return [{ key, version: null }];
    return otherOperator(store, id);
  }

  /** Returns accounts whose deletion is not over, in order of their ids, after this one. */
  async function unfinished(after: string | undefined, limit: number): Promise<string[]> {
    const from = after === undefined ? undefined : erasureKey(after);
    for await (const page of pagesUnder(store, erasurePrefix(), { after: from, limit })) {
      const open = page.filter(({ value }) => readTombstone(value)?.state !== 'over');
      // The id is text, ended by a zero byte (see keys.ts).
      const ids = open.map(({ key }) => Buffer.from(key.subarray(1, -1)).toString('utf8'));
      if (ids.length > 0) return ids;
    }
    return [];
  }

  async function tombstoneOf(id: string) {
    const row = await store.get(erasureKey(id));
    const tombstone = row && readTombstone(row.value);
    return row && tombstone && { ...tombstone, version: row.version };
  }

  /** Revokes the keys in the journal and removes their rows with the sealed text, also of keys revoked before. */
  async function removeKeys(accountId: string): Promise<Result<void>> {
    let del: Key[] = [];
    for await (const { id, record } of keys.ofAccount(accountId)) {
      const revoked = await keys.revoke(id);
      if (!revoked.ok) return revoked;
      del.push(...keysOfKeyRows(id, record));
      if (del.length < keyRowsMax) continue;
      if (!(await store.commit({ del })).ok) return fail('store_unavailable');
      del = [];
    }
    if (del.length === 0 || (await store.commit({ del })).ok) return ok(undefined);
    return fail('store_unavailable');
  }

  /** Removes the data, after `begin`. `unknown_account`: it is gone already; `store_unavailable`: run it again. */
  async function erase(id: string, scheduler: Scheduler): Promise<Result<void>> {
    const person = await people.byId(id);
    if (person === undefined) return fail('unknown_account');
    const keysGone = await removeKeys(id);
    if (!keysGone.ok) return keysGone;
    for (const part of data) {
      try {
        if (scheduler.shouldYield()) await scheduler.yield();
        await part.erase(id, person.account.email, scheduler);
      } catch (error) {
        return fail('store_unavailable', `${part.name}: ${(error as Error).message}`);
      }
    }
    return remove(person);
  }

  /** Removes the account and its address. Nothing but the tombstone is left. */
  async function remove(person: Person): Promise<Result<void>> {
    const { id, account, accountVersion, credentials } = person;
    const { email } = account;
    const nameRow = accountByEmailKey(account.email);
    const owner = await store.get(nameRow);
    const own = owner !== undefined && Buffer.from(owner.value).toString('utf8') === id;
    const isNoticeDue = (await tombstoneOf(id))?.state === 'notify';
    const { language } = credentials;
    const sendsNotice = isNoticeDue && deletionNotice !== undefined;
    const done = await commitOnce(store, {
      check: [
        { key: accountKey(id), version: accountVersion },
        ...(own ? [{ key: nameRow, version: owner.version }] : []),
      ],
      set: [
        tombstoneRow(
          id,
          sendsNotice ? { state: 'notice_due', email, language } : { state: 'over' },
          clock,
        ),
      ],
      del: [
        accountKey(id),
        accountStandingKey(id),
        accountRoleKey(id),
        credentialsKey(id),
        ...boundKeysOf(id),
        ...(own ? [nameRow] : []),
      ],
    });
    if (done === 'conflict') return fail('store_unavailable');
    if (done.ok && isNoticeDue && !sendsNotice) onNoticeDropped?.();
    return done;
  }

  /**
   * Sends the mail that waits, if one does, after `erase`. It takes minutes when the mail has to be tried again.
   * `store_unavailable`: run it again.
   */
  async function sendNotice(id: string): Promise<Result<void>> {
    const tombstone = await tombstoneOf(id);
    if (tombstone === undefined || tombstone.state === 'over') return ok(undefined);
    const check = [{ key: erasureKey(id), version: tombstone.version }];
    if (tombstone.state === 'notice_due' && deletionNotice !== undefined) {
      const own = noticeStore === undefined ? ok(undefined) : await commitOnce(store, { check });
      // Another process has sent the mail.
      if (own === 'conflict') return ok(undefined);
      if (!own.ok) return own;
      const how = await deletionNotice(tombstone.email, tombstone.language);
      if (how === 'not_now') return fail('store_unavailable', 'the mail waits');
    } else if ((await people.byId(id)) !== undefined) {
      return fail('store_unavailable', 'the account is not erased yet');
    }
    const over = tombstoneRow(id, { state: 'over' }, clock);
    const done = await commitOnce(noticeStore ?? store, { check, set: [over] });
    // Another process has sent the mail.
    return done === 'conflict' ? ok(undefined) : done;
  }

  return {
    begin,
    unfinished,
    erase,
    sendNotice,
    /** Does all three, for a caller who waits for the end. */
    async delete(id: string): Promise<Result<void>> {
      const begun = await begin(id);
      if (!begun.ok) return begun;
      const erased = await erase(id, createScheduler());
      return erased.ok ? sendNotice(id) : erased;
    },
    /** Returns everything that is kept about the person, without secrets. */
    async exportOf(accountId: string): Promise<Result<Record<string, unknown>>> {
      const person = await people.byId(accountId);
      if (person === undefined) return fail('unknown_account');
      const { account, credentials } = person;
      const scheduler = createScheduler();
      const parts: Record<string, unknown> = {
        account: {
          email: account.email,
          verified: account.pendingUntil === 0,
          createdAt: dateTextOrNull(account.createdAt),
          passwordChangedAt: dateTextOrNull(credentials.passwordChangedAt),
          language: credentials.language,
          knownBrowsers: credentials.browsers.length,
          formerEmails: credentials.formerEmails.map(({ email, until }) => {
            return { email, noticeUntil: dateTextOrNull(until) };
          }),
        },
      };
      const own = [];
      for await (const { id, record } of keys.ofAccount(accountId)) {
        const { name, scopes, createdAt, revokedAt } = record;
        const use = await readKeyUse(store, id);
        own.push({
          id,
          name,
          scopes: keyScopeNames(scopes),
          createdAt: dateTextOrNull(createdAt),
          revokedAt: dateTextOrNull(revokedAt),
          lastUsedAt: dateTextOrNull(use?.lastUsedAt ?? 0),
          lastUsedFrom: use?.address ?? '',
        });
      }
      parts.apiKeys = own;
      for (const part of data)
        parts[part.name] = await part.exportOf(accountId, account.email, scheduler);
      return ok(parts);
    },
  };
}

export type Deletion = ReturnType<typeof createDeletion>;

// Deletions in the background of the server: the request that asks for one waits for its first
// commit alone. The tombstones in the store are the queue, so what a stop or a crash cut short is taken
// up by the next start, and nothing has to fit into memory.
//
// Accounts are erased one after the other, in slices that leave the event loop to others. The
// deletion notice is sent meanwhile: a slow mail server must not keep the next person's data. What
// fails is tried again after a while, for as long as the tombstone stands.

const retryMs = 10_000;
const tombstonesPerPage = 100;
/** The limit of mails on their way; the next one waits in its tombstone. */
const sendingMax = 64;

export function createErasures(options: {
  deletion: Pick<Deletion, 'begin' | 'unfinished' | 'erase' | 'sendNotice'>;
  log: Log;
  /** Chooses the one of several servers that erases, also what the others marked; absent: this one. */
  maintenance?: Pick<Maintenance, 'isMine' | 'isShared'>;
  retryMs?: number;
}) {
  const { deletion, log } = options;
  const { isMine = () => true, isShared = false } = options.maintenance ?? {};
  const slices = createScheduler();
  const sending = new Map<string, Promise<void>>();
  let heldBack = false;
  let running: Promise<void> | undefined;
  let again = false;
  let closing = false;
  let timer: NodeJS.Timeout | undefined;

  const scheduler: Scheduler = {
    shouldYield: () => closing || slices.shouldYield(),
    async yield() {
      await slices.yield();
      if (closing) throw new Error('the server stops');
      if (!isMine()) throw new LeaseLostError('another node erases now');
    },
  };

  function retryLater(accountId: string, step: string, detail: string | undefined): void {
    if (closing) return;
    log.warn({ account: accountId, step, detail }, 'deletion: not finished, will retry');
    resumeLater();
  }

  function resumeLater(): void {
    clearTimeout(timer);
    timer = setTimeout(resume, options.retryMs ?? retryMs);
    timer.unref();
  }

  /** Counts `unknown_account` as done: the account is gone, and at most a mail is left. */
  function isDone(result: Result<void>): boolean {
    return result.ok || result.error === 'unknown_account';
  }

  async function sendNotice(id: string): Promise<void> {
    try {
      const done = await deletion.sendNotice(id);
      if (!done.ok) retryLater(id, 'sendNotice', done.detail);
    } catch (error) {
      retryLater(id, 'sendNotice', (error as Error).message);
    }
    sending.delete(id);
    if (!heldBack) return;
    heldBack = false;
    resume();
  }

  async function erase(id: string): Promise<void> {
    try {
      const erased = await deletion.erase(id, scheduler);
      if (!isDone(erased)) return retryLater(id, 'erase', erased.ok ? undefined : erased.detail);
      if (erased.ok) log.info({ account: id }, 'deletion: done');
    } catch (error) {
      return retryLater(id, 'erase', (error as Error).message);
    }
    if (sending.size >= sendingMax) heldBack = true;
    else if (!closing) sending.set(id, sendNotice(id));
  }

  async function erasePending(): Promise<void> {
    for (let after: string | undefined; !closing; ) {
      const ids = await deletion.unfinished(after, tombstonesPerPage);
      if (ids.length === 0) return;
      for (const id of ids) {
        if (!closing && isMine() && !sending.has(id)) await erase(id);
      }
      after = ids.at(-1);
    }
  }

  async function run(): Promise<void> {
    while (again && !closing) {
      again = false;
      await erasePending().catch((error: Error) => retryLater('', 'list', error.message));
    }
    running = undefined;
  }

  /** Continues the deletions of all marked accounts, at the start. */
  function resume(): void {
    if (isShared && !closing) resumeLater();
    if (!isMine()) return;
    again = true;
    if (!closing) running ??= run();
  }

  /** Resolves when nothing is under way; what failed may still wait for its next try. */
  async function idle(): Promise<void> {
    while (running !== undefined || sending.size > 0) {
      await running;
      await Promise.all(sending.values());
    }
  }

  return {
    /** Resolves when the account is durably disabled and marked; the rest follows. Errors of `Deletion.begin`. */
    async begin(...given: Parameters<Deletion['begin']>): Promise<Result<void>> {
      const begun = await deletion.begin(...given);
      if (begun.ok) resume();
      return begun;
    },
    resume,
    idle,
    /** Ends at the next slice. What is left is for the next start. */
    async close(): Promise<void> {
      closing = true;
      clearTimeout(timer);
      await idle();
    },
  };
}
