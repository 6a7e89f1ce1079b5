/**
 * The CAPTCHA page in a real browser: in order at each width, usable with the keyboard, and working without a
 * script. What its challenge does is in captcha-renewal-browser.test.ts.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { checkPage, openContext, withBrowser } from '../../support/browser/browser.ts';
import { solveGif } from '../../support/captcha/solver.ts';
import { forFile } from '../../support/server/for-file.ts';
import { startTestServer } from '../../support/server/server.ts';

/** The solver misreads one in ten. */
const solvingAttempts = 8;

const server = forFile(await startTestServer({ threads: 1, env: { CLIENT_LIMITS: 'off' } }));

describe('captcha page in a browser', () => {
  /** Paths of pictures and sounds that the page has asked for are in `media`. */
  async function open(
    browser: Browser,
    options: BrowserContextOptions,
    work: (page: Page, media: string[]) => Promise<void>,
  ): Promise<void> {
    const context = await openContext(browser, options);
    const page = await context.newPage();
    const media: string[] = [];
    page.on('request', (request) => {
      const { pathname } = new URL(request.url());
      if (/^\/captcha\/(img|audio)\//.test(pathname)) media.push(pathname);
    });
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(message.text());
    });
    await page.goto(`${server.baseUrl}/captcha/`);
    await work(page, media);
    assert.deepEqual(errors, []);
    await context.close();
  }

  const outcome = (page: Page) => page.locator('.captcha-outcome');
  const picture = (page: Page) => page.locator('.captcha-image');

  /** Types what the picture shows until it was right, once more each time it wasn't. */
  async function answerRightly(page: Page): Promise<void> {
    for (let i = 0; i < solvingAttempts; i++) {
      const token = await page.locator('[name=captcha_token]').getAttribute('value');
      const { bytes } = await server.fetch(`/captcha/img/${token}.gif`);
      await page
        .getByRole('textbox', { name: 'Type the letters you see moving' })
        .fill(solveGif(bytes).word);
      await page.keyboard.press('Enter');
      await page
        .locator(`[name=captcha_token]:not([value="${token}"])`)
        .waitFor({ state: 'attached' });
      if ((await outcome(page).getAttribute('data-tone')) === 'right') return;
    }
    assert.fail(`no word of ${solvingAttempts} was read`);
  }

  it('is in order, in both languages and themes', async () => {
    await withBrowser(async (browser) => {
      const url = `${server.baseUrl}/captcha/`;
      await checkPage(browser, url, { name: 'captcha' });
      await checkPage(browser, url, { name: 'captcha-fr', locale: 'fr-FR', themes: ['light'] });
    });
  });

  it('takes an answer by keyboard, freezes a frame, and hands out another', async () => {
    await withBrowser((browser) =>
      open(browser, { reducedMotion: 'no-preference' }, async (page, media) => {
        await page.waitForFunction(
          () => document.querySelector<HTMLImageElement>('.captcha-image')?.naturalWidth === 150,
        );
        const shown = await picture(page).boundingBox();
        assert.deepEqual([shown?.width, shown?.height], [450, 150]);
        assert.equal(media.length, 1, media.join());
        await page.getByRole('button', { name: 'Pause' }).press('Enter');
        const shades = await page.evaluate(() => {
          const canvas = document.querySelector<HTMLCanvasElement>('.captcha-frozen')!;
          const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
          return new Set(new Uint32Array(data.buffer)).size;
        });
        assert.equal(shades, 2, 'dots of two colours');
        await page.screenshot({ path: 'test-output/screenshots/captcha-frozen.png' });
        await page.getByRole('button', { name: 'Let it move' }).press('Enter');
        const before = await page.locator('[name=captcha_token]').inputValue();
        await page.getByRole('button', { name: 'New picture' }).press('Enter');
        await page.getByText('Here is a new picture.').waitFor();
        assert.notEqual(await page.locator('[name=captcha_token]').inputValue(), before);
        await page.getByRole('textbox', { name: 'Type the letters you see moving' }).fill('wrong');
        await page.keyboard.press('Enter');
        await outcome(page).filter({ hasText: 'Wrong, or too late' }).waitFor();
        await answerRightly(page);
        assert.equal(page.url(), `${server.baseUrl}/captcha/`);
        await page.screenshot({
          path: 'test-output/screenshots/captcha-right.png',
          fullPage: true,
        });
      }),
    );
  });

  it('shows the whole round of a site: the widget at a press, then its receipt', async () => {
    await withBrowser((browser) =>
      open(browser, { reducedMotion: 'no-preference' }, async (page, media) => {
        const live = page.locator('.captcha-live');
        assert.equal(media.length, 1, 'the widget costs no challenge before it is wanted');
        await live.getByRole('button', { name: 'Try the widget here' }).press('Enter');
        const command = page.locator('#captcha-redeem');
        await live.getByText('You’re verified').waitFor();
        assert.equal(media.length, 1, 'it works in the background');
        await live.getByText('The widget made a receipt').waitFor();
        const receipt = /^RECEIPT=(pc[rs]2\.\S+)$/m.exec((await command.textContent())!)?.[1];
        assert.ok(receipt, 'the command holds the receipt');
        const redeem = () =>
          server.fetch('/captcha/receipt', {
            method: 'POST',
            headers: { Key: server.key, 'Content-Type': 'application/x-www-form-urlencoded' },
            body: `receipt=${receipt}`,
          });
        const { ok, origin } = (await redeem()).json() as { ok: boolean; origin: string };
        assert.deepEqual([ok, origin], [true, server.baseUrl]);
        assert.deepEqual((await redeem()).json(), { ok: false });
      }),
    );
  });

  it('plays the sound of the challenge that is shown', async () => {
    await withBrowser((browser) =>
      open(browser, { reducedMotion: 'reduce' }, async (page, media) => {
        assert.deepEqual(media, [], 'nothing is loaded before it is asked for');
        await page.getByRole('button', { name: 'New picture' }).click();
        await page.getByText('Here is a new picture.').waitFor();
        const token = await page.locator('[name=captcha_token]').inputValue();
        await page.getByRole('button', { name: 'Listen' }).click();
        const seconds = await page.evaluate(async (token) => {
          const audio = new Audio(`/captcha/audio/${token}.wav`);
          await new Promise((resolve, reject) => {
            audio.addEventListener('loadedmetadata', resolve);
            audio.addEventListener('error', () => reject(new Error(audio.error?.message)));
          });
          return audio.duration;
        }, token);
        assert.ok(seconds > 3 && seconds < 13, `${seconds} s`);
        assert.deepEqual([...new Set(media)], [`/captcha/audio/${token}.wav`]);
      }),
    );
  });

  it('works without its script', async () => {
    await withBrowser(async (browser) => {
      const options = { javaScriptEnabled: false, reducedMotion: 'no-preference' } as const;
      const context = await openContext(browser, options);
      const page = await context.newPage();
      await page.goto(`${server.baseUrl}/captcha/`);
      assert.equal(await page.getByRole('button', { name: 'Pause' }).count(), 0);
      await page.getByRole('textbox', { name: 'Type the letters you see moving' }).fill('wrong');
      await page.keyboard.press('Enter');
      // The page before has no outcome; without a script nothing else tells that it has gone.
      await outcome(page).and(page.locator('[data-tone=wrong]')).waitFor();
      await answerRightly(page);
      await context.close();
      const still = await openContext(browser, {
        javaScriptEnabled: false,
        reducedMotion: 'reduce',
      });
      const other = await still.newPage();
      await other.goto(`${server.baseUrl}/captcha/`);
      assert.equal(await other.locator('.captcha-choice a').isVisible(), true);
      const shown = await other.locator('.captcha-image').getAttribute('src');
      assert.match(String(shown), /^\/static\/captcha-still/);
      await still.close();
    });
  });
});
