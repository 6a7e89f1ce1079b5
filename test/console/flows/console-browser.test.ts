/** Every screen of the console in a real browser: both themes, narrow and wide, with something to show. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { endpoints } from '../../../src/app/modules.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { systemRandom } from '../../../src/core/random.ts';
import { createRemovals } from '../../../src/reputation/requests/queue.ts';
import { createConsents } from '../../../src/signon/sites/consents.ts';
import { createBlockedSites } from '../../../src/signon/sites/site-list.ts';
import { openContext, pageProblems, withBrowser } from '../../support/browser/browser.ts';
import { startTestServer } from '../../support/server/server.ts';
import { totpOn } from '../../support/signon/factors.ts';
import { openPeopleOf } from '../../support/signon/person.ts';

const email = 'grace.hopper@very-long-name-of-a-company.example';
const address = '2001:4860:4860:1234:5678:9abc:def0:8888';
const queries = {
  '/admin/reports': `?find=${encodeURIComponent(email)}`,
};

it('each screen is clean', { timeout: 900_000 }, async () => {
  await using server = await startTestServer({ threads: 1, env: { CLIENT_LIMITS: 'off' } });
  await using people = openPeopleOf(server);
  const id = await people.register(email);
  await server.cliJson('account', 'set-role', email, 'operator');
  const own = await people.signIn(email);
  await totpOn(own);
  const made = await own.post('/account/keys/create');
  assert.equal(made.status, 200);
  const removals = createRemovals({ store: people.store, clock: systemClock() });
  const reason = `This is ours since Monday. ${'Nobody sends mail from here. '.repeat(6)}`;
  await removals.add(address, { reason, fromAddress: true, signedIn: false });
  const reported = { address: '93.184.216.34', categories: '18', comment: 'x'.repeat(200) };
  assert.ok((await own.post('/report', reported)).status < 400);
  const prefix = '2001:db8:1234:5678::/64';
  const added = await own.post('/admin/allow/change', {
    do: 'add',
    prefix,
    reason: 'our own office',
  });
  const marked = {
    ...queries,
    '/admin/allow': new URL(added.headers.location!, server.baseUrl).search,
  };
  const entry = { do: 'add', prefix, score: '90', category: '22', until: '2099-12-31' };
  const set = await own.post('/admin/entries/change', {
    ...entry,
    note: 'seen in our logs '.repeat(9),
  });
  assert.equal(set.status, 303, set.body);
  await server.cliJson('key', 'create', email, '--name', 'firewall-at-home', '--scope', 'bouncer');
  const hosts = ['--host', 'a-very-long-name-of-a-shop.example.com', '--host', 'example.org'];
  await server.cliJson('sitekey', 'create', email, ...hosts);
  const sites = createBlockedSites({
    store: people.store,
    clock: systemClock(),
    rules: { demo: true },
  });
  for (const domain of ['a-very-long-name-of-a-shop.example.com', 'example.org', 'localhost']) {
    assert.ok((await sites.block(domain)).ok);
  }
  const consents = createConsents({ ...people, clock: systemClock(), random: systemRandom() });
  const parties = { accountId: id, clientId: 'www.example.org', origin: 'https://example.org' };
  const { row } = consents.afterDecision(undefined, parties, ['openid'], ['openid']);
  assert.ok((await people.store.commit({ set: [row, (await consents.useRow(parties))!] })).ok);
  const args = [
    'https://lists.example/a/long/path/of/a/list.txt?token=hidden',
    '--format',
    'plain',
  ];
  await server.cli('source', 'add', ...args, '--every', '6h');
  const [name, value] = own.cookie.split('=');
  const session = { cookies: [{ name: name!, value: value!, url: server.baseUrl }] };
  const isScreen = ({ who, method, path }: (typeof endpoints)[number]) =>
    who === 'signed-in operator' && method === 'GET' && !path.includes('audit.');
  await withBrowser(async (browser) => {
    for (const { path } of endpoints.filter(isScreen)) {
      const stem = path.replace('/:id', '-account').slice(1).replaceAll('/', '-');
      const look = { name: `console-${stem}`, session, widths: [390, 1440] };
      const url = `${server.baseUrl}${path.replace(':id', id)}${(marked as Record<string, string>)[path] ?? ''}`;
      assert.deepEqual(await pageProblems(browser, url, look), [], path);
    }
    const french = { name: 'console-fr', session, locale: 'fr-FR', widths: [390] };
    assert.deepEqual(await pageProblems(browser, `${server.baseUrl}/admin`, french), []);
    const context = await openContext(browser);
    await context.addCookies(session.cookies);
    const page = await context.newPage();
    await page.goto(`${server.baseUrl}/admin`);
    const topOf = async (part: string) => (await page.locator(part).first().boundingBox())!.y;
    for (const width of [390, 768, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      const decision = await topOf('.need');
      assert.ok(decision < (await topOf('.set-up')) || width === 1440, `decisions at ${width}`);
      assert.ok(decision < 320, `the first decision is at ${decision} of ${width}`);
    }
    assert.equal(await page.locator('.site-menu-open > .count').textContent(), '2');
    assert.equal(await page.locator('.set-up[open]').count(), 0, 'the steps are folded');
    await page.locator('.set-up > summary').click();
    assert.equal((await page.locator('.set-up .button:visible').count()) > 1, true);
    await context.close();
  });
});
