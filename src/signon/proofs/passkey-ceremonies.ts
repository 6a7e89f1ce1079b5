/**
 * The ceremonies of WebAuthn (@simplewebauthn/server): the options for a browser, and the check of its
 * answer. They know no session and no account: their caller knows whose passkey it is.
 *
 * Anybody may begin a ceremony, so nothing is stored for it: its challenge holds what it is for and
 * when it began, sealed (sealed-text.ts). A right answer writes a row under the seal's id, and a
 * second one finds it: one challenge, one right answer, within five minutes. User verification is
 * required. The origin and the relying party follow from BASE_URL.
 */

import type * as Library from '@simplewebauthn/server';
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import * as v from 'valibot';
import type { MasterKey } from '../../access/keys/master-key.ts';
import type { BoundedTable } from '../../core/bounded-tables.ts';
import type { Clock } from '../../core/clock.ts';
import { openLoneThread } from '../../core/lone-thread.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { isOfFuture, minuteMs } from '../../core/time.ts';
import { commitOnce } from '../../storage/change.ts';
import { createWriter, decode } from '../../storage/codec.ts';
import { passkeyChallengeKey } from '../../storage/keys.ts';
import type { Store } from '../../storage/store.ts';
import { createSealedTexts } from '../sealed-text.ts';
import {
  type Ceremony,
  type CeremonyPurpose,
  decodeCeremony,
  encodeCeremony,
  type PasskeyRecord,
} from './factor-rows.ts';

type Name =
  | 'generateRegistrationOptions'
  | 'verifyRegistrationResponse'
  | 'generateAuthenticationOptions'
  | 'verifyAuthenticationResponse';

export interface PasskeyCall {
  readonly name: Name;
  readonly options: unknown;
}

type PasskeyLibrary = Pick<typeof Library, Name> & {
  readonly table: BoundedTable;
  close(): Promise<void>;
};

const waitingMax = 256;

/**
 * Runs @simplewebauthn/server on a thread of its own, that starts at the first ceremony and ends after a
 * quiet minute: loading it takes 100 ms and 15 MB, and most servers see a passkey now and then.
 * Beyond `waitingMax` calls that wait, a call rejects.
 */
export function openPasskeyLibrary(): PasskeyLibrary {
  const worker = new URL('./passkey-library.worker.js', import.meta.url);
  const thread = openLoneThread<PasskeyCall, unknown>(worker, waitingMax);
  const calling = (name: Name) => async (options: unknown) =>
    (await thread.run({ name, options })) as never;
  return {
    generateRegistrationOptions: calling('generateRegistrationOptions'),
    verifyRegistrationResponse: calling('verifyRegistrationResponse'),
    generateAuthenticationOptions: calling('generateAuthenticationOptions'),
    verifyAuthenticationResponse: calling('verifyAuthenticationResponse'),
    table: { name: 'passkey_queue', used: thread.waiting, limit: waitingMax },
    close: thread.close,
  };
}

export type CreationOptions = PublicKeyCredentialCreationOptionsJSON;
export type RequestOptions = PublicKeyCredentialRequestOptionsJSON;

/**
 * Names of what makes and keeps passkeys, by its AAGUID (WebAuthn, 6.5.1), as the community's list has them
 * (https://github.com/passkeydeveloper/passkey-authenticator-aaguids). Nobody proves an AAGUID here, so a name is for
 * the owner's list of passkeys and decides nothing. Authenticators that tell none have zeros.
 */
const authenticatorNames: Readonly<Record<string, string>> = {
  'ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4': 'Google Password Manager',
  'fbfc3007-154e-4ecc-8c0b-6e020557d7bd': 'iCloud Keychain',
  'dd4ec289-e01d-41c9-bb89-70fa845d4bf2': 'iCloud Keychain',
  'adce0002-35bc-c60a-648b-0b25f1f05503': 'Chrome, Mac',
  '08987058-cadc-4b81-b6e1-30de50dcbe96': 'Windows Hello',
  '9ddd1817-af5a-4672-a2b9-3e3dd95000a9': 'Windows Hello',
  '6028b017-b1d4-4c02-b4b3-afcdafc96bb2': 'Windows Hello',
  '53414d53-554e-4700-0000-000000000000': 'Samsung Pass',
  'bada5566-a7aa-401f-bd96-45619a55120d': '1Password',
  'd548826e-79b4-db40-a3d8-11116f7e8349': 'Bitwarden',
  '531126d6-e717-415c-9320-3d9aa6981239': 'Dashlane',
  'b84e4048-15dc-4dd0-8640-f4f60813c8af': 'NordPass',
  '0ea242b4-43c4-4a1b-8b17-dd6d0b6baec6': 'Keeper',
  'f3809540-7f14-49c1-a8b3-8f813b225541': 'Enpass',
  '50726f74-6f6e-5061-7373-50726f746f6e': 'Proton Pass',
  'fdb141b2-5d84-443e-8a35-4698c205a502': 'KeePassXC',
};

/** A passkey as the authenticator made it. */
type NewPasskey = Pick<PasskeyRecord, 'publicKey' | 'counter' | 'transports' | 'backedUp'> & {
  readonly id: Uint8Array;
};

/** The fields by which an answer is verified. */
type KnownPasskey = Pick<PasskeyRecord, 'publicKey' | 'counter' | 'handle'>;

interface NamedPasskey {
  readonly id: Uint8Array;
  readonly record: Pick<PasskeyRecord, 'transports'>;
}

export const ceremonyLifeMs = 5 * minuteMs;
export const credentialIdBytesMax = 1_023;
/** A key of RSA with 4,096 bits has about 550. */
const publicKeyBytesMax = 2_048;

/** The holder of every challenge: the authenticator that answers it names nobody. */
const anybody = '';
/**
 * The bytes of time, purpose, mail address or account, and handle, padded so that the length reveals none of
 * them.
 */
const ceremonyBytes = 384;

/** An open challenge of ours that an answer names. */
interface Open {
  readonly challenge: string;
  readonly ceremony: Ceremony;
  readonly id: Uint8Array;
  readonly endsAt: number;
}

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
/** The schemas hold only the fields that are used; the library checks their content. */
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

/** In each call `response` is the browser's JSON, unchecked. Undefined: anything is wrong with it. */
export function createPasskeyCeremonies(options: {
  store: Store;
  clock: Clock;
  random: Random;
  masterKey: MasterKey;
  /** The scheme, host and port: the only origin that is accepted. */
  baseUrl: string;
  /** The operator's name, or the host: the browser shows it where a passkey is made. */
  name: string;
  library: PasskeyLibrary;
}) {
  const { store, clock, library } = options;
  const origin = new URL(options.baseUrl).origin;
  const rpID = new URL(options.baseUrl).hostname;
  const challenges = createSealedTexts({
    ...options,
    purpose: 'passkey challenge',
    plainBytesMax: ceremonyBytes,
  });

  function begin(ceremony: Ceremony): string {
    const plain = createWriter().f64(clock.now()).bytes(encodeCeremony(ceremony)).finish();
    const whole = new Uint8Array(ceremonyBytes);
    whole.set(plain);
    return challenges.seal(whole, anybody);
  }

  /** Returns the ceremony of the challenge that an answer names. Undefined: none of ours, or over. */
  function open(clientDataJSON: string, purpose: CeremonyPurpose): Open | undefined {
    const challenge = challengeOf(clientDataJSON);
    const opened = challenge === undefined ? undefined : challenges.open(challenge, anybody);
    const found =
      opened &&
      decode(opened.plain, (input) => {
        const [begunAt, ceremony] = [input.f64(), input.bytes()];
        input.raw(input.remaining());
        return { begunAt, ceremony };
      });
    const ceremony = found && decodeCeremony(found.ceremony);
    if (challenge === undefined || !opened || !found || ceremony?.purpose !== purpose) {
      return undefined;
    }
    const endsAt = found.begunAt + ceremonyLifeMs;
    const now = clock.now();
    if (now >= endsAt || isOfFuture(endsAt, now, ceremonyLifeMs)) return undefined;
    return { challenge, ceremony, id: opened.id, endsAt };
  }

  /** Returns whether a right answer is the first to its challenge. */
  async function isFirst({ id, endsAt }: Open): Promise<boolean> {
    const key = passkeyChallengeKey(id);
    const used = { key, value: new Uint8Array(), expiresAt: Math.ceil(endsAt) };
    const done = await commitOnce(store, { check: [{ key, version: null }], set: [used] });
    return done !== 'conflict' && done.ok;
  }

  /** Returns the options for `navigator.credentials.create`. @param userName shown by the authenticator */
  async function askToCreate(
    ceremony: Ceremony,
    userName: string,
    exclude: readonly NamedPasskey[],
  ): Promise<Result<CreationOptions>> {
    const challenge = begin(ceremony);
    return asked(
      library.generateRegistrationOptions({
        rpName: options.name,
        rpID,
        userName,
        userID: Uint8Array.from(Buffer.from(ceremony.handle)),
        challenge: Uint8Array.from(Buffer.from(challenge, 'base64url')),
        timeout: ceremonyLifeMs,
        attestationType: 'none',
        excludeCredentials: exclude.map(described),
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      }),
    );
  }

  async function created(
    response: unknown,
    purpose: CeremonyPurpose,
  ): Promise<
    | {
        readonly ceremony: Ceremony;
        readonly passkey: NewPasskey;
        /** The name of what made it; undefined: it tells none that is known. */
        readonly authenticator: string | undefined;
      }
    | undefined
  > {
    const parsed = v.safeParse(registrationSchema, response);
    if (!parsed.success) return undefined;
    const taken = open(parsed.output.response.clientDataJSON, purpose);
    if (taken === undefined) return undefined;
    const info = await library
      .verifyRegistrationResponse({
        response: parsed.output as RegistrationResponseJSON,
        expectedChallenge: taken.challenge,
        expectedOrigin: origin,
        expectedRPID: rpID,
        requireUserVerification: true,
      })
      .catch(() => undefined);
    if (!info?.verified) return undefined;
    const { credential, credentialBackedUp, aaguid } = info.registrationInfo;
    const id = Buffer.from(credential.id, 'base64url');
    if (!isCredentialId(id) || credential.publicKey.length > publicKeyBytesMax) return undefined;
    if (!(await isFirst(taken))) return undefined;
    const passkey = {
      id,
      publicKey: credential.publicKey,
      counter: credential.counter,
      transports: parsed.output.response.transports ?? [],
      backedUp: credentialBackedUp,
    };
    const authenticator = Object.hasOwn(authenticatorNames, aaguid)
      ? authenticatorNames[aaguid]
      : undefined;
    return { ceremony: taken.ceremony, passkey, authenticator };
  }

  /** Returns the options for `navigator.credentials.get`. @param allow none: the authenticator offers what it has */
  async function askToProve(
    ceremony: Ceremony,
    allow: readonly NamedPasskey[] = [],
  ): Promise<Result<RequestOptions>> {
    const challenge = begin(ceremony);
    return asked(
      library.generateAuthenticationOptions({
        rpID,
        challenge: Uint8Array.from(Buffer.from(challenge, 'base64url')),
        timeout: ceremonyLifeMs,
        userVerification: 'required',
        ...(allow.length === 0 ? {} : { allowCredentials: allow.map(described) }),
      }),
    );
  }

  /** @param find returns the passkey that an answer names; undefined when it must not be used */
  async function proven<K extends KnownPasskey>(
    response: unknown,
    purpose: CeremonyPurpose,
    find: (id: Uint8Array, ceremony: Ceremony) => Promise<K | undefined>,
  ): Promise<
    { readonly ceremony: Ceremony; readonly known: K; readonly counter: number } | undefined
  > {
    const parsed = v.safeParse(authenticationSchema, response);
    if (!parsed.success) return undefined;
    const taken = open(parsed.output.response.clientDataJSON, purpose);
    if (taken === undefined) return undefined;
    const id = Buffer.from(parsed.output.id, 'base64url');
    const known = isCredentialId(id) ? await find(id, taken.ceremony) : undefined;
    if (known === undefined) return undefined;
    const handle = parsed.output.response.userHandle;
    if (handle && Buffer.from(handle, 'base64url').toString('utf8') !== known.handle) {
      return undefined;
    }
    const checked = await library
      .verifyAuthenticationResponse({
        response: parsed.output as AuthenticationResponseJSON,
        expectedChallenge: taken.challenge,
        expectedOrigin: origin,
        expectedRPID: rpID,
        requireUserVerification: true,
        credential: {
          id: parsed.output.id,
          publicKey: Uint8Array.from(known.publicKey),
          counter: known.counter,
        },
      })
      .catch(() => undefined);
    if (!checked?.verified || !(await isFirst(taken))) return undefined;
    const counter = checked.authenticationInfo.newCounter;
    return { ceremony: taken.ceremony, known, counter };
  }

  return { askToCreate, created, askToProve, proven };
}

export type PasskeyCeremonies = ReturnType<typeof createPasskeyCeremonies>;

/** Returns the options for the browser, `overloaded` when too many ask. */
function asked<T>(options: Promise<T>): Promise<Result<T>> {
  return options.then(ok, () => fail('overloaded'));
}

export function isCredentialId(id: Uint8Array): boolean {
  return id.length > 0 && id.length <= credentialIdBytesMax;
}

function described({ id, record }: NamedPasskey) {
  return { id: Buffer.from(id).toString('base64url'), transports: [...record.transports] };
}

/** Returns the challenge that an answer claims to be for; the library compares it with the real one. */
function challengeOf(clientDataJSON: string): string | undefined {
  try {
    const data: unknown = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString('utf8'));
    const challenge = (data as { challenge?: unknown } | null)?.challenge;
    return typeof challenge === 'string' ? challenge : undefined;
  } catch {
    return undefined;
  }
}
