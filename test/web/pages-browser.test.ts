/**
 * The finished pages in a real browser, served with their real headers: nothing blocked, nothing
 * sticking out, nothing that axe objects to, at three widths and in both colour schemes.
 */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import type { Browser } from 'playwright-core';
import type { Language } from '../../src/core/language.ts';
import { ipPage } from '../../src/reputation/address/address.page.tsx';
import { feedsPage } from '../../src/reputation/blocklists/feeds.page.tsx';
import { removalPage, reportPage } from '../../src/reputation/requests/requests.page.tsx';
import { homePage } from '../../src/site/home/home.page.tsx';
import { pickLanguage } from '../../src/web/language.ts';
import { errorPage, type PageFrame } from '../../src/web/layout/layout.tsx';
import { pageHeaders } from '../../src/web/page-tools.ts';
import { checkPage, openContext, pageProblems, withBrowser } from '../support/browser/browser.ts';
import {
  allowlistedAddress,
  cleanAddress,
  feedsData,
  maliciousAddress,
  suspectAddress,
  testAssets,
  testFrame,
} from './page-fixtures.ts';

const home = {
  secureUrl: 'https://secure.example',
  exampleAddresses: ['198.51.100.23', '2001:db8::1'],
  radar: [
    { value: '1,048,576', label: 'addresses and networks known' },
    { value: '13', label: 'of them malicious' },
    { value: '0', label: 'reports in 24 hours' },
    { value: '2,140', label: 'checks in 24 hours' },
    { value: '3', label: 'lists loaded' },
  ],
  arrivals: [{ address: '198.51.100.23', score: 61 }],
  sample: { address: '198.51.100.23', answer: '{\n  "data": { "abuseConfidenceScore": 61 }\n}' },
};

const pages: Record<string, (language: Language) => string> = {
  '/': (language) => homePage(testFrame(language), home),
  '/feeds': (language) => feedsPage(testFrame(language), feedsData),
  '/feeds/building': (language) =>
    feedsPage(testFrame(language), {
      ...feedsData,
      ready: false,
      feeds: feedsData.feeds.map(({ name }) => ({ name, now: undefined })),
    }),
  '/ip/clean': (language) => ipPage(testFrame(language), cleanAddress),
  '/ip/suspect': (language) => ipPage(testFrame(language), suspectAddress),
  '/ip/malicious': (language) => ipPage(testFrame(language), maliciousAddress),
  '/ip/allowlisted': (language) => ipPage(testFrame(language), allowlistedAddress),
  '/ip/member': (language) => ipPage(signedInFrame(language, false), suspectAddress),
  '/ip/operator': (language) => ipPage(signedInFrame(language, true), suspectAddress),
  '/removal': (language) => removalPage(testFrame(language), removalForm),
  '/report': (language) => reportPage(testFrame(language), reportForm),
  '/broken': () =>
    '<!doctype html><html><body><div style="color:red">x</div><table width="3000"><tr><td>' +
    '<font color="#dddddd">pale</font></td></tr></table><img src="/gone.png" alt=""></body></html>',
};

/** With every link that a header can have, and an address that is long. */
function signedInFrame(language: Language, operator: boolean): PageFrame {
  const frame = testFrame(language);
  const email = 'a.person.with.a.long.name@department.portcullis.example';
  return {
    ...frame,
    links: { ...frame.links, connect: '/connect', account: '/account' },
    person: { email, operator, csrf: 'x', prefersGlass: false },
  };
}

const removalForm = {
  ...({ address: '198.51.100.23', csrf: 'x', reason: 'Short', wrong: 'reason' } as const),
  challenge: 'signed-in',
} as const;
const reportForm = {
  ...({ address: '198.51.100.23', csrf: 'x', account: 'none', challenge: undefined } as const),
  failure: { ok: false, error: 'duplicate_report' },
} as const;

const server = createServer((request, response) => {
  const path = request.url ?? '/';
  const asset = testAssets().assetFor(path);
  if (asset !== undefined) {
    const { body, etag } = asset.identity;
    response.writeHead(200, {
      'content-type': asset.type,
      'cache-control': asset.cacheControl,
      etag,
    });
    response.end(body);
    return;
  }
  const language = pickLanguage(request.headers['accept-language']);
  const page = pages[path];
  response.writeHead(page === undefined ? 404 : 200, pageHeaders(language));
  response.end(page?.(language) ?? errorPage(testFrame(language), { status: 404 }));
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

after(() => {
  server.close();
  server.closeAllConnections();
});

test('the pages are clean in a browser', { timeout: 600_000 }, async (t) => {
  await withBrowser(async (browser: Browser) => {
    await t.test('home', () => checkPage(browser, `${origin}/`, { name: 'home' }));
    await t.test('home in French', () =>
      checkPage(browser, `${origin}/`, { name: 'home-fr', locale: 'fr-FR', themes: ['light'] }),
    );
    await t.test('feeds', () => checkPage(browser, `${origin}/feeds`, { name: 'feeds' }));
    await t.test('feeds in French', () =>
      checkPage(browser, `${origin}/feeds`, { name: 'feeds-fr', locale: 'fr-FR' }),
    );
    await t.test('feeds before the first build', () =>
      checkPage(browser, `${origin}/feeds/building`, {
        name: 'feeds-building',
        widths: [320],
        themes: ['light'],
      }),
    );
    for (const kind of ['clean', 'suspect', 'malicious', 'allowlisted']) {
      await t.test(`address: ${kind}`, () =>
        checkPage(browser, `${origin}/ip/${kind}`, { name: `ip-${kind}` }),
      );
    }
    await t.test('address in French', () =>
      checkPage(browser, `${origin}/ip/malicious`, {
        name: 'ip-malicious-fr',
        locale: 'fr-FR',
        themes: ['dark'],
      }),
    );
    for (const name of ['removal', 'report']) {
      await t.test(`form: ${name}`, () =>
        checkPage(browser, `${origin}/${name}`, { name, widths: [390, 1440], locale: 'fr-FR' }),
      );
    }
    await t.test('not found', () =>
      checkPage(browser, `${origin}/nowhere`, { name: 'error-404', status: 404 }),
    );
    for (const person of ['member', 'operator']) {
      await t.test(`the header of a ${person} fits`, () => headerFits(browser, `/ip/${person}`));
    }
    await t.test('a copy button copies', () => copyButtonWorks(browser));
    await t.test('the address box works without a script', () => lookupWorks(browser));
    await t.test('the harness sees a page that is not clean', async () => {
      const problems = await pageProblems(browser, `${origin}/broken`, {
        name: 'broken',
        widths: [320],
        themes: ['light'],
      });
      for (const expected of [
        'CSP: style-src',
        'axe html-has-lang',
        'axe color-contrast',
        'scrolls sideways',
        '404 for',
        'console error',
      ]) {
        const seen = problems.some((line) => line.includes(expected));
        assert.ok(seen, `${expected} is missing from\n${problems.join('\n')}`);
      }
    });
  });
});

/** One row of 56 px at every width: nothing lies on anything or sticks out, the menu neither. */
async function headerFits(browser: Browser, path: string): Promise<void> {
  for (const locale of ['en-GB', 'fr-FR']) {
    for (const width of [320, 390, 768, 1024, 1440]) {
      const context = await openContext(browser, { locale, viewport: { width, height: 600 } });
      const page = await context.newPage();
      await page.goto(origin + path);
      const boxesOf = (selector: string) =>
        page.evaluate(
          `[...document.querySelectorAll('${selector}')].map((e) => e.getBoundingClientRect().toJSON())`,
        ) as Promise<{ left: number; right: number; top: number; bottom: number }[]>;
      const shown = await boxesOf('.site-header-row > *');
      // The box for an address lies over the row of a phone, unseen until it has the focus.
      const parts = shown.filter(
        ({ right, left }) => right > left && (width >= 768 || left > 16 || right < 300),
      );
      const boxes = [...parts, ...(await boxesOf('.site-nav li'))].filter((box) => box.right > 0);
      const said = `${path} ${locale} ${width}`;
      const [header] = await boxesOf('.site-header');
      assert.equal(header!.bottom - header!.top, 57, `${said}: 56 px and its line`);
      assert.equal(boxes.length, width < 768 ? 3 : 7, said);
      for (const { left, right } of boxes) assert.ok(left >= 0 && right <= width, said);
      for (const [i, one] of parts.entries()) {
        for (const other of parts.slice(i + 1)) {
          const isBeside = one.right <= other.left || one.bottom <= other.top;
          assert.ok(isBeside, `${said}: parts lie on one another`);
        }
      }
      const middles = boxes.map(({ top, bottom }) => Math.round((top + bottom) / 2));
      assert.ok(Math.max(...middles) - Math.min(...middles) <= 2, `${said}: more than one line`);
      await page.click('.site-menu-open');
      const [menu] = await boxesOf('.menu');
      assert.ok(menu!.left >= 0 && menu!.right <= width, `${said}: the menu sticks out`);
      await page.keyboard.press('Escape');
      assert.equal(await page.locator('.menu').isVisible(), false, `${said}: Escape closes it`);
      await page.keyboard.press('/');
      assert.equal(await page.evaluate('document.activeElement.id'), 'header-lookup', said);
      assert.equal(await page.locator('#header-lookup').isVisible(), true, said);
      await context.close();
    }
  }
}

async function copyButtonWorks(browser: Browser): Promise<void> {
  const context = await openContext(browser, {
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const page = await context.newPage();
  await page.goto(`${origin}/`);
  const button = page.locator('[data-copy="curl-line"]');
  await button.click();
  await page.waitForFunction("document.querySelector('[data-copy] span').textContent === 'Copied'");
  assert.match(String(await page.evaluate('navigator.clipboard.readText()')), /^curl -H "Key: /);
  await context.close();
}

async function lookupWorks(browser: Browser): Promise<void> {
  const context = await openContext(browser, { javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${origin}/`);
  assert.equal(await page.locator('.code-copy:visible').count(), 0);
  await page.fill('#home-lookup', '2001:db8::1');
  await page.press('#home-lookup', 'Enter');
  await page.waitForURL(`${origin}/ip?address=2001%3Adb8%3A%3A1`);
  await context.close();
}
