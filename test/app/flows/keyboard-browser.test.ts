/**
 * The pages by keyboard alone, in a real browser: a way past the header that shows when it has the focus,
 * a mark at every stop, each in sight, and no page with more stops than somebody would walk.
 */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { openContext, watchPage, withBrowser } from '../../support/browser/browser.ts';
import { startTestServer } from '../../support/server/server.ts';
import { totpOn } from '../../support/signon/factors.ts';
import { openPeopleOf } from '../../support/signon/person.ts';

const paths = [
  ...['/', '/radar', '/radar/8/198', '/radar/16/198.51', '/ip/198.51.100.7', '/ip/10.0.0.1'],
  ...[
    '/ip/198.51.100.0/24',
    '/as/15169',
    '/ip?address=198.51.100.7+192.0.2.61',
    '/ip?address=none',
  ],
  ...['/connect', '/connect/nftables', '/docs', '/docs/feeds', '/feeds', '/captcha/'],
  ...[
    '/signin',
    '/register',
    '/recover',
    '/removal?address=198.51.100.7',
    '/report?address=198.51.100.7',
  ],
];
const stopsMax = 120;
const operator = 'operator@mail.example';

interface Stop {
  readonly name: string;
  readonly isMarked: boolean;
  readonly isSeen: boolean;
}

/** What has the focus; undefined: the page has no further stop. */
async function stopOf(page: Page): Promise<Stop | undefined> {
  return (await page.evaluate(`(() => {
    const element = document.activeElement;
    if (element === null || element === document.body) return undefined;
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    const { left, right, top, bottom, width, height } = element.getBoundingClientRect();
    const over = document.elementFromPoint(left + width / 2, top + Math.min(height / 2, 20));
    const label = (element.textContent || element.id || '').trim().slice(0, 30);
    return {
      name: element.tagName.toLowerCase() + '.' + element.className + ' ' + label,
      // An element with controls inside marks the one that has it.
      isMarked: element.tagName === 'AUDIO' || outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2,
      isSeen: (!element.matches('.skip') || over === element) && width > 0 && height > 0 && right > 0 && left < innerWidth && bottom > 0 && top < innerHeight,
    };
  })()`)) as Stop | undefined;
}

async function problemsOf(page: Page, url: string): Promise<string[]> {
  await page.goto(url);
  await page.keyboard.press('Tab');
  const first = await stopOf(page);
  // Where nothing stands before the content there is nothing to go past.
  const isBare = await page.evaluate<boolean>("document.body.firstElementChild.tagName === 'MAIN'");
  if ((first?.name.startsWith('a.skip') ?? false) === isBare)
    return [`the first stop is ${first?.name}`];
  const problems: string[] = [];
  let stops = 0;
  for (let stop: Stop | undefined = first; stop !== undefined; stop = await stopOf(page)) {
    if (!stop.isMarked) problems.push(`no mark at ${stop.name}`);
    if (!stop.isSeen) problems.push(`out of sight: ${stop.name}`);
    if (++stops > stopsMax) return [...problems, `more than ${stopsMax} stops, at ${stop.name}`];
    await page.keyboard.press('Tab');
  }
  if (isBare) return problems;
  // What a stop asked for is not broken off.
  await page.waitForLoadState('networkidle');
  await page.goto(url);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  const after = await page.evaluate('document.activeElement.id');
  return after === 'main' ? problems : [...problems, `the skip link leads to ${after}`];
}

it('menus and the search close on Escape, and the field of the search has its mark', {
  timeout: 300_000,
}, async () => {
  await using server = await startTestServer({ threads: 1, env: { CLIENT_LIMITS: 'off' } });
  await withBrowser(async (browser) => {
    for (const width of [1440, 390]) {
      const context = await openContext(browser, { viewport: { width, height: 800 } });
      const page = await context.newPage();
      await page.goto(`${server.baseUrl}/docs`);
      const button = page.locator('.docs-search > button:visible').first();
      await button.focus();
      await page.keyboard.press('Enter');
      await page.locator('.docs-dialog[open]').waitFor();
      const stop = await stopOf(page);
      assert.match(stop!.name, /^input/);
      assert.equal(stop!.isMarked, true, `${width}: the field of the search`);
      await page.keyboard.press('Escape');
      await page.locator('.docs-dialog').waitFor({ state: 'hidden' });
      const back = "document.activeElement.closest('.docs-search') !== null";
      assert.equal(await page.evaluate(back), true, `${width}: the focus goes back`);
      if (width === 390) {
        const menu = page.locator('header details');
        await menu.locator('summary').focus();
        await page.keyboard.press('Enter');
        assert.equal(await menu.getAttribute('open'), '');
        await page.keyboard.press('Tab');
        await page.keyboard.press('Escape');
        assert.equal(await menu.getAttribute('open'), null);
        assert.equal(await page.evaluate('document.activeElement.tagName'), 'SUMMARY');
      }
      await context.close();
    }
  });
});

it('each section of the console stands in sight when it has the focus', {
  timeout: 300_000,
}, async () => {
  await using server = await startTestServer({ threads: 1, env: { CLIENT_LIMITS: 'off' } });
  await using people = openPeopleOf(server);
  await people.register(operator);
  await server.cliJson('account', 'set-role', operator, 'operator');
  const own = await people.signIn(operator);
  await totpOn(own);
  await withBrowser(async (browser) => {
    const context = await openContext(browser, { viewport: { width: 390, height: 800 } });
    const [name = '', value = ''] = own.cookie.split('=');
    await context.addCookies([{ name, value, url: server.baseUrl }]);
    const page = await context.newPage();
    await page.goto(`${server.baseUrl}/admin/entries`);
    const sections = page.locator('.account-nav a');
    await sections.first().focus();
    const cut: string[] = [];
    for (let left = await sections.count(); left > 0; left--) {
      const { name, isWhole } = (await page.evaluate(`(() => {
        const { left, right } = document.activeElement.getBoundingClientRect();
        return { name: document.activeElement.textContent, isWhole: left >= 0 && right <= innerWidth };
      })()`)) as { name: string; isWhole: boolean };
      if (!isWhole) cut.push(name);
      await page.keyboard.press('Tab');
    }
    assert.deepEqual(cut, []);
  });
});

it('every page goes by keyboard', { timeout: 900_000 }, async () => {
  await using server = await startTestServer({ threads: 1, env: { CLIENT_LIMITS: 'off' } });
  const looks = [
    { colorScheme: 'light', viewport: { width: 1440, height: 900 } },
    { colorScheme: 'dark', viewport: { width: 390, height: 800 } },
  ] as const;
  await withBrowser(async (browser) => {
    for (const look of looks) {
      const context = await openContext(browser, look);
      const found: string[] = [];
      for (const path of paths) {
        const page = await context.newPage();
        const url = server.baseUrl + path;
        const finish = await watchPage(page, url);
        const problems = [...(await problemsOf(page, url)), ...(await finish())];
        found.push(...problems.map((text) => `${path}: ${text}`));
        await page.close();
      }
      assert.deepEqual(found, [], `${look.viewport.width} ${look.colorScheme}`);
      await context.close();
    }
  });
});
