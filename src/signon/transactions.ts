/**
 * A consent form between its page and its answer. The request lies here, under the hash of a
 * random id that the form carries, so nothing that the form sends can change client, redirect or
 * scope. It is bound to who saw the page, ends after ten minutes (with the link of the mail while its person waits for one),
 * and is consumed in the commit of what was decided: one form, one answer.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../core/clock.ts';
import { type Random, randomToken } from '../core/random.ts';
import { fail, ok, type Result } from '../core/result.ts';
import { createWriter, decode } from '../store/codec.ts';
import { consentTransactionKey, type Key } from '../store/keys.ts';
import type { Check, SetRow, Store } from '../store/store.ts';
import { type AuthorizationRequest, prompts } from './authorize.ts';
import { type ClientRules, parseClientId } from './client-id.ts';
import { linkLifeMs } from './links.ts';
import { parseRedirectUri } from './redirect-uri.ts';
import { scopeBits, scopesOf } from './scopes.ts';

export const transactionLifeMs = 10 * 60_000;
const idBytes = 32;
const hashBytes = 32;
const idPattern = /^[A-Za-z0-9_-]{43}$/;
const layout = 1;

export interface Transaction {
  readonly request: AuthorizationRequest;
  /** When the request was first seen, milliseconds since 1970. */
  readonly askedAt: number;
  /** Put both into one commit: it succeeds for one caller only. */
  readonly consume: { readonly check: Check; readonly del: Key };
}

export interface Transactions {
  /**
   * @param holder who may answer: id of the session, or of the browser before there is one
   * @returns the id for the form
   */
  begin(request: AuthorizationRequest, holder: string): Promise<Result<string>>;
  /** Undefined alike when it is unknown, over, answered, or somebody else's. */
  find(id: string, holder: string): Promise<Transaction | undefined>;
  /**
   * After a sign-in: the request goes on under a new id for the new session, and remembers when it
   * was first seen. `unknown_transaction` as `find` has it.
   */
  rebind(id: string, from: string, to: string): Promise<Result<string>>;
  /**
   * While a person registers or chooses a new password: it waits as long as the link in the mail
   * works, the newest one if there are several. One that can't be found is left as it is.
   */
  prolong(id: string, holder: string, until: 'verify' | 'reset'): Promise<Result<void>>;
}

export function createTransactions(options: {
  store: Store;
  clock: Clock;
  random: Random;
  rules: ClientRules;
}): Transactions {
  const { store, clock, random, rules } = options;

  /** `login_hint` is left out: it may be a mail address, and whoever gets here is signed in. */
  function newRow(request: AuthorizationRequest, holder: string, askedAt: number) {
    const id = randomToken(random, idBytes);
    const row: SetRow = {
      key: consentTransactionKey(sha256(id)),
      value: encode(request, holder, askedAt),
      expiresAt: Math.floor(clock.now()) + transactionLifeMs,
    };
    return { id, row };
  }

  async function begin(request: AuthorizationRequest, holder: string): Promise<Result<string>> {
    const { id, row } = newRow(request, holder, clock.now());
    const done = await store.commit({ check: [{ key: row.key, version: null }], set: [row] });
    return done.ok ? ok(id) : fail('store_unavailable');
  }

  async function find(id: string, holder: string): Promise<Transaction | undefined> {
    if (!idPattern.test(id)) return undefined;
    const key = consentTransactionKey(sha256(id));
    const entry = await store.get(key);
    const row = entry && decodeRow(entry.value, rules);
    if (!entry || !row?.request || !timingSafeEqual(row.holderHash, sha256(holder))) {
      return undefined;
    }
    const consume = { check: { key, version: entry.version }, del: key };
    return { request: row.request, askedAt: row.askedAt, consume };
  }

  async function rebind(id: string, from: string, to: string): Promise<Result<string>> {
    const found = await find(id, from);
    if (found === undefined) return fail('unknown_transaction');
    const next = newRow(found.request, to, found.askedAt);
    const { check, del } = found.consume;
    const done = await store.commit({ check: [check], del: [del], set: [next.row] });
    if (done.ok) return ok(next.id);
    return fail(done.error === 'check_failed' ? 'unknown_transaction' : 'store_unavailable');
  }

  async function prolong(id: string, holder: string, until: 'verify' | 'reset') {
    if ((await find(id, holder)) === undefined) return ok(undefined);
    const key = consentTransactionKey(sha256(id));
    const entry = await store.get(key);
    if (entry === undefined) return ok(undefined);
    const expiresAt = Math.floor(clock.now()) + linkLifeMs[until];
    const done = await store.commit({
      check: [{ key, version: entry.version }],
      set: [{ key, value: entry.value, expiresAt }],
    });
    // Whoever was faster has answered it, or done the same.
    return done.ok || done.error === 'check_failed' ? ok(undefined) : fail('store_unavailable');
  }

  return { begin, find, rebind, prolong };
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function encode(request: AuthorizationRequest, holder: string, askedAt: number): Uint8Array {
  const { client, redirect, state, scopes, codeChallenge, prompt } = request;
  return createWriter(512)
    .u8(layout)
    .raw(sha256(holder))
    .f64(askedAt)
    .text(client.id)
    .text(redirect.text)
    .u8(scopeBits(scopes))
    .u8(state === undefined ? 0 : 1)
    .text(state ?? '')
    .text(codeChallenge ?? '')
    .text(prompt.join(' '))
    .finish();
}

interface Row {
  readonly holderHash: Uint8Array;
  readonly askedAt: number;
  /** Undefined when the rules changed since and the client isn't one any more. */
  readonly request: AuthorizationRequest | undefined;
}

function decodeRow(bytes: Uint8Array, rules: ClientRules): Row | undefined {
  const row = decode(bytes, (input) => {
    if (input.u8() !== layout) input.reject();
    return {
      holderHash: input.raw(hashBytes),
      askedAt: input.f64(),
      clientId: input.text(),
      redirectUri: input.text(),
      scopes: scopesOf(input.u8()),
      hasState: input.u8() === 1,
      state: input.text(),
      codeChallenge: input.text(),
      prompt: input.text().split(' '),
    };
  });
  if (row === undefined) return undefined;
  const { holderHash, askedAt } = row;
  const client = parseClientId(row.clientId, rules);
  const redirect = client.ok ? parseRedirectUri(row.redirectUri, client.value, rules) : client;
  if (!client.ok || !redirect.ok) return { holderHash, askedAt, request: undefined };
  const request: AuthorizationRequest = {
    client: client.value,
    redirect: redirect.value,
    state: row.hasState ? row.state : undefined,
    scopes: row.scopes,
    codeChallenge: row.codeChallenge === '' ? undefined : row.codeChallenge,
    prompt: prompts.filter((name) => row.prompt.includes(name)),
    loginHint: undefined,
  };
  return { holderHash, askedAt, request };
}
