/**
 * The radar and what it leads to in a real browser: both themes, narrow and wide, with the server's own
 * headers; a report shows by itself, and the page says whether it is live.
 */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { checkPage, openContext, watchPage, withBrowser } from '../../support/browser/browser.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

const widths = [390, 1440];

async function report(server: TestServer, ip: string): Promise<void> {
  const comment = 'sshd: Failed password for root from 203.0.113.9, mail bob@example.org';
  const query = new URLSearchParams({ ip, comment, categories: '18,22' });
  const headers = { Key: server.key };
  const answer = await server.fetch(`/api/v2/report?${query}`, { method: 'POST', headers });
  assert.equal(answer.status, 200, answer.body);
}

const isLive = (page: Page) => page.locator('.radar-live.is-live').waitFor();

it('the radar is in order, and current by itself', { timeout: 600_000 }, async () => {
  await using server = await startTestServer({ threads: 1, env: { CLIENT_LIMITS: 'off' } });
  const at = (path: string) => server.baseUrl + path;
  await withBrowser(async (browser) => {
    const empty = { name: 'radar-empty', widths, themes: ['light'] } as const;
    await checkPage(browser, at('/radar'), { ...empty, prepare: isLive });

    const context = await openContext(browser);
    const page = await context.newPage();
    const finish = await watchPage(page, at('/radar'));
    await page.goto(at('/radar'));
    await isLive(page);
    await report(server, '198.51.100.210');
    const table = page.locator('[data-live=curve] details');
    await table.locator('summary').click();
    await page.locator('h1').click();
    await report(server, '198.51.100.211');
    await page.locator('.radar-latest a', { hasText: '198.51.100.211' }).waitFor();
    assert.equal(await table.evaluate((details) => details.hasAttribute('open')), true);
    // Of two steps, where one began between them.
    assert.match((await table.textContent())!, /\d\d:\d\d UTC\s*(2\b|1\b[\s\S]* UTC\s*1\b)/);
    assert.deepEqual(await finish(), []);
    await context.close();

    for (const ip of ['45.155.205.233', '2001:db8:85a3::8a2e:370:7334', '192.0.2.77']) {
      await report(server, ip);
    }
    await checkPage(browser, at('/radar'), { name: 'radar', widths, prepare: isLive });
    const french = { widths, locale: 'fr-FR', themes: ['light'] } as const;
    await checkPage(browser, at('/radar?period=day'), { ...french, name: 'radar-fr' });
    await checkPage(browser, at('/radar/8/198'), { name: 'radar-8', widths });
    await checkPage(browser, at('/radar/16/198.51'), { ...french, name: 'radar-16' });
  });
});
