/**
 * What people do beside the straight way, in a real browser: the same download twice, a sign-in in a
 * window that the site opened.
 */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it } from 'node:test';
import { leavePage, openContext, withBrowser } from '../../support/browser/browser.ts';
import { forFile } from '../../support/server/for-file.ts';
import { freePort } from '../../support/server/free-port.ts';
import { startTestServer } from '../../support/server/server.ts';
import { openPeopleOf, personPassword } from '../../support/signon/person.ts';

const port = await freePort();
// A window is sent back to the address that the service knows of itself.
const env = { PORT: String(port), BASE_URL: `http://127.0.0.1:${port}`, CLIENT_LIMITS: 'off' };
const server = forFile(await startTestServer({ threads: 1, env }));
const people = forFile(openPeopleOf(server));

it('the copy of everything can be had twice', { timeout: 600_000 }, async () => {
  const email = 'copy@mail.example';
  await people.register(email);
  const [name, value] = (await people.signIn(email)).cookie.split('=');
  await withBrowser(async (browser) => {
    const context = await openContext(browser);
    await context.addCookies([{ name: name!, value: value!, url: server.baseUrl }]);
    const page = await context.newPage();
    await page.goto(`${server.baseUrl}/account/data`);
    for (const time of ['first', 'second', 'third']) {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download' }).click(),
      ]);
      assert.equal(download.suggestedFilename(), 'account.json', time);
    }
  });
});

it('what was typed and not sent outlives another language and another theme', {
  timeout: 600_000,
}, async () => {
  const email = 'typist@mail.example';
  await people.register(email);
  const [name, value] = (await people.signIn(email)).cookie.split('=');
  /** Types into each field, and says what stands in them. */
  const script = `(() => {
    const fields = [...document.querySelectorAll('main form')].flatMap((form) => [...form.elements])
      .filter(({ type, name }) => name && !/hidden|submit|button|file|fieldset/.test(type));
    const stateOf = (field) =>
      [field.name, field.type, /checkbox|radio/.test(field.type) ? field.checked : field.value];
    if (globalThis.isTyping) {
      for (const field of fields) {
        if (/checkbox|radio/.test(field.type)) field.checked = !field.checked;
        else if (field.options) field.selectedIndex = field.options.length - 1;
        else field.value = /date|number/.test(field.type) ? '' : 'typed "' + field.name + '" <é>';
      }
    }
    return fields.map(stateOf);
  })()`;
  const isSecret = ([field, type]: string[]) =>
    type === 'password' || field!.startsWith('captcha_') || field === 'code';
  await withBrowser(async (browser) => {
    const signedIn = await openContext(browser);
    await signedIn.addCookies([{ name: name!, value: value!, url: server.baseUrl }]);
    const anybody = await openContext(browser);
    const pages = [
      ...['/register', '/signin', '/recover', '/report?address=8.8.8.8'].map(
        (path) => [anybody, path] as const,
      ),
      ...['/account', '/account/keys', '/account/webhooks'].map(
        (path) => [signedIn, path] as const,
      ),
    ];
    for (const [context, path] of pages) {
      const page = await context.newPage();
      await page.goto(server.baseUrl + path);
      for (const button of ['[value=fr]', '[value=dark]', '[value=en]']) {
        await page.evaluate('globalThis.isTyping = true; undefined');
        const typed = (await page.evaluate(script)) as string[][];
        assert.ok(typed.length > 0, path);
        await leavePage(page, () => page.locator(`footer form.site-looks ${button}`).click());
        const found = (await page.evaluate(script)) as string[][];
        const open = typed.filter((field) => !isSecret(field));
        assert.deepEqual(
          found.filter((field) => !isSecret(field)),
          open,
          `${path} ${button}`,
        );
        for (const field of found) if (field[1] === 'password') assert.equal(field[2], '', path);
        const unseen = `[...document.querySelectorAll('main details:not([open]) [name]')]
          .filter(({ value }) => value?.startsWith('typed')).map(({ name }) => name)`;
        assert.deepEqual(await page.evaluate(unseen), [], `${path}: what was typed is in sight`);
      }
      await page.goto(server.baseUrl + path);
      const later = JSON.stringify(await page.evaluate(script));
      assert.ok(!later.includes('typed'), `${path}: it is filled in once`);
      await page.close();
    }
  });
});

it('a form whose answer was stopped can be sent again', { timeout: 600_000 }, async () => {
  const email = 'ada@mail.example';
  await withBrowser(async (browser) => {
    const page = await (await openContext(browser)).newPage();
    await page.goto(`${server.baseUrl}/recover`);
    // Its turn comes after that of the page's script: what is not held back there would be sent.
    await page.evaluate(`globalThis.sent = 0;
      addEventListener('submit', (event) => {
        if (!event.defaultPrevented) sent++;
        event.preventDefault();
      });`);
    await page.getByLabel('Email').fill(email);
    const press = () => page.evaluate("document.querySelector('main form button').click()");
    await press();
    await press();
    assert.equal(await page.evaluate('sent'), 1, 'a double click sends one');
    await page.keyboard.press('Escape');
    await press();
    assert.equal(await page.evaluate('sent'), 2, 'stopped');
    await page.locator('form[data-sent]').waitFor({ state: 'detached' });
    await press();
    assert.equal(await page.evaluate('sent'), 3, 'no answer came');
  });
});

it('a sign-in in a window that the site opened stays in touch with the site', {
  timeout: 600_000,
}, async () => {
  const email = 'window@mail.example';
  const service = server.baseUrl;
  await people.register(email);
  const site = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    const back = 'opener?.postMessage(location.search, location.origin)';
    response.end(request.url?.startsWith('/cb') ? `<script>${back}</script>` : '<h1>A site</h1>');
  });
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  const origin = `http://localhost:${(site.address() as AddressInfo).port}`;
  const query = new URLSearchParams({
    client_id: 'localhost',
    redirect_uri: `${origin}/cb`,
    response_type: 'code',
    scope: 'openid',
    state: 'of-the-window',
  });
  try {
    await withBrowser(async (browser) => {
      const page = await (await openContext(browser)).newPage();
      await page.goto(origin);
      const [popup] = await Promise.all([
        page.waitForEvent('popup'),
        page.evaluate(`globalThis.told = [];
          addEventListener('message', (event) => told.push(event.data));
          globalThis.win = window.open(${JSON.stringify(`${service}/authorize.php?${query}`)}, 'sso', 'popup');
          undefined`),
      ]);
      const inTouch = async (where: string) =>
        assert.equal(await page.evaluate('win.closed'), false, where);
      await popup.waitForURL(/\/signin/);
      await inTouch('sign-in');
      await popup.getByLabel('Email').fill(email);
      await popup.getByLabel('Password').fill('wrong-password');
      await popup.keyboard.press('Enter');
      await popup.getByRole('alert').first().waitFor();
      await inTouch('wrong password');
      await popup.getByRole('link', { name: 'Forgot your password?' }).click();
      await popup.waitForURL(/\/recover/);
      await inTouch('recover');
      await popup.locator('.narrow-foot a').click();
      await popup.waitForURL(/\/signin\?/);
      await popup.getByLabel('Email').fill(email);
      await popup.getByLabel('Password').fill(personPassword);
      await popup.keyboard.press('Enter');
      await popup.waitForURL(/authorize\.php/);
      await inTouch('consent');
      await popup.getByRole('button', { name: 'Allow' }).click();
      await page.waitForFunction('told.length > 0');
      const told = (await page.evaluate('told')) as string[];
      assert.match(told[0]!, /code=.*state=of-the-window/);
    });
  } finally {
    site.close();
    site.closeAllConnections();
  }
});
