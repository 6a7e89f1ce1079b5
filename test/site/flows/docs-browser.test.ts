/** The documentation in a real browser: every width, both themes, the search, copy buttons. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { checkPage, openContext, watchPage, withBrowser } from '../../support/browser/browser.ts';
import { forFile } from '../../support/server/for-file.ts';
import { startTestServer } from '../../support/server/server.ts';
import { openPeopleOf } from '../../support/signon/person.ts';

const sampleNames = ['curl', 'Node', 'Python', 'PHP', 'Go'];

const server = forFile(await startTestServer({ threads: 1 }));
const people = forFile(openPeopleOf(server));

const at = (path: string) => server.baseUrl + path;

/** Long tables and answers. */
const openFolds = async (page: Page) => {
  await page.evaluate(
    "for (const fold of document.querySelectorAll('.docs-article .folds > details')) fold.open = true; 0",
  );
};

/** What stands under the title of each result. */
const excerptsOf = (page: Page) => page.locator('#docs-results small').allInnerTexts();

interface IndexText {
  readonly text: string;
  readonly more?: string;
}

/** Returns whether it is a sentence of the index or a row of a table, or whole words of one with marks of what is left out. */
function isClean(excerpt: string, lines: readonly string[]): boolean {
  const [, before, shown = '', after] = /^(…\u00a0)?(.*?)(\u00a0…)?$/.exec(excerpt) ?? [];
  return lines.some((line) => {
    const at = line.indexOf(shown);
    if (shown === '' || at < 0) return false;
    const left = line.slice(0, at);
    const right = line.slice(at + shown.length);
    const isStart = before === undefined ? /^$|[.!?]\s+$/.test(left) : /\s$/.test(left);
    const isEnd = after === undefined ? /^$|^\s/.test(right) : /^[,;:]?\s/.test(right);
    return isStart && isEnd && (after !== undefined || right === '' || /[.!?]$/.test(shown));
  });
}

/** Types it, and waits until the results are those of it. */
async function searchFor(page: Page, words: string, href: string): Promise<string[]> {
  await page.getByRole('searchbox').fill(words);
  await page.locator(`#docs-results a[href="${href}"]`).waitFor();
  const links = await page.locator('#docs-results a').all();
  return Promise.all(links.map(async (link) => (await link.getAttribute('href')) ?? ''));
}

it('pages of the documentation are in order, with and without their script', async () => {
  await withBrowser(async (browser) => {
    await checkPage(browser, at('/docs'), { name: 'docs' });
    await checkPage(browser, at('/docs/ip-api'), {
      name: 'docs-ip-api',
      locale: 'fr-FR',
      widths: [320, 1280],
      prepare: openFolds,
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
      const look = { name: `docs-${page}`, widths: [320], themes: ['light'] as const };
      const options = { ...look, prepare: openFolds };
      await checkPage(browser, at(`/docs/${page}`), options);
    }

    const context = await openContext(browser);
    const page = await context.newPage();
    const finish = await watchPage(page, at('/docs'));
    await page.goto(at('/docs'));
    assert.equal(await page.getByRole('searchbox').count(), 0, 'the dialog is closed');
    await page.keyboard.press('Control+k');
    await page.getByRole('searchbox').fill('duplicate 15 minutes');
    const hit = page.locator('#docs-results a', { hasText: 'POST report' });
    await hit.click();
    await page.waitForURL('**/docs/ip-api#post-report');
    assert.equal(await page.locator('#post-report').isVisible(), true);
    await page.locator('.docs-contents [aria-current]', { hasText: /^POST report$/ }).waitFor();
    const index = await (await page.request.get(at('/docs/search.json'))).json();
    const texts: readonly IndexText[] = [index.sections, index.screens, index.places].flat();
    const lines = texts.flatMap(({ text, more = '' }) => [
      ...text.split('\n'),
      ...more.split('\n'),
    ]);
    await page.keyboard.press('Control+k');
    for (const [word, href] of [
      ['backup', '/admin/checklist'],
      ['password', '/recover'],
      ['captcha', '/docs/captcha'],
      ['webhook', '/docs/webhooks'],
      ['nginx', '/connect/nginx'],
      ['how to delete my account', '/account/data'],
      ['tor', '/docs/feeds'],
      ['whitelist', '/admin/allow'],
      ['fail2ban', '/connect/fail2ban'],
    ] as const) {
      assert.equal((await searchFor(page, word, href))[0], href);
      for (const excerpt of await excerptsOf(page)) {
        assert.ok(isClean(excerpt, lines), `${word}: ${excerpt}`);
      }
    }
    assert.deepEqual((await searchFor(page, 'nginx', '/connect/nginx')).slice(0, 4), [
      ...['/connect/nginx', '/connect/nginx-list', '/connect/nginx-geo', '/docs/gate#an-example'],
    ]);
    await page
      .getByRole('status')
      .getByText(/^\d results$/)
      .waitFor();
    await searchFor(page, 'fail2ban', '/connect/fail2ban');
    await page.keyboard.press('ArrowDown');
    assert.equal(
      await page.evaluate('document.activeElement.getAttribute("href")'),
      '/connect/fail2ban',
    );
    await page.keyboard.press('ArrowUp');
    await page.getByRole('searchbox').fill('zzzzzz');
    await page.getByText('Nothing found.').waitFor();
    await page.getByRole('searchbox').press('Escape');
    await page.getByRole('searchbox').waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Search', exact: true }).locator('visible=true').click();
    const search = page.getByRole('searchbox');
    await search.fill('<img src=x onerror=alert(1)>');
    await page.getByText('Nothing found.').waitFor();
    await page.keyboard.press('Escape');
    await openFolds(page);
    assert.ok((await page.locator('button[data-copy]:visible').count()) > 5, 'copy buttons');
    assert.deepEqual(await finish(), []);

    const finishTabs = await watchPage(page, at('/docs/ip-api'));
    await page.goto(at('/docs/ip-api'));
    for (const heading of ['get-check', 'post-report']) {
      const sample = page.locator(`#${heading} ~ .samples`).first();
      assert.equal(await sample.isVisible(), true, `${heading} is there to read`);
    }
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
    await openFolds(page);
    const kept = page.getByRole('tab', { selected: true });
    assert.deepEqual(await kept.allInnerTexts(), ['Node']);
    assert.deepEqual(await finishTabs(), []);
    await page.close();

    const french = await openContext(browser, { locale: 'fr-FR' });
    const reader = await french.newPage();
    await reader.goto(at('/docs/gate'));
    const note = 'Cette page n’est pas encore traduite\u202f: la voici en anglais.';
    assert.equal(await reader.getByText(note).isVisible(), true);
    await reader.goto(at('/docs'));
    assert.equal(await reader.getByText(note).count(), 0, 'this one is in French');
    await reader.locator('.docs-start .docs-search button').click();
    for (const [word, href] of [
      ['nginx', '/connect/nginx'],
      ['fail2ban', '/connect/fail2ban'],
      ['liste', '/feeds'],
      ['proxy', '/docs/gate#the-question'],
      ['session', '/account/security'],
    ] as const) {
      await searchFor(reader, word, href);
      const results = await reader.locator('#docs-results li').all();
      const inEnglish: boolean[] = [];
      for (const result of results) {
        const isMarked = /en anglais/.test((await result.locator('span').textContent()) ?? '');
        assert.equal((await result.locator('[lang=en]').count()) > 0, isMarked, word);
        inEnglish.push(isMarked);
      }
      const firstEnglish = inEnglish.indexOf(true);
      const lastFrench = inEnglish.lastIndexOf(false);
      assert.ok(inEnglish[0] === false, `${word}: a French one comes first`);
      assert.ok(firstEnglish < 0 || firstEnglish > lastFrench, `${word}: ${inEnglish.join()}`);
    }
    await french.close();

    const wide = await openContext(browser, { viewport: { width: 1440, height: 900 } });
    const desk = await wide.newPage();
    const paths = new Set(index.sections.map(({ href }: { href: string }) => href.split('#')[0]));
    assert.ok(paths.size > 15);
    for (const path of paths) {
      await desk.goto(at(`${path}`));
      const cut = await desk.evaluate<string[]>(`
        [...document.querySelectorAll('.docs-article :is(pre, .table-frame)')]
          .filter((one) => one.scrollWidth > one.clientWidth + 1)
          .map((one) => one.getAttribute('aria-label'))`);
      assert.deepEqual(cut, [], `${path}: cut at 1440`);
    }
    await wide.close();

    const phone = await openContext(browser, { viewport: { width: 390, height: 800 } });
    const small = await phone.newPage();
    await small.goto(at('/docs/ip-api'));
    await small.getByText('On this page').locator('visible=true').click();
    await small.getByRole('link', { name: 'GET stats', exact: true }).click();
    await small.waitForURL('**/docs/ip-api#get-stats');
    await small.goto(at('/docs/ip-api'));
    const top = async (what: string) => (await small.locator(what).boundingBox())!.y;
    assert.ok((await top('h1')) < 400, 'a telephone begins with the text');
    await small.locator('.docs-jump a').click();
    await small.waitForFunction(
      "document.querySelector('#docs-all').getBoundingClientRect().y < 800",
    );
    await phone.close();

    const plain = await openContext(browser, { javaScriptEnabled: false });
    const quiet = await plain.newPage();
    await quiet.goto(at('/docs'));
    assert.equal(await quiet.getByRole('searchbox').count(), 0, 'a box that does nothing');
    await quiet.goto(at('/docs/ip-api#get-check'));
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

const boxUnder = (page: Page, id: string) =>
  page.locator('.try', { has: page.locator(`#try-${id}-command`) });

it('a request is tried from the page, with the own key of who is signed in', async () => {
  await people.register('ada@mail.example');
  const ada = await people.signIn('ada@mail.example');
  await ada.post('/account/keys/create');
  const [name = '', value = ''] = ada.cookie.split('=');
  const session = { cookies: [{ name, value, url: server.baseUrl }] };
  const openAll = async (page: Page) => {
    await page.evaluate("for (const box of document.querySelectorAll('.try')) box.open = true; 0");
    await page.locator('[data-standing=shown]').first().waitFor();
  };
  await withBrowser(async (browser) => {
    for (const locale of ['en-GB', 'fr-FR']) {
      await checkPage(browser, at('/docs/ask-about-an-address'), {
        name: `docs-try-${locale}`,
        locale,
        session,
        widths: [390, 1440],
        prepare: openAll,
      });
    }

    const context = await openContext(browser);
    await context.addCookies(session.cookies);
    const page = await context.newPage();
    const finish = await watchPage(page, at('/docs/ip-api'));
    await page.goto(at('/docs/ip-api#post-report'));
    const report = boxUnder(page, 'post-report');
    await report.locator('summary').click();
    await report.getByText('Your own key is filled in.', { exact: true }).waitFor();
    await report.getByLabel('comment').fill("it's <b>me</b> & $HOME");
    await report.getByRole('button', { name: 'Send' }).click();
    const answer = report.getByRole('region', { name: 'Answer (POST report)' });
    await answer.waitFor();
    assert.deepEqual(JSON.parse((await answer.textContent())!), {
      data: { ipAddress: '127.0.0.1', abuseConfidenceScore: 0 },
    });
    assert.match(
      (await report.getByRole('status').first().textContent())!,
      /^200, X-RateLimit-Remaining: \d+$/,
    );
    const command = (await report.locator('#try-post-report-command').textContent())!;
    assert.ok(command.endsWith(`'comment=it'\\''s <b>me</b> & $HOME'`), command);
    await openFolds(page);
    const figures = boxUnder(page, 'get-stats');
    await figures.locator('summary').click();
    await figures.getByRole('button', { name: 'Send' }).click();
    await figures.getByText('"generatedAt"').waitFor();
    assert.deepEqual(await finish(), []);
    await context.close();

    const stranger = await (await openContext(browser)).newPage();
    await stranger.goto(at('/docs/ip-api#get-check'));
    const check = boxUnder(stranger, 'get-check');
    await check.locator('summary').click();
    const link = check.getByRole('link', { name: 'Sign in' });
    assert.equal(await link.getAttribute('href'), '/signin?return=%2Fdocs%2Fip-api');
    await check.getByLabel('API key').fill('pcl_none');
    await check.getByRole('button', { name: 'Send' }).click();
    await check.getByText('Authentication failed').waitFor();

    const quiet = await openContext(browser, { javaScriptEnabled: false });
    const plain = await quiet.newPage();
    await plain.goto(at('/docs/ip-api#get-check'));
    const still = boxUnder(plain, 'get-check');
    await still.locator('summary').click();
    assert.equal(await still.locator('form').isVisible(), false);
    const shown = (await still.locator('#try-get-check-command').textContent())!;
    assert.match(
      shown,
      /^curl -s -G -H "Key: \$KEY" 'http.*\/api\/v2\/check' \\\n.*'ipAddress=198\.51\.100\.7'$/,
    );
  });
});
