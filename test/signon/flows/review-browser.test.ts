/** The review after a reset in a real browser: both schemes, narrow and wide, by keyboard, without a script. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { systemClock } from '../../../src/core/clock.ts';
import { systemRandom } from '../../../src/core/random.ts';
import { createConsents } from '../../../src/signon/sites/consents.ts';
import { openContext, pageProblems, withBrowser } from '../../support/browser/browser.ts';
import { mailedLink, webVisitor } from '../../support/browser/web-visitor.ts';
import { startTestServer } from '../../support/server/server.ts';
import { addPasskey } from '../../support/signon/factors.ts';
import { openPeopleOf, personPassword } from '../../support/signon/person.ts';

const origin = 'http://localhost:4549';
const email = 'ada.lovelace@analytical-engines.example';

it('each thing is decided by keyboard, without a script', { timeout: 600_000 }, async () => {
  const env = { CLIENT_LIMITS: 'off', BASE_URL: origin };
  await using server = await startTestServer({ threads: 1, env });
  await using people = openPeopleOf(server);
  const id = await people.register(email);
  const before = await people.signIn(email);
  await before.post('/account/keys/create');
  await before.post('/account/site-keys/create', { hosts: 'shop.example blog.example' });
  const hook = { url: 'https://1.1.1.1/hooks?team=noc', watches: '192.0.2.77', threshold: '100' };
  assert.equal((await before.post('/account/webhooks/create', hook)).status, 200);
  await addPasskey(before, origin);
  const tools = { store: people.store, clock: systemClock(), random: systemRandom() };
  const parties = { accountId: id, clientId: 'shop.example', origin: 'https://www.shop.example' };
  const { row } = createConsents(tools).afterDecision(undefined, parties, ['openid'], ['openid']);
  await people.store.commit({ set: [row] });
  const asPerson = (cookie: string) => {
    const [name, value] = cookie.split('=');
    return { cookies: [{ name: name!, value: value!, url: server.baseUrl }] };
  };
  const old = await people.signIn(email);
  await withBrowser(async (browser) => {
    const confirm = `${server.baseUrl}/account/confirm?return=/account/security`;
    const session = asPerson(old.cookie);
    assert.deepEqual(
      await pageProblems(browser, confirm, {
        name: 'confirm-passkey',
        session,
        widths: [390, 1440],
      }),
      [],
    );
    const visitor = webVisitor(server);
    const recover = await visitor.submit(await visitor.get('/recover'), '/recover', { email });
    assert.equal(recover.status, 303);
    const link = await mailedLink(server, email, '/reset');
    const form = await visitor.get(link.pathname + link.search);
    const password = personPassword;
    assert.equal((await visitor.submit(form, '/reset', { password })).status, 303);
    const own = await people.signIn(email);
    const review = `${server.baseUrl}/account/review`;
    const look = {
      name: 'account-review',
      session: asPerson(own.cookie),
      widths: [320, 390, 1440],
    };
    assert.deepEqual(await pageProblems(browser, review, look), []);
    const french = { ...look, name: 'account-review-fr', locale: 'fr-FR', widths: [390] };
    assert.deepEqual(await pageProblems(browser, review, french), []);
    const context = await openContext(browser, { javaScriptEnabled: false });
    await context.addCookies(asPerson(own.cookie).cookies);
    const page = await context.newPage();
    await page.goto(`${server.baseUrl}/account`);
    assert.equal(new URL(page.url()).pathname, '/account/review');
    const groups = await page.locator('main fieldset').count();
    assert.equal(groups, 5);
    for (let i = 0; i < groups; i++) {
      await page.locator('main fieldset').nth(i).locator('input').first().focus();
      await page.keyboard.press('Space');
      await page.keyboard.press('ArrowDown');
    }
    await page.getByRole('button', { name: /Apply and continue/ }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(`${server.baseUrl}/account`);
  });
  assert.equal((await people.signon.passkeys.list(id)).length, 0);
});
