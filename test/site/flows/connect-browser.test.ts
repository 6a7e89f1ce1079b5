/** The screens of /connect in a real browser: in order, and the first request shows by itself. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { checkPage, openContext, watchPage, withBrowser } from '../../support/browser/browser.ts';
import { startTestServer, within } from '../../support/server/server.ts';
import { openPeopleOf } from '../../support/signon/person.ts';

/** Buttons that leave their block, and lines that are broken behind their indentation: an empty one would be shown. */
const codeProblems = `[...document.querySelectorAll('.code')].flatMap((block) => {
  const edge = block.getBoundingClientRect().right;
  const button = block.querySelector('.code-copy');
  const found = button?.getBoundingClientRect().right > edge ? ['button of ' + button.dataset.copy] : [];
  const texts = document.createTreeWalker(block.querySelector('code'), NodeFilter.SHOW_TEXT);
  const topOf = (text, at) => {
    const range = document.createRange();
    range.setStart(text, at);
    range.setEnd(text, at + 1);
    return range.getBoundingClientRect().top;
  };
  let before = '\\n';
  while (texts.nextNode()) {
    const text = texts.currentNode;
    for (const { index, 0: start } of text.data.matchAll(/(?<=^|\\n)[ \\t]+(?=\\S)/g)) {
      if (index === 0 && !before.endsWith('\\n')) continue;
      const word = index + start.length;
      if (topOf(text, index) !== topOf(text, word)) found.push('line of ' + text.data.slice(word));
    }
    before = text.data;
  }
  return found;
})`;

it('the screens are in order, and a first request shows', { timeout: 600_000 }, async () => {
  await using server = await startTestServer({ threads: 1, env: { CLIENT_LIMITS: 'off' } });
  await using people = openPeopleOf(server);
  await people.register('ada@mail.example');
  const ada = await people.signIn('ada@mail.example');
  const made = await ada.post('/account/keys/create');
  const key = /<code id="shown-key">([^<]+)</.exec(made.body)![1]!;
  const [name, value] = ada.cookie.split('=') as [string, string];
  const cookies = [{ name, value, url: server.baseUrl }];
  await withBrowser(async (browser) => {
    const at = (path: string) => server.baseUrl + path;
    await checkPage(browser, at('/connect'), { name: 'connect', widths: [390, 1440] });
    await checkPage(browser, at('/connect/nftables?family=4'), {
      name: 'connect-nftables',
      widths: [390],
      locale: 'fr-FR',
    });
    await checkPage(browser, at('/connect/python'), {
      name: 'connect-python',
      widths: [390, 1440],
      session: { cookies },
    });

    for (const locale of ['en-GB', 'fr-FR']) {
      const narrow = await openContext(browser, { locale, viewport: { width: 390, height: 900 } });
      await narrow.addCookies(cookies);
      const page = await narrow.newPage();
      for (const name of ['fail2ban', 'postfix', 'rspamd', 'traefik', 'crowdsec-firewall']) {
        await page.goto(at(`/connect/${name}`));
        assert.deepEqual(await page.evaluate(codeProblems), [], `${locale} ${name}`);
      }
      await narrow.close();
    }

    const context = await openContext(browser);
    await context.addCookies(cookies);
    const page = await context.newPage();
    const finish = await watchPage(page, at('/connect/node'));
    await page.goto(at('/connect/node'));
    await page.getByText('Waiting for the first request.').waitFor();
    assert.match((await page.locator('#key').textContent()) ?? '', new RegExp(key));
    const check = '/api/v2/check?ipAddress=192.0.2.1';
    assert.equal((await server.fetch(check, { headers: { Key: key } })).status, 200);
    await page.getByText('Your request arrived. It works.').waitFor();
    await page.reload();
    await page.getByText('Your request arrived. It works.').waitFor();
    assert.deepEqual(await finish(), []);
    // The browser remembers it: the server counts all requests of the account as one.
    await page.goto(at('/connect/wordpress'));
    await page.getByText('Your key works').waitFor();
    assert.equal(await page.getByText('Answer sent').isVisible(), false, 'it was another tool');
    assert.equal(await page.getByText('Connected', { exact: true }).isVisible(), false);
    await page.goto(at('/connect'));
    await page.locator('a.target[href="/connect/node"] .target-live').waitFor();
    assert.equal(await page.locator('.target-live').count(), 1);
    // On a demo server a site may be on this machine.
    await page.goto(at('/connect/sign-in-node'));
    for (const [domain, ...texts] of [
      ['localhost:4000', "'http://localhost:4000/callback'", "id: 'localhost',", '.listen(4000)'],
      ['shop.example', "'https://shop.example/callback'", "id: 'shop.example',", '.listen(3000)'],
      ['', "'https://example.com/callback'", "id: 'example.com',", '.listen(3000)'],
    ]) {
      await page.getByLabel('Domain').fill(domain!);
      const shown = (await page.locator('#sign-in-code').textContent()) ?? '';
      for (const text of texts) assert.ok(shown.includes(text), `${domain} ${text}`);
    }

    const stranger = await (await openContext(browser)).newPage();
    const end = await watchPage(stranger, at('/connect/ipset'));
    await stranger.goto(at('/connect/ipset'));
    await stranger.getByText('Waiting for the first request.').waitFor();
    const text = (await stranger.locator('#refresh-script').textContent()) ?? '';
    const mark = /mark=([0-9a-f]{40})/.exec(text)![1]!;
    const list = `/feeds/blocklist.ipset?mark=${mark}`;
    // The first feeds of a busy machine take a while.
    await within(async () => (await server.fetch(list)).status === 200, 'the list');
    await stranger.getByText('Your request arrived. It works.').waitFor();
    await stranger.reload();
    await stranger.getByText('Your request arrived. It works.').waitFor();
    assert.deepEqual(await end(), []);
    // A visitor from this machine alone: whether others come with their own address, nobody knows.
    await stranger.goto(at('/connect/nginx'));
    for (const [note, said] of [
      ['loopback', 'No outside visitor yet'],
      ['untrusted', 'Not protecting yet'],
    ]) {
      const shown = await stranger.evaluate(`(() => {
        const part = (name) => document.querySelector(name);
        for (const one of document.querySelectorAll('[data-note]')) one.hidden = true;
        part('[data-note=${note}]').hidden = part('#live-title [data-when=failing]').hidden = false;
        part('#live-title [data-when=waiting]').hidden = true;
        return part('#live-title').innerText.trim();
      })()`);
      assert.equal(shown, said);
    }
  });
});

it('a site on this machine is refused in words where there is no demo', async () => {
  await using server = await startTestServer({ threads: 1, demo: false });
  await withBrowser(async (browser) => {
    const page = await (await openContext(browser)).newPage();
    await page.goto(`${server.baseUrl}/connect/sign-in-node`);
    await page.getByLabel('Domain').fill('localhost:4000');
    await page.getByLabel('Domain').press('Tab');
    await page.getByText('localhost works with a demo server only').waitFor();
    assert.equal(await page.getByLabel('Domain').inputValue(), 'localhost:4000');
    assert.match(
      (await page.locator('#sign-in-code').textContent()) ?? '',
      /https:\/\/example\.com/,
    );
  });
});
