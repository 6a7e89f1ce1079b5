/**
 * The request of a site on its way to its answer. It has four places, and each its own end:
 *
 *   the query     in the address of the page; nothing is kept
 *   a seal        in the forms, before anybody has signed in: an hour, for one browser; a sign-in uses it up
 *   a browser's   row, while its person waits for a mailed link: ends with the link; a sign-in makes it the session's
 *   a session's   row, while its person is asked: ten minutes, or the commit of what was decided
 */

import { createHmac } from 'node:crypto';
import { deriveKey, type MasterKey } from '../../access/keys/master-key.ts';
import type { Clock } from '../../core/clock.ts';
import { equalBytes, sha256 } from '../../core/crypto.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { hourMs, minuteMs } from '../../core/time.ts';
import { type Change, commitOnce, retryOnConflict } from '../../storage/change.ts';
import {
  consentTransactionKey,
  consentTransactionPrefix,
  type Key,
  readConsentTransactionKey,
  usedSealKey,
} from '../../storage/keys.ts';
import { bareRecord, fixed, flag, record, text, time } from '../../storage/record.ts';
import { pagesUnder, type RowCheck, type SetRow, type Store } from '../../storage/store.ts';
import { linkLifeMs } from '../people/links.ts';
import { createRowCounter } from '../people/row-counter.ts';
import { createSealedTexts } from '../sealed-text.ts';
import { type AuthorizationRequest, requestQuery } from './authorize.ts';

/** A page may stay open for this time before its form is sent. */
export const sealLifeMs = hourMs;
/** The characters of state and redirect_uri of full length, all of them escaped. */
export const requestQueryCharsMax = 12_288;
/** The bytes of the time and the length. */
const fieldBytes = 16;

interface CarriedRequest {
  /** The query as `requestQuery` gives it. */
  readonly query: string;
  /** The time at which the request was first seen, ms since 1970. */
  readonly askedAt: number;
}

interface OpenedRequest extends CarriedRequest {
  readonly id: Uint8Array;
  /** The time from which nobody can open it, ms since 1970. */
  readonly endsAt: number;
}

const sealedRequestRecord = bareRecord<{ readonly askedAt: number; readonly query: string }>({
  askedAt: time,
  query: text,
});

/**
 * Seals a site's request before anybody has signed in. It is not stored: the pages carry it in their forms, so a
 * million requests cost no byte of disk. A seal opens only for the browser that got it, for an hour; a sign-in uses
 * it up.
 */
export function createRequestSeals(options: {
  masterKey: MasterKey;
  clock: Clock;
  random: Random;
}) {
  const { clock } = options;
  const texts = createSealedTexts({
    ...options,
    purpose: 'site request seal',
    plainBytesMax: requestQueryCharsMax + fieldBytes,
  });

  return {
    /**
     * Seals a request that is seen now.
     * @param query as `requestQuery` gives it
     * @param browserId the request's: no other browser can open it
     */
    seal(query: string, browserId: string): string {
      return texts.seal(sealedRequestRecord.encode({ askedAt: clock.now(), query }), browserId);
    },
    /**
     * Returns undefined when it was altered, has expired, or is another browser's; callers can't tell these
     * apart.
     */
    open(text: string, browserId: string): OpenedRequest | undefined {
      const opened = texts.open(text, browserId);
      const found = opened && sealedRequestRecord.decode(opened.plain);
      if (!opened || !found) return undefined;
      const endsAt = found.askedAt + sealLifeMs;
      return clock.now() >= endsAt ? undefined : { ...found, id: opened.id, endsAt };
    },
  };
}

export const transactionLifeMs = 10 * minuteMs;
/** Requests of a session at most, a power of two: a request’s number is a part of its id. */
export const requestsPerSession = 8;
const numberMask = requestsPerSession - 1;
/** The limit of requests that wait for a mailed link, each up to 12 KiB. */
export const waitingMax = 4_096;
/** The limit for one network (an IPv4 address or an IPv6 /64): enough for an office, not for a flood. */
export const waitingPerNetworkMax = 64;
const idBytes = 32;
const hashBytes = 32;
const holderBytes = 16;
const idPattern = /^[A-Za-z0-9_-]{43}$/;

interface WaitingRequest extends CarriedRequest {
  /** The holder is a browser, not a session. */
  readonly waits: boolean;
  /** The time at which the row expires, milliseconds since 1970. */
  readonly endsAt: number;
}

/** A request as its row stores it. */
interface StoredRequest extends WaitingRequest {
  readonly idHash: Uint8Array;
}

/** 1 was the layout of format 1, whose rows ended within a day. */
export const transactionRow = record<StoredRequest>(2, {
  waits: flag,
  idHash: fixed(hashBytes),
  askedAt: time,
  endsAt: time,
  query: text,
});

interface Transaction extends CarriedRequest {
  readonly request: AuthorizationRequest;
  /** The check and the deletion that consume it; a commit with both succeeds for one caller only. */
  readonly consume: { readonly check: RowCheck; readonly del: Key };
}

/** The place where a request is kept, see `createTransactions`. */
export interface TransactionRef {
  readonly id: string;
  /** Session or browser. */
  readonly holder: string;
}

/**
 * Keeps requests of sites in rows, under the hash of an id that the form carries, so nothing that the form sends can
 * change client, redirect or scope. Before a sign-in nothing is kept (`createRequestSeals`): a request has a
 * row in two cases only.
 *
 *  - Its person is signed in: the row is the session's, ends after ten minutes, and is consumed in the commit of what
 *    was decided: one form, one answer. A session has eight requests; a ninth evicts the oldest.
 *  - Its person waits for a mailed link: the row is the browser's, ends with the link, and becomes the session's after
 *    the sign-in. A browser has one request; and as anybody may ask for a link in any number of browsers, all of them
 *    together are bounded, and those of one network.
 *
 * The number is part of the key, so the bounds hold whoever races.
 */
export function createTransactions(options: {
  store: Store;
  clock: Clock;
  random: Random;
  masterKey: MasterKey;
  /** Returns undefined when the rules changed since and the query is no request any more. */
  readQuery: (query: string) => AuthorizationRequest | undefined;
}) {
  const { store, clock, random, readQuery } = options;
  const waiting = createRowCounter({
    kind: 'waiting_request',
    clock,
    max: waitingMax,
    perSubjectMax: waitingPerNetworkMax,
  });
  const waitingSecret = deriveKey(options.masterKey, 'waiting request id');

  /** `login_hint` is left out: it may be a mail address, and whoever gets here is known. */
  function rowOf(key: Key, id: string, row: WaitingRequest): SetRow {
    const query = requestQuery(row.query, 'without hint');
    const value = transactionRow.encode({ ...row, idHash: sha256(id), query });
    return { key, value, expiresAt: Math.floor(row.endsAt) };
  }

  /** Returns a free number of the session, or the one that was taken longest ago. */
  async function freeNumberOf(
    sessionId: string,
  ): Promise<{ number: number; version: number | null }> {
    const holder = holderHash(sessionId);
    const entries = await store.scan(consentTransactionPrefix(holder), {
      limit: requestsPerSession,
    });
    const taken = new Map(
      entries.map((entry) => [readConsentTransactionKey(entry.key)!.number, entry]),
    );
    for (let number = 0; number < requestsPerSession; number++) {
      if (!taken.has(number)) return { number, version: null };
    }
    // The oldest row has the smallest version: versions grow with each commit.
    const [oldest] = [...taken].sort(([, a], [, b]) => a.version - b.version);
    return { number: oldest![0], version: oldest![1].version };
  }

  async function take(
    request: CarriedRequest,
    sessionId: string,
    more: { check: readonly RowCheck[]; set: readonly SetRow[]; del: readonly Key[] },
  ): Promise<Change<string>> {
    const { number, version } = await freeNumberOf(sessionId);
    const id = idWithNumber(random.bytes(idBytes), number);
    const key = consentTransactionKey(holderHash(sessionId), number);
    const row = { ...request, waits: false, endsAt: clock.now() + transactionLifeMs };
    const done = await commitOnce(store, {
      check: [{ key, version }, ...more.check],
      set: [rowOf(key, id, row), ...more.set],
      del: more.del,
    });
    return done === 'conflict' || !done.ok ? done : ok(id);
  }

  /**
   * Keeps a request for a session.
   * @param seal what it came in, used up in the same commit: `unknown_transaction` if it was before
   * @returns the id for the form
   */
  function begin(
    request: CarriedRequest,
    sessionId: string,
    seal?: Pick<OpenedRequest, 'id' | 'endsAt'>,
  ): Promise<Result<string>> {
    if (seal === undefined) {
      return retryOnConflict(() => take(request, sessionId, { check: [], set: [], del: [] }));
    }
    const key = usedSealKey(seal.id);
    const used = { key, value: new Uint8Array(), expiresAt: Math.floor(seal.endsAt) };
    return retryOnConflict(async () => {
      if ((await store.get(key)) !== undefined) return fail('unknown_transaction');
      return take(request, sessionId, { check: [{ key, version: null }], set: [used], del: [] });
    });
  }

  /**
   * Returns undefined alike when it is unknown, over, answered, or somebody else's.
   * @param holder session or browser
   */
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

  /**
   * Gives a request that waited for the browser to the session, after a sign-in: under a new id, with the time at
   * which it was first seen. `unknown_transaction` as `find` has it.
   */
  function rebind(id: string, browserId: string, sessionId: string): Promise<Result<string>> {
    return retryOnConflict(async () => {
      const found = await find(id, browserId);
      if (found === undefined) return fail('unknown_transaction');
      const { check, del } = found.consume;
      const done = await take(found, sessionId, { check: [check], set: [], del: [del] });
      if (done !== 'conflict' && done.ok) waiting.ended(nameOf(browserId));
      return done;
    });
  }

  /** Ends a request without an answer and returns it. `unknown_transaction` as `find` has it. */
  async function withdraw(id: string, sessionId: string): Promise<Result<CarriedRequest>> {
    const found = await find(id, sessionId);
    if (found === undefined) return fail('unknown_transaction');
    const { check, del } = found.consume;
    const done = await commitOnce(store, { check: [check], del: [del] });
    if (done === 'conflict') return fail('unknown_transaction');
    return done.ok ? ok({ query: found.query, askedAt: found.askedAt }) : done;
  }

  /**
   * Keeps a request while its person waits for a mailed link. The same request in the same browser
   * has the same id; another one replaces it.
   * @param network the visitor's, whose waiting requests are bounded
   * @returns the id; undefined when nothing more may wait, or the store can't write: the person goes
   *   on without it
   */
  async function wait(
    request: CarriedRequest,
    browserId: string,
    network: string,
    until: 'verify' | 'reset',
  ): Promise<string | undefined> {
    const query = requestQuery(request.query, 'without hint');
    const mac = createHmac('sha256', waitingSecret).update(sha256(browserId)).update(query);
    const id = idWithNumber(mac.digest(), 0);
    const endsAt = clock.now() + linkLifeMs[until];
    if (!waiting.admit(nameOf(browserId), network, endsAt)) return undefined;
    const key = consentTransactionKey(holderHash(browserId), 0);
    const before = await find(id, browserId);
    const row = { query, askedAt: before?.askedAt ?? request.askedAt, waits: true, endsAt };
    const done = await store.commit({ set: [rowOf(key, id, row)] });
    return done.ok ? id : undefined;
  }

  /** Lets a request wait as long as the link that was just sent. One that isn't found is left. */
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
    // A faster call has answered it, or done the same.
    return done.ok || done.error === 'check_failed' ? ok(undefined) : fail('store_unavailable');
  }

  /** Counts the rows that waited when the process started. */
  async function restore(): Promise<void> {
    for await (const page of pagesUnder(store, consentTransactionPrefix())) {
      for (const { key, value } of page) {
        const holder = readConsentTransactionKey(key)?.holderHash;
        const row = transactionRow.decode(value);
        // The network is not stored: these count in the whole alone.
        const name = holder && Buffer.from(holder).toString('base64url');
        if (name && row?.waits) waiting.admit(name, `before the start ${name}`, row.endsAt);
      }
    }
  }

  return {
    begin,
    find,
    rebind,
    withdraw,
    wait,
    prolong,
    restore,
    /** Returns how many requests wait for a mailed link, and how many may. */
    waiting: waiting.stats,
  };
}

function holderHash(holder: string): Uint8Array {
  return sha256(holder).subarray(0, holderBytes);
}

function nameOf(browserId: string): string {
  return Buffer.from(holderHash(browserId)).toString('base64url');
}

function idWithNumber(bytes: Uint8Array, number: number): string {
  const id = Buffer.from(bytes);
  id[0] = (id[0]! & ~numberMask) | number;
  return id.toString('base64url');
}

function keyOf(id: string, holder: string): Key {
  const number = Buffer.from(id, 'base64url')[0]! & numberMask;
  return consentTransactionKey(holderHash(holder), number);
}
