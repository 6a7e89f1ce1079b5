/**
 * Look-alike mail addresses on the whole server, from data of format 1: the attack that took a
 * stranger's account on a site, and what its owners can still do.
 */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { format1Accounts, unpackFormat1 } from '../../storage/format-1.ts';
import { allowOn, mailedLink, mailsIn, webVisitor } from '../../support/browser/web-visitor.ts';
import { startTestServer, type TestServer, threadCounts } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';
import { doneWay } from '../../support/signon/done-way.ts';
import { authorizePath } from '../../support/signon/visitor.ts';

const label = 'victim@xn--exmple-cua.test';
const { victimLetters, victimLabel, accented, alone, wide } = format1Accounts;
const silent = authorizePath({ prompt: 'none', scope: 'openid email' });

for (const threads of threadCounts)
  describe(`look-alike addresses, ${threads} threads`, () => {
    const directory = makeTempDir('look-alike');
    let server: TestServer;
    before(async () => {
      unpackFormat1(directory.path);
      const env = { CLIENT_LIMITS: 'off' };
      server = await startTestServer({ threads, env, demo: false, dataDir: directory.path });
    });
    after(async () => {
      await server[Symbol.asyncDispose]();
      directory.remove();
    });

    const profileOf = async (code: string) =>
      (await server.fetch(`/api.php?${new URLSearchParams({ code })}`)).json();

    async function signedIn(name: string, password: string) {
      const visitor = webVisitor(server);
      const answer = await visitor.signIn(name, password);
      assert.equal(answer.status, 303, `${name}: ${answer.status}`);
      return { visitor, to: answer.headers.location };
    }

    it('both of two that claim one address sign in by id and by former spelling, to confirm it', async () => {
      for (const [{ id, was }, password] of [
        [victimLetters, 'correct horse of one'],
        [victimLabel, 'correct horse of two'],
      ] as const) {
        for (const name of [id, was, ` ${was.toUpperCase()} `]) {
          const { visitor, to } = await signedIn(name, password);
          assert.equal(to, '/verify', name);
          const page = await visitor.get('/verify');
          assert.ok(page.body.includes(label) && page.body.includes(was), name);
          assert.equal((await visitor.get('/account')).status, 200, 'their own pages work');
        }
      }
      const wrong = await webVisitor(server).signIn(victimLetters.was, 'correct horse of two');
      assert.equal(wrong.status, 422, 'the password of the one does not open the other');
    });

    it('nothing of either goes to a site before, and the one who confirms gets the address', async () => {
      const { visitor } = await signedIn(victimLetters.id, 'correct horse of one');
      const held = await visitor.get(authorizePath());
      assert.doesNotMatch(held.body, /consent-form/);
      assert.match(held.body, /\/verify/);
      const quiet = await visitor.get(silent);
      assert.equal(quiet.headers.location, undefined);
      assert.doesNotMatch(quiet.body, /[?&]code=/);

      const sent = await visitor.submit(await visitor.get('/verify'), '/verify/resend');
      assert.equal(doneWay(sent), '/verify?done=sent');
      const { pathname, search } = await mailedLink(server, label, '/account/email/confirm');
      const other = await signedIn(victimLabel.id, 'correct horse of two');
      const stolen = await other.visitor.get(pathname + search);
      assert.equal(stolen.status, 400, 'a link is of the account that asked for it');
      const done = await visitor.submit(await visitor.get(pathname + search), pathname);
      assert.equal(done.status, 303, done.body.slice(0, 300));
      assert.equal((await signedIn(label, 'correct horse of one')).to, '/account');

      // The other one keeps its account, and needs another address.
      const again = await signedIn(victimLabel.id, 'correct horse of two');
      assert.equal(again.to, '/verify');
      await again.visitor.submit(await again.visitor.get('/verify'), '/verify/resend');
      assert.equal((await again.visitor.get(authorizePath())).body.includes('consent-form'), false);

      const code = await codeOf(visitor);
      const profile = await profileOf(code);
      assert.equal((profile as { email?: string }).email, label);
    });

    it('a mail domain in its own letters goes to sites as A-labels; letters before the @ do not go', async () => {
      const { visitor, to } = await signedIn('alone@BÜCHER.test', 'correct horse of three');
      assert.equal(to, '/account');
      const { email } = (await profileOf(await codeOf(visitor))) as { email?: string };
      assert.equal(email, 'alone@xn--bcher-kva.test');
      const old = await signedIn(accented.was, 'correct horse of four');
      const given = (await profileOf(await codeOf(old.visitor))) as Record<string, unknown>;
      assert.equal(given.email, undefined);
      assert.equal(given.email_verified, undefined);
      assert.ok(!JSON.stringify(given).includes('example.test'));
    });

    it('a mailbox that was only alike gets no link to another account', async () => {
      for (const name of [wide.id, 'nobody@example.test']) {
        const visitor = webVisitor(server);
        const sent = await visitor.submit(await visitor.get('/recover'), '/recover', {
          email: name,
        });
        assert.equal(sent.headers.location, '/recover/sent', name);
      }
      const visitor = webVisitor(server);
      await visitor.submit(await visitor.get('/recover'), '/recover', { email: victimLabel.id });
      await mailedLink(server, label, '/reset');
      assert.ok(!mailsIn(server).some((mail) => mail.includes('wide@example.test')));
    });

    it('new accounts: letters before the @ and surprising domains are refused, hints are A-labels', async () => {
      for (const email of [
        'víctim@example.test',
        'victim@exam\u00adple.test',
        'victim@ｅxample.test',
      ]) {
        const answer = await webVisitor(server).register(email, 'violet-harbour-72');
        assert.equal(answer.status, 422, email);
        const made = await server.cli('account', 'create', email);
        assert.match(made.stderr, /is not a mail address/, email);
      }
      const hinted = await webVisitor(server).get('/signin?hint=x%40ex%C3%A4mple.test');
      assert.match(hinted.body, /value="x@xn--exmple-cua.test"/);
      const row = await server.cliJson('account', 'unconfirmed');
      assert.ok(
        row.some(
          ({ id, formerEmail }: Record<string, string>) =>
            id === wide.id && formerEmail === wide.was,
        ),
      );
      const asked = await server.cli('account', 'show', 'wide@example.test');
      assert.equal(asked.code, 0, 'found by its former spelling, which is this one');
      const shown = await server.cliJson('account', 'show', alone.was);
      assert.equal(shown.email, 'alone@xn--bcher-kva.test');
    });

    /** Allows a site all it asks for, and gives the code. */
    async function codeOf(visitor: ReturnType<typeof webVisitor>): Promise<string> {
      const page = await visitor.get(authorizePath({ scope: 'openid email' }));
      return (await allowOn(visitor, page)).searchParams.get('code')!;
    }
  });
