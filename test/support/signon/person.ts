/**
 * People of a running server, made in its store beside it, with a browser that keeps cookies and
 * sends forms as a browser does. Needs neither the pages of registration nor those of sign-in.
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Visitor } from '../../../src/contracts/visitor.ts';
import { type Clock, systemClock } from '../../../src/core/clock.ts';
import type { Signon } from '../../../src/signon/open-signon.ts';
import type { Profiles } from '../../../src/signon/people/profile/profile-store.ts';
import type { Store } from '../../../src/storage/store.ts';
import { value } from '../house/result.ts';
import { filesOf } from '../server/data-files.ts';
import type { Answer, TestServer } from '../server/server.ts';
import { signonBeside } from './signon-beside.ts';

export const personPassword = 'violet-harbour-72';

const visitor: Visitor = {
  client: 'beside',
  browserId: 'beside',
  country: 'FR',
  userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  language: 'en',
};

export interface People extends AsyncDisposable {
  readonly store: Store;
  readonly signon: Signon;
  readonly profiles: Profiles;
  /** A verified account with `personPassword`; its id. */
  register(email: string): Promise<string>;
  /** An account whose address waits to be verified. */
  registerOnly(email: string): Promise<void>;
  /** A session that began so long ago; a proof of identity is fresh for ten minutes. */
  signIn(email: string, ageMs?: number, password?: string): Promise<OwnBrowser>;
}

export interface OwnBrowser {
  /** Of the session. */
  readonly cookie: string;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  /** Sends a form with the token of the page it is on; `page` is asked for it first. */
  post(
    path: string,
    fields?: Record<string, string> | string,
    headers?: Record<string, string>,
  ): Promise<Answer>;
  /** As multipart, with one file. */
  upload(
    path: string,
    name: string,
    file: Uint8Array,
    type?: string,
    headers?: Record<string, string>,
  ): Promise<Answer>;
  /** JSON of the page's script. */
  call(path: string, body: object, headers?: Record<string, string>): Promise<Answer>;
  csrf(): Promise<string>;
}

export function openPeopleOf(server: TestServer): People {
  let ageMs = 0;
  const system = systemClock();
  const clock: Clock = { ...system, now: () => system.now() - ageMs };
  const beside = signonBeside(server, clock);
  const { store, signon, profiles } = beside;
  return {
    store,
    signon,
    profiles,
    async registerOnly(email) {
      value(await signon.registration.register({ email, password: personPassword, visitor }));
    },
    register: (email) => beside.register({ email, password: personPassword, visitor }),
    async signIn(email, age = 0, password = personPassword) {
      ageMs = age;
      const signedIn = value(await signon.signIn.withPassword({ email, password, visitor }));
      ageMs = 0;
      assert.equal(signedIn.kind, 'signed_in');
      return browserOf(server, signedIn.kind === 'signed_in' ? signedIn.token : '');
    },
    [Symbol.asyncDispose]: () => beside[Symbol.asyncDispose](),
  };
}

function browserOf(server: TestServer, token: string): OwnBrowser {
  let cookie = `session=${token}`;
  let known: string | undefined;

  async function ask(path: string, options: Parameters<TestServer['fetch']>[1]): Promise<Answer> {
    const headers = { Cookie: cookie, ...options?.headers };
    const answer = await server.fetch(path, { ...options, headers });
    for (const line of answer.headers['set-cookie'] ?? []) {
      const fresh = /^session=([^;]*)/.exec(line)?.[1];
      if (fresh === undefined) continue;
      cookie = `session=${fresh}`;
      known = undefined;
    }
    return answer;
  }

  async function csrf(): Promise<string> {
    if (known !== undefined) return known;
    let page = await ask('/account', {});
    // A page that comes first has the same token.
    if (page.status === 303) page = await ask(page.headers.location!, {});
    known = /name="csrf" value="([^"]+)"/.exec(page.body)?.[1];
    assert.ok(known !== undefined, `no form at /account: ${page.status}`);
    return known;
  }

  return {
    get cookie() {
      return cookie;
    },
    csrf,
    get: (path, headers = {}) => ask(path, { headers }),
    async post(path, fields = {}, headers = {}) {
      const body =
        typeof fields === 'string'
          ? fields
          : new URLSearchParams({ csrf: await csrf(), ...fields }).toString();
      return ask(path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
        body,
      });
    },
    async upload(path, name, file, type = 'image/png', headers = {}) {
      const form = new FormData();
      form.set('csrf', await csrf());
      form.set(name, new Blob([Buffer.from(file)], { type }), 'picture');
      const packed = new Response(form);
      return ask(path, {
        method: 'POST',
        headers: { 'Content-Type': packed.headers.get('content-type')!, ...headers },
        body: new Uint8Array(await packed.arrayBuffer()),
      });
    },
    async call(path, body, headers = {}) {
      return ask(path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify({ csrf: await csrf(), ...body }),
      });
    },
  };
}

/** Texts of the outbox that hold this, newest last. */
export function outboxOf(dataDir: string, text: string): string[] {
  const timeOf = (path: string) => path.replace(/^.*\/[^-]*-/, '');
  return filesOf(join(dataDir, 'outbox'))
    .sort(([a], [b]) => (timeOf(a) < timeOf(b) ? -1 : 1))
    .map(([, content]) => content.toString('utf8'))
    .filter((content) => content.includes(text));
}

/** Where an answer leads, without what was typed. */
export function locationOf({ headers }: { headers: { location?: string | undefined } }): string {
  return (headers.location ?? '').replace(/%3Funsaved%3D[\w-]+$/, '');
}
