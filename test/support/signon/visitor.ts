/**
 * People for the tests of sign-on pages: accounts and sessions made beside a running server, in
 * its own store, as another process may; and a small browser that keeps cookies and follows
 * nothing by itself.
 */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { ok } from '../../../src/core/result.ts';
import type { Profile } from '../../../src/signon/people/profile/profile.ts';
import { transactionRow } from '../../../src/signon/sites/carried-requests.ts';
import { consentTransactionPrefix } from '../../../src/storage/keys.ts';
import { value } from '../house/result.ts';
import type { Answer, TestServer } from '../server/server.ts';
import { openStoreBeside } from '../server/shared-store.ts';
import { signonBeside } from './signon-beside.ts';

export const password = 'violet-harbour-72';

const visitor = {
  browserId: 'tests',
  client: 'tests',
  country: 'FR',
  userAgent: 'tests',
  language: 'en',
} as const;

export interface People extends AsyncDisposable {
  /** A verified account with `password` and this profile. @returns its id */
  add(email: string, profile?: Partial<Profile>): Promise<string>;
  /** One that has not opened its link. @returns the session's cookie value */
  addUnverified(email: string): Promise<string>;
  /** A new session. @returns its cookie value */
  signIn(email: string): Promise<string>;
  endSessions(accountId: string): Promise<void>;
}

/** Whether a site's request that is kept under this id is still kept when `ms` more are over. */
export async function waitsFor(
  server: Pick<TestServer, 'dataDir'>,
  id: string,
  ms: number,
): Promise<boolean> {
  const hash = createHash('sha256').update(id).digest();
  return (await requestsKept(server)).some(
    ({ idHash, endsAt }) => hash.equals(idHash) && endsAt > Date.now() + ms,
  );
}

/** The sites' requests that are kept; 1,000 at most. */
export async function requestsKept(server: Pick<TestServer, 'dataDir'>) {
  const store = openStoreBeside(server.dataDir);
  const rows = await store.scan(consentTransactionPrefix(), { limit: 1_000 });
  await store.close();
  return rows.map(({ value: bytes }) => transactionRow.decode(bytes)!);
}

export function openPeople(server: Pick<TestServer, 'dataDir'>): People {
  const beside = signonBeside({ dataDir: server.dataDir });
  const { signon, profiles } = beside;

  async function signIn(email: string): Promise<string> {
    const done = value(await signon.signIn.withPassword({ email, password, visitor }));
    assert.ok(done.kind === 'signed_in', JSON.stringify(done));
    return done.token;
  }

  return {
    async add(email, profile = {}) {
      const accountId = await beside.register({ email, password, visitor });
      await profiles.update(accountId, (before) => ok({ ...before, ...profile }));
      return accountId;
    },
    async addUnverified(email) {
      value(await signon.registration.register({ email, password, visitor }));
      return signIn(email);
    },
    signIn,
    async endSessions(accountId) {
      value(await signon.sessions.endAll(accountId));
    },
    [Symbol.asyncDispose]: () => beside[Symbol.asyncDispose](),
  };
}

/** Keeps cookies as a browser does; redirects are for the test to look at. */
export interface Agent {
  readonly cookies: Map<string, string>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** An urlencoded form; a list sends its name several times. */
  post(
    path: string,
    form: Readonly<Record<string, string | readonly string[]>>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>;
}

export function createAgent(server: Pick<TestServer, 'fetch'>, session?: string): Agent {
  const cookies = new Map<string, string>();
  if (session !== undefined) cookies.set('session', session);

  async function send(path: string, options: Parameters<TestServer['fetch']>[1]): Promise<Answer> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...(cookie === '' ? {} : { Cookie: cookie }), ...options?.headers };
    const answer = await server.fetch(path, { ...options, headers });
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      if (value === '') cookies.delete(name!);
      else cookies.set(name!, value!);
    }
    return answer;
  }

  return {
    cookies,
    get: (path, headers = {}) => send(path, { headers }),
    post(path, form, headers = {}) {
      const body = new URLSearchParams();
      for (const [name, values] of Object.entries(form)) {
        for (const value of [values].flat()) body.append(name, value);
      }
      const type = { 'Content-Type': 'application/x-www-form-urlencoded' };
      return send(path, { method: 'POST', headers: { ...type, ...headers }, body: `${body}` });
    },
  };
}

export const goodRequest = {
  client_id: 'example.com',
  redirect_uri: 'https://example.com/cb?x=1',
  response_type: 'code',
  scope: 'openid profile email',
  state: 's1',
} as const;

/** Undefined leaves a parameter out. */
export function authorizePath(
  changes: Readonly<Record<string, string | undefined>> = {},
  base: Readonly<Record<string, string>> = goodRequest,
): string {
  const pairs = Object.entries({ ...base, ...changes })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(value!)}`);
  return `/authorize.php?${pairs.join('&')}`;
}

/** What the consent page's form would send as it stands. */
interface ConsentForm {
  readonly id: string;
  readonly csrf: string;
  /** Stands for the values. */
  readonly shown: string;
  /** Switched on and not fixed. */
  readonly scopes: readonly string[];
}

export function consentFormIn(answer: Answer): ConsentForm {
  assert.equal(answer.status, 200, answer.body.slice(0, 300));
  const form = /<form class="form consent-form".*?<\/form>/s.exec(answer.body)?.[0];
  assert.ok(form !== undefined, 'no consent form');
  const hidden = (name: string) =>
    new RegExp(`<input type="hidden" name="${name}" value="([^"]*)"`).exec(form)![1]!;
  const scopes = [...form.matchAll(/<input [^>]*name="scope"[^>]*>/g)]
    .map(([text]) => text)
    .filter((text) => /\schecked/.test(text) && !/\sdisabled/.test(text))
    .map((text) => /value="(\w+)"/.exec(text)![1]!);
  return { id: hidden('id'), csrf: hidden('csrf'), shown: hidden('shown'), scopes };
}

/** Allows a request that asks, and gives the address with the code. */
export async function allow(
  agent: Agent,
  path = authorizePath(),
  scopes?: readonly string[],
): Promise<URL> {
  const { id, csrf, shown, scopes: on } = consentFormIn(await agent.get(path));
  const form = { id, csrf, shown, scope: scopes ?? on, decision: 'allow' };
  const answer = await agent.post('/authorize.php/consent', form);
  assert.equal(answer.status, 303, answer.body.slice(0, 500));
  return new URL(answer.headers.location!);
}
