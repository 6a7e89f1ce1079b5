/**
 * What an owner sees whose account is limited, in a real browser without a script: the form with
 * the challenge, the word about the mail, the button of the link and the page for another browser.
 */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { picture, withBrowser } from '../../support/browser/browser.ts';
import { mailedLink } from '../../support/browser/web-visitor.ts';
import { solveGif } from '../../support/captcha/solver.ts';
import { freePort } from '../../support/server/free-port.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

import { openPeople } from '../../support/signon/visitor.ts';

const email = 'ada@portcullis.example';
const looks = [
  { locale: 'en-GB', width: 1440, colorScheme: 'light' },
  { locale: 'fr-FR', width: 390, colorScheme: 'dark' },
] as const;

async function solvedBy(page: Page, server: TestServer, secret: string): Promise<void> {
  for (let i = 0; i < 12; i++) {
    const token = await page.locator('[name=captcha_token]').getAttribute('value');
    const picture = await server.fetch(`/captcha/img/${token}.gif`);
    await page.fill('#captcha-answer', solveGif(new Uint8Array(picture.bytes)).word);
    await page.fill('#password', secret);
    await page.click('main form[action^="/signin"] .button-primary');
    if ((await page.locator('#captcha-answer-error').count()) === 0) return;
  }
  throw new Error('no challenge was solved');
}

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
      const more = { locale, colorScheme, viewport, javaScriptEnabled: false } as const;
      const context = await browser.newContext(more);
      const page = await context.newPage();
      const shoot = (name: string) => picture(page, `lockout-${name}-${locale}-${width}`);
      const guess = async () => {
        await page.goto(`${baseUrl}/signin`);
        await page.fill('#email', email);
        await page.fill('#password', 'wrong-guess-1');
        await page.click('main form[action^="/signin"] .button-primary');
      };
      // Five are free for this network; from the sixth on there is a wait that grows.
      const challenge = page.locator('[name=captcha_token]');
      for (let i = 0; (await challenge.count()) === 0; i++) {
        assert.ok(i < 30);
        await guess();
      }
      await shoot('challenge');
      // Wrong ones until the wait is longer than it takes to answer.
      for (let i = 0; !page.url().endsWith('/signin/link/sent'); i++) {
        assert.ok(i < 30);
        if ((await challenge.count()) === 0) await guess();
        await solvedBy(page, server, 'wrong-guess-1');
      }
      await shoot('mailed');
      const link = await mailedLink(server, email, '/signin/link');
      await page.goto(link.href);
      await shoot('link');
      const elsewhere = await browser.newContext(more);
      const other = await elsewhere.newPage();
      await other.goto(link.href);
      await picture(other, `lockout-other-${locale}-${width}`);
      await page.click('main form[action^="/signin/link"] button');
      assert.equal(new URL(page.url()).pathname, '/account');
    });
  });
}
