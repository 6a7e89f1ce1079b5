/** A person's own space in a real browser: every page, every width, both schemes, two languages. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import type { Browser } from 'playwright-core';
import sharp from 'sharp';
import type { Visitor } from '../../../src/contracts/visitor.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { systemRandom } from '../../../src/core/random.ts';
import { createConsents } from '../../../src/signon/sites/consents.ts';
import {
  addAuthenticator,
  layoutProblems,
  openContext,
  type PageSession,
  pageProblems,
  picture,
  watchPage,
  withBrowser,
} from '../../support/browser/browser.ts';
import { forFile } from '../../support/server/for-file.ts';
import { freePort } from '../../support/server/free-port.ts';
import { startTestServer, type TestServer, within } from '../../support/server/server.ts';
import {
  type OwnBrowser,
  openPeopleOf,
  type People,
  personPassword,
} from '../../support/signon/person.ts';

const long = 20 * 60_000;

function sessionOf(person: OwnBrowser, server: TestServer): PageSession {
  const [name, value] = person.cookie.split('=');
  return { cookies: [{ name: name!, value: value!, url: server.baseUrl }] };
}

async function fill(people: People, id: string, ada: OwnBrowser, server: TestServer) {
  await ada.post('/account/profile', {
    given_name: 'Ada',
    family_name: 'Lovelace',
    birthdate: '1990-12-10',
    street_address: '12 St James’s Square',
    locality: 'London',
    country: 'GB',
  });
  const picture = await sharp({
    create: { width: 300, height: 300, channels: 3, background: '#3a6ea5' },
  })
    .png()
    .toBuffer();
  await ada.upload('/account/avatar', 'avatar', picture);
  const made = await ada.post('/account/keys/create');
  const key = /<code id="shown-key">([^<]+)</.exec(made.body)![1]!;
  await ada.post('/account/keys/create');
  for (let i = 0; i < 7; i++) {
    await server.fetch('/api/v2/check?ipAddress=192.0.2.1', { headers: { Key: key } });
  }
  for (const [ip, comment] of [
    ['192.0.2.77', 'sshd: Failed password for root from 192.0.2.77 port 52314 ssh2'],
    ['2001:db8:85a3::8a2e:370:7334', ''],
  ]) {
    const report = { key: key!, categories: '18,22', comment: comment! };
    assert.equal((await server.report(ip!, report)).status, 200);
  }
  await ada.post('/account/keys/named/create', { name: 'sensor-1', report: 'on' });
  await ada.post('/account/keys/named/create', {
    name: 'edge-firewall',
    check: 'on',
    bouncer: 'on',
  });
  const watches = '192.0.2.77 198.51.100.0/24 2001:db8::/48';
  // A public address, of which nothing is asked before a test or a crossing.
  const hook = { url: 'https://1.1.1.1/hooks/portcullis?team=noc', watches, threshold: '100' };
  const hooked = await ada.post('/account/webhooks/create', hook);
  assert.equal(hooked.status, 200, hooked.body);
  await ada.post('/account/site-keys/create', { hosts: 'shop.example blog.example' });
  await ada.post('/account/security/totp/begin');
  const consents = createConsents({
    store: people.store,
    clock: systemClock(),
    random: systemRandom(),
  });
  const parties = { accountId: id, clientId: 'shop.example', origin: 'https://www.shop.example' };
  const { row } = consents.afterDecision(
    undefined,
    parties,
    ['openid', 'email'],
    ['openid', 'email'],
  );
  await people.store.commit({ set: [row] });
}

const server = forFile(await startTestServer({ threads: 1, env: { CLIENT_LIMITS: 'off' } }));
const people = forFile(openPeopleOf(server));

it('every page of the space is in order in a browser', { timeout: 600_000 }, async () => {
  const id = await people.register('ada.lovelace@analytical-engines.example');
  const ada = await people.signIn('ada.lovelace@analytical-engines.example');
  await fill(people, id, ada, server);
  const old = await people.signIn('ada.lovelace@analytical-engines.example', long);
  const at = (path: string) => server.baseUrl + path;
  await withBrowser(async (browser) => {
    const session = sessionOf(ada, server);
    const look = async (path: string, name: string, more: object = {}) =>
      assert.deepEqual(await pageProblems(browser, at(path), { name, session, ...more }), []);
    await look('/account', 'account-profile');
    await look('/account/keys', 'account-keys');
    await look('/account/reports', 'account-reports', { widths: [390, 1440] });
    await look('/account/webhooks', 'account-webhooks', { widths: [390, 1440] });
    await look('/account/security', 'account-security');
    await look('/account/security/totp', 'account-totp');
    await look('/account/sites', 'account-sites');
    await look('/account/data', 'account-data');
    await look('/account/confirm', 'account-confirm');
    const french = { locale: 'fr-FR', widths: [320, 1280], themes: ['light'] };
    for (const part of [
      '',
      '/keys',
      '/reports',
      '/webhooks',
      '/security',
      '/sites',
      '/data',
      '/confirm',
    ]) {
      await look(`/account${part}`, `account-fr${part.replace('/', '-')}`, french);
    }
    const stale = { session: sessionOf(old, server), widths: [320], themes: ['dark'] };
    await look('/account/keys', 'account-keys-old', stale);
    await ada.post('/account/profile', { liquid_glass: 'on' });
    await look('/account', 'account-glass', { widths: [1280] });
    await looksAfterForms(browser, at, session);
    await namesKeys(browser, at, session, { width: 390, colorScheme: 'dark' });
    await namesKeys(browser, at, session, { width: 1440, colorScheme: 'light' });
  });
});

/** Pages that answer a form: reached by sending it, without a script. */
async function looksAfterForms(
  browser: Browser,
  at: (path: string) => string,
  session: PageSession,
): Promise<void> {
  const context = await openContext(browser, { javaScriptEnabled: false });
  await context.addCookies([...session.cookies]);
  const page = await context.newPage();
  await page.goto(at('/account'));
  await page.fill('#nickname', 'The Enchantress');
  await page.click('form[action="/account/profile"] button');
  await page.waitForURL('**/account?done=saved.*');
  assert.equal(await page.inputValue('#nickname'), 'The Enchantress');
  await page.click('details:has(#avatar) > summary');
  await page.setInputFiles('#avatar', {
    name: 'a.png',
    mimeType: 'image/png',
    buffer: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
  });
  await page.click('form[action="/account/avatar"] button');
  await page.waitForSelector('#avatar-error');
  await picture(page, 'account-avatar-refused');
  await page.goto(at('/account/keys'));
  await page.click('form[action="/account/keys/reveal"] button >> nth=0');
  await page.waitForSelector('#shown-key');
  await picture(page, 'account-key-shown');
  await page.goto(at('/account/data'));
  await page.fill('#confirm', 'no');
  await page.click('form[action="/account/delete"] button');
  await page.waitForSelector('#confirm-error');
  await picture(page, 'account-delete-refused');
  await context.close();
}

/** A key with a name: made, its text shown this once, given another name. A webhook: made, its secret shown, removed. */
async function namesKeys(
  browser: Browser,
  at: (path: string) => string,
  session: PageSession,
  { width, colorScheme }: { width: number; colorScheme: 'light' | 'dark' },
): Promise<void> {
  const viewport = { width, height: 800 };
  const context = await openContext(browser, { colorScheme, viewport });
  await context.addCookies([...session.cookies]);
  const page = await context.newPage();
  const finish = await watchPage(page, at('/account/keys/named/rename'));
  const isInOrder = async (what: string) => {
    assert.deepEqual(await layoutProblems(page), [], `${what} ${width} ${colorScheme}`);
    await picture(page, `account-named-key-${what}-${width}-${colorScheme}`);
  };
  const name = `walk-${width}-${colorScheme}`;
  await page.goto(at('/account/keys'));
  // Folded once there is a key.
  if (!(await page.isVisible('#key-name'))) await page.click('summary:has-text("Create a key")');
  await page.fill('#key-name', name);
  await page.click('form[action="/account/keys/named/create"] button');
  const shown = await page.locator('#shown-key').textContent();
  assert.match(shown!, /^pcl_/);
  await isInOrder('shown');
  await page.goto(at('/account/keys'));
  assert.ok(!(await page.content()).includes(shown!), 'only once');
  const row = page.locator('tr', { hasText: name });
  await row.getByRole('button', { name: 'Rename' }).click();
  await page.waitForSelector('#new-name');
  assert.equal(await page.inputValue('#new-name'), name);
  await isInOrder('rename');
  await page.fill('#new-name', 'no name');
  await page.click('form[action="/account/keys/named/rename"] button');
  await page.waitForSelector('#new-name-error');
  await isInOrder('refused');
  await page.fill('#new-name', `${name}-2`);
  await page.click('form[action="/account/keys/named/rename"] button');
  await page.waitForURL('**/account/keys?done=key_renamed.*');
  assert.equal(await page.locator('tr', { hasText: `${name}-2` }).count(), 1);
  await page.goto(at('/account/webhooks'));
  await page.click('details:has(#hook-url) > summary');
  await page.fill('#hook-url', 'https://1.1.1.1/hooks');
  await page.fill('#hook-watches', '192.0.2.77');
  await page.click('form[action="/account/webhooks/create"] button');
  assert.match((await page.locator('#shown-secret').textContent())!, /^whsec_/);
  await isInOrder('webhook-shown');
  const mine = page.locator('.folds > details', { hasText: 'https://1.1.1.1/hooks' }).last();
  await mine.locator('summary').click();
  await mine.getByRole('button', { name: 'Remove' }).click();
  await page.waitForURL('**/account/webhooks?done=webhook_removed.*');
  assert.deepEqual(await finish(), []);
  await context.close();
}

it('a key is made, shown, replaced and revoked at both ends of the widths', {
  timeout: 600_000,
}, async () => {
  await withBrowser(async (browser) => {
    for (const [width, colorScheme] of [
      [320, 'dark'],
      [1280, 'light'],
    ] as const) {
      const email = `ada${width}@example.org`;
      await people.register(email);
      const ada = await people.signIn(email, long);
      const context = await openContext(browser, { colorScheme, viewport: { width, height: 800 } });
      await context.addCookies([...sessionOf(ada, server).cookies]);
      const page = await context.newPage();
      const shown = async () => (await page.locator('#shown-key').textContent()) ?? '';
      const isWhole = async (selector: string) => {
        const box = await page.locator(selector).first().boundingBox();
        assert.ok(box && box.x >= 0 && box.x + box.width <= width, `${selector} at ${width}`);
        const wide = await page.evaluate('document.documentElement.scrollWidth');
        assert.ok(Number(wide) <= width, `${wide} of ${width}`);
      };
      await page.goto(`${server.baseUrl}/account/keys`);
      await page.click('.fresh-wanted a');
      await page.fill('#password', personPassword);
      await page.click('form[action^="/account/confirm"] button');
      await page.waitForURL('**/account/keys');
      await page.click('form[action="/account/keys/create"] button');
      const first = await shown();
      const check = (Key: string) =>
        server.fetch('/api/v2/check?ipAddress=192.0.2.1', { headers: { Key } });
      assert.equal((await check(first)).status, 200);
      await isWhole('form[action="/account/keys/reveal"] button');
      await isWhole('form[action="/account/keys/revoke"] button');
      await page.click('form[action="/account/keys/create"] button');
      // The page before has a key too.
      const other = page.locator('#shown-key').filter({ hasNotText: first });
      const second = (await other.textContent()) ?? '';
      await picture(page, `account-keys-clicked-${width}`);
      await page.click('form[action="/account/keys/reveal"] button >> nth=0');
      await page.waitForURL('**/account/keys/reveal');
      assert.ok([first, second].includes(await shown()));
      assert.equal((await check(first)).status, 200, 'the one before lives on for a day');
      await page.goto(`${server.baseUrl}/account/keys`);
      for (let left = 2; left > 0; left--) {
        await page.click('form[action="/account/keys/revoke"] button >> nth=0');
        await page.waitForURL('**/account/keys/revoke');
        await picture(page, `account-keys-sure-${width}`);
        await page.click('form[action="/account/keys/revoke"] button');
        await page.waitForURL('**/account/keys?done=key_revoked.*');
        assert.equal(await page.locator('form[action="/account/keys/revoke"]').count(), left - 1);
        await page.goto(`${server.baseUrl}/account/keys`);
      }
      for (const key of [first, second]) assert.equal((await check(key)).status, 401);
      await context.close();
    }
  });
});

it('a second factor’s code is asked for with the password', { timeout: 600_000 }, async () => {
  const email = 'second.factor@example.org';
  const id = await people.register(email);
  const ada = await people.signIn(email, long);
  const fresh = await people.signIn(email);
  const session = (await people.signon.sessions.find(fresh.cookie.replace('session=', '')))!;
  const begun = await people.signon.secondFactors.begin(session);
  assert.ok(begun.ok);
  const totp = new TOTP({ secret: Secret.fromBase32(begun.value.secret) });
  // Of the step before, so that the one of now can still be used.
  const before = () => totp.generate({ timestamp: Date.now() - 30_000 });
  const visitor = { client: 'n', browserId: 'b', country: 'FR', userAgent: '', language: 'en' };
  const enable = () => people.signon.secondFactors.enable(session, before(), visitor as Visitor);
  const first = await enable();
  // Another step may have begun meanwhile.
  const on = first.ok ? first : await enable();
  assert.ok(on.ok);
  const at = `${server.baseUrl}/account/confirm?return=%2Faccount%2Fkeys`;
  await withBrowser(async (browser) => {
    const own = sessionOf(ada, server);
    const look = { name: 'account-confirm-code', session: own };
    assert.deepEqual(await pageProblems(browser, at, look), []);
    const context = await openContext(browser, {
      locale: 'fr-FR',
      viewport: { width: 320, height: 700 },
    });
    await context.addCookies([...own.cookies]);
    const page = await context.newPage();
    await page.goto(at);
    await page.fill('#password', personPassword);
    await page.fill('#code', 'no code');
    await page.click('form[action^="/account/confirm"] button');
    await page.waitForSelector('.notice-danger[role="alert"]');
    assert.equal(await page.inputValue('#code'), '');
    await picture(page, 'account-confirm-refused');
    await page.fill('#password', personPassword);
    await page.fill('#code', totp.generate());
    await page.click('form[action^="/account/confirm"] button');
    await page.waitForURL('**/account/keys');
    await context.close();
  });
  assert.equal((await people.signon.secondFactors.state(id)).backupCodesLeft, 10);
});

it('a passkey is added and used in a browser', { timeout: 600_000 }, async () => {
  const port = await freePort();
  // Passkeys belong to a name: the service has to know the one that the browser uses.
  const origin = `http://localhost:${port}`;
  const env = { CLIENT_LIMITS: 'off', BASE_URL: origin, PORT: String(port) };
  await using server = await startTestServer({ threads: 1, env });
  await using people = openPeopleOf(server);
  const email = 'ada@example.org';
  const id = await people.register(email);
  const ada = await people.signIn(email);
  await withBrowser(async (browser) => {
    const context = await openContext(browser);
    const [name, value] = ada.cookie.split('=');
    await context.addCookies([{ name: name!, value: value!, url: origin }]);
    const page = await context.newPage();
    await addAuthenticator(page);
    const signals: Record<string, unknown>[] = [];
    await page.exposeFunction('noteSignal', (facts: Record<string, unknown>) =>
      signals.push(facts),
    );
    await page.addInitScript(`
      for (const name of ['signalUnknownCredential', 'signalAllAcceptedCredentials', 'signalCurrentUserDetails']) {
        PublicKeyCredential[name] = (facts) => noteSignal({ is: name, ...facts });
      }
    `);
    await page.goto(`${origin}/account/security`);
    await page.fill('#passkey-name', 'my phone');
    await page.click('#passkey-form button');
    await page.waitForURL('**/account/security?done=passkey_added.*');
    const [made] = await people.signon.passkeys.list(id);
    assert.equal(made!.name, 'my phone');
    const common = { rpId: 'localhost', userId: Buffer.from(id).toString('base64url') };
    const accepts = (ids: string[]) => [
      { is: 'signalAllAcceptedCredentials', ...common, allAcceptedCredentialIds: ids },
      { is: 'signalCurrentUserDetails', ...common, name: email, displayName: email },
    ];
    await within(() => signals.length === 4, 'both pages tell the browser');
    assert.deepEqual(signals.splice(0), [...accepts([]), ...accepts([made!.id])]);
    await page.goto(`${origin}/account/confirm?return=%2Faccount%2Fkeys`);
    await page.click('form[data-passkey="confirm"] button');
    await page.waitForURL('**/account/keys');
    await page.goto(`${origin}/account/security`);
    await within(() => signals.length === 2, 'the page tells the browser');
    signals.length = 0;
    await page.click('form[action$="/passkeys/remove"] button');
    await page.waitForURL('**/account/security?done=passkey_removed.*');
    await within(() => signals.length === 3, 'the page tells of the removal');
    const gone = { is: 'signalUnknownCredential', rpId: 'localhost', credentialId: made!.id };
    assert.deepEqual(signals, [gone, ...accepts([])]);
    await context.close();
  });
});
