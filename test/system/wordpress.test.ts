/**
 * The plugin in a real WordPress beside a whole server: an administrator activates it and sets it
 * up in the browser, a visitor signs in through the consent page. Then the optional parts: CAPTCHA,
 * check of the address, reports of failed sign-ins.
 */

import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { ok } from '../../src/core/result.ts';
import { compileTranslation } from '../../src/site/kit/open-kit.ts';
import { leavePage, openContext, withBrowser } from '../support/browser/browser.ts';
import { issue, openBeside } from '../support/captcha/beside.ts';
import { pluginTexts } from '../support/docs/plugin-texts.ts';
import {
  addressHeader,
  adminPassword,
  startWordPress,
  type WordPress,
} from '../support/docs/wordpress.ts';
import { value } from '../support/house/result.ts';
import { hasTool, isInstalled } from '../support/house/tools.ts';
import { freePort } from '../support/server/free-port.ts';
import { demoEmail, startTestServer, type TestServer, within } from '../support/server/server.ts';
import { openPeopleOf } from '../support/signon/person.ts';
import {
  allow,
  authorizePath,
  createAgent,
  openPeople,
  type People,
  password,
} from '../support/signon/visitor.ts';

const email = 'ada@mail.example';
const pictures = 'test-output/screenshots';

describe('WordPress: the plugin with a whole server', () => {
  let server: TestServer;
  let people: People;
  let site: WordPress;
  before(async () => {
    if (!isInstalled('php')) return;
    mkdirSync(pictures, { recursive: true });
    const port = await freePort();
    // Links of the service's pages begin with BASE_URL, so it has to be known before the start.
    const baseUrl = `http://127.0.0.1:${port}`;
    const open = { CLIENT_LIMITS: 'off', SOURCE_ALLOW_PRIVATE: 'on' };
    const env = { PORT: String(port), BASE_URL: baseUrl, ...open };
    server = await startTestServer({ threads: 1, env });
    people = openPeople(server);
    await people.add(email, { givenName: 'Ada', familyName: 'Lovelace', nickname: 'Countess' });
    site = await startWordPress();
    site.php("update_option('users_can_register', 1);");
  });
  after(async () => {
    await people?.[Symbol.asyncDispose]();
    await site?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  /** A missing PHP fails each of them, or skips it where that is allowed. */
  function withPhp(name: string, run: () => Promise<void>): void {
    it(name, { timeout: 600_000 }, async (context) => {
      if (hasTool(context, 'php')) await run();
    });
  }

  async function signInAsAdmin(page: Page): Promise<void> {
    await page.goto(`${site.origin}/wp-login.php`);
    // Its script takes the focus a moment after the page is there, also from a field being filled.
    await page.locator('#user_login:focus').waitFor();
    await page.locator('#user_login').fill('admin');
    await page.locator('#user_pass').fill(adminPassword);
    await page.locator('#wp-submit').click();
    await page.waitForURL(/wp-admin/, { waitUntil: 'commit' });
  }

  async function setUp(browser: Browser): Promise<void> {
    const context = await openContext(browser);
    const page = await context.newPage();
    await signInAsAdmin(page);
    await page.goto(`${site.origin}/wp-admin/plugins.php`);
    // WordPress takes `activate=true` and `settings-updated` out of the address at once: what says
    // that it worked is on the page.
    await leavePage(page, () => page.locator('#activate-portcullis-sign-in').click());
    await page.locator('#deactivate-portcullis-sign-in').waitFor();
    await page.goto(`${site.origin}/wp-admin/options-general.php?page=portcullis-sign-in`);
    await page.getByLabel('Address of the sign-on service').fill('http://evil.example');
    await leavePage(page, () => page.locator('#submit').click());
    assert.match((await page.textContent('.notice-error'))!, /begins with https/);
    await page.getByLabel('Address of the sign-on service').fill(`${server.baseUrl}/`);
    await page.getByLabel('API key').fill(server.key);
    await leavePage(page, () => page.locator('#submit').click());
    await page.getByText('Settings saved.').waitFor();
    const address = await page.getByLabel('Address of the sign-on service').inputValue();
    assert.equal(address, server.baseUrl);
    assert.equal(await page.getByLabel('API key').inputValue(), '', 'the key stays inside');
    await page.screenshot({ path: `${pictures}/wordpress-settings.png`, fullPage: true });
    await context.close();
  }

  withPhp('activate, set up, sign in through the consent page, land signed in', async () => {
    await withBrowser(async (browser) => {
      await setUp(browser);
      const context = await openContext(browser);
      const page = await context.newPage();
      await page.goto(`${site.origin}/wp-login.php`);
      await page.screenshot({ path: `${pictures}/wordpress-login.png`, fullPage: true });
      await page.getByRole('link', { name: 'Sign in with Portcullis' }).click();
      await page.waitForURL(/\/signin\?.*client_id=/);
      await page.locator('[name=email]').fill(email);
      await page.locator('[name=password]').fill(password);
      await page.locator('main form button[type=submit]').first().click();
      await page.waitForURL(/authorize\.php/);
      assert.equal(await page.locator('h1').textContent(), 'localhost asks for your profile');
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.waitForURL(/wp-admin\/profile\.php/);
      await page.screenshot({ path: `${pictures}/wordpress-signed-in.png`, fullPage: true });
      assert.equal(await page.locator('#email').inputValue(), email);
      assert.equal(await page.locator('#user_login').inputValue(), 'Countess');
      assert.match((await page.textContent('body'))!, /This account is linked/);

      // The second time one click is enough.
      await context.clearCookies({ name: /^wordpress/ });
      await page.goto(`${site.origin}/wp-login.php`);
      await page.getByRole('link', { name: 'Sign in with Portcullis' }).click();
      await page.waitForURL(/wp-admin\/profile\.php/);
      assert.equal(site.php('return count(get_users());'), 2);

      // Somebody who refuses comes back to the sign-in page.
      const other = await (await openContext(browser)).newPage();
      await people.add('eve@mail.example');
      await other.goto(`${site.origin}/wp-login.php`);
      await other.getByRole('link', { name: 'Sign in with Portcullis' }).click();
      await other.locator('[name=email]').fill('eve@mail.example');
      await other.locator('[name=password]').fill(password);
      await other.locator('main form button[type=submit]').first().click();
      await other.getByRole('button', { name: 'Refuse' }).click();
      await other.waitForURL(/wp-login\.php/);
      assert.match((await other.textContent('body'))!, /You did not agree/);
      assert.equal(site.php('return count(get_users());'), 2);
    });
    assert.deepEqual(site.complaints(), []);
  });

  withPhp('a code for another client, put into the way back, is refused', async () => {
    const visitor = createAgent(site);
    const left = await visitor.get('/wp-admin/admin-post.php?action=portcullis_sign_in_start');
    const state = new URL(left.headers.location!).searchParams.get('state');
    const person = createAgent(server, await people.signIn(email));
    const code = (await allow(person, authorizePath({ prompt: 'consent' }))).searchParams.get(
      'code',
    );
    const callback = '/wp-admin/admin-post.php?action=portcullis_sign_in_callback';
    const from = `&iss=${encodeURIComponent(server.baseUrl)}`;
    const answer = await visitor.get(`${callback}&state=${state}${from}&code=${code}`);
    assert.equal(answer.status, 400);
    assert.match(answer.body, /meant for another site/);
    assert.ok(![...visitor.cookies.keys()].some((name) => name.startsWith('wordpress_logged')));
    // And it is used up: its own site can't redeem it any more.
    assert.equal((await server.fetch(`/api.php?code=${code}`)).status, 400);
  });

  withPhp('notices of the server end sessions, and mark what changed and who is gone', async () => {
    await using beside = openPeopleOf(server);
    const id = await people.add('bob@mail.example', { nickname: 'Bob' });
    const person = createAgent(server, await people.signIn('bob@mail.example'));
    const redirect = `${site.origin}/wp-admin/admin-post.php?action=portcullis_sign_in_callback`;
    const asked = { client_id: 'localhost', redirect_uri: redirect };
    const code = (await allow(person, authorizePath(asked))).searchParams.get('code');
    const profile = (await server.fetch(`/api.php?code=${code}`)).json() as { service_id: string };
    const user = site.php(`
      $id = wp_create_user('bob', 'x', 'bob@mail.example');
      update_user_meta($id, 'portcullis_sign_in_id', '${server.baseUrl} ${profile.service_id}');
      WP_Session_Tokens::get_instance($id)->create(time() + 3600);
      return $id;`);
    const sessions = () =>
      site.php(`return count(WP_Session_Tokens::get_instance(${user})->get_all());`);
    const mark = (name: string) =>
      site.php(`return get_user_meta(${user}, 'portcullis_sign_in_${name}', true);`);
    assert.equal(sessions(), 1);
    const strange = await site.fetch('/index.php?rest_route=/portcullis-sign-in/v1/notices', {
      method: 'POST',
      headers: { 'Content-Type': 'application/secevent+jwt' },
      body: 'a.b.c',
    });
    assert.equal(strange.status, 400);
    // A key that could not be fetched a moment ago is no reason to refuse a notice for good.
    site.php(`delete_transient('portcullis_sign_in_keys');
      return set_transient('portcullis_sign_in_keys_asked', 1, 60);`);
    const part = (claims: object) => Buffer.from(JSON.stringify(claims)).toString('base64url');
    const iat = Math.floor(Date.now() / 1_000);
    const early = await site.fetch('/index.php?rest_route=/portcullis-sign-in/v1/notices', {
      method: 'POST',
      headers: { 'Content-Type': 'application/secevent+jwt' },
      body: `${part({ alg: 'EdDSA', typ: 'secevent+jwt', kid: 'k' })}.${part({ iss: server.baseUrl, aud: 'localhost', iat })}.x`,
    });
    assert.equal(early.status, 503);
    site.php("return delete_transient('portcullis_sign_in_keys_asked');");
    // Whoever signed in after what a late notice tells of stays signed in.
    const late = (at: number) =>
      site.php(`$end = new ReflectionMethod('PortcullisSignIn\\\\Site_Notices', 'end_sessions');
        $end->setAccessible(true);
        $end->invoke(null, ${user}, ${at});
        return 1;`);
    late(iat - 3_600);
    assert.equal(sessions(), 1);
    await people.endSessions(id);
    await within(async () => sessions() === 0, 'the end of the sessions');
    assert.equal(mark('deleted'), '');
    value(await beside.profiles.update(id, (before) => ok({ ...before, nickname: 'Robert' })));
    await within(async () => mark('changed') !== '', 'the mark of the change');
    value(await beside.signon.deletion.delete(id));
    await within(async () => mark('deleted') !== '', 'the mark of the deletion');
    assert.equal(mark('id'), '', 'the link is gone');
    assert.deepEqual(site.complaints(), []);
  });

  withPhp('in French, whatever the country, all of its texts are French', async () => {
    const texts = pluginTexts(
      (name) => {
        return readFileSync(`${site.folder}/wp-content/plugins/portcullis-sign-in/${name}`, 'utf8');
      },
      readdirSync(`${site.folder}/wp-content/plugins/portcullis-sign-in`, { recursive: true }).map(
        String,
      ),
    );
    const list = `array(${texts.map((text) => `'${text.replaceAll(/['\\]/g, '\\$&')}'`).join(',')})`;
    const translated = (): string[] =>
      site.php(`return array_map(fn($text) => __($text, 'portcullis-sign-in'), ${list});`);
    assert.deepEqual(translated(), texts);
    const languages = `${site.folder}/wp-content/languages`;
    mkdirSync(languages, { recursive: true });
    for (const locale of ['fr_FR', 'fr_CA']) {
      // WordPress takes a language only if its own texts are there.
      writeFileSync(
        `${languages}/${locale}.mo`,
        compileTranslation('msgid ""\nmsgstr "Language: fr\\n"\n'),
      );
      site.php(`return update_option('WPLANG', '${locale}');`);
      const same = translated().filter((text, i) => text === texts[i]);
      assert.deepEqual(same, ['CAPTCHA', 'Portcullis'], locale);
    }
    const page = await site.fetch('/wp-login.php');
    assert.match(page.body, />Se connecter avec Portcullis</);
    const refused = await site.fetch(
      '/wp-admin/admin-post.php?action=portcullis_sign_in_callback&state=x&code=y',
    );
    assert.equal(refused.status, 400);
    assert.match(refused.body, /Ce retour n’a pas été commencé dans ce navigateur/);
    site.php("return update_option('WPLANG', '');");
    assert.match((await site.fetch('/wp-login.php')).body, />Sign in with Portcullis</);
    assert.deepEqual(site.complaints(), []);
  });

  const change = (settings: string) =>
    site.php(`update_option('portcullis_sign_in_settings',
      array_merge(get_option('portcullis_sign_in_settings'), array(${settings})));`);

  const logIn = (
    more: Record<string, string> = {},
    address = '203.0.113.20',
    pwd = adminPassword,
  ) => {
    const cookie = { Cookie: 'wordpress_test_cookie=WP%20Cookie%20check' };
    const form = { log: 'admin', pwd, ...more };
    return createAgent(site).post('/wp-login.php', form, { ...cookie, [addressHeader]: address });
  };

  withPhp('CAPTCHA: the password form passes with a receipt, once', async () => {
    const { id } = await server.cliJson('sitekey', 'create', demoEmail, '--host', 'localhost');
    const { id: foreign } = await server.cliJson('sitekey', 'create', demoEmail);
    change(`'site_key' => '${id}', 'captcha_login' => true, 'captcha_comments' => true`);
    const page = await site.fetch('/wp-login.php');
    assert.match(page.body, new RegExp(`class="portcullis-captcha" data-sitekey="${id}"`));
    assert.ok(page.body.includes(`${server.baseUrl}/captcha/widget.js`));
    const beside = openBeside(server.dataDir);
    try {
      const receipt = () => issue(beside.receipts, id, site.origin);
      const used = await receipt();
      const field = 'portcullis-receipt';
      assert.match((await logIn()).body, /solve the CAPTCHA/);
      assert.match((await logIn({ [field]: 'pcr1.x.y' })).body, /solve the CAPTCHA/);
      const other = await issue(beside.receipts, foreign, site.origin);
      assert.match((await logIn({ [field]: other })).body, /solve the CAPTCHA/, 'another site key');
      const wrong = await logIn({}, undefined, 'wrong');
      assert.match(wrong.body, /solve the CAPTCHA/, 'tells nothing of the password');
      assert.doesNotMatch(wrong.body, /password you entered/);
      assert.equal((await logIn({ [field]: used })).status, 302);
      assert.match((await logIn({ [field]: used })).body, /solve the CAPTCHA/, 'the second time');

      const comment = (more: Record<string, string>) =>
        createAgent(site).post('/wp-comments-post.php', {
          author: 'Bob',
          email: 'bob@mail.example',
          comment: `Hello ${Object.keys(more)}`,
          comment_post_ID: '1',
          comment_parent: '0',
          ...more,
        });
      assert.equal((await comment({})).status, 403);
      assert.equal((await comment({ [field]: used })).status, 403);
      assert.equal((await comment({ [field]: await receipt() })).status, 302);
      assert.equal(
        site.php(
          "return get_comments(array('author_email' => 'bob@mail.example', 'count' => true));",
        ),
        1,
      );
    } finally {
      await beside.store.close();
      change("'captcha_login' => false, 'captcha_comments' => false");
    }
  });

  withPhp('addresses: a malicious one is refused, an unknown answer refuses nobody', async () => {
    change("'check_address' => true");
    assert.match((await logIn({}, '198.51.100.7')).body, /known for abuse/);
    assert.equal((await logIn({}, '203.0.113.21')).status, 302);
    change("'secure_url' => 'http://127.0.0.1:1'");
    assert.equal((await logIn({}, '198.51.100.8')).status, 302, 'the service is away');
    assert.match((await logIn({}, '198.51.100.7')).body, /known for abuse/, 'kept from before');
    change("'secure_url' => '', 'check_address' => false");
  });

  withPhp('failed sign-ins are reported once, at the fifth', async () => {
    change("'report_failures' => true");
    const address = '203.0.113.31';
    const reports = async () => (await server.check(address)).totalReports;
    for (let i = 1; i <= 4; i++) await logIn({}, address, `guess ${i}`);
    assert.equal(await reports(), 0);
    for (let i = 5; i <= 8; i++) await logIn({}, address, `guess ${i}`);
    assert.equal(await reports(), 1);
    const { body } = await server.fetch(`/api/v2/check?ipAddress=${address}&verbose`, {
      headers: { Key: server.key },
    });
    const [report] = JSON.parse(body).data.reports;
    assert.deepEqual(report.categories, [18, 21]);
    assert.equal(report.comment, 'WordPress: 5 failed sign-ins');
    assert.deepEqual(site.complaints(), []);
  });
});
