/**
 * Passkeys of accounts: registration, discoverable sign-in, and the proof again inside a session
 * (passkey-ceremonies.ts judges the answers). User verification is required, so a passkey is both
 * factors at once.
 */

import type { Clock } from '../core/clock.ts';
import { fail, ok, type Result } from '../core/result.ts';
import { passkeyByAccountKey, passkeyKey } from '../store/keys.ts';
import type { Store } from '../store/store.ts';
import { commitOnce, untilUndisturbed } from './change.ts';
import {
  type CreationOptions,
  credentialIdBytesMax,
  isCredentialId,
  type PasskeyCeremonies,
  type RequestOptions,
} from './passkey-ceremonies.ts';
import {
  type CeremonyPurpose,
  encodePasskey,
  findPasskey,
  type PasskeyRecord,
  passkeyRows,
  passkeysOf,
  type StoredPasskey,
} from './passkey-records.ts';
import { isActive, type People } from './people.ts';
import type { SecurityLog } from './security-log.ts';
import type { Session, Sessions } from './sessions.ts';
import type { SignedIn, SignIn } from './sign-in.ts';
import type { Visitor } from './visitor.ts';

export interface PasskeyInfo {
  /** base64url. */
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  readonly lastUsedAt: number;
  readonly backedUp: boolean;
}

/** `response` is what the browser sent as JSON, unchecked. */
export interface Passkeys {
  /** In a fresh session of a verified account. `reauthentication_required`, `conflict` (too many). */
  registrationOptions(session: Session): Promise<Result<CreationOptions>>;
  /** `invalid_code` for all that is wrong with the answer; `conflict` when it is known already. */
  register(
    session: Session,
    response: unknown,
    name: string,
    visitor: Visitor,
  ): Promise<Result<PasskeyInfo>>;
  /** Anybody may ask; the authenticator offers what it has for this site. */
  signInOptions(): Promise<Result<RequestOptions>>;
  /** `sign_in_refused` for all that is wrong. */
  signIn(response: unknown, visitor: Visitor): Promise<Result<SignedIn>>;
  reauthenticationOptions(session: Session): Promise<Result<RequestOptions>>;
  /** The session is fresh afterwards and has a new cookie. */
  reauthenticate(
    session: Session,
    response: unknown,
    visitor: Visitor,
  ): Promise<Result<{ token: string }>>;
  list(accountId: string): Promise<PasskeyInfo[]>;
  /** Removing what is not there is no error. `reauthentication_required`. */
  remove(session: Session, id: string, visitor: Visitor): Promise<Result<void>>;
}

export const passkeysMax = 20;
const nameLengthMax = 60;

export function createPasskeys(options: {
  store: Store;
  clock: Clock;
  people: People;
  sessions: Pick<Sessions, 'renew'>;
  signIn: Pick<SignIn, 'proven'>;
  ceremonies: PasskeyCeremonies;
  securityLog: SecurityLog;
}): Passkeys {
  const { store, clock, people, sessions, ceremonies, securityLog } = options;

  async function registrationOptions(session: Session) {
    if (!session.fresh || !session.verified) return fail('reauthentication_required');
    const own = await passkeysOf(store, session.accountId, passkeysMax);
    if (own.length >= passkeysMax) return tooMany();
    const { accountId } = session;
    const ceremony = { purpose: 'register', account: accountId, handle: accountId } as const;
    return ceremonies.askToCreate(ceremony, session.email, own);
  }

  async function register(session: Session, response: unknown, name: string, visitor: Visitor) {
    const refused = fail('invalid_code', 'The passkey was not accepted.');
    if (!session.verified) return refused;
    const made = await ceremonies.created(response, 'register');
    if (made?.ceremony.account !== session.accountId) return refused;
    const { id, ...facts } = made.passkey;
    const record: PasskeyRecord = {
      ...facts,
      account: session.accountId,
      handle: made.ceremony.handle,
      name: shownName(name),
      createdAt: clock.now(),
      lastUsedAt: clock.now(),
    };
    const own = await passkeysOf(store, session.accountId, passkeysMax);
    if (own.length >= passkeysMax) return tooMany();
    const logged = await securityLog.entry(session.accountId, 'passkey_added', visitor);
    const done = await commitOnce(store, {
      check: [{ key: passkeyKey(id), version: null }, ...logged.check],
      set: [...passkeyRows(id, record), ...logged.set],
      del: logged.del,
    });
    if (done === 'lost') return fail('conflict', 'This passkey is known already.');
    return done.ok ? ok(infoOf({ id, version: 0, record })) : done;
  }

  /** Undefined when anything is wrong with the answer. Moves the counter on. */
  async function prove(response: unknown, purpose: CeremonyPurpose) {
    const proof = await ceremonies.proven(response, purpose, async (id) => {
      const passkey = await findPasskey(store, id);
      return passkey && { ...passkey.record, id, version: passkey.version };
    });
    if (proof === undefined) return undefined;
    const { id, version, ...record } = proof.known;
    const used = { ...record, counter: proof.counter, lastUsedAt: clock.now() };
    // A copy of the authenticator shows as a counter that somebody else moved: one of two loses.
    const done = await commitOnce(store, {
      check: [{ key: passkeyKey(id), version }],
      set: [{ key: passkeyKey(id), value: encodePasskey(used) }],
    });
    if (done === 'lost' || !done.ok) return undefined;
    return { account: record.account, began: proof.ceremony.account };
  }

  async function signIn(response: unknown, visitor: Visitor): Promise<Result<SignedIn>> {
    const proof = await prove(response, 'sign_in');
    const person = proof && (await people.byId(proof.account));
    if (!person || !isActive(person)) return fail('sign_in_refused');
    return options.signIn.proven(person, 'passkey', visitor);
  }

  function requestOptions(purpose: CeremonyPurpose, account: string) {
    return ceremonies.askToProve({ purpose, account, handle: '' });
  }

  async function reauthenticate(session: Session, response: unknown, visitor: Visitor) {
    const proof = await prove(response, 'reauthenticate');
    const own = proof?.account === session.accountId && proof.began === session.accountId;
    if (!own) return fail('sign_in_refused');
    const renewed = await sessions.renew(session);
    if (!renewed.ok) return renewed;
    if (renewed.value === undefined) return fail('sign_in_refused');
    await securityLog.add(session.accountId, 'reauthenticated', visitor);
    return ok(renewed.value);
  }

  function remove(session: Session, text: string, visitor: Visitor): Promise<Result<void>> {
    if (!session.fresh) return Promise.resolve(fail('reauthentication_required'));
    const id = Buffer.from(text.slice(0, 2 * credentialIdBytesMax), 'base64url');
    return untilUndisturbed<void>(async () => {
      if (!isCredentialId(id)) return ok(undefined);
      const passkey = await findPasskey(store, id);
      if (passkey?.record.account !== session.accountId) return ok(undefined);
      const logged = await securityLog.entry(session.accountId, 'passkey_removed', visitor);
      return commitOnce(store, {
        check: [{ key: passkeyKey(id), version: passkey.version }, ...logged.check],
        set: logged.set,
        del: [passkeyKey(id), passkeyByAccountKey(session.accountId, id), ...logged.del],
      });
    });
  }

  return {
    registrationOptions,
    register,
    signInOptions: () => requestOptions('sign_in', ''),
    signIn,
    reauthenticationOptions: (session) => requestOptions('reauthenticate', session.accountId),
    reauthenticate,
    async list(accountId) {
      const own = await passkeysOf(store, accountId, passkeysMax * 2);
      return own.map(infoOf).sort((a, b) => a.createdAt - b.createdAt);
    },
    remove,
  };
}

function tooMany() {
  return fail('conflict', `An account has at most ${passkeysMax} passkeys.`);
}

function infoOf({ id, record }: StoredPasskey): PasskeyInfo {
  const { name, createdAt, lastUsedAt, backedUp } = record;
  return { id: Buffer.from(id).toString('base64url'), name, createdAt, lastUsedAt, backedUp };
}

function shownName(name: string): string {
  const clean = name
    .slice(0, 4 * nameLengthMax)
    .replace(/\p{C}/gu, '')
    .trim();
  return [...clean].slice(0, nameLengthMax).join('');
}
