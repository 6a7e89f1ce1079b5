/**
 * Passkeys (WebAuthn, @simplewebauthn/server): registration, discoverable sign-in, and the proof
 * again inside a session. User verification is required, so a passkey is both factors at once.
 *
 * Each ceremony has a row under the hash of its challenge; it is deleted before the answer is
 * looked at, whatever comes of it: one challenge, one answer, within five minutes. The origin and
 * the relying party follow from BASE_URL.
 */

import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import * as v from 'valibot';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/random.ts';
import { fail, ok, type Result } from '../core/result.ts';
import { passkeyByAccountKey, passkeyChallengeKey, passkeyKey } from '../store/keys.ts';
import type { Store } from '../store/store.ts';
import { commitOnce, untilUndisturbed } from './change.ts';
import {
  type Ceremony,
  type CeremonyPurpose,
  decodeCeremony,
  encodeCeremony,
  encodePasskey,
  findPasskey,
  type PasskeyRecord,
  passkeysOf,
  type StoredPasskey,
} from './passkey-records.ts';
import { isActive, type People } from './people.ts';
import type { SecurityLog } from './security-log.ts';
import type { Session, Sessions } from './sessions.ts';
import type { SignedIn, SignIn } from './sign-in.ts';
import { hashOfToken, newToken } from './tokens.ts';
import type { Visitor } from './visitor.ts';

export interface PasskeyInfo {
  /** base64url. */
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  readonly lastUsedAt: number;
  readonly backedUp: boolean;
}

/**
 * The library, loaded when it is first needed: a third of all that the start would load. Modules
 * are loaded once, so a second call costs nothing.
 */
export const webauthn = () => import('@simplewebauthn/server');

/** `response` is what the browser sent as JSON, unchecked. */
export interface Passkeys {
  /** In a fresh session of a verified account. `reauthentication_required`, `conflict` (too many). */
  registrationOptions(session: Session): Promise<Result<PublicKeyCredentialCreationOptionsJSON>>;
  /** `invalid_code` for all that is wrong with the answer; `conflict` when it is known already. */
  register(
    session: Session,
    response: unknown,
    name: string,
    visitor: Visitor,
  ): Promise<Result<PasskeyInfo>>;
  /** Anybody may ask; the authenticator offers what it has for this site. */
  signInOptions(): Promise<Result<PublicKeyCredentialRequestOptionsJSON>>;
  /** `sign_in_refused` for all that is wrong. */
  signIn(response: unknown, visitor: Visitor): Promise<Result<SignedIn>>;
  reauthenticationOptions(session: Session): Promise<Result<PublicKeyCredentialRequestOptionsJSON>>;
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
export const ceremonyLifeMs = 5 * 60_000;
const nameLengthMax = 60;
const credentialIdBytesMax = 1_023;

const base64url = (max: number) =>
  v.pipe(v.string(), v.maxLength(max), v.regex(/^[0-9A-Za-z_-]+$/));
const common = {
  id: base64url(2_048),
  rawId: base64url(2_048),
  type: v.literal('public-key'),
  clientExtensionResults: v.optional(
    v.pipe(
      v.unknown(),
      v.transform(() => ({})),
    ),
    {},
  ),
};
/** Only what is used; the library judges what the fields hold. */
const registrationSchema = v.object({
  ...common,
  response: v.object({
    clientDataJSON: base64url(8_192),
    attestationObject: base64url(65_536),
    transports: v.optional(v.pipe(v.array(v.pipe(v.string(), v.maxLength(32))), v.maxLength(8))),
  }),
});
const authenticationSchema = v.object({
  ...common,
  response: v.object({
    clientDataJSON: base64url(8_192),
    authenticatorData: base64url(8_192),
    signature: base64url(8_192),
    userHandle: v.nullish(base64url(128)),
  }),
});

export function createPasskeys(options: {
  store: Store;
  clock: Clock;
  random: Random;
  people: People;
  sessions: Pick<Sessions, 'renew'>;
  signIn: Pick<SignIn, 'proven'>;
  /** Scheme, host and port: the only origin that is believed. */
  baseUrl: string;
  securityLog: SecurityLog;
}): Passkeys {
  const { store, clock, random, people, sessions, securityLog } = options;
  const origin = new URL(options.baseUrl).origin;
  const rpID = new URL(options.baseUrl).hostname;

  async function begin(purpose: CeremonyPurpose, account: string): Promise<Result<string>> {
    const challenge = newToken(random);
    const row = {
      key: passkeyChallengeKey(challenge.hash),
      value: encodeCeremony({ purpose, account }),
      expiresAt: clock.now() + ceremonyLifeMs,
    };
    const done = await commitOnce(store, { set: [row] });
    if (done === 'lost') return fail('store_unavailable');
    return done.ok ? ok(challenge.text) : done;
  }

  /** Takes the ceremony that an answer names. Undefined: none, over, or somebody was faster. */
  async function take(
    clientDataJSON: string,
  ): Promise<{ challenge: string; ceremony: Ceremony } | undefined> {
    const challenge = challengeOf(clientDataJSON);
    const hash = challenge === undefined ? undefined : hashOfToken(challenge);
    if (challenge === undefined || hash === undefined) return undefined;
    const key = passkeyChallengeKey(hash);
    const row = await store.get(key);
    const ceremony = row && decodeCeremony(row.value);
    if (!row || !ceremony) return undefined;
    const done = await commitOnce(store, { check: [{ key, version: row.version }], del: [key] });
    return done !== 'lost' && done.ok ? { challenge, ceremony } : undefined;
  }

  async function registrationOptions(session: Session) {
    if (!session.fresh || !session.verified) return fail('reauthentication_required');
    const own = await passkeysOf(store, session.accountId, passkeysMax);
    if (own.length >= passkeysMax) return tooMany();
    const challenge = await begin('register', session.accountId);
    if (!challenge.ok) return challenge;
    return ok(
      await (await webauthn()).generateRegistrationOptions({
        rpName: rpID,
        rpID,
        userName: session.email,
        userID: Uint8Array.from(Buffer.from(session.accountId)),
        challenge: Uint8Array.from(Buffer.from(challenge.value, 'base64url')),
        timeout: ceremonyLifeMs,
        attestationType: 'none',
        excludeCredentials: own.map(({ id, record }) => ({
          id: Buffer.from(id).toString('base64url'),
          transports: [...record.transports],
        })),
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      }),
    );
  }

  async function register(session: Session, response: unknown, name: string, visitor: Visitor) {
    const refused = fail('invalid_code', 'The passkey was not accepted.');
    const parsed = v.safeParse(registrationSchema, response);
    if (!parsed.success || !session.verified) return refused;
    const taken = await take(parsed.output.response.clientDataJSON);
    if (taken?.ceremony.purpose !== 'register' || taken.ceremony.account !== session.accountId) {
      return refused;
    }
    const info = await (await webauthn())
      .verifyRegistrationResponse({
        response: parsed.output as RegistrationResponseJSON,
        expectedChallenge: taken.challenge,
        expectedOrigin: origin,
        expectedRPID: rpID,
        requireUserVerification: true,
      })
      .catch(() => undefined);
    if (!info?.verified) return refused;
    const { credential, credentialBackedUp } = info.registrationInfo;
    const id = Buffer.from(credential.id, 'base64url');
    if (id.length === 0 || id.length > credentialIdBytesMax) return refused;
    const record: PasskeyRecord = {
      account: session.accountId,
      name: shownName(name),
      publicKey: credential.publicKey,
      counter: credential.counter,
      transports: parsed.output.response.transports ?? [],
      backedUp: credentialBackedUp,
      createdAt: clock.now(),
      lastUsedAt: clock.now(),
    };
    const own = await passkeysOf(store, session.accountId, passkeysMax);
    if (own.length >= passkeysMax) return tooMany();
    const logged = await securityLog.entry(session.accountId, 'passkey_added', visitor);
    const done = await commitOnce(store, {
      check: [{ key: passkeyKey(id), version: null }],
      set: [
        { key: passkeyKey(id), value: encodePasskey(record) },
        { key: passkeyByAccountKey(session.accountId, id), value: new Uint8Array() },
        ...logged.set,
      ],
      del: logged.del,
    });
    if (done === 'lost') return fail('conflict', 'This passkey is known already.');
    return done.ok ? ok(infoOf({ id, version: 0, record })) : done;
  }

  /** Undefined when anything is wrong with the answer. Moves the counter on. */
  async function prove(response: unknown, purpose: CeremonyPurpose) {
    const parsed = v.safeParse(authenticationSchema, response);
    if (!parsed.success) return undefined;
    const taken = await take(parsed.output.response.clientDataJSON);
    if (taken?.ceremony.purpose !== purpose) return undefined;
    const id = Buffer.from(parsed.output.id, 'base64url');
    if (id.length === 0 || id.length > credentialIdBytesMax) return undefined;
    const passkey = await findPasskey(store, id);
    if (passkey === undefined) return undefined;
    const { record } = passkey;
    const handle = parsed.output.response.userHandle;
    if (handle && Buffer.from(handle, 'base64url').toString('utf8') !== record.account) {
      return undefined;
    }
    const checked = await (await webauthn())
      .verifyAuthenticationResponse({
        response: parsed.output as AuthenticationResponseJSON,
        expectedChallenge: taken.challenge,
        expectedOrigin: origin,
        expectedRPID: rpID,
        requireUserVerification: true,
        credential: {
          id: parsed.output.id,
          publicKey: Uint8Array.from(record.publicKey),
          counter: record.counter,
        },
      })
      .catch(() => undefined);
    if (!checked?.verified) return undefined;
    const counter = checked.authenticationInfo.newCounter;
    // A copy of the authenticator shows as a counter that somebody else moved: one of two loses.
    const done = await commitOnce(store, {
      check: [{ key: passkeyKey(id), version: passkey.version }],
      set: [
        {
          key: passkeyKey(id),
          value: encodePasskey({ ...record, counter, lastUsedAt: clock.now() }),
        },
      ],
    });
    if (done === 'lost' || !done.ok) return undefined;
    return { account: record.account, began: taken.ceremony.account };
  }

  async function signIn(response: unknown, visitor: Visitor): Promise<Result<SignedIn>> {
    const proof = await prove(response, 'sign_in');
    const person = proof && (await people.byId(proof.account));
    if (!person || !isActive(person)) return fail('sign_in_refused');
    return options.signIn.proven(person, 'passkey', visitor);
  }

  async function requestOptions(purpose: CeremonyPurpose, account: string) {
    const challenge = await begin(purpose, account);
    if (!challenge.ok) return challenge;
    return ok(
      await (await webauthn()).generateAuthenticationOptions({
        rpID,
        challenge: Uint8Array.from(Buffer.from(challenge.value, 'base64url')),
        timeout: ceremonyLifeMs,
        userVerification: 'required',
      }),
    );
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
      if (id.length === 0 || id.length > credentialIdBytesMax) return ok(undefined);
      const passkey = await findPasskey(store, id);
      if (passkey?.record.account !== session.accountId) return ok(undefined);
      const logged = await securityLog.entry(session.accountId, 'passkey_removed', visitor);
      return commitOnce(store, {
        check: [{ key: passkeyKey(id), version: passkey.version }],
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

/** The challenge that an answer claims to be for; the library compares it with the real one. */
function challengeOf(clientDataJSON: string): string | undefined {
  try {
    const data: unknown = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString('utf8'));
    const challenge = (data as { challenge?: unknown } | null)?.challenge;
    return typeof challenge === 'string' ? challenge : undefined;
  } catch {
    return undefined;
  }
}

function shownName(name: string): string {
  const clean = name
    .slice(0, 4 * nameLengthMax)
    .replace(/\p{C}/gu, '')
    .trim();
  return [...clean].slice(0, nameLengthMax).join('');
}
