/**
 * The pages of sign-on in a real browser: looks, policy and accessibility in both languages and
 * colour schemes; sign-in with a passkey of the browser's own; the second step by TOTP.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import type { Browser, Page } from 'playwright-core';
import type { Visitor } from '../../../src/contracts/visitor.ts';
import type { Session } from '../../../src/signon/sessions/sessions.ts';
import {
  addAuthenticator,
  axeProblems,
  checkPage,
  openContext,
  picture,
  watchPage,
  withBrowser,
} from '../../support/browser/browser.ts';
import { hiddenOf, webVisitor } from '../../support/browser/web-visitor.ts';
import { forFile } from '../../support/server/for-file.ts';
import { freePort } from '../../support/server/free-port.ts';
import { startTestServer } from '../../support/server/server.ts';
import { signonBeside } from '../../support/signon/signon-beside.ts';

const email = 'demo@portcullis.example';
/** A page with the person in its header, to which a sign-in may lead back. */
const somewhere = '/account';
const visitor: Visitor = { client: 'test', country: 'ZZ', userAgent: '', language: 'en' };

const port = await freePort();
const baseUrl = `http://localhost:${port}`;
const env = { PORT: String(port), BASE_URL: baseUrl, CLIENT_LIMITS: 'off' };
const server = forFile(await startTestServer({ threads: 1, env }));
const beside = forFile(signonBeside({ dataDir: server.dataDir, baseUrl }));
const password = /password (\S+)/.exec(server.stdout())![1]!;

describe('sign-on in a browser', () => {
  async function freshSession(): Promise<Session> {
    const done = await beside.signon.signIn.withPassword({ email, password, visitor });
    assert.ok(done.ok && done.value.kind === 'signed_in');
    return (await beside.signon.sessions.find(done.value.token))!;
  }

  it('every page is in order', { timeout: 600_000 }, async () => {
    await withBrowser(async (browser) => {
      const token = 'A'.repeat(43);
      const pages: [string, string, number][] = [
        ['register', '/register', 200],
        ['register-sent', '/register/sent', 200],
        ['signin', '/signin?done=reset&hint=ada@portcullis.example', 200],
        ['signin-site', `/signin?continue=${token}`, 200],
        ['verify-over', `/verify?token=${token}`, 400],
        ['recover', '/recover', 200],
        ['recover-sent', '/recover/sent', 200],
        ['reset-over', `/reset?token=${token}`, 400],
        ['email-confirm', `/account/email/confirm?token=${token}`, 200],
      ];
      for (const [name, path, status] of pages) {
        const look = { name: `signon-${name}`, status };
        await checkPage(browser, baseUrl + path, look);
        const french = { ...look, name: `signon-${name}-fr`, locale: 'fr-FR', widths: [320] };
        await checkPage(browser, baseUrl + path, french);
      }
    });
  });

  it('signed in, its pages say so and fit at every width', { timeout: 600_000 }, async () => {
    await withBrowser(async (browser) => {
      await signedInBrowser(browser, async (page) => {
        for (const width of [320, 768, 1280]) {
          await page.setViewportSize({ width, height: 900 });
          const finish = await watchPage(page, baseUrl + somewhere);
          await page.goto(baseUrl + somewhere);
          const sticksOut = await page.evaluate(
            'document.documentElement.scrollWidth > document.documentElement.clientWidth',
          );
          assert.equal(sticksOut, false, `${width}`);
          assert.deepEqual([...(await axeProblems(page)), ...(await finish())], [], `${width}`);
          await picture(page, `signon-header-${width}`);
        }
        await page.locator('.site-menu-open').click();
        await page.getByRole('button', { name: 'Sign out' }).click();
        await page.waitForURL(`${baseUrl}/`);
        await page.goto(`${baseUrl}/signin`);
        assert.equal(await page.getByLabel('Password').count(), 1, 'signed out');
      });
    });
  });

  async function signedInBrowser(browser: Browser, run: (page: Page) => Promise<void>) {
    const context = await openContext(browser);
    const page = await context.newPage();
    await page.goto(`${baseUrl}/signin?return=${encodeURIComponent(somewhere)}`);
    await page.getByLabel('Email').fill(email);
    await page.getByLabel('Password').fill('wrong-password');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').first().waitFor();
    assert.equal(await page.getByLabel('Email').inputValue(), email, 'kept');
    for (const label of ['Email', 'Password']) {
      assert.equal(await page.getByLabel(label).getAttribute('aria-invalid'), 'true', label);
    }
    await page.getByLabel('Password').fill(password);
    await page.keyboard.press('Enter');
    await page.waitForURL(baseUrl + somewhere);
    await run(page);
    await context.close();
  }

  it('a passkey of the browser signs in', { timeout: 600_000 }, async () => {
    await withBrowser(async (browser) => {
      const page = await (await openContext(browser)).newPage();
      await addAuthenticator(page);
      const finish = await watchPage(page, `${baseUrl}/signin`);
      await page.goto(`${baseUrl}/signin?return=${encodeURIComponent(somewhere)}`);
      const passkeyButton = page.getByRole('button', { name: 'Use a passkey' });
      await passkeyButton.click();
      await page.getByText('Your device showed no passkey').waitFor();

      const session = await freshSession();
      const asked = await beside.signon.passkeys.registrationOptions(session);
      assert.ok(asked.ok);
      const made = await page.evaluate(`(async () => {
        const bytes = (t) => Uint8Array.from(atob(t.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0));
        const options = ${JSON.stringify(asked.value)};
        options.challenge = bytes(options.challenge);
        options.user.id = bytes(options.user.id);
        const credential = await navigator.credentials.create({ publicKey: options });
        return credential.toJSON();
      })()`);
      const kept = await beside.signon.passkeys.register(session, made, 'browser', visitor);
      assert.ok(kept.ok, JSON.stringify(kept));

      await passkeyButton.click();
      await page.waitForURL(baseUrl + somewhere);
      assert.match((await page.textContent('header')) ?? '', /demo@portcullis\.example/);

      // Offered in the field of the address: this browser's owner takes it at once.
      await page.locator('.site-menu-open').click();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.waitForURL(`${baseUrl}/`);
      await page.goto(`${baseUrl}/signin?return=${encodeURIComponent(somewhere)}`);
      await page.getByLabel('Email').focus();
      await page.waitForURL(baseUrl + somewhere);
      assert.match((await page.textContent('header')) ?? '', /demo@portcullis\.example/);
      assert.deepEqual(await finish(), []);
      const { passkey, token } = kept.value;
      const renewed = await beside.signon.sessions.find(token);
      assert.ok((await beside.signon.passkeys.remove(renewed!, passkey.id, visitor)).ok);
    });
  });

  it('with a second factor, the password alone opens nothing', { timeout: 600_000 }, async () => {
    const session = await freshSession();
    const begun = await beside.signon.secondFactors.begin(session);
    assert.ok(begun.ok);
    const totp = new TOTP({ secret: Secret.fromBase32(begun.value.secret) });
    const code = totp.generate();
    const backup = await beside.signon.secondFactors.enable(session, code, visitor);
    assert.ok(backup.ok);
    const id = 'B'.repeat(43);
    const person = webVisitor(server, { Host: new URL(baseUrl).host });
    const page = await person.get(`/signin?continue=${id}`);
    const step = await person.submit(page, '/signin', { email, password });
    assert.equal(step.headers.location, `/signin/second-factor?continue=${id}`);
    assert.equal(person.cookies.has('session'), false);
    const used = await person.submit(step, '/signin/second-factor', { code });
    assert.equal(used.status, 422, 'the code that switched it on, again');
    assert.match(used.body, /This code is wrong/);
    const done = await person.submit(used, '/signin/second-factor', {
      code: backup.value.codes[0]!,
    });
    assert.equal(done.headers.location, `/authorize.php/continue?id=${id}`);
    assert.equal(person.cookies.has('session'), true);
    const other = webVisitor(server, { Host: new URL(baseUrl).host });
    const { csrf } = hiddenOf(await other.get('/signin'), '/signin');
    const { ticket } = hiddenOf(used, '/signin/second-factor');
    const body = `csrf=${csrf}&ticket=${ticket}&code=${backup.value.codes[1]}`;
    const again = await other.post('/signin/second-factor', body);
    assert.equal(again.status, 400, 'its ticket is used');
    await withBrowser(async (browser) => {
      const shown = await (await openContext(browser)).newPage();
      await shown.setViewportSize({ width: 320, height: 800 });
      await shown.goto(`${baseUrl}/signin`);
      await shown.getByLabel('Email').fill(email);
      await shown.getByLabel('Password').fill(password);
      await shown.keyboard.press('Enter');
      await shown.getByLabel('Code').waitFor();
      assert.deepEqual(await axeProblems(shown), []);
      await picture(shown, 'signon-second-factor-320');
      await shown.getByLabel('Code').fill(backup.value.codes[2]!);
      const answered = shown.waitForResponse((r) => r.url().endsWith('/second-factor'));
      await shown.keyboard.press('Enter');
      assert.equal((await answered).status(), 303);
    });
  });
});
