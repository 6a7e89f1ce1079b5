/**
 * What an owner sees whose account is limited, in a real browser, with and without a script: the form with work and no
 * picture, the word about the mail, the button of the link and the page for another browser.
 */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { leavePage, openContext, picture, withBrowser } from '../../support/browser/browser.ts';
import { mailedLink } from '../../support/browser/web-visitor.ts';
import { freePort } from '../../support/server/free-port.ts';
import { startTestServer } from '../../support/server/server.ts';

import { openPeople } from '../../support/signon/visitor.ts';

const email = 'ada@portcullis.example';
const looks = [
  { locale: 'en-GB', width: 1440, colorScheme: 'light' },
  { locale: 'fr-FR', width: 390, colorScheme: 'dark' },
] as const;

for (const { locale, width, colorScheme } of looks) {
  it(`a limited owner comes in without a script (${locale}, ${width})`, {
    timeout: 600_000,
  }, async () => {
    const port = await freePort();
    const baseUrl = `http://localhost:${port}`;
    const env = { PORT: String(port), BASE_URL: baseUrl, CLIENT_LIMITS: 'off' };
    await using server = await startTestServer({ threads: 1, env, demo: false });
    const people = openPeople(server);
    await people.add(email);
    await people[Symbol.asyncDispose]();
    await withBrowser(async (browser) => {
      const viewport = { width, height: 900 };
      const look = { locale, colorScheme, viewport, reducedMotion: 'no-preference' } as const;
      const more = { ...look, javaScriptEnabled: false };
      const context = await openContext(browser, more);
      const page = await context.newPage();
      const shoot = (name: string) => picture(page, `lockout-${name}-${locale}-${width}`);
      const guess = async () => {
        await page.goto(`${baseUrl}/signin`);
        await page.fill('#email', email);
        await page.fill('#password', 'wrong-guess-1');
        await leavePage(page, () => page.click('main form[action^="/signin"] .button-primary'));
      };
      // Five are free for this network; from the sixth on there is a wait that grows.
      const beside = page.locator('[name=captcha_beside]');
      for (let i = 0; (await beside.count()) === 0; i++) {
        assert.ok(i < 30);
        await guess();
      }
      assert.equal(await page.locator('.challenge img').count(), 0);
      await shoot('challenge');
      const scripted = await openContext(browser, look);
      const busy = await scripted.newPage();
      await busy.goto(`${baseUrl}/signin`);
      const fill = async (secret: string) => {
        await busy.fill('#email', email);
        await busy.fill('#password', secret);
        await leavePage(busy, () => busy.click('main form[action^="/signin"] .button-primary'));
      };
      const row = busy.locator('.challenge');
      for (let i = 0; (await row.count()) === 0; i++) {
        assert.ok(i < 30);
        await fill('wrong-guess-2');
      }
      await busy.waitForSelector('.challenge[data-state=done]');
      await picture(busy, `lockout-work-${locale}-${width}`);
      await fill('wrong-guess-3');
      assert.equal(await busy.locator('.challenge img').count(), 0);
      const idle = await (await openContext(browser, look)).newPage();
      await idle.addInitScript('delete window.Worker');
      const sendFrom = async (from: typeof idle) => {
        await from.fill('#email', email);
        await from.fill('#password', 'wrong-guess-4');
        // A page that offers passkeys asks for one by a POST too.
        const answered = from.waitForResponse(
          (one) => one.request().method() === 'POST' && one.request().isNavigationRequest(),
        );
        await from.click('main form[action^="/signin"] .button-primary');
        return (await answered).status();
      };
      const limit = async (from: typeof idle) => {
        await from.goto(`${baseUrl}/signin`);
        for (let i = 0; (await sendFrom(from)) !== 429; i++) assert.ok(i < 30);
      };
      await limit(idle);
      await idle.waitForSelector('.challenge[data-state=unable]');
      assert.ok([422, 429].includes(await sendFrom(idle)), 'sent without work');
      const slow = await (await openContext(browser, look)).newPage();
      await slow.clock.install();
      await slow.addInitScript(
        'window.Worker = class { postMessage() { document.documentElement.dataset.works = 1; } terminate() {} }',
      );
      await limit(slow);
      await slow.waitForSelector('html[data-works]');
      await slow.clock.fastForward(10_000);
      await slow.waitForSelector('.challenge[data-state=long]');
      assert.match(
        (await slow.textContent('.challenge-row')) ?? '',
        /button|bouton/,
        'the other way',
      );
      await picture(slow, `lockout-slow-${locale}-${width}`);
      assert.ok([422, 429].includes(await sendFrom(slow)), 'sent before the work is done');
      await page.fill('#email', email);
      await beside.click();
      await page.waitForURL('**/signin/link/sent');
      await shoot('mailed');
      const link = await mailedLink(server, email, '/signin/link');
      await page.goto(link.href);
      await shoot('link');
      const elsewhere = await openContext(browser, more);
      const other = await elsewhere.newPage();
      await other.goto(link.href);
      await picture(other, `lockout-other-${locale}-${width}`);
      await page.click('main form[action^="/signin/link"] button');
      await page.waitForURL('**/account');
    });
  });
}
