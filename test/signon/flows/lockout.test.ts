/**
 * An owner under attack, on the whole server: strangers from many addresses guess the password, and
 * solve challenges too; the owner gets in with a reset, with a known browser, and by a mailed link.
 */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  hiddenOf,
  mailedLink,
  mailsIn,
  type WebVisitor,
  webVisitor,
} from '../../support/browser/web-visitor.ts';
import { knownSolution } from '../../support/captcha/answers.ts';
import { payloadOf } from '../../support/captcha/solution.ts';
import {
  type Answer,
  startTestServer,
  type TestServer,
  threadCounts,
} from '../../support/server/server.ts';
import { openPeople, password } from '../../support/signon/visitor.ts';

const newPassword = 'copper-meadow-19';

for (const threads of threadCounts) {
  describe(`lock-out, ${threads} threads`, () => {
    let server: TestServer;
    let client = 0;
    before(async () => {
      const env = { TRUSTED_PROXIES: '127.0.0.1,::1' };
      server = await startTestServer({ threads, env, demo: false });
    });
    after(() => server[Symbol.asyncDispose]());

    /** A browser at an address of its own, in a network of its own. */
    function newcomer(address = `198.${18 + (client >> 8)}.${client & 255}.7`): WebVisitor {
      client++;
      return webVisitor(server, { 'X-Forwarded-For': address });
    }

    async function addOwner(email: string): Promise<void> {
      const people = openPeople(server);
      await people.add(email);
      await people[Symbol.asyncDispose]();
    }

    /** One guess each, until they are asked for challenges. */
    async function attack(email: string, addresses: (i: number) => string): Promise<number> {
      let judged = 0;
      for (let i = 0; i < 20; i++) {
        const answer = await newcomer(addresses(i)).signIn(email, `wrong-guess-${i}`);
        if (answer.status === 422) judged++;
        else assert.equal(answer.status, 429, answer.body);
      }
      return judged;
    }

    /** Does the work that the form asks of clean addresses. */
    async function solve(visitor: WebVisitor, asked: Answer, email: string, secret: string) {
      assert.equal(asked.status, 429, asked.body);
      assert.ok(Number(asked.headers['retry-after']) > 0);
      assert.doesNotMatch(asked.body, /captcha_token|captcha-image/, 'no picture');
      const path = /data-start="([^"]*)"/.exec(asked.body)![1]!;
      const { work } = (await visitor.get(path)).json() as { work: unknown };
      const captcha_work = payloadOf(knownSolution(work));
      return await visitor.submit(asked, '/signin', { email, password: secret, captcha_work });
    }

    /** Strangers with challenges take what is left, so that nothing is judged any more. */
    async function exhaust(email: string): Promise<void> {
      for (let i = 0; i < 30; i++) {
        const bot = newcomer();
        const asked = await bot.signIn(email, `guess-${i}-wrong`);
        if (asked.status === 422) continue;
        const solved = await solve(bot, asked, email, `guess-${i}-wrong`);
        if (solved.status === 303) return;
        assert.equal(solved.status, 422);
        assert.match(solved.body, /name="captcha_work"/);
      }
      throw new Error('guesses never end');
    }

    it('a reset password lets its owner in while 20 addresses guess', {
      timeout: 600_000,
    }, async () => {
      const email = 'reset@portcullis.example';
      await addOwner(email);
      const judged = await attack(email, (i) => `203.0.113.${i + 1}`);
      assert.equal(judged, 10);
      const owner = newcomer();
      const sent = await owner.submit(await owner.get('/recover'), '/recover', { email });
      assert.equal(sent.status, 303);
      const { pathname, search } = await mailedLink(server, email, '/reset');
      const choose = await owner.get(pathname + search);
      const changed = await owner.submit(choose, '/reset', { password: newPassword });
      assert.equal(changed.status, 303);
      await attack(email, (i) => `203.0.113.${i + 1}`);
      assert.equal((await owner.signIn(email, newPassword)).status, 303);
      await attack(email, (i) => `2001:db8:${i}:1::7`);
      owner.cookies.delete('session');
      assert.equal((await owner.signIn(email, newPassword)).status, 303, 'a browser that it knows');
    });

    it('an unknown browser gets in by a challenge, then by a mailed link', {
      timeout: 600_000,
    }, async () => {
      const email = 'limited@portcullis.example';
      await addOwner(email);
      await attack(email, (i) => `2001:db8:${i}::7`);
      const first = newcomer();
      const asked = await first.signIn(email, password);
      assert.match(asked.body, /type your password again, or ask for a link/i);
      const solved = await solve(first, asked, email, password);
      assert.equal(solved.headers.location, '/account', solved.body);

      await exhaust(email);
      const before = mailsIn(server).length;
      const owner = newcomer();
      const limited = await owner.signIn(email, password);
      const mailed = await solve(owner, limited, email, password);
      assert.equal(mailed.headers.location, '/signin/link/sent');
      assert.match((await owner.get('/signin/link/sent')).body, /in this browser/);
      const link = await mailedLink(server, email, '/signin/link');
      const path = link.pathname + link.search;
      const elsewhere = await newcomer().get(path);
      assert.match(elsewhere.body, /other browser/);
      assert.doesNotMatch(elsewhere.body, /name="token"/);
      const page = await owner.get(path);
      const { csrf: _, ...token } = hiddenOf(page, '/signin/link');
      const thief = newcomer();
      const own = hiddenOf(await thief.get('/signin'), '/signin').csrf!;
      const stolen = new URLSearchParams({ ...token, csrf: own }).toString();
      assert.equal((await thief.post('/signin/link', stolen)).status, 403);
      const entered = await owner.submit(page, '/signin/link');
      assert.equal(entered.headers.location, '/account', entered.body);
      const data = await owner.get('/account/data');
      assert.equal(data.status, 200);
      assert.doesNotMatch(data.body, /action="\/account\/export"/, 'no fresh proof of identity');
      assert.equal((await newcomer().get(path)).status, 400, 'once');
      assert.ok(mailsIn(server).length - before <= 3);
    });

    it('who can do no work gets the link by a button, also in a browser that is known', {
      timeout: 600_000,
    }, async () => {
      const email = 'scriptless@portcullis.example';
      await addOwner(email);
      const owner = newcomer();
      assert.equal((await owner.signIn(email, password)).status, 303);
      await attack(email, (i) => `203.0.113.${i + 1}`);
      const stranger = newcomer();
      const mailed = async (visitor: WebVisitor, asked: Answer) => {
        assert.equal(asked.status, 429);
        assert.match(asked.body, /name="captcha_beside"/);
        const sent = await visitor.submit(asked, '/signin', { email, captcha_beside: '1' });
        return sent.headers.location;
      };
      assert.equal(
        await mailed(stranger, await stranger.signIn(email, 'wrong-guess-1')),
        '/signin/link/sent',
      );
      let known = await owner.signIn(email, 'wrong-guess-1');
      for (let i = 0; known.status === 422; i++) {
        assert.ok(i < 9);
        known = await owner.signIn(email, `wrong-guess-${i}`);
      }
      assert.equal(await mailed(owner, known), '/signin/link/sent');
      const { pathname, search } = await mailedLink(server, email, '/signin/link');
      const page = await owner.get(pathname + search);
      assert.equal((await owner.submit(page, '/signin/link')).headers.location, '/account');
    });

    it('an address without an account gets the same answers', { timeout: 600_000 }, async () => {
      const known = 'known@portcullis.example';
      await addOwner(known);
      const steps = async (email: string) => {
        const seen: string[] = [];
        for (let i = 0; i < 12; i++) {
          const answer = await newcomer().signIn(email, `wrong-guess-${i}`);
          const form = answer.body.replaceAll(email, 'E').replace(/[\w-]{22,}/g, 'T');
          seen.push(`${answer.status} ${form.length} ${form.includes('captcha_work')}`);
        }
        await exhaust(email);
        const last = newcomer();
        const solved = await solve(last, await last.signIn(email, password), email, password);
        return [...seen, `${solved.status} ${solved.headers.location} ${solved.body}`];
      };
      assert.deepEqual(await steps('nobody@portcullis.example'), await steps(known));
    });

    it('who asks for passkeys and tries links from the same address keeps out neither', {
      timeout: 600_000,
    }, async () => {
      const email = 'crowd@portcullis.example';
      await addOwner(email);
      await exhaust(email);
      const office = '192.0.2.78';
      const owner = newcomer(office);
      await solve(owner, await owner.signIn(email, password), email, password);
      const link = await mailedLink(server, email, '/signin/link');
      const stranger = newcomer(office);
      const { csrf = '' } = hiddenOf(await stranger.get('/signin'), '/signin');
      const json = { 'Content-Type': 'application/json' };
      for (let i = 0; i < 200; i++) {
        const body = JSON.stringify({ csrf });
        const begun = await stranger.post('/signin/passkey/options', body, json);
        assert.equal(begun.status, 200, `number ${i + 1}`);
      }
      const token = link.searchParams.get('token')!;
      const seen = [];
      for (const guess of [...new Array(12).fill('a'.repeat(43)), ...new Array(12).fill(token)]) {
        const body = new URLSearchParams({ csrf, token: guess }).toString();
        seen.push((await stranger.post('/signin/link', body)).status);
      }
      assert.equal(seen.at(-1), 429, 'the share of the address is used up');
      const page = await owner.get(link.pathname + link.search);
      const entered = await owner.submit(page, '/signin/link');
      assert.equal(entered.status, 303, entered.body.slice(-500));
    });

    it('who guesses from the same address keeps out neither a known browser nor passkeys', {
      timeout: 600_000,
    }, async () => {
      const email = 'office@portcullis.example';
      await addOwner(email);
      const office = '192.0.2.77';
      const owner = newcomer(office);
      assert.equal((await owner.signIn(email, password)).status, 303);
      let refused = 0;
      for (let i = 0; i < 15; i++) {
        const answer = await newcomer(office).signIn(`x${i}@portcullis.example`, 'wrong-guess-1');
        if (answer.status === 429) refused++;
      }
      assert.ok(refused > 0, 'the address has used up its share');
      owner.cookies.delete('session');
      const page = await owner.get('/signin');
      const { csrf } = hiddenOf(page, '/signin');
      const options = await owner.post('/signin/passkey/options', JSON.stringify({ csrf }), {
        'Content-Type': 'application/json',
      });
      assert.equal(options.status, 200, options.body);
      assert.equal((await owner.signIn(email, password)).status, 303);
    });
  });
}
