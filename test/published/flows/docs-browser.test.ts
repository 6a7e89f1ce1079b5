/** The documentation in a real browser: every width, both themes, the search, copy buttons. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { checkPage, openContext, watchPage, withBrowser } from '../../support/browser/browser.ts';
import { startTestServer } from '../../support/server/server.ts';

const sampleNames = ['curl', 'Node', 'Python', 'PHP', 'Go'];

it('pages of the documentation are in order, with and without their script', async () => {
  await using server = await startTestServer({ threads: 1 });
  const at = (path: string) => server.baseUrl + path;
  await withBrowser(async (browser) => {
    await checkPage(browser, at('/docs'), { name: 'docs' });
    await checkPage(browser, at('/docs/ip-api'), {
      name: 'docs-ip-api',
      locale: 'fr-FR',
      widths: [320, 1280],
    });
    await checkPage(browser, at('/docs/sign-in-button'), { name: 'docs-button', widths: [320] });
    for (const page of [
      'captcha',
      'feeds',
      'limits',
      'machines',
      'sign-on',
      'ask-about-an-address',
    ]) {
      const options = { name: `docs-${page}`, widths: [320], themes: ['light'] as const };
      await checkPage(browser, at(`/docs/${page}`), options);
    }

    const context = await openContext(browser);
    const page = await context.newPage();
    const finish = await watchPage(page, at('/docs'));
    await page.goto(at('/docs'));
    await page.getByRole('searchbox').fill('duplicate 15 minutes');
    const hit = page.locator('#docs-results a', { hasText: 'POST report' });
    await hit.click();
    await page.waitForURL('**/docs/ip-api#post-report');
    assert.equal(await page.locator('#post-report').isVisible(), true);
    await page.getByRole('searchbox').fill('zzzzzz');
    await page.getByText('Nothing found.').waitFor();
    await page.getByRole('searchbox').press('Escape');
    assert.equal(await page.getByText('Nothing found.').count(), 0);
    const search = page.getByRole('searchbox');
    await search.fill('<img src=x onerror=alert(1)>');
    await page.getByText('Nothing found.').waitFor();
    assert.ok((await page.locator('button[data-copy]:visible').count()) > 5, 'copy buttons');
    assert.deepEqual(await finish(), []);

    const finishTabs = await watchPage(page, at('/docs/ip-api'));
    await page.goto(at('/docs/ip-api'));
    const tabsOf = (heading: string) =>
      page.locator(`#${heading} ~ .samples`).first().getByRole('tab');
    const shownOf = (heading: string) =>
      page.locator(`#${heading} ~ .samples`).first().getByRole('tabpanel').allInnerTexts();
    assert.deepEqual(await tabsOf('get-check').allInnerTexts(), sampleNames);
    assert.match((await shownOf('get-check')).join(), /^curl[\s\S]*curl -s/);
    await tabsOf('get-check').first().focus();
    for (const key of ['ArrowLeft', 'ArrowLeft', 'Home', 'ArrowRight']) {
      await page.keyboard.press(key);
    }
    for (const heading of ['get-check', 'post-report']) {
      const shown = await shownOf(heading);
      assert.equal(shown.length, 1, heading);
      assert.match(shown.join(), /await fetch/);
    }
    await page.goto(at('/docs/sign-on'));
    const kept = page.getByRole('tab', { selected: true });
    assert.deepEqual(await kept.allInnerTexts(), ['Node']);
    assert.deepEqual(await finishTabs(), []);
    await page.close();

    const plain = await openContext(browser, { javaScriptEnabled: false });
    const quiet = await plain.newPage();
    await quiet.goto(at('/docs'));
    assert.equal(await quiet.getByRole('searchbox').count(), 0, 'a box that does nothing');
    await quiet.goto(at('/docs/ip-api'));
    assert.equal(await quiet.getByRole('tab').count(), 0);
    for (const name of sampleNames) {
      const stacked = quiet.getByRole('region', { name: `${name} (GET check)` });
      assert.equal(await stacked.isVisible(), true, name);
    }
    await quiet.getByRole('link', { name: 'Limits', exact: true }).first().click();
    await quiet.waitForURL('**/docs/limits');
    await plain.close();
  });
});
