/**
 * The whole round on a real server, in a real browser: a form on another origin, the widget, the
 * picture read from its GIF, the receipt, and the site's server that redeems it.
 */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { axeProblems, openContext, watchPage, withBrowser } from '../../support/browser/browser.ts';
import { startSite } from '../../support/captcha/site.ts';
import { solveGif } from '../../support/captcha/solver.ts';
import { demoEmail, startTestServer, within } from '../../support/server/server.ts';

/** The solver misreads one in ten. */
const solvingAttempts = 8;

/** Waits for a picture other than `before`, reads it, types the word. @returns its address, and what was answered */
async function answerPicture(page: Page, before: string) {
  const picture = page.locator('.portcullis-captcha img');
  const source = async () => (await picture.getAttribute('src')) ?? before;
  await within(async () => (await source()) !== before, 'a new picture');
  const address = await source();
  const gif = await fetch(address);
  const { word } = solveGif(new Uint8Array(await gif.arrayBuffer()));
  // A whole word is sent by itself, too: of a slow machine before the key is pressed.
  const answered = page.waitForResponse((response) => response.url().endsWith('/captcha/verify'));
  await page.getByLabel('Type the letters you see moving').fill(word);
  await page.keyboard.press('Enter');
  return { address, verdict: (await (await answered).json()) as { ok: boolean; level?: string } };
}

for (const threads of [1, 3]) {
  it(`a visitor solves, the site redeems, ${threads} threads`, { timeout: 600_000 }, async () => {
    const env = { CLIENT_LIMITS: 'off', CAPTCHA_THREADS: '1' };
    await using server = await startTestServer({ threads, env });
    const made = ['sitekey', 'create', demoEmail, '--host', 'localhost', '--level', 'easy'];
    const { id: siteKey } = await server.cliJson(...made);
    const service = { origin: server.baseUrl, siteKey, apiKey: server.key };
    await using site = await startSite(service);
    await withBrowser(async (browser) => {
      const page = await (await openContext(browser, { reducedMotion: 'no-preference' })).newPage();
      const finish = await watchPage(page, site.url());
      await page.goto(site.url());
      const receipt = page.locator('input[name="portcullis-receipt"]');
      const status = page.locator('.portcullis-captcha [role=status]');
      const said = async () => (await status.textContent()) ?? '';
      let address = '';
      for (let i = 0; i < solvingAttempts && (await receipt.count()) === 0; i++) {
        ({ address } = await answerPicture(page, address));
        await within(async () => /verified|Not right/.test(await said()), 'an answer');
      }
      assert.equal(await receipt.count(), 1, 'solved');
      const problems = [...(await axeProblems(page)), ...(await finish())];
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByRole('heading', { name: 'Sent' }).waitFor();
      assert.deepEqual(problems, []);
    });
    const [verdict] = site.verdicts;
    assert.equal(verdict?.success, true, JSON.stringify(verdict));
    assert.equal(verdict?.hostname, 'localhost');
    const again = await server.fetch('/captcha/receipt', {
      method: 'POST',
      headers: { Key: server.key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ receipt: site.sent[0]!['portcullis-receipt'] }),
    });
    assert.equal(again.body, '{"ok":false}', 'used');
  });
}

it('a level raised while a visitor works, or reads, asks for that one in place', async () => {
  const env = { CLIENT_LIMITS: 'off', CAPTCHA_THREADS: '1' };
  await using server = await startTestServer({ threads: 1, env });
  const { id: siteKey } = await server.cliJson('sitekey', 'create', demoEmail);
  const raise = (level: string) =>
    server.cliJson('sitekey', 'set', siteKey as string, '--level', level);
  await using site = await startSite({
    origin: server.baseUrl,
    siteKey: siteKey as string,
    apiKey: server.key,
  });
  await withBrowser(async (browser) => {
    const page = await (await openContext(browser, { reducedMotion: 'no-preference' })).newPage();
    const finish = await watchPage(page, site.url());
    // The work is done, and on its way.
    await page.route('**/captcha/work', async (route) => {
      await raise('easy');
      await route.continue();
    });
    await page.goto(site.url());
    const widget = page.locator('.portcullis-captcha');
    const receipt = page.locator('input[name="portcullis-receipt"]');
    const status = widget.getByRole('status');
    const first = 'One more step: solve the check.';
    await widget.getByText(first).waitFor();
    await raise('hard');
    let read = { address: '', verdict: {} };
    for (let i = 0; i < solvingAttempts && !('level' in read.verdict); i++) {
      read = await answerPicture(page, read.address);
    }
    assert.deepEqual(read.verdict, { ok: false, level: 'hard' });
    await within(async () => (await status.textContent()) === first, 'the next step');
    const shown = () => widget.locator('img').getAttribute('src');
    await within(async () => ![null, read.address].includes(await shown()), 'the next picture');
    assert.deepEqual([...(await axeProblems(page)), ...(await finish())], []);
    await raise('silent');
    await page.unroute('**/captcha/work');
    await page.getByLabel('Name').fill('Eve');
    await widget.evaluate((root) => root.dispatchEvent(new Event('portcullis-reset')));
    await receipt.waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('heading', { name: 'Sent' }).waitFor();
  });
  assert.equal(site.verdicts[0]?.level, 'silent', JSON.stringify(site.verdicts));
});
