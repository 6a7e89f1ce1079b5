/**
 * Challenges in our own forms, in a real browser: another picture at the press of a button, and by itself before
 * the time of the last one is over, with everything kept that was typed. Without a script the button does the same.
 */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { axeProblems, openContext, withBrowser } from '../../support/browser/browser.ts';
import { solveGif } from '../../support/captcha/solver.ts';
import { startTestServer, type TestServer, within } from '../../support/server/server.ts';

const address = '45.30.0.7';

interface Form {
  readonly name: string;
  readonly path: string;
  /** What is typed, by the field's name. */
  readonly typed: Readonly<Record<string, string>>;
}

const forms: readonly Form[] = [
  { name: 'register', path: '/register', typed: { email: 'ada@example.org' } },
  {
    name: 'report',
    path: `/report?address=${address}`,
    typed: { comment: 'knocked\nat the gate' },
  },
  {
    name: 'removal',
    path: `/removal?address=${address}`,
    typed: { reason: 'It is ours, and clean.' },
  },
  { name: 'gate', path: '/.portcullis/challenge?rd=%2Fshop%3Fitem%3D7', typed: {} },
];

describe('challenges in forms renew themselves', { timeout: 900_000 }, () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer({ threads: 1, env: { CLIENT_LIMITS: 'off' } });
    const reported = await server.fetch('/api/v2/report', {
      method: 'POST',
      headers: { Key: server.key, 'Content-Type': 'application/x-www-form-urlencoded' },
      body: `ip=${address}&categories=18`,
    });
    assert.equal(reported.status, 200, reported.body);
  });
  after(() => server[Symbol.asyncDispose]());

  const tokenOf = (page: Page) => page.locator('[name=captcha_token]').inputValue();
  const button = (page: Page) => page.getByRole('button', { name: /New picture|Nouvelle image/ });

  async function open(
    browser: Browser,
    options: BrowserContextOptions & { readonly stopClock?: boolean },
    { path, typed }: Form,
    work: (page: Page) => Promise<void>,
  ): Promise<void> {
    const { stopClock, ...settings } = options;
    const context = await openContext(browser, { reducedMotion: 'no-preference', ...settings });
    const page = await context.newPage();
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(String(error)));
    page.on('console', (message) => {
      // The page of the gate is itself a 403, that of a wrong answer a 422.
      if (message.type() === 'error' && !/status of (403|422)/.test(message.text()))
        errors.push(message.text());
    });
    if (stopClock === true) await page.clock.install();
    await page.goto(server.baseUrl + path);
    for (const [name, text] of Object.entries(typed))
      await page.locator(`[name=${name}]`).fill(text);
    await work(page);
    assert.deepEqual(errors, []);
    await context.close();
  }

  async function kept(page: Page, { typed }: Form): Promise<void> {
    for (const [name, text] of Object.entries(typed)) {
      assert.equal(await page.locator(`[name=${name}]`).inputValue(), text, name);
    }
  }

  const changed = (page: Page, from: string) =>
    within(async () => (await tokenOf(page)) !== from, 'another challenge');

  for (const form of forms) {
    it(`${form.name}: at the press of a button and before the time is over`, async () => {
      await withBrowser((browser) =>
        open(browser, { stopClock: true }, form, async (page) => {
          const address = page.url();
          const first = await tokenOf(page);
          await page.locator('[name=captcha_answer]').fill('AC');
          await button(page).press('Enter');
          await changed(page, first);
          await page.getByText('Here is a new picture.').waitFor();
          assert.equal(await page.locator('[name=captcha_answer]').inputValue(), '');
          await kept(page, form);
          const second = await tokenOf(page);
          await page.clock.runFor(100_000);
          assert.equal(await tokenOf(page), second, 'there is time left');
          await page.clock.runFor(19_000);
          await changed(page, second);
          await page.getByText('The time of the last picture was nearly over.').waitFor();
          await kept(page, form);
          const third = await tokenOf(page);
          const shown = await page
            .locator('.captcha-image')
            .evaluate((image: HTMLImageElement) => new URL(image.currentSrc).pathname);
          assert.ok(shown.endsWith(`/img/${third}.gif`), shown);
          const sound = await page.locator('audio').getAttribute('src');
          assert.ok(sound?.endsWith(`/audio/${third}.wav`), String(sound));
          assert.equal(page.url(), address);
          // What the new picture shows is right, and the old one is not asked for any more.
          const { bytes } = await server.fetch(shown);
          assert.match(solveGif(bytes).word, /^[ACEHKLPRVXY347]{4,5}$/);
        }),
      );
    });

    it(`${form.name}: without a script the button keeps what was typed`, async () => {
      await withBrowser((browser) =>
        open(browser, { javaScriptEnabled: false }, form, async (page) => {
          const first = await tokenOf(page);
          await button(page).press('Enter');
          await changed(page, first);
          await kept(page, form);
          assert.equal(await page.locator('.has-error').count(), 0);
          await page.getByText('A picture is good for 120 seconds.').waitFor();
        }),
      );
    });

    for (const [width, theme] of [
      [390, 'light'],
      [390, 'dark'],
      [1_440, 'light'],
      [1_440, 'dark'],
    ] as const) {
      it(`${form.name}: the picture is large at ${width}, ${theme}`, async () => {
        const viewport = { width, height: 900 };
        const locale = theme === 'dark' ? 'fr-FR' : 'en-GB';
        await withBrowser((browser) =>
          open(browser, { viewport, colorScheme: theme, locale }, form, async (page) => {
            await page.waitForFunction(
              () =>
                document.querySelector<HTMLImageElement>('.captcha-image')?.naturalWidth === 150,
            );
            const box = (await page.locator('.captcha-image').boundingBox())!;
            assert.ok(Math.abs(box.width - 3 * box.height) < 2, JSON.stringify(box));
            if (width === 1_440) assert.equal(box.width, 450);
            else assert.ok(box.width > 320, `${box.width} wide`);
            assert.deepEqual(await axeProblems(page), []);
            const wide = await page.evaluate(() => document.documentElement.scrollWidth);
            assert.ok(wide <= width, `${wide} wide`);
            const path = `test-output/screenshots/challenge-${form.name}-${width}-${theme}.png`;
            await page.screenshot({ path, fullPage: true });
          }),
        );
      });
    }
  }

  it('Enter in a field sends the form, and asks for no other picture', async () => {
    const [register] = forms as [Form];
    await withBrowser((browser) =>
      open(browser, { javaScriptEnabled: false }, register, async (page) => {
        await page.locator('[name=password]').fill('a long enough password 7');
        await page.locator('[name=captcha_answer]').fill('wrong');
        await page.keyboard.press('Enter');
        await page.locator('#captcha-answer-error').waitFor();
        await kept(page, register);
      }),
    );
  });

  it('whoever is away for long gets one picture at the return', async () => {
    const [register] = forms as [Form];
    await withBrowser((browser) =>
      open(browser, { stopClock: true }, register, async (page) => {
        const asked: string[] = [];
        page.on('request', (request) => {
          if (request.url().endsWith('/captcha/new')) asked.push(request.url());
        });
        for (let i = 0; i < 12; i++) {
          const before = asked.length;
          await page.clock.runFor(110_000);
          if (i < 5) await within(async () => asked.length > before, 'a new picture');
          // Its answer sets the next clock.
          await page.waitForLoadState('networkidle');
        }
        assert.equal(asked.length, 5, 'five in a row');
        await page.getByText('The time of this picture is over.').waitFor();
        const last = await tokenOf(page);
        await page.locator('[name=email]').press('End');
        await page.locator('[name=email]').pressSequentially('x');
        await changed(page, last);
        assert.equal(await page.locator('[name=email]').inputValue(), 'ada@example.orgx');
      }),
    );
  });

  it('a sign-in with a challenge gets another picture, and keeps the address', async () => {
    await withBrowser((browser) =>
      open(
        browser,
        { javaScriptEnabled: false },
        { name: '', path: '/signin', typed: {} },
        async (page) => {
          const csrf = await page
            .locator('form[action^="/signin"] [name=csrf]')
            .first()
            .inputValue();
          const answer = await page.request.post(`${server.baseUrl}/signin`, {
            form: { csrf, email: 'ada@example.org', captcha_new: '1' },
            headers: { Origin: server.baseUrl },
          });
          assert.equal(answer.status(), 200);
          const body = await answer.text();
          assert.match(body, /name="captcha_token" value="[\w-]{48}"/);
          assert.match(body, /value="ada@example\.org"/);
          assert.doesNotMatch(body, /has-error/);
        },
      ),
    );
  });
});
