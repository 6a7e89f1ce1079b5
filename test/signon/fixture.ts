/** A sign-on of sites on a store of its own, with a clock that moves by hand and a person signed in. */

import { masterKeyFromBytes } from '../../src/access/keys/master-key.ts';
import { parseRequestQuery } from '../../src/signon/module.ts';
import type { Profile } from '../../src/signon/people/profile/profile.ts';
import { createProfiles } from '../../src/signon/people/profile/profile-store.ts';
import { createAuthorization, type SignedInVisitor } from '../../src/signon/sites/authorization.ts';
import type { AuthorizationRequest } from '../../src/signon/sites/authorize.ts';
import { openLmdbStore } from '../../src/storage/lmdb/store.ts';
import { manualClock, seededRandom } from '../support/seeded.ts';
import { memoryLog } from '../support/server/memory-log.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

function queryFor({ client, redirect, scopes, state, codeChallenge }: AuthorizationRequest) {
  const pkce = { code_challenge: codeChallenge, code_challenge_method: 'S256' };
  return queryOf({
    client_id: client.id,
    redirect_uri: redirect.text,
    response_type: 'code',
    scope: scopes.join(' '),
    state,
    ...(codeChallenge === undefined ? {} : pkce),
  });
}

/** 2026-11-21T12:00:00Z. */
export const startMs = Date.UTC(2026, 10, 21, 12);

export function parametersOf(values: Readonly<Record<string, string | undefined>>) {
  return { get: (name: string) => values[name] };
}

/** As a site writes it. */
export function queryOf(values: Readonly<Record<string, string | undefined>>): string {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(value!)}`)
    .join('&');
}

export const goodParameters = {
  client_id: 'example.com',
  redirect_uri: 'https://example.com/cb?x=1',
  response_type: 'code',
  scope: 'openid profile email',
  state: 's t+&é',
} as const;

export const ada: Partial<Profile> = {
  givenName: 'Ada',
  familyName: 'Lovelace',
  phone: '+33612345678',
  birthdate: '1990-12-10',
};

export async function openSignon(options: { path?: string } = {}) {
  const directory = options.path === undefined ? makeTempDir('signon') : undefined;
  const path = options.path ?? directory!.path;
  const clock = manualClock(startMs);
  const random = seededRandom(11);
  const { log, lines } = memoryLog();
  const store = openLmdbStore({ path, clock, log });
  const profiles = createProfiles({ store, clock, random });
  const endedSessions = new Set<string>();
  const disabledAccounts = new Set<string>();
  const authorization = createAuthorization({
    store,
    clock,
    random,
    log,
    profiles,
    standing: {
      sessionAlive: (id) => !endedSessions.has(id),
      isActiveAccount: async (id) => !disabledAccounts.has(id),
    },
    demo: false,
    masterKey: masterKeyFromBytes(new Uint8Array(32)),
    parseQuery: parseRequestQuery,
    avatarUrl: (avatar) => `https://sso.example/avatars/${avatar}`,
  });
  const session: SignedInVisitor = {
    sessionId: 'session-1',
    accountId: 'account-1',
    signedInAt: startMs - 1_000,
    verified: true,
    issuer: 'https://sso.example',
  };

  async function addPerson(accountId: string, profile: Partial<Profile> = ada): Promise<void> {
    await store.commit({ set: [profiles.newRow(accountId, `${accountId}@mail.example`, true)] });
    await profiles.update(accountId, (p) => ({ ok: true, value: { ...p, ...profile } }));
  }

  function requestOf(changes: Readonly<Record<string, string | undefined>> = {}) {
    const reading = authorization.read(parametersOf({ ...goodParameters, ...changes }));
    if (reading.kind !== 'request') throw new Error(JSON.stringify(reading));
    return reading.request;
  }

  /** As the form sends it: with what it shows now. */
  async function allow(id: string, who: SignedInVisitor, granted: readonly string[]) {
    const found = await authorization.transactions.find(id, who.sessionId);
    const asked = found && (await authorization.asked(found.request, who, id));
    return authorization.allow(id, who, granted, asked?.shown ?? '');
  }

  /** Asks, allows, and takes the code out of the address. */
  async function codeFor(
    request: AuthorizationRequest = requestOf(),
    granted: readonly string[] = request.scopes,
    who: SignedInVisitor = session,
  ): Promise<string> {
    const asked = { query: queryFor(request), askedAt: clock.now() };
    const id = await authorization.transactions.begin(asked, who.sessionId);
    if (!id.ok) throw new Error(id.error);
    const address = await allow(id.value, who, granted);
    if (!address.ok) throw new Error(address.error);
    return new URL(address.value).searchParams.get('code')!;
  }

  function exchange(code: string, proofs: Partial<Proofs> = {}) {
    return authorization.exchange({
      code,
      clientId: undefined,
      redirectUri: undefined,
      codeVerifier: undefined,
      ...proofs,
    });
  }

  await addPerson(session.accountId);
  return {
    store,
    clock,
    random,
    log,
    lines,
    profiles,
    authorization,
    allow,
    session,
    endedSessions,
    disabledAccounts,
    addPerson,
    requestOf,
    codeFor,
    exchange,
    path,
    async [Symbol.asyncDispose]() {
      await store.close();
      directory?.remove();
    },
  };
}

interface Proofs {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly codeVerifier: string;
}
