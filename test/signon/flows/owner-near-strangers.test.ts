/**
 * What strangers and thieves can't do beside an owner: use up the tries of everybody behind one
 * address, stay known by a copied cookie, or finish what was begun before a factor was set.
 */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import {
  hiddenOf,
  mailedLink,
  mailsIn,
  type WebVisitor,
  webVisitor,
} from '../../support/browser/web-visitor.ts';
import {
  startTestServer,
  type TestServer,
  threadCounts,
  within,
} from '../../support/server/server.ts';
import { doneWay } from '../../support/signon/done-way.ts';
import { totpOn } from '../../support/signon/factors.ts';
import { openPeopleOf, type People, personPassword } from '../../support/signon/person.ts';

const newPassword = 'cobalt-meadow-118-rain';
const newcomers = 'New sign-in to your account';

for (const threads of threadCounts) {
  describe(`an owner near strangers, ${threads} threads`, () => {
    let server: TestServer;
    let people: People;
    let client = 0;
    before(async () => {
      const env = { TRUSTED_PROXIES: '127.0.0.1,::1' };
      server = await startTestServer({ threads, env, demo: false });
      people = openPeopleOf(server);
    });
    after(async () => {
      await people[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    });

    function browserAt(address = `198.18.${client++}.7`): WebVisitor {
      return webVisitor(server, { 'X-Forwarded-For': address });
    }

    async function secondFactorOn(owner: WebVisitor): Promise<string[]> {
      await owner.submit(await owner.get('/account/security'), '/account/security/totp/begin');
      const page = await owner.get('/account/security/totp');
      const secret = /<code id="totp-secret">([A-Z2-7 ]+)<\/code>/.exec(page.body)![1]!;
      const totp = new TOTP({ secret: Secret.fromBase32(secret.replaceAll(' ', '')) });
      const enable = '/account/security/totp/enable';
      const on = await owner.submit(page, enable, { code: totp.generate() });
      return /<code id="backup-codes">([^<]+)<\/code>/.exec(on.body)![1]!.split('\n');
    }

    /** Until the address has used up its sign-ins of the minute. */
    async function useUp(address: string): Promise<void> {
      const stranger = browserAt(address);
      const page = await stranger.get('/signin');
      for (let i = 0; i < 30; i++) {
        const fields = { email: `nobody${i}@example.org`, password: 'wrong-guess-1' };
        const answer = await stranger.submit(page, '/signin', fields);
        if (answer.status === 429) return;
      }
      assert.fail('no limit');
    }

    /** Fails unless so many of these were judged before one was refused. */
    async function useUpBy(ask: () => Promise<{ status: number }>, max: number): Promise<void> {
      for (let i = 0; i < max; i++) {
        const { status } = await ask();
        assert.notEqual(status, 429, `refused as number ${i + 1}`);
      }
      assert.equal((await ask()).status, 429);
    }

    it('the second step, a proof and a reset are not held up by strangers at the same address', async () => {
      const address = `203.0.113.${threads}`;
      const email = `office${threads}@example.org`;
      await people.register(email);
      const owner = browserAt(address);
      assert.equal((await owner.signIn(email, personPassword)).status, 303);
      const codes = await secondFactorOn(owner);
      owner.cookies.delete('session');
      await useUp(address);
      const asked = await owner.signIn(email, personPassword);
      assert.equal(asked.headers.location, '/signin/second-factor');
      const fields = { code: codes[0]! };
      const entered = await owner.submit(asked, '/signin/second-factor', fields);
      assert.equal(entered.status, 303, `second factor: ${entered.status}`);

      const proof = { password: personPassword, code: codes[1]! };
      const confirm = await owner.get('/account/confirm');
      const proven = await owner.submit(confirm, '/account/confirm', proof);
      assert.equal(proven.status, 303, `proof: ${proven.status}`);

      const elsewhere = browserAt();
      await elsewhere.submit(await elsewhere.get('/recover'), '/recover', { email });
      const { pathname, search } = await mailedLink(server, email, '/reset');
      const near = browserAt(address);
      const page = await near.get(pathname + search);
      const reset = await near.submit(page, '/reset', { password: newPassword });
      assert.equal(doneWay(reset), '/signin?done=reset', `reset: ${reset.status}`);
      // Whoever guesses at links has the share of the address for them.
      const guess = new URLSearchParams({ ...hiddenOf(page, '/reset'), token: 'a'.repeat(43) });
      await useUpBy(() => near.post('/reset', guess.toString()), 10);
    });

    it('who uses up one limit of an office leaves the others, links that work and owners alone', async () => {
      const address = `203.0.113.${10 + threads}`;
      const email = `nat${threads}@example.org`;
      await people.register(email);
      const owner = browserAt(address);
      await owner.signIn(email, personPassword);
      const stranger = browserAt(address);
      const recover = await stranger.get('/recover');
      const ask = (visitor: WebVisitor, whose: string) =>
        visitor.submit(recover, '/recover', { email: whose });
      await useUpBy(() => ask(stranger, 'nobody@example.org'), 10);
      const dead = { csrf: hiddenOf(recover, '/recover').csrf!, token: 'a'.repeat(43) };
      const body = new URLSearchParams(dead).toString();
      await useUpBy(() => stranger.post('/verify', body), 10);
      assert.equal(
        (await stranger.post('/reset', body)).status,
        429,
        'dead links are counted as one',
      );
      // Each is counted by itself: a sign-in is judged.
      assert.equal((await stranger.signIn('nobody@example.org', 'wrong-guess-1')).status, 422);
      await useUp(address);

      const page = await owner.get('/account');
      const elsewhere = `nat-new${threads}@example.org`;
      const asked = await owner.submit(page, '/account/email', { email: elsewhere });
      assert.equal(asked.status, 303, `a new address: ${asked.status}`);
      const link = await mailedLink(server, elsewhere, '/account/email/confirm');
      const confirm = await owner.get(link.pathname + link.search);
      const confirmed = await owner.submit(confirm, '/account/email/confirm');
      assert.equal(confirmed.status, 303, `its link: ${confirmed.status}`);
      owner.cookies.delete('session');
      const form = await owner.get('/recover');
      const reset = await owner.submit(form, '/recover', { email: elsewhere });
      assert.equal(reset.headers.location, '/recover/sent', `a new password: ${reset.status}`);

      const pending = `nat-pending${threads}@example.org`;
      await people.registerOnly(pending);
      const waiting = await people.signIn(pending);
      const again = await waiting.get('/verify', { 'X-Forwarded-For': address });
      const { csrf } = hiddenOf(again, '/verify/resend');
      const near = { 'X-Forwarded-For': address };
      const sent = await waiting.post('/verify/resend', `csrf=${csrf}`, near);
      assert.equal(sent.status, 303, `the mail again: ${sent.status}`);
      const verify = await mailedLink(server, pending, '/verify');
      const newcomer = browserAt(address);
      const opened = await newcomer.get(verify.pathname + verify.search);
      const done = await newcomer.submit(opened, '/verify', { password: personPassword });
      assert.equal(done.status, 303, `its link: ${done.status} ${done.body}`);
    });

    it('no limit that was parted lets more through than it says', async () => {
      const email = `bounds${threads}@example.org`;
      await people.register(email);
      const address = `203.0.113.${20 + threads}`;
      const owner = browserAt(address);
      await owner.signIn(email, personPassword);
      const recover = await owner.get('/recover');
      await useUpBy(() => owner.submit(recover, '/recover', { email }), 10);
      const other = await owner.submit(recover, '/recover', { email: 'nobody@example.org' });
      assert.equal(other.status, 303, 'the browser is known for its account alone');
      const page = await owner.get('/account');
      await useUpBy(() => owner.submit(page, '/account/email', { email: 'nonsense' }), 10);
      const { pathname, search } = await mailedLink(server, email, '/reset');
      const reset = await owner.get(pathname + search);
      await useUpBy(() => owner.submit(reset, '/reset', { password: 'short' }), 10);
    });

    it('a copied cookie of a known browser is a stranger after "end others" and a new password', async () => {
      for (const change of ['end-others', 'password'] as const) {
        const email = `copied-${change}${threads}@example.org`;
        await people.register(email);
        await browserAt().signIn(email, personPassword);
        const owner = browserAt();
        await owner.signIn(email, personPassword);
        const copy = owner.cookies.get('browser')!;
        const path = `/account/security/${change === 'password' ? change : `sessions/${change}`}`;
        const password = change === 'password' ? newPassword : personPassword;
        const fields = change === 'password' ? { password } : {};
        const page = await owner.get('/account/security');
        assert.equal((await owner.submit(page, path, fields)).status, 303);
        const told = () =>
          mailsIn(server).filter((m) => m.includes(`To: ${email}`) && m.includes(newcomers)).length;
        await within(() => told() === 2);
        owner.cookies.delete('session');
        assert.equal((await owner.signIn(email, password)).status, 303);
        const thief = browserAt();
        thief.cookies.set('browser', copy);
        assert.equal((await thief.signIn(email, password)).status, 303);
        await within(() => told() === 3, `${change}: a mail about the copy alone`);
      }
    });

    it('a change of the address that was asked for by a password ends when a factor is set', async () => {
      const email = `moved${threads}@example.org`;
      await people.register(email);
      const [owner, thief] = [await people.signIn(email), await people.signIn(email)];
      const elsewhere = `thief${threads}@example.net`;
      assert.equal((await thief.post('/account/email', { email: elsewhere })).status, 303);
      const link = await mailedLink(server, elsewhere, '/account/email/confirm');
      await totpOn(owner);
      assert.equal((await thief.get(link.pathname + link.search)).status, 400);
      const token = link.searchParams.get('token')!;
      assert.equal((await thief.post('/account/email/confirm', { token })).status, 400);
      assert.equal((await owner.get('/account')).status, 200);
    });

    it('a name that is too long for any account is refused like any other', async () => {
      for (const email of ['é'.repeat(1_016), 'a'.repeat(60_000)]) {
        const visitor = browserAt();
        assert.equal((await visitor.signIn(email, personPassword)).status, 422);
        const page = await visitor.get('/recover');
        assert.equal((await visitor.submit(page, '/recover', { email })).status, 422);
      }
    });
  });
}
