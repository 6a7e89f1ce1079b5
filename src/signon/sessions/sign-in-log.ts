/**
 * The operators' log of sign-ins: who came in, who failed, who was held back, from which address.
 * Kept for 30 days. An account stands there by its id; what somebody typed that is no account is
 * never kept. When a person goes, so do their rows.
 *
 * A handler runs inside `during`: whatever the account's own log records meanwhile belongs to that
 * request and its address. Entries wait in memory for a second at most; they are the operator's
 * convenience, and no promise to a client rests on them.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { findAccountId } from '../../access/accounts/records.ts';
import type { PersonalData } from '../../contracts/personal-data.ts';
import type { Clock } from '../../core/clock.ts';
import { every } from '../../core/every.ts';
import type { Log } from '../../core/log.ts';
import type { Random } from '../../core/random.ts';
import { dayMs } from '../../core/time.ts';
import { type Key, signInLogKey, signInLogPrefix } from '../../storage/keys.ts';
import { type Decoded, record, text, u16 } from '../../storage/record.ts';
import { pagesUnder, type SetRow, type Store } from '../../storage/store.ts';
import { isErased } from '../people.ts';
import type { SecurityEvent, SecurityLog } from './security-log.ts';

interface SignInEntry extends Decoded<typeof rows.decode> {
  /** Milliseconds since 1970. */
  readonly at: number;
}

interface SignInOutcome {
  readonly address: string;
  readonly path: string;
  readonly status: number;
  /** The address as typed; it is compared with the accounts and dropped. */
  readonly email?: string | undefined;
}

const signInLogKeptMs = 30 * dayMs;
export const signInLogWaitingMax = 2_000;
/** The entries in a UTC day; refusals count apart from those of accounts, so a flood of them hides nothing. */
const signInLogDayMax = 50_000;
const flushMs = 1_000;
const rowsPerCommit = 200;
/** A mail address is shorter. */
const addressCharsMax = 320;

/** The time is in the key. */
const rows = record(1, {
  /** An event of the account's log, `refused` or `held_back` (too many attempts). */
  event: text,
  /** The canonical text of the address. */
  address: text,
  /** The account's id; empty when none is known. */
  account: text,
  /** The path of the request, such as `/signin`. */
  path: text,
  status: u16,
});

/** An event of the account's log, a refusal, or too many attempts (`held_back`). */
export type SignOnEvent = SecurityEvent | 'refused' | 'held_back';

interface PendingEvent {
  account: string;
  event: SignOnEvent;
}

interface WaitingSignIn extends SignInEntry {
  readonly event: SignOnEvent;
  readonly email: string | undefined;
}

export function createSignInLog(options: {
  store: Store;
  clock: Clock;
  random: Random;
  log: Log;
  /** Called with each event, also of an entry that the full log drops. */
  onSignOn?: (event: SignOnEvent) => void;
}) {
  const { store, clock, random, log } = options;
  const requests = new AsyncLocalStorage<PendingEvent[]>();
  let waiting: WaitingSignIn[] = [];
  let dropped = 0;
  let day = 0;
  const today = { accounts: 0, refusals: 0 };
  let writing = Promise.resolve();

  function add(entry: WaitingSignIn): void {
    options.onSignOn?.(entry.event);
    const now = Math.floor(entry.at / dayMs);
    if (now !== day) Object.assign(today, { accounts: 0, refusals: 0 });
    day = now;
    const kind = entry.account === '' ? 'refusals' : 'accounts';
    if (waiting.length >= signInLogWaitingMax || today[kind] >= signInLogDayMax) {
      dropped++;
      return;
    }
    today[kind]++;
    waiting.push(entry);
  }

  function conclude(
    pending: readonly PendingEvent[],
    { address, path, status, email }: SignInOutcome,
  ): void {
    const base = { at: clock.now(), address, path, status };
    for (const { account, event } of pending) add({ ...base, account, event, email: undefined });
    if (pending.length > 0 || status < 400 || status === 404) return;
    add({ ...base, account: '', event: status === 429 ? 'held_back' : 'refused', email });
  }

  async function accountOf({ account, email }: WaitingSignIn): Promise<string> {
    if (account !== '' || email === undefined || email.length > addressCharsMax) return account;
    return (await findAccountId(store, email)) ?? '';
  }

  async function rowOf(entry: WaitingSignIn): Promise<SetRow | undefined> {
    const account = await accountOf(entry);
    // An account that was just deleted gets no row.
    if (account !== '' && (await isErased(store, account))) return undefined;
    return {
      key: signInLogKey(entry.at, random.bytes(4)),
      value: rows.encode({ ...entry, account }),
      expiresAt: entry.at + signInLogKeptMs,
    };
  }

  async function write(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, rowsPerCommit);
      waiting = waiting.slice(rowsPerCommit);
      const rows = await Promise.all(batch.map(rowOf));
      const done = await store.commit({ set: rows.filter((row) => row !== undefined) });
      if (!done.ok) dropped += batch.length;
    }
    if (dropped > 0) log.warn({ entries: dropped }, 'sign-in log: entries dropped');
    dropped = 0;
  }

  function flush(): Promise<void> {
    writing = writing.then(write).catch((error) => {
      log.warn({ err: error }, 'sign-in log: not written');
    });
    return writing;
  }

  const loop = every(flushMs, () => (waiting.length > 0 ? flush() : undefined));

  return {
    /** Runs a handler; `note` then returns its outcome. */
    async during<T>(run: () => Promise<T>, note: (result: T) => SignInOutcome): Promise<T> {
      const pending: PendingEvent[] = [];
      const result = await requests.run(pending, run);
      const outcome = note(result);
      // The entry is made after the account's own log, which is written after the answer.
      setImmediate(() => setImmediate(() => conclude(pending, outcome)));
      return result;
    },
    /** Returns the security log, whose events now also go into this log. */
    listenTo(own: SecurityLog): SecurityLog {
      const enqueue = (account: string, event: SecurityEvent) =>
        void requests.getStore()?.push({ account, event });
      return {
        ...own,
        entry(account, event, ...rest) {
          enqueue(account, event);
          return own.entry(account, event, ...rest);
        },
        add(account, event, ...rest) {
          enqueue(account, event);
          return own.add(account, event, ...rest);
        },
      };
    },
    flush,
    async close(): Promise<void> {
      await loop.stop();
      await flush();
    },
    get waiting(): number {
      return waiting.length;
    },
  };
}

export type SignInLog = ReturnType<typeof createSignInLog>;

/** Yields the entries from `since` (ms) on, oldest first. */
export async function* readSignIns(store: Store, since: number): AsyncGenerator<SignInEntry> {
  const from = since > 0 ? signInLogKey(since - 1, new Uint8Array(4).fill(0xff)) : undefined;
  for await (const page of pagesUnder(store, signInLogPrefix(), { after: from })) {
    for (const { key, value } of page) {
      const entry = decodeEntry(key, value);
      if (entry !== undefined) yield entry;
    }
  }
}

/** Returns the entries of a person as personal data, for the export and the deletion. */
export function signInLogData(store: Store): PersonalData {
  return {
    name: 'signInLog',
    async exportOf(accountId, _email, scheduler) {
      const own = [];
      for await (const entry of readSignIns(store, 0)) {
        if (scheduler.shouldYield()) await scheduler.yield();
        if (entry.account !== accountId) continue;
        const { at, event, address } = entry;
        own.push({ at: new Date(at).toISOString(), event, address });
      }
      return own;
    },
    async erase(accountId, _email, scheduler) {
      let del: Key[] = [];
      async function flush(): Promise<void> {
        if (del.length === 0) return;
        if (!(await store.commit({ del })).ok) throw new Error('the sign-in log is not writable');
        del = [];
      }
      for await (const page of pagesUnder(store, signInLogPrefix())) {
        if (scheduler.shouldYield()) await scheduler.yield();
        for (const { key, value } of page) {
          if (decodeEntry(key, value)?.account === accountId) del.push(key);
        }
        await flush();
      }
    },
  };
}

function decodeEntry(key: Uint8Array, value: Uint8Array): SignInEntry | undefined {
  const row = rows.decode(value);
  return row && { at: Buffer.from(key).readUIntBE(1, 6), ...row };
}
