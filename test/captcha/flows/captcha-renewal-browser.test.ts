/**
 * Challenges in our own forms, in a real browser: done in the background, and a picture where that can't be. Another
 * picture comes at the press of a button, and by itself before the time of the last one is over, with everything kept
 * that was typed. Without a script the button does the same.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import {
  axeProblems,
  forcedColourProblems,
  openContext,
  withBrowser,
} from '../../support/browser/browser.ts';
import { solveGif } from '../../support/captcha/solver.ts';
import { forFile } from '../../support/server/for-file.ts';
import { startTestServer, within } from '../../support/server/server.ts';

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

interface OpenOptions extends BrowserContextOptions {
  readonly stopClock?: boolean;
  /** The browser can't work: a picture opens. */
  readonly noWork?: boolean;
  /** Done before the page is loaded. */
  readonly prepare?: (page: Page) => Promise<unknown>;
}

const server = forFile(await startTestServer({ threads: 1, env: { CLIENT_LIMITS: 'off' } }));
const reported = await server.report(address);
assert.equal(reported.status, 200, reported.body);

describe('challenges in forms', { timeout: 900_000 }, () => {
  const tokenOf = (page: Page) => page.locator('[name=captcha_token]').inputValue();
  const button = (page: Page) => page.getByRole('button', { name: /New picture|Nouvelle image/ });

  const stateOf = (page: Page, state: string) => page.locator(`.challenge[data-state=${state}]`);

  async function open(
    browser: Browser,
    options: OpenOptions,
    { path, typed }: Form,
    work: (page: Page, media: readonly string[]) => Promise<void>,
  ): Promise<void> {
    const { stopClock, noWork, prepare, ...settings } = options;
    const context = await openContext(browser, { reducedMotion: 'no-preference', ...settings });
    const page = await context.newPage();
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(String(error)));
    page.on('console', (message) => {
      // The page of the gate is itself a 403, that of a wrong answer a 422.
      if (
        message.type() === 'error' &&
        !/status of (403|404|422)|net::ERR_FAILED/.test(message.text())
      )
        errors.push(message.text());
    });
    const media: string[] = [];
    page.on('request', (request) => {
      const { pathname } = new URL(request.url());
      if (/\/(img|audio)\//.test(pathname)) media.push(pathname);
    });
    if (noWork === true) await page.addInitScript('delete window.Worker');
    await prepare?.(page);
    if (stopClock === true) await page.clock.install();
    await page.goto(server.baseUrl + path);
    if (noWork === true) await stateOf(page, 'open').waitFor();
    for (const [name, text] of Object.entries(typed))
      await page.locator(`[name=${name}]`).fill(text);
    await work(page, media);
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
        open(browser, { stopClock: true, noWork: true }, form, async (page) => {
          const address = page.url();
          const first = await tokenOf(page);
          await page.locator('[name=captcha_answer]').fill('AC');
          await button(page).press('Enter');
          await changed(page, first);
          await page.getByText('Here is a new picture.').waitFor();
          assert.equal(await page.locator('[name=captcha_answer]').inputValue(), '');
          await kept(page, form);
          const second = await tokenOf(page);
          // The clock goes on by itself besides.
          await page.clock.runFor(80_000);
          assert.equal(await tokenOf(page), second, 'there is time left');
          await page.clock.runFor(39_000);
          await changed(page, second);
          await page.getByText('The picture expired, so here is a new one.').waitFor();
          await kept(page, form);
          const third = await tokenOf(page);
          const shown = (await page.locator('.challenge').getAttribute('data-img'))!;
          assert.ok(shown.endsWith(`/img/${third}.gif`), shown);
          await page.waitForFunction(
            (path) =>
              document
                .querySelector<HTMLImageElement>('.captcha-image')
                ?.currentSrc.endsWith(path) === true,
            shown,
          );
          const sound = await page.locator('.challenge').getAttribute('data-audio');
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
          // Texts of a noscript element are no texts for the locator.
          const hint = page.locator('.challenge-tools + .field-hint');
          assert.equal(await hint.isVisible(), true);
          assert.equal(await hint.textContent(), 'A picture is good for 120 seconds.');
        }),
      );
    });

    for (const [width, theme] of [
      [390, 'light'],
      [390, 'dark'],
      [1_440, 'light'],
      [1_440, 'dark'],
    ] as const) {
      it(`${form.name}: the picture is sharp at ${width}, ${theme}`, async () => {
        const viewport = { width, height: 900 };
        const locale = theme === 'dark' ? 'fr-FR' : 'en-GB';
        await withBrowser((browser) =>
          open(
            browser,
            { viewport, colorScheme: theme, locale, noWork: true },
            form,
            async (page) => {
              await page.waitForFunction(
                () =>
                  document.querySelector<HTMLImageElement>('.captcha-image')?.naturalWidth === 150,
              );
              const box = (await page.locator('.captcha-image').boundingBox())!;
              // Each dot has two or three whole pixels.
              assert.ok([300, 450].includes(box.width), `${box.width} wide`);
              assert.equal(box.height, box.width / 3);
              const filter = await page
                .locator('.captcha-image')
                .evaluate((image) => getComputedStyle(image).filter);
              assert.equal(filter.includes('invert'), theme === 'dark', filter);
              assert.deepEqual(await axeProblems(page), []);
              const wide = await page.evaluate(() => document.documentElement.scrollWidth);
              assert.ok(wide <= width, `${wide} wide`);
              const path = `test-output/screenshots/challenge-${form.name}-${width}-${theme}.png`;
              await page.screenshot({ path, fullPage: true });
            },
          ),
        );
      });
    }
  }

  for (const form of forms.filter(({ name }) => name !== 'gate')) {
    it(`${form.name}: done in the background, with no picture asked for, and renewed`, async () => {
      await withBrowser((browser) =>
        open(browser, { stopClock: true }, form, async (page, media) => {
          await stateOf(page, 'done').waitFor();
          await page.getByRole('status').filter({ hasText: 'You’re verified' }).waitFor();
          const work = page.locator('[name=captcha_work]');
          const first = await work.inputValue();
          assert.notEqual(first, '');
          await page.clock.runFor(109_000);
          await within(async () => !['', first].includes(await work.inputValue()), 'done anew');
          assert.equal(await stateOf(page, 'done').count(), 1, 'without a word');
          assert.deepEqual(media, []);
          await kept(page, form);
          assert.deepEqual(await axeProblems(page), []);
          const path = `test-output/screenshots/challenge-${form.name}-done.png`;
          await page.screenshot({ path, fullPage: true });
        }),
      );
    });
  }

  it('gate: goes on by itself, and no picture is asked for', async () => {
    const gate = forms.find(({ name }) => name === 'gate')!;
    await withBrowser((browser) =>
      open(browser, {}, gate, async (page, media) => {
        await page.waitForURL(/\/shop\?item=7$/);
        const cookies = await page.context().cookies();
        assert.ok(cookies.some(({ name }) => name.includes('portcullis')));
        assert.deepEqual(media, []);
      }),
    );
  });

  it('a form that is sent at once waits for the work, and then goes', async () => {
    const [register] = forms as [Form];
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const prepare = (page: Page) =>
      page.route('**/captcha/start', async (route) => {
        await released;
        await route.continue();
      });
    await withBrowser((browser) =>
      open(browser, { prepare }, register, async (page) => {
        await page.locator('[name=password]').fill('violet-harbour-72');
        await page.locator('main form .button-primary').click();
        assert.ok(page.url().endsWith('/register'));
        release();
        await page.waitForURL(/\/register\/sent/);
      }),
    );
  });

  it('after ten seconds a picture opens, and what was typed stays', async () => {
    const [register] = forms as [Form];
    const prepare = (page: Page) =>
      page.route('**/static/work.*', (route) =>
        route.fulfill({ contentType: 'text/javascript', body: 'onmessage = () => {};' }),
      );
    await withBrowser((browser) =>
      open(browser, { stopClock: true, prepare }, register, async (page) => {
        await stateOf(page, 'working').waitFor();
        // The worker is there once the server has said that it may work.
        await page.waitForLoadState('networkidle');
        await page.clock.runFor(5_100);
        await page.getByText('Still checking').waitFor();
        assert.equal(await page.getByRole('button', { name: 'Use a picture' }).isVisible(), true);
        await page.screenshot({ path: 'test-output/screenshots/challenge-slow.png' });
        await page.clock.runFor(5_000);
        await stateOf(page, 'open').waitFor();
        assert.equal(await page.locator('[name=captcha_work]').inputValue(), '');
        await kept(page, register);
      }),
    );
  });

  it('without a connection it says so, and tries again', async () => {
    const [register] = forms as [Form];
    const prepare = (page: Page) => page.route('**/captcha/start', (route) => route.abort());
    await withBrowser((browser) =>
      open(browser, { prepare }, register, async (page) => {
        await page.getByText('No connection').waitFor();
        await page.screenshot({ path: 'test-output/screenshots/challenge-failed.png' });
        await page.unroute('**/captcha/start');
        await page.getByRole('button', { name: 'Try again' }).press('Enter');
        await stateOf(page, 'done').waitFor();
        await kept(page, register);
      }),
    );
  });

  it('a wrong answer costs nothing else, and shows the next picture', async () => {
    const [register] = forms as [Form];
    await withBrowser((browser) =>
      open(browser, { noWork: true }, register, async (page) => {
        await page.locator('[name=password]').fill('violet-harbour-72');
        await page.locator('[name=captcha_answer]').fill('wrong');
        const first = await tokenOf(page);
        await page.keyboard.press('Enter');
        await page.locator('#captcha-answer-error').waitFor();
        await stateOf(page, 'open').waitFor();
        assert.notEqual(await tokenOf(page), first);
        await kept(page, register);
        const focused = await page.evaluate(() => document.activeElement?.getAttribute('name'));
        assert.equal(focused, 'captcha_answer', 'what is left to do');
        assert.deepEqual(await axeProblems(page), []);
        await page.screenshot({ path: 'test-output/screenshots/challenge-wrong.png' });
      }),
    );
  });

  it('who asks for less motion gets the work, else the sound, and a picture when it is asked for', async () => {
    const [register] = forms as [Form];
    const calm = { reducedMotion: 'reduce' } as const;
    await withBrowser(async (browser) => {
      await open(browser, calm, register, async (page, media) => {
        await stateOf(page, 'done').waitFor();
        assert.deepEqual(media, []);
      });
      await open(
        browser,
        { ...calm, noWork: true },
        register,
        async (page, media: readonly string[]) => {
          await page.getByText('Your device asks for less motion.').waitFor();
          assert.equal(await page.locator('.captcha-image').isVisible(), false);
          assert.equal(media.length, 0);
          await page.getByRole('button', { name: 'Listen' }).press('Enter');
          await within(async () => media.some((path) => path.includes('/audio/')), 'the sound');
          const field = page.getByRole('textbox', { name: 'Type the six digits you hear' });
          await field.waitFor();
          const play = page.locator('.challenge-play');
          assert.equal(await play.evaluate((button) => button === document.activeElement), true);
          await page.getByText('They are spoken in English.').waitFor();
          assert.deepEqual(await axeProblems(page), []);
          await page.screenshot({ path: 'test-output/screenshots/challenge-sound.png' });
          assert.equal(media.filter((path) => path.includes('/img/')).length, 0);
          await page.getByRole('button', { name: 'Show the picture' }).press('Enter');
          await page.locator('.captcha-image').waitFor();
          assert.equal(media.filter((path) => path.includes('/img/')).length, 1);
        },
      );
    });
  });

  it('a picture is paused at the press of a button', async () => {
    const [register] = forms as [Form];
    await withBrowser((browser) =>
      open(browser, { noWork: true }, register, async (page) => {
        await page.getByRole('button', { name: 'Pause' }).press('Enter');
        assert.equal(await page.locator('.captcha-image').isVisible(), false);
        assert.equal(await page.getByRole('img', { name: /single frame/ }).isVisible(), true);
        await page.getByRole('button', { name: 'Let it move' }).press('Enter');
        assert.equal(await page.locator('.captcha-image').isVisible(), true);
      }),
    );
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`in forced colours row, tick, picture, buttons and focus can be seen: ${colorScheme}`, async () => {
      const [register] = forms as [Form];
      const forced = { forcedColors: 'active', colorScheme } as const;
      const looked = async (page: Page, name: string) => {
        assert.deepEqual(await forcedColourProblems(page, '.challenge'), []);
        const path = `test-output/screenshots/challenge-forced-${name}-${colorScheme}.png`;
        await page.screenshot({ path, fullPage: true });
      };
      await withBrowser(async (browser) => {
        await open(browser, forced, register, async (page) => {
          await stateOf(page, 'done').waitFor();
          assert.equal(await page.locator('.challenge-mark .icon').isVisible(), true);
          await looked(page, 'done');
        });
        await open(browser, { ...forced, noWork: true }, register, async (page) => {
          await page.waitForFunction(
            () => document.querySelector<HTMLImageElement>('.captcha-image')?.naturalWidth === 150,
          );
          await looked(page, 'picture');
          await page.getByRole('button', { name: 'Listen' }).press('Enter');
          await page.getByRole('textbox', { name: 'Type the six digits you hear' }).waitFor();
          await looked(page, 'sound');
        });
        const prepare = (page: Page) => page.route('**/captcha/start', (route) => route.abort());
        await open(browser, { ...forced, prepare }, register, async (page) => {
          await page.getByText('No connection').waitFor();
          await looked(page, 'failed');
        });
      });
    });
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
      open(browser, { stopClock: true, noWork: true }, register, async (page) => {
        const asked: string[] = [];
        page.on('request', (request) => {
          if (request.url().includes('/captcha/start')) asked.push(request.url());
        });
        for (let i = 0; i < 12; i++) {
          const before = await tokenOf(page);
          await page.clock.runFor(110_000);
          // Its answer sets the next clock.
          if (i < 5) await changed(page, before);
        }
        assert.equal(asked.length, 5, 'five in a row');
        await page.getByText('The picture expired. A new one comes when you go on.').waitFor();
        const last = await tokenOf(page);
        await page.locator('[name=email]').press('End');
        await page.locator('[name=email]').pressSequentially('x');
        await changed(page, last);
        assert.equal(await page.locator('[name=email]').inputValue(), 'ada@example.orgx');
      }),
    );
  });
});
