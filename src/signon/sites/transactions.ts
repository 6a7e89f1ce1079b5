/**
 * A site's request that is kept here, under the hash of an id that the form carries, so nothing
 * that the form sends can change client, redirect or scope. Before a sign-in nothing is kept
 * (request-seal.ts): a request has a row in two cases only.
 *
 *  - Its person is signed in: the row is the session's, ends after ten minutes, and is consumed in
 *    the commit of what was decided: one form, one answer. A session has eight places; the oldest
 *    request gives way to a ninth.
 *  - Its person waits for a mailed link: the row is the browser's, ends with the link, and becomes
 *    the session's after the sign-in. A browser has one place; and as anybody may ask for a link
 *    in any number of browsers, all of them together are bounded, and those of one network.
 *
 * The places are part of the key, so the bounds hold whoever races.
 */

import { createHash, createHmac } from 'node:crypto';
import { deriveKey, type MasterKey } from '../../access/keys/master-key.ts';
import type { Clock } from '../../core/clock.ts';
import { equalBytes } from '../../core/digest.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { type Change, commitOnce, untilUndisturbed } from '../../store/change.ts';
import {
  consentTransactionKey,
  consentTransactionPrefix,
  type Key,
  readConsentTransactionKey,
  usedSealKey,
} from '../../store/keys.ts';
import { pagesUnder } from '../../store/pages.ts';
import { fixed, flag, record, text, time } from '../../store/record.ts';
import type { RowCheck, SetRow, Store } from '../../store/store.ts';
import { linkLifeMs } from '../people/links/links.ts';
import { createRowTally, type TallyStats } from '../people/row-tally.ts';
import { type AuthorizationRequest, requestQuery } from './authorize.ts';
import type { CarriedRequest, OpenedRequest } from './request-seal.ts';

export const transactionLifeMs = 10 * 60_000;
/** A power of two: the place is a part of the id. */
export const placesPerSession = 8;
const placeBits = placesPerSession - 1;
/** Requests that wait for a mailed link, each up to 12 KiB. */
export const waitingMax = 4_096;
/** Of one network (an IPv4 address or an IPv6 /64): an office, not a flood. */
export const waitingPerNetworkMax = 64;
const idBytes = 32;
const hashBytes = 32;
const holderBytes = 16;
const idPattern = /^[A-Za-z0-9_-]{43}$/;

export interface Transaction extends CarriedRequest {
  readonly request: AuthorizationRequest;
  /** Put both into one commit: it succeeds for one caller only. */
  readonly consume: { readonly check: RowCheck; readonly del: Key };
}

export interface Transactions {
  /**
   * Keeps a request for a session.
   * @param seal what it came in, used up in the same commit: `unknown_transaction` if it was before
   * @returns the id for the form
   */
  begin(
    request: CarriedRequest,
    sessionId: string,
    seal?: Pick<OpenedRequest, 'id' | 'endsAt'>,
  ): Promise<Result<string>>;
  /** @param holder session or browser. Undefined alike when it is unknown, over, answered, or somebody else's. */
  find(id: string, holder: string): Promise<Transaction | undefined>;
  /**
   * After a sign-in: what waited for the browser goes on under a new id for the session, and
   * remembers when it was first seen. `unknown_transaction` as `find` has it.
   */
  rebind(id: string, browserId: string, sessionId: string): Promise<Result<string>>;
  /** Ends it without an answer, and gives it back. `unknown_transaction` as `find` has it. */
  withdraw(id: string, sessionId: string): Promise<Result<CarriedRequest>>;
  /**
   * Keeps a request while its person waits for a mailed link. The same request in the same browser
   * has the same id; another one takes its place.
   * @param network of the visitor, for its share of what may wait
   * @returns the id; undefined when nothing more may wait, or the store can't write: the person goes
   *   on without it
   */
  wait(
    request: CarriedRequest,
    browserId: string,
    network: string,
    until: 'verify' | 'reset',
  ): Promise<string | undefined>;
  /** Another link was sent: what waits ends with the newest one. One that isn't found is left. */
  prolong(
    id: string,
    browserId: string,
    network: string,
    until: 'verify' | 'reset',
  ): Promise<Result<void>>;
  /** Of requests that wait for a mailed link. */
  waiting(): TallyStats;
  /** Counts those that waited when the process started. */
  restore(): Promise<void>;
}

interface Row extends CarriedRequest {
  readonly idHash: Uint8Array;
  /** Its holder is a browser, not a session. */
  readonly waits: boolean;
  /** As the entry expires. */
  readonly endsAt: number;
}

export function createTransactions(options: {
  store: Store;
  clock: Clock;
  random: Random;
  masterKey: MasterKey;
  /** Undefined when the rules changed since and it is no request any more. */
  readQuery: (query: string) => AuthorizationRequest | undefined;
}): Transactions {
  const { store, clock, random, readQuery } = options;
  const waiting = createRowTally({
    kind: 'waiting_request',
    clock,
    max: waitingMax,
    perSubjectMax: waitingPerNetworkMax,
  });
  const waitingSecret = deriveKey(options.masterKey, 'waiting request id');

  /** `login_hint` is left out: it may be a mail address, and whoever gets here is known. */
  function rowOf(key: Key, id: string, row: Omit<Row, 'idHash'>): SetRow {
    const query = requestQuery(row.query, 'without hint');
    const value = transactionRow.encode({ ...row, idHash: sha256(id), query });
    return { key, value, expiresAt: Math.floor(row.endsAt) };
  }

  /** A free place of the session's, or the one that was taken longest ago. */
  async function placeFor(sessionId: string): Promise<{ place: number; version: number | null }> {
    const holder = holderHash(sessionId);
    const entries = await store.scan(consentTransactionPrefix(holder), { limit: placesPerSession });
    const taken = new Map(
      entries.map((entry) => [readConsentTransactionKey(entry.key)!.place, entry]),
    );
    for (let place = 0; place < placesPerSession; place++) {
      if (!taken.has(place)) return { place, version: null };
    }
    // Versions grow with each commit.
    const [oldest] = [...taken].sort(([, a], [, b]) => a.version - b.version);
    return { place: oldest![0], version: oldest![1].version };
  }

  async function take(
    request: CarriedRequest,
    sessionId: string,
    more: { check: readonly RowCheck[]; set: readonly SetRow[]; del: readonly Key[] },
  ): Promise<Change<string>> {
    const { place, version } = await placeFor(sessionId);
    const id = idWithPlace(random.bytes(idBytes), place);
    const key = consentTransactionKey(holderHash(sessionId), place);
    const row = { ...request, waits: false, endsAt: clock.now() + transactionLifeMs };
    const done = await commitOnce(store, {
      check: [{ key, version }, ...more.check],
      set: [rowOf(key, id, row), ...more.set],
      del: more.del,
    });
    return done === 'lost' || !done.ok ? done : ok(id);
  }

  function begin(
    request: CarriedRequest,
    sessionId: string,
    seal?: Pick<OpenedRequest, 'id' | 'endsAt'>,
  ): Promise<Result<string>> {
    if (seal === undefined) {
      return untilUndisturbed(() => take(request, sessionId, { check: [], set: [], del: [] }));
    }
    const key = usedSealKey(seal.id);
    const used = { key, value: new Uint8Array(), expiresAt: Math.floor(seal.endsAt) };
    return untilUndisturbed(async () => {
      if ((await store.get(key)) !== undefined) return fail('unknown_transaction');
      return take(request, sessionId, { check: [{ key, version: null }], set: [used], del: [] });
    });
  }

  async function find(id: string, holder: string): Promise<Transaction | undefined> {
    if (!idPattern.test(id)) return undefined;
    const key = keyOf(id, holder);
    const entry = await store.get(key);
    const row = entry && transactionRow.decode(entry.value);
    if (!entry || !row || !equalBytes(row.idHash, sha256(id))) return undefined;
    const request = readQuery(row.query);
    if (request === undefined) return undefined;
    const consume = { check: { key, version: entry.version }, del: key };
    return { request, query: row.query, askedAt: row.askedAt, consume };
  }

  function rebind(id: string, browserId: string, sessionId: string): Promise<Result<string>> {
    return untilUndisturbed(async () => {
      const found = await find(id, browserId);
      if (found === undefined) return fail('unknown_transaction');
      const { check, del } = found.consume;
      const done = await take(found, sessionId, { check: [check], set: [], del: [del] });
      if (done !== 'lost' && done.ok) waiting.ended(nameOf(browserId));
      return done;
    });
  }

  async function withdraw(id: string, sessionId: string): Promise<Result<CarriedRequest>> {
    const found = await find(id, sessionId);
    if (found === undefined) return fail('unknown_transaction');
    const { check, del } = found.consume;
    const done = await commitOnce(store, { check: [check], del: [del] });
    if (done === 'lost') return fail('unknown_transaction');
    return done.ok ? ok({ query: found.query, askedAt: found.askedAt }) : done;
  }

  async function wait(
    request: CarriedRequest,
    browserId: string,
    network: string,
    until: 'verify' | 'reset',
  ): Promise<string | undefined> {
    const query = requestQuery(request.query, 'without hint');
    const mac = createHmac('sha256', waitingSecret).update(sha256(browserId)).update(query);
    const id = idWithPlace(mac.digest(), 0);
    const endsAt = clock.now() + linkLifeMs[until];
    if (!waiting.admit(nameOf(browserId), network, endsAt)) return undefined;
    const key = consentTransactionKey(holderHash(browserId), 0);
    const before = await find(id, browserId);
    const row = { query, askedAt: before?.askedAt ?? request.askedAt, waits: true, endsAt };
    const done = await store.commit({ set: [rowOf(key, id, row)] });
    return done.ok ? id : undefined;
  }

  async function prolong(
    id: string,
    browserId: string,
    network: string,
    until: 'verify' | 'reset',
  ): Promise<Result<void>> {
    const found = await find(id, browserId);
    const endsAt = clock.now() + linkLifeMs[until];
    if (found === undefined || !waiting.admit(nameOf(browserId), network, endsAt)) {
      return ok(undefined);
    }
    const { check } = found.consume;
    const row = rowOf(check.key, id, { ...found, waits: true, endsAt });
    const done = await store.commit({ check: [check], set: [row] });
    // Whoever was faster has answered it, or done the same.
    return done.ok || done.error === 'check_failed' ? ok(undefined) : fail('store_unavailable');
  }

  async function restore(): Promise<void> {
    for await (const page of pagesUnder(store, consentTransactionPrefix())) {
      for (const { key, value } of page) {
        const holder = readConsentTransactionKey(key)?.holderHash;
        const row = transactionRow.decode(value);
        // Of which network they are is not kept: they count in the whole.
        const name = holder && Buffer.from(holder).toString('base64url');
        if (name && row?.waits) waiting.admit(name, `before the start ${name}`, row.endsAt);
      }
    }
  }

  return { begin, find, rebind, withdraw, wait, prolong, restore, waiting: waiting.stats };
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function holderHash(holder: string): Uint8Array {
  return sha256(holder).subarray(0, holderBytes);
}

function nameOf(browserId: string): string {
  return Buffer.from(holderHash(browserId)).toString('base64url');
}

function idWithPlace(bytes: Uint8Array, place: number): string {
  const id = Buffer.from(bytes);
  id[0] = (id[0]! & ~placeBits) | place;
  return id.toString('base64url');
}

function keyOf(id: string, holder: string): Key {
  const place = Buffer.from(id, 'base64url')[0]! & placeBits;
  return consentTransactionKey(holderHash(holder), place);
}

/** 1 was the layout of format 1, whose rows ended within a day. */
export const transactionRow = record<Row>(2, {
  waits: flag,
  idHash: fixed(hashBytes),
  askedAt: time,
  endsAt: time,
  query: text,
});
