/**
 * The whole way of a person in a real browser: register, open the link of the mail, sign in, agree
 * with one switch off, arrive at a site on another host name and port, whose server reads the
 * profile. Each page is looked at; afterwards neither logs nor store hold a secret.
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { it } from 'node:test';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import {
  axeProblems,
  leavePage,
  openContext,
  picture,
  watchPage,
  withBrowser,
} from '../../support/browser/browser.ts';
import { mailedLink } from '../../support/browser/web-visitor.ts';
import { freePort } from '../../support/server/free-port.ts';
import { startTestServer, type TestServer, within } from '../../support/server/server.ts';
import { type ClientSite, startClientSite } from '../../support/signon/client-site.ts';

const email = 'ada@mail.example';
const password = 'violet-harbour-72';
const scopes = 'openid profile email preferences';

/** One visit with everything that went wrong in it, but for words that the solver misread. */
async function openTab(context: BrowserContext, service: string) {
  const page = await context.newPage();
  const finish = await watchPage(page, `${service}/register`);
  const problems: string[] = [];
  return {
    page,
    /** Keeps a picture of the page and what is wrong with it. */
    async look(name: string): Promise<void> {
      await picture(page, `flow-${name}`);
      if (!page.url().includes('localhost')) problems.push(...(await axeProblems(page)));
      problems.push(...(await finish()).map((text) => `${name}: ${text}`));
    },
    problems: () => [...new Set(problems)],
  };
}

/** A browser takes it, the service does not. */
const slip = 'ada@1';

/** With a slip on the way, after which nothing is typed again but the address. */
async function register(page: Page, server: TestServer, look: (name: string) => Promise<void>) {
  await page.goto(`${server.baseUrl}/register`);
  await look('register');
  await page.locator('[name=email]').fill(slip);
  await page.locator('[name=password]').fill(password);
  // The challenge is done in the background; the form waits for it.
  await leavePage(page, () => page.locator('main button[type=submit]').first().click());
  await look('register-slip');
  await page.locator('[name=email]').fill(email);
  await leavePage(page, () => page.locator('main button[type=submit]').first().click());
  assert.ok(page.url().endsWith('/register/sent'), page.url());
  return look('register-sent');
}

async function signIn(page: Page): Promise<void> {
  await page.locator('[name=email]').fill(email);
  await page.locator('[name=password]').fill(password);
  await page.locator('main form button[type=submit]').first().click();
}

/**
 * Whether the page holds back a submission: the first, a second right after it, and one after
 * coming back. None of them is sent.
 */
async function stoppedSubmissions(page: Page): Promise<boolean[]> {
  return page.evaluate(() => {
    const form = document.querySelector<HTMLFormElement>('.consent-form')!;
    const stopped: boolean[] = [];
    const note = (event: Event) => {
      stopped.push(event.defaultPrevented);
      event.preventDefault();
    };
    window.addEventListener('submit', note);
    form.requestSubmit();
    form.requestSubmit();
    window.dispatchEvent(new Event('pageshow'));
    form.requestSubmit();
    window.dispatchEvent(new Event('pageshow'));
    window.removeEventListener('submit', note);
    return stopped;
  });
}

/** The site's own page, and what it was told. */
async function arrived(page: Page, site: ClientSite): Promise<URLSearchParams> {
  await page.waitForURL((url) => url.href.startsWith(site.redirectUri));
  return site.arrivals.at(-1)!;
}

async function isFramed(context: BrowserContext, site: ClientSite, address: string) {
  const page = await context.newPage();
  await page.goto(site.framing(address));
  // Of a frame that is refused it becomes that of an error.
  await within(() => /^(https?|chrome-error):/.test(page.frames()[1]?.url() ?? ''), 'the frame');
  const shown = await page
    .frames()[1]
    ?.evaluate('document.body.innerText')
    .catch(() => '');
  const url = page.frames()[1]?.url() ?? '';
  await page.close();
  return !url.startsWith('chrome-error:') || /Portcullis|Allow/.test(String(shown));
}

/** A second visit without a script: the same pages, fewer switches. */
async function visitWithoutScript(browser: Browser, context: BrowserContext, site: ClientSite) {
  const storageState = await context.storageState();
  const plain = await openContext(browser, { storageState, javaScriptEnabled: false });
  const page = await plain.newPage();
  await page.goto(site.start(`${scopes} age`));
  await page.getByRole('link', { name: 'Sign in' }).click();
  assert.ok((await page.locator('.notice').textContent())!.includes('Your age is new.'));
  assert.equal(await page.locator('#scope-email').isChecked(), false, 'as it was left');
  await picture(page, 'flow-consent-again');
  await page.getByRole('button', { name: 'Allow' }).click();
  await arrived(page, site);
  await plain.close();
}

it('a person signs in to a site', { timeout: 600_000 }, async () => {
  const port = await freePort();
  const service = `http://127.0.0.1:${port}`;
  const env = { PORT: String(port), BASE_URL: service, CLIENT_LIMITS: 'off' };
  await using server = await startTestServer({ threads: 2, env });
  await using site = await startClientSite(service);
  const secrets = [password];
  await withBrowser(async (browser) => {
    const context = await openContext(browser);
    const { page, look, problems } = await openTab(context, service);

    await register(page, server, look);
    await page.goto((await mailedLink(server, email, '/verify')).href);
    await look('verify');
    await page.locator('main form button[type=submit]').first().click();
    await page.waitForURL(/\/account$/);
    await context.clearCookies({ name: 'session' });

    await page.goto(site.start(scopes));
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.waitForURL(/\/signin\?.*client_id=/);
    await look('sign-in');
    await signIn(page);
    await page.waitForURL(/authorize\.php\/continue/);
    assert.equal(await page.locator('h1').textContent(), 'localhost asks for your profile');
    await look('consent');
    assert.equal(await page.locator('#scope-openid').isDisabled(), true);
    await page.locator('#scope-email').uncheck();
    await look('consent-one-off');
    assert.deepEqual(await stoppedSubmissions(page), [false, true, false]);
    await page.getByRole('button', { name: 'Allow' }).click();
    const first = await arrived(page, site);
    await look('signed-in');
    assert.deepEqual([...first.keys()], ['code', 'iss', 'state']);
    const profile = site.profiles.at(-1)!;
    assert.match(String(profile.service_id), /^[\w-]{22}$/);
    assert.equal('email' in profile, false);
    assert.equal('email_verified' in profile, false);
    assert.equal(profile.liquid_glass, false);

    // The second time nobody is asked.
    await page.goto(site.start(scopes));
    await page.getByRole('link', { name: 'Sign in' }).click();
    await arrived(page, site);
    assert.equal(site.profiles.length, 2);
    assert.deepEqual(site.profiles[1], profile);

    await visitWithoutScript(browser, context, site);
    assert.equal(site.profiles.at(-1)!.age_verified, false);

    // Refusing is an answer too.
    await page.goto(site.start(`${scopes} phone`));
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Refuse' }).click();
    const refused = await arrived(page, site);
    await look('refused');
    assert.equal(refused.get('error'), 'access_denied');

    const query = new URLSearchParams({
      client_id: 'localhost',
      redirect_uri: site.redirectUri,
      response_type: 'code',
      scope: 'openid phone',
    });
    const address = `${service}/authorize.php?${query}`;
    assert.equal(await isFramed(context, site, address), false, 'consent in a frame');
    assert.equal(await isFramed(context, site, `${service}/signin`), false, 'sign-in in a frame');
    assert.equal(await isFramed(context, site, site.start('openid')), true, 'the test sees frames');

    assert.deepEqual(problems(), []);
    secrets.push(...(await context.cookies()).map(({ value }) => value));
    await context.close();
  });
  secrets.push(...site.arrivals.map((query) => query.get('code') ?? '').filter(Boolean));
  assert.ok(secrets.length >= 6, `${secrets.length} secrets`);
  assert.deepEqual(site.referrers, []);
  assertKeptSecret(server, secrets);
});

/** What is stored is hashes; what is logged is neither. */
function assertKeptSecret(server: TestServer, secrets: readonly string[]): void {
  const logs = server.stderr();
  assert.ok(logs.includes('"msg":"listening"'), 'the log was read');
  assert.deepEqual(
    secrets.filter((secret) => logs.includes(secret)),
    [],
  );
  const stored = readdirSync(`${server.dataDir}/store`).map((name) =>
    readFileSync(`${server.dataDir}/store/${name}`),
  );
  assert.ok(
    stored.some((bytes) => bytes.includes(email)),
    'the store was read',
  );
  const kept = secrets.filter((secret) => stored.some((bytes) => bytes.includes(secret)));
  assert.deepEqual(kept, []);
}
