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
  const found = button.getBoundingClientRect().right > edge ? ['button of ' + button.dataset.copy] : [];
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
    assert.deepEqual(await finish(), []);

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
  });
});
