/**
 * Accounts, API keys and reports by the million, as the server's own writers encode them, many to a commit.
 * Each account has the same password, hashed once. Time is made up: it moves on with what is written. Rows are
 * written in the order of their keys where that can be, for a store of this size takes hours in any other.
 */

import { join } from 'node:path';
import { accountCreated, keyCreated } from '../src/access/accounts/events.ts';
import { encodeAccount, plainKey } from '../src/access/accounts/records.ts';
import { claimSlot } from '../src/access/accounts/slots.ts';
import { hashKey, makeKey } from '../src/access/keys/key-format.ts';
import { newKeyRows } from '../src/access/keys/key-records.ts';
import { loadMasterKey, seal } from '../src/access/keys/master-key.ts';
import type { Clock } from '../src/core/clock.ts';
import { createLog } from '../src/core/log.ts';
import { type Random, randomToken, seededRandom } from '../src/core/random.ts';
import type { Report } from '../src/reputation/reports/report.ts';
import { createReportStore } from '../src/reputation/reports/store/report-store.ts';
import { createProfiles } from '../src/signon/people/profile/profile-store.ts';
import { credentialsRow, noCredentials } from '../src/signon/people.ts';
import { createPasswords } from '../src/signon/proofs/passwords.ts';
import { createEventId } from '../src/storage/journal/define-event.ts';
import { accountByEmailKey, accountKey } from '../src/storage/keys.ts';
import { readLedger } from '../src/storage/ledger.ts';
import { openLmdbStore } from '../src/storage/lmdb/store.ts';
import type { NewEvent, RowCheck, SetRow, Store } from '../src/storage/store.ts';

/** With a key it is 7 rows, a check and two events. */
const accountsPerCommit = 900;
const commitsInFlight = 4;
const reportsInFlight = 2_048;
const sweepRows = 10_000;
const dayMs = 86_400_000;
/** What is made up lies in the last days: accounts before reports. */
const days = { accounts: 60, reports: 30 } as const;
export const benchPassword = 'violet-harbour-72';
const comment = 'Failed password for invalid user admin from 192.0.2.77 port 41022 ssh2';

export interface KeyHolder {
  readonly account: string;
  readonly key: string;
}

export interface MadeClock extends Clock {
  setTo(ms: number): void;
}

/** Stands still until it is set; wall clock and monotonic clock alike. */
export function madeClock(): MadeClock {
  let ms = Date.now();
  return {
    now: () => Math.floor(ms),
    monotonicMs: () => ms,
    setTo(to) {
      ms = to;
    },
  };
}

/** The nth report: an IPv4 address as a number, and the place of its account among those who report. */
export type ReportOf = (n: number) => { readonly word: number; readonly slot: number };

export interface CapacityStore {
  readonly clock: MadeClock;
  /** Those with keys: every so many of all. */
  addAccounts(count: number, withKeys: number): Promise<KeyHolder[]>;
  /** Evenly over the last 30 days up to now. */
  addReports(count: number, by: readonly KeyHolder[], reportOf: ReportOf): Promise<void>;
  /** Rows of which the time is over go, as a server would see to it. */
  sweep(): Promise<void>;
  close(): Promise<void>;
}

export function emailOf(n: number): string {
  return `person${String(n).padStart(7, '0')}@example.org`;
}

export function openCapacityStore(dataDir: string): CapacityStore {
  const clock = madeClock();
  const random = seededRandom(17);
  const path = join(dataDir, 'store');
  const store = openLmdbStore({ path, clock, log: createLog('fatal') });
  return {
    clock,
    addAccounts: (count, withKeys) =>
      addAccounts({ store, clock, random, dataDir }, count, withKeys),
    addReports: (count, by, reportOf) => addReports({ store, clock, random }, count, by, reportOf),
    async sweep() {
      clock.setTo(Date.now());
      while ((await store.sweep(sweepRows)) === sweepRows);
    },
    close: () => store.close(),
  };
}

interface Parts {
  readonly store: Store;
  readonly clock: MadeClock;
  readonly random: Random;
}

interface Batch {
  readonly check: RowCheck[];
  readonly set: SetRow[];
  readonly events: NewEvent[];
}

async function addAccounts(
  { store, clock, random, dataDir }: Parts & { readonly dataDir: string },
  count: number,
  withKeys: number,
): Promise<KeyHolder[]> {
  const masterKey = loadMasterKey({ dataDir, strict: true, random });
  const profiles = createProfiles({ store, clock, random });
  const hashed = await createPasswords({ random }).hash(benchPassword);
  if (!hashed.ok) throw new Error(hashed.error);
  const startMs = Date.now() - days.accounts * dayMs;
  const spanMs = (days.accounts - days.reports) * dayMs;
  const every = Math.floor(count / withKeys);
  const holders: KeyHolder[] = [];
  const ids = Array.from({ length: count }, () => randomToken(random, 12)).sort();

  async function addOne(n: number, { check, set, events }: Batch): Promise<void> {
    clock.setTo(startMs + (n * spanMs) / count);
    const [id, email, createdAt] = [ids[n]!, emailOf(n), clock.now()];
    const hasKey = n % every === 0 && holders.length < withKeys;
    const made = hasKey ? makeKey(random) : undefined;
    const keys = made === undefined ? [] : [made.id];
    const record = { email, createdAt, disabled: false, pendingUntil: 0, keys };
    const credentials = {
      ...noCredentials,
      passwordHash: hashed.ok ? hashed.value : '',
      passwordChangedAt: createdAt,
    };
    const byEmail = accountByEmailKey(email);
    check.push({ key: byEmail, version: null });
    set.push(
      { key: byEmail, value: Buffer.from(id) },
      { key: accountKey(id), value: encodeAccount(record) },
      credentialsRow({ id, account: record }, credentials),
      profiles.newRow(id, email, true),
    );
    const eventId = () => createEventId(clock, random);
    const created = { account: id, verified: true, slot: 'first_key' } as const;
    events.push(accountCreated.encode(eventId(), created));
    if (made === undefined) return;
    const slot = await claimSlot(store, { id, createdAt, hadKeys: false }, withKeys, 'operator');
    if (!slot.ok) throw new Error(slot.error);
    const { facts } = slot.value;
    const sealed = seal(masterKey, random, `${id}/${made.id}`, made.text);
    const key = { account: id, createdAt, endsAt: 0, revokedAt: 0, sealed, ...plainKey };
    // The row of the slot; the ledger is written once, below.
    set.push(slot.value.set[0]!, ...newKeyRows(made.id, key));
    const hash = hashKey(made.text);
    events.push(keyCreated.encode(eventId(), { account: id, key: made.id, hash, facts }));
    holders.push({ account: id, key: made.text });
  }

  let pending: Promise<void>[] = [];
  for (let n = 0; n < count; ) {
    const batch: Batch = { check: [], set: [], events: [] };
    for (const end = Math.min(count, n + accountsPerCommit); n < end; n++) await addOne(n, batch);
    pending.push(committed(store, batch));
    if (pending.length < commitsInFlight && n < count) continue;
    await Promise.all(pending);
    pending = [];
  }
  const ledger = await readLedger(store, 'account_slots');
  const set = [ledger.set(holders.length)];
  await committed(store, { check: [ledger.check], set, events: [] });
  return holders;
}

async function committed(store: Store, batch: Batch): Promise<void> {
  const done = await store.commit(batch);
  if (!done.ok) throw new Error(done.error);
}

async function addReports(
  { store, clock, random }: Parts,
  count: number,
  by: readonly KeyHolder[],
  reportOf: ReportOf,
): Promise<void> {
  const reports = createReportStore({ store, clock, random });
  const startMs = Date.now() - days.reports * dayMs;
  let next = 0;
  async function send(): Promise<void> {
    while (next < count) {
      const n = next++;
      clock.setTo(startMs + (n * days.reports * dayMs) / count);
      const { word, slot } = reportOf(n);
      const words = Uint32Array.of(word, 0, 0, 0);
      const reportedAt = clock.now();
      const report: Report = { family: 4, words, ip: '', categories: 6, comment, reportedAt };
      const added = await reports.add({ account: by[slot]!.account, slot, country: 'ZZ' }, report);
      if (!added.ok) throw new Error(`report ${n}: ${added.error}`);
    }
  }
  await Promise.all(Array.from({ length: reportsInFlight }, send));
}
