/**
 * A deletion overtakes a request: what the request was about to write arrives in the store when the
 * account has been closed, or when nothing of it is left. In neither case may a row stay. Each kind
 * of writing is tried with the very commit held back until then.
 */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { createAccounts } from '../../../src/access/accounts/accounts.ts';
import { createApiKeys } from '../../../src/access/keys/api-keys.ts';
import { masterKeyFromBytes } from '../../../src/access/keys/master-key.ts';
import { createSiteKeys } from '../../../src/access/keys/site-keys.ts';
import { ok } from '../../../src/core/result.ts';
import { createScheduler } from '../../../src/core/scheduling.ts';
import { parseIp } from '../../../src/ip/address.ts';
import { reportPersonalData } from '../../../src/reputation/reports/store/account-reports.ts';
import { createReportStore } from '../../../src/reputation/reports/store/report-store.ts';
import { createDeletion } from '../../../src/signon/people/deletion.ts';
import { createOperator } from '../../../src/signon/people/operations.ts';
import { signonPersonalData } from '../../../src/signon/people/personal-data.ts';
import { createAvatars } from '../../../src/signon/people/profile/avatars.ts';
import { createProfiles } from '../../../src/signon/people/profile/profile-store.ts';
import type { Session } from '../../../src/signon/sessions/sessions.ts';
import type { Authorization, SignedInVisitor } from '../../../src/signon/sites/authorization.ts';
import { credentialsKey, namespaces, profileKey, storedKey } from '../../../src/storage/keys.ts';
import type { Commit, Store } from '../../../src/storage/store.ts';
import { createAuthenticator } from '../../support/browser/authenticator.ts';
import { value } from '../../support/house/result.ts';
import { seededRandom } from '../../support/seeded.ts';
import { within } from '../../support/server/server.ts';
import { openAuthorization } from '../../support/signon/authorization.ts';
import { type Bench, openBench, password, visitor } from '../account-fixture.ts';
import { parametersOf, queryOf } from '../fixture.ts';

const request = {
  client_id: 'example.com',
  redirect_uri: 'https://example.com/cb',
  response_type: 'code',
  scope: 'openid profile',
  state: 's1',
};

/** What a request may be at when the deletion begins. */
interface Person {
  readonly id: string;
  readonly email: string;
  readonly session: Session;
}

/** Resolves whatever came of it: a request that was overtaken may be refused in any way. */
type Act = () => Promise<unknown>;

type World = Awaited<ReturnType<typeof openWorld>>;

async function openWorld() {
  /** Every part writes through it; `holdBack` is what happens before the commit that is named. */
  const late = {} as Store;
  let commitsBefore = 0;
  let holdBack: (() => Promise<void>) | undefined;
  const random = seededRandom(41);
  const bench: Bench = openBench('deletion-race', { store: late });
  const { clock, log } = bench;
  Object.assign(late, bench.store, {
    async commit(commit: Commit) {
      if (holdBack !== undefined && commitsBefore-- === 0) {
        const first = holdBack;
        holdBack = undefined;
        await first();
      }
      return bench.store.commit(commit);
    },
  });
  const tools = { store: late, clock, random };
  const profiles = createProfiles(tools);
  const siteKeys = createSiteKeys(tools);
  const authorization: Authorization = openAuthorization({
    ...tools,
    log,
    profiles,
  });
  const accounts = createAccounts({ ...tools, extraRows: profiles.created });
  const masterKey = masterKeyFromBytes(new Uint8Array(32).fill(7));
  const apiKeys = createApiKeys({ ...tools, masterKey, accounts });
  return {
    ...bench,
    late,
    random,
    profiles,
    apiKeys,
    siteKeys,
    authorization,
    accounts,
    avatars: createAvatars({
      store: late,
      random,
      profiles,
      images: {
        table: { name: 'none', used: () => 0, limit: 1 },
        make: async () => ok(Uint8Array.of(1)),
      },
    }),
    operator: createOperator({ ...tools, accounts, profiles }),
    reports: createReportStore(tools),
    deletion: createDeletion({
      ...tools,
      data: [...signonPersonalData(tools, { forget: async () => 0 }), reportPersonalData(late)],
    }),
    /** @param skipped commits that go through before the one that is held back */
    hold(skipped: number, until: () => Promise<void>) {
      commitsBefore = skipped;
      holdBack = until;
    },
    /** True when something was held back. */
    released: () => holdBack === undefined,
  };
}

/** Rows that name the account, by their namespaces; those that stay by rule are left out. */
async function rowsOf({ store }: Bench, { id, email }: Pick<Person, 'id' | 'email'>) {
  const names = Object.entries(namespaces).filter(
    ([name, byte]) => byte >= 0x10 && byte < 0xf0 && !/^(report|erasure|erased)/.test(name),
  );
  const found: string[] = [];
  for (const [name, byte] of names) {
    const prefix = storedKey(Uint8Array.of(byte));
    for (let after: ReturnType<typeof storedKey> | undefined; ; ) {
      const page = await store.scan(prefix, after ? { after, limit: 500 } : { limit: 500 });
      if (page.length === 0) break;
      for (const { key, value: bytes } of page) {
        const whole = Buffer.concat([key, bytes]);
        if (whole.includes(id) || whole.includes(email)) found.push(name);
      }
      after = page.at(-1)!.key;
    }
  }
  return found;
}

/** By name: prepares, and gives what is then overtaken, with the number of commits before it. */
const acts: Record<string, (w: World, p: Person) => Promise<Act | [Act, number]>> = {
  'a sign-in': async (w, { email }) => {
    return () => w.signon.signIn.withPassword({ email, password, visitor });
  },
  'a first password by the operator': async (w, { id }) => {
    await w.store.commit({ del: [credentialsKey(id)] });
    const words = { accept: async () => ok('hash') };
    return () => w.operator.setFirstPassword(id, password, words as never);
  },
  'a sign-in that asks for a code': async (w, { email, session }) => {
    const { secret } = value(await w.signon.secondFactors.begin(session));
    const totp = new TOTP({ secret: Secret.fromBase32(secret) });
    const code = totp.generate({ timestamp: w.clock.now() });
    value(await w.signon.secondFactors.enable(session, code, visitor));
    return () => w.signon.signIn.withPassword({ email, password, visitor });
  },
  'the end of all sessions':
    async (w, { id }) =>
    () =>
      w.signon.sessions.endAll(id),
  'a link for a new password': async (w, { email }) => {
    return () => w.signon.recovery.request({ email, visitor });
  },
  'a new password': async (w, { session }) => {
    return () => w.signon.recovery.changePassword(session, 'another-secret-31', visitor);
  },
  'a registration of the same address': async (w, { email }) => {
    return () => w.signon.registration.register({ email, password, visitor });
  },
  'a link for another address': async (w, { session }) => {
    return () => w.signon.emailChange.request(session, 'another@example.org', visitor);
  },
  'another address': async (w, { session }) => {
    value(await w.signon.emailChange.request(session, 'next@example.org', visitor));
    const token = await w.tokenTo('next@example.org');
    return () => w.signon.emailChange.confirm(session, token, visitor);
  },
  'a code for a phone': async (w, { id }) => {
    return () => w.signon.phoneCodes.send(id, '+33612345678', visitor);
  },
  'a phone that is proven': async (w, { id }) => {
    value(await w.signon.phoneCodes.send(id, '+33612345678', visitor));
    const code = /\d{6}/.exec(w.messages.at(-1)!.text)![0];
    return () => w.signon.phoneCodes.verify(id, code, visitor);
  },
  'a second factor that begins': async (w, { session }) => {
    return () => w.signon.secondFactors.begin(session);
  },
  'a passkey': async (w, { session }) => {
    const key = createAuthenticator(w.random, 'https://id.example.org');
    const made = key.create(value(await w.signon.passkeys.registrationOptions(session)));
    // The challenge is used up first.
    return [() => w.signon.passkeys.register(session, made, 'pocket', visitor), 1];
  },
  'an entry of the log': async (w, { id }) => {
    return () => w.signon.securityLog.add(id, 'signed_in', visitor);
  },
  'a profile for an account that has none': async (w, { id, email }) => {
    await w.store.commit({ del: [profileKey(id)] });
    return () => w.profiles.ensure(id, email, true);
  },
  'a picture':
    async (w, { id }) =>
    () =>
      w.avatars.put(id, Uint8Array.of(1)),
  'a consent': async (w, { id, session }) => {
    const facts = { signedInAt: 0, verified: true, issuer: 'https://sso.example' };
    const who = { sessionId: session.id, accountId: id, ...facts };
    const form = value(await beginForm(w, session.id));
    return () => allow(w, form, who);
  },
  'a code under a consent': async (w, { id, session }) => {
    const facts = { signedInAt: 0, verified: true, issuer: 'https://sso.example' };
    const who = { sessionId: session.id, accountId: id, ...facts };
    value(await allow(w, value(await beginForm(w, session.id)), who));
    // The first code is dead, and its row goes by itself.
    w.clock.advance(300_000);
    return () => w.authorization.issue(requestOf(w), who);
  },
  'an API key':
    async (w, { email }) =>
    () =>
      w.apiKeys.create(email),
  'a site key':
    async (w, { id }) =>
    () =>
      w.siteKeys.create(id, []),
};

function requestOf({ authorization }: World) {
  const reading = authorization.read(parametersOf(request));
  assert.ok(reading.kind === 'request', JSON.stringify(reading));
  return reading.request;
}

function beginForm(world: World, holder: string) {
  return world.authorization.transactions.begin({ query: queryOf(request), askedAt: 0 }, holder);
}

/** As the form sends it. */
async function allow(world: World, id: string, who: SignedInVisitor) {
  const found = await world.authorization.transactions.find(id, who.sessionId);
  const asked = found && (await world.authorization.asked(found.request, who, id));
  return world.authorization.allow(id, who, ['profile'], asked?.shown ?? '');
}

for (const stage of ['closed', 'gone'] as const) {
  it(`nothing is left of a request whose account is ${stage} when it writes`, async () => {
    const world = await openWorld();
    const { deletion } = world;
    const left: string[] = [];
    let number = 0;
    for (const [name, prepare] of Object.entries(acts)) {
      const email = `person${number++}@example.org`;
      const id = await world.person(email);
      const { token } = await world.signIn(email);
      // Written after the answer: it must not be what is held back.
      const isNoted = async () =>
        (await world.signon.securityLog.list(id)).some(({ event }) => event === 'signed_in');
      await within(isNoted, 'the entry of the sign-in');
      const person = { id, email, session: (await world.signon.sessions.find(token))! };
      const prepared = await prepare(world, person);
      // So is a mail about what was prepared.
      await world.signon.notices.idle();
      const [act, skipped] = Array.isArray(prepared) ? prepared : [prepared, 0];
      world.hold(skipped, async () => {
        if (stage === 'gone') value(await deletion.delete(id));
        else value(await deletion.begin(id));
      });
      await act();
      assert.ok(world.released(), `${name}: nothing was written`);
      // What is written after an answer.
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (stage === 'closed') {
        const written = await rowsOf(world, person);
        value(await deletion.erase(id, createScheduler()));
        assert.ok(written.length > 0, 'the search finds what is there');
      }
      for (const row of await rowsOf(world, person)) left.push(`${name}: ${row}`);
      world.clock.advance(7_200_000);
    }
    assert.deepEqual(left, []);
    await world.close();
  });
}

it('a report that was overtaken by the deletion is not taken', async () => {
  const world = await openWorld();
  const { deletion } = world;
  const id = await world.person('person@example.org');
  const words = new Uint32Array(4);
  const ip = '203.0.113.9';
  const family = parseIp(ip, words) as 4;
  const report = { ip, family, words, categories: 1, comment: 'by me at home' };
  world.hold(0, async () => {
    value(await deletion.delete(id));
  });
  const reporter = { account: id, slot: 0, country: 'FR' };
  const added = await world.reports.add(reporter, { ...report, reportedAt: world.clock.now() });
  assert.equal(added.ok, false);
  assert.deepEqual(await world.reports.list(4, words, 0, 10), []);
  await world.close();
});
