/**
 * Registration with a passkey in a real browser with a virtual authenticator: the choice, the page
 * that makes the passkey, the link here and in another browser, the sign-in, a password afterwards.
 * Every page is looked at, narrow and wide, light and dark.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  addAuthenticator,
  axeProblems,
  leavePage,
  openContext,
  picture,
  watchPage,
  withBrowser,
} from '../../support/browser/browser.ts';
import { mailedLink } from '../../support/browser/web-visitor.ts';
import { forFile } from '../../support/server/for-file.ts';
import { freePort } from '../../support/server/free-port.ts';
import { startTestServer } from '../../support/server/server.ts';

const port = await freePort();
// Passkeys belong to a name.
const baseUrl = `http://localhost:${port}`;
const env = { PORT: String(port), BASE_URL: baseUrl, CLIENT_LIMITS: 'off' };
const server = forFile(await startTestServer({ threads: 1, env, demo: false }));

describe('a passkey in place of a password', () => {
  async function openPage(browser: Browser, locale = 'en-GB'): Promise<Page> {
    const context = await openContext(browser, { locale });
    const page = await context.newPage();
    await addAuthenticator(page);
    return page;
  }

  /** The page as it stands, at both widths and in both schemes. */
  async function look(page: Page, name: string): Promise<void> {
    for (const theme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: theme });
      for (const width of [320, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        const sticksOut = await page.evaluate(
          'document.documentElement.scrollWidth > document.documentElement.clientWidth',
        );
        assert.equal(sticksOut, false, `${name} ${theme} ${width}`);
        assert.deepEqual(await axeProblems(page), [], `${name} ${theme} ${width}`);
        await picture(page, `passkey-${name}-${theme}-${width}`);
      }
    }
  }

  /** Through the form and its challenge to the page that makes the passkey. */
  async function choose(page: Page, email: string, path = '/register'): Promise<void> {
    await page.goto(baseUrl + path);
    await page.locator('[name=email]').fill(email);
    // The challenge is done in the background; the form waits for it.
    await leavePage(page, () => page.locator('button[name=with]').click());
    assert.equal(
      await page.locator('[data-passkey-press=create]').count(),
      1,
      (await page.textContent('main')) ?? '',
    );
  }

  async function register(page: Page, email: string, path?: string): Promise<URL> {
    await choose(page, email, path);
    await page.locator('[data-passkey-press] button').click();
    await page.waitForURL(/\/register\/sent/);
    return mailedLink(server, email, '/verify');
  }

  it('register, open the link, sign in, set a password', { timeout: 600_000 }, async () => {
    const email = 'ada@portcullis.example';
    await withBrowser(async (browser) => {
      const page = await openPage(browser);
      // A word that the solver misreads is answered with 422 there.
      const finish = await watchPage(page, `${baseUrl}/register`);
      await page.goto(`${baseUrl}/register`);
      await page.getByRole('button', { name: 'Use a passkey instead' }).waitFor();
      await look(page, 'register');
      // The other way still wants a password.
      const requires = () =>
        page.evaluate<boolean>("document.querySelector('[name=password]').required");
      await page.getByRole('button', { name: 'Create an account' }).click();
      assert.equal(await requires(), true);

      await choose(page, email, '/register?return=%2Faccount%2Fsecurity');
      await look(page, 'create');
      await page.getByRole('button', { name: 'Create passkey' }).click();
      await page.waitForURL(/\/register\/sent\?return=/);
      await look(page, 'sent');
      const link = await mailedLink(server, email, '/verify');
      await page.goto(link.href);
      await page.getByRole('button', { name: 'Confirm my address' }).click();
      await page.waitForURL(`${baseUrl}/account/security`);
      await page.context().clearCookies({ name: 'session' });
      await page.goto(`${baseUrl}/signin?return=%2Faccount%2Fsecurity`);
      await page.getByRole('button', { name: 'Use a passkey' }).click();
      await page.waitForURL(`${baseUrl}/account/security`);
      assert.match((await page.textContent('main')) ?? '', /Chrome, Linux/);

      await page.locator('details:has(form[action$="/password"]) > summary').click();
      await page.locator('form[action$="/password"] [name=password]').fill('violet-harbour-72');
      await page.locator('form[action$="/password"] button').click();
      await page.waitForURL(/done=password_changed/);
      assert.deepEqual(await finish(), []);
    });
  });

  it('in another browser the link wants the passkey', { timeout: 600_000 }, async () => {
    const email = 'bea@portcullis.example';
    await withBrowser(async (browser) => {
      const page = await openPage(browser);
      const { href } = await register(page, email);

      const stranger = await openPage(browser, 'fr-FR');
      await stranger.goto(href);
      await look(stranger, 'prove-fr');
      await stranger.getByRole('button', { name: 'Confirmer avec la clé d’accès' }).click();
      await stranger.getByText('Votre appareil n’a proposé aucune clé d’accès').waitFor();
      await stranger.context().close();

      // Another browser, and the authenticator at hand.
      await page.context().clearCookies();
      await page.goto(href);
      await look(page, 'prove');
      await page.getByRole('button', { name: 'Confirm with the passkey' }).click();
      await page.waitForURL(/\/signin\?.*done=verified\./);
      await page.getByRole('button', { name: 'Use a passkey' }).click();
      await page.waitForURL(`${baseUrl}/account`);
    });
  });

  it('an answer that is late or damaged leads back to the form', { timeout: 600_000 }, async () => {
    const email = 'cyd@portcullis.example';
    await withBrowser(async (browser) => {
      const page = await openPage(browser);
      await choose(page, email);
      await page.evaluate(`{
        const form = document.querySelector('form[action="/register/passkey"]');
        form.elements.passkey.value = '{"id":"x"}';
        form.submit();
      }`);
      await page.getByText('The passkey was not accepted').waitFor();
      assert.equal(await page.locator('[name=email]').inputValue(), email);
      await look(page, 'refused');
    });
  });

  it('without a script there is the password', { timeout: 600_000 }, async () => {
    await withBrowser(async (browser) => {
      const context = await openContext(browser, { javaScriptEnabled: false });
      const page = await context.newPage();
      await page.goto(`${baseUrl}/register`);
      assert.equal(await page.locator('button[name=with]').isVisible(), false);
      assert.equal(await page.getByRole('button', { name: 'Create an account' }).isVisible(), true);
    });
  });
});
