/**
 * Passkeys of accounts: registration, discoverable sign-in, and the proof again inside a session
 * (passkey-ceremonies.ts judges the answers). User verification is required, so a passkey is both
 * factors at once.
 */

import type { Visitor } from '../../contracts/visitor.ts';
import type { Clock } from '../../core/clock.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { commitOnce } from '../../storage/change.ts';
import { passkeyKey } from '../../storage/keys.ts';
import type { Store } from '../../storage/store.ts';
import type { AccountChanges } from '../people/account-changes.ts';
import { isActive, type People } from '../people.ts';
import type { SecurityLog } from '../sessions/security-log.ts';
import type { Session, Sessions } from '../sessions/sessions.ts';
import type { SignedIn, SignIn } from '../sessions/sign-in.ts';
import {
  type CeremonyPurpose,
  encodePasskey,
  findPasskey,
  type PasskeyRecord,
  passkeyKeysOf,
  passkeyRows,
  passkeysOf,
  type StoredPasskey,
} from './factor-rows.ts';
import {
  type CreationOptions,
  credentialIdBytesMax,
  isCredentialId,
  type PasskeyCeremonies,
  type RequestOptions,
} from './passkey-ceremonies.ts';

export interface PasskeyInfo {
  /** base64url. */
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  readonly lastUsedAt: number;
  readonly backedUp: boolean;
  /** The user handle by which an authenticator knows the account, base64url. */
  readonly handle: string;
}

export const passkeysMax = 20;
const nameLengthMax = 60;

/** In each call `response` is the browser's JSON, unchecked. */
export function createPasskeys(options: {
  store: Store;
  clock: Clock;
  people: People;
  sessions: Pick<Sessions, 'renew'>;
  signIn: Pick<SignIn, 'proven'>;
  ceremonies: PasskeyCeremonies;
  securityLog: Pick<SecurityLog, 'add'>;
  changes: Pick<AccountChanges, 'allows' | 'make'>;
}) {
  const { store, clock, people, sessions, ceremonies, securityLog, changes } = options;

  /** Returns the options in a session that may change factors. `reauthentication_required`, `conflict` (too many). */
  async function registrationOptions(session: Session): Promise<Result<CreationOptions>> {
    if (!(await changes.allows(session))) return fail('reauthentication_required');
    const own = await passkeysOf(store, session.accountId, passkeysMax);
    if (own.length >= passkeysMax) return tooMany();
    const { accountId } = session;
    const ceremony = { purpose: 'register', account: accountId, handle: accountId } as const;
    return ceremonies.askToCreate(ceremony, session.email, own);
  }

  /**
   * `invalid_passkey` for every fault of the answer; `conflict` when the passkey is known already; and the errors of
   * `AccountChanges.make`. The token is for the session's new cookie.
   */
  async function register(
    session: Session,
    response: unknown,
    name: string,
    visitor: Visitor,
  ): Promise<Result<{ passkey: PasskeyInfo; token: string }>> {
    const refused = fail('invalid_passkey');
    if (!session.verified) return refused;
    const made = await ceremonies.created(response, 'register');
    if (made?.ceremony.account !== session.accountId) return refused;
    const { id, ...facts } = made.passkey;
    const record: PasskeyRecord = {
      ...facts,
      account: session.accountId,
      handle: made.ceremony.handle,
      name: shownPasskeyName(name) || (made.authenticator ?? ''),
      createdAt: clock.now(),
      lastUsedAt: clock.now(),
    };
    const request = { session, visitor, event: 'passkey_added' } as const;
    const done = await changes.make(request, async () => {
      const own = await passkeysOf(store, session.accountId, passkeysMax);
      if (own.length >= passkeysMax) return tooMany();
      if ((await findPasskey(store, id)) !== undefined) {
        return fail('conflict', 'This passkey is known already.');
      }
      const check = [{ key: passkeyKey(id), version: null }];
      const value = infoOf({ id, version: 0, record });
      // The passkey was made just now with user verification: the holder of this session has it.
      return ok({ value, check, set: passkeyRows(id, record), proof: 'passkey' });
    });
    return done.ok ? ok({ passkey: done.value.value, token: done.value.token }) : done;
  }

  /** Returns undefined when anything is wrong with the answer. Stores the new counter. */
  async function prove(response: unknown, purpose: CeremonyPurpose) {
    const proof = await ceremonies.proven(response, purpose, async (id) => {
      const passkey = await findPasskey(store, id);
      return passkey && { ...passkey.record, id, version: passkey.version };
    });
    if (proof === undefined) return undefined;
    const { id, version, ...record } = proof.known;
    const used = { ...record, counter: proof.counter, lastUsedAt: clock.now() };
    // A copy of the authenticator moves the counter too: one of two commits loses.
    const done = await commitOnce(store, {
      check: [{ key: passkeyKey(id), version }],
      set: [{ key: passkeyKey(id), value: encodePasskey(used) }],
    });
    if (done === 'conflict' || !done.ok) return undefined;
    return { account: record.account, began: proof.ceremony.account };
  }

  /**
   * `passkey_refused` for every fault, `review_required` while the review after a reset is due: the review asks whose
   * passkey it is.
   */
  async function signIn(response: unknown, visitor: Visitor): Promise<Result<SignedIn>> {
    const proof = await prove(response, 'sign_in');
    // Whoever got hold of an answer that was not sent yet has the challenge of another browser.
    const isOwn = proof?.began === '' || proof?.began === visitor.browserId;
    const person = isOwn && proof && (await people.byId(proof.account));
    if (!person || !isActive(person)) return fail('passkey_refused');
    if (person.credentials.reviewSince !== 0) return fail('review_required');
    return options.signIn.proven(person, 'passkey', visitor);
  }

  function requestOptions(purpose: CeremonyPurpose, account: string) {
    return ceremonies.askToProve({ purpose, account, handle: '' });
  }

  /** The session is fresh afterwards and has a new cookie. */
  async function reauthenticate(
    session: Session,
    response: unknown,
    visitor: Visitor,
  ): Promise<Result<{ token: string }>> {
    const person = await people.byId(session.accountId);
    const proof = await prove(response, 'reauthenticate');
    const own = proof?.account === session.accountId && proof.began === session.accountId;
    if (!own || person === undefined) return fail('passkey_refused');
    const renewed = await sessions.renew(session, 'passkey', person.credentials.factors);
    if (!renewed.ok) return renewed;
    if (renewed.value === undefined) return fail('form_expired');
    await securityLog.add(session.accountId, 'reauthenticated', visitor);
    return ok(renewed.value);
  }

  /** `unknown_key`, and the errors of `AccountChanges.make`. */
  async function remove(
    session: Session,
    text: string,
    visitor: Visitor,
  ): Promise<Result<{ token: string }>> {
    const id = Buffer.from(text.slice(0, 2 * credentialIdBytesMax), 'base64url');
    const request = { session, visitor, event: 'passkey_removed' } as const;
    const done = await changes.make<void>(request, async (person) => {
      const passkey = isCredentialId(id) ? await findPasskey(store, id) : undefined;
      if (passkey?.record.account !== person.id) return fail('unknown_key');
      const check = [{ key: passkeyKey(id), version: passkey.version }];
      return ok({ value: undefined, check, del: passkeyKeysOf(person.id, id) });
    });
    return done.ok ? ok({ token: done.value.token }) : done;
  }

  return {
    registrationOptions,
    register,
    /**
     * Anybody may ask; the authenticator offers what it has for this site. @param browserId that may answer;
     * empty: any
     */
    signInOptions: (browserId = ''): Promise<Result<RequestOptions>> =>
      requestOptions('sign_in', browserId),
    signIn,
    reauthenticationOptions: (session: Session): Promise<Result<RequestOptions>> =>
      requestOptions('reauthenticate', session.accountId),
    reauthenticate,
    async list(accountId: string): Promise<PasskeyInfo[]> {
      const own = await passkeysOf(store, accountId);
      return own.map(infoOf).sort((a, b) => a.createdAt - b.createdAt);
    },
    remove,
  };
}

export type Passkeys = ReturnType<typeof createPasskeys>;

function tooMany() {
  return fail('conflict', `An account has at most ${passkeysMax} passkeys.`);
}

function infoOf({ id, record }: StoredPasskey): PasskeyInfo {
  const { name, createdAt, lastUsedAt, backedUp } = record;
  const [idText, handle] = [id, record.handle].map((b) => Buffer.from(b).toString('base64url'));
  return { id: idText!, name, createdAt, lastUsedAt, backedUp, handle: handle! };
}

/** Returns the name of a passkey as it is stored: without invisible characters, 60 characters at most. */
export function shownPasskeyName(name: string): string {
  const clean = name
    .slice(0, 4 * nameLengthMax)
    .replace(/\p{C}/gu, '')
    .replace(/[\u115f\u1160\u2800\u3164\uffa0]/gu, '')
    .trim();
  return [...clean].slice(0, nameLengthMax).join('');
}
