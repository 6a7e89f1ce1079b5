/**
 * The widget in a real browser, on a page of another origin with a strict policy: solved with
 * the keyboard alone, by sight and by ear, in two languages, and when things go wrong.
 */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import {
  axeProblems,
  forcedColourProblems,
  openContext,
  watchPage,
  withBrowser,
} from '../../support/browser/browser.ts';
import { startCaptchaService } from '../../support/captcha/service.ts';
import { type PageOptions, startSite } from '../../support/captcha/site.ts';
import { forFile } from '../../support/server/for-file.ts';
import { within } from '../../support/server/server.ts';

const service = forFile(await startCaptchaService());
const site = forFile(await startSite(service));

interface Visit {
  readonly page: Page;
  /** What a visitor or an auditor would object to, so far. */
  problems(): Promise<string[]>;
}

async function visit(
  browser: Browser,
  options: PageOptions & { reducedMotion?: 'reduce'; stopClock?: boolean },
  run: (visit: Visit) => Promise<void>,
): Promise<void> {
  const { reducedMotion, stopClock, ...asked } = options;
  const settings: BrowserContextOptions = { reducedMotion: reducedMotion ?? 'no-preference' };
  const context = await openContext(browser, settings);
  try {
    const page = await context.newPage();
    const url = site.url(asked);
    const finish = await watchPage(page, url);
    if (stopClock) await page.clock.install();
    await page.goto(url);
    await run({
      page,
      problems: async () => [...(await axeProblems(page)), ...(await finish())],
    });
  } finally {
    service.refuse.clear();
    await context.close();
  }
}

const widget = (page: Page) => page.locator('.portcullis-captcha');
const picture = (page: Page) => widget(page).locator('img');
const left = (page: Page) => widget(page).locator('.portcullis-tools > span').textContent();
const status = (page: Page) => widget(page).getByRole('status');
const receiptOf = (page: Page, name = 'portcullis-receipt') =>
  page.locator(`input[name="${name}"]`);

/** Playwright's own waiting is stopped by the page's policy: it evaluates text in the page. */
function until(page: Page, expression: string): Promise<void> {
  return within(async () => Boolean(await page.evaluate(expression)), expression);
}

async function pictureShown(page: Page): Promise<void> {
  await until(
    page,
    `(([image]) =>
    image?.hasAttribute('src') && image.complete && image.naturalWidth > 0)(document.images)`,
  );
}

/** Tab until the name of what has the focus contains `text`; where it stands then. */
async function tabTo(page: Page, text: string): Promise<void> {
  for (let presses = 0; presses < 20; presses++) {
    await page.keyboard.press('Tab');
    const name = await page.evaluate(
      "document.activeElement.textContent || document.activeElement.closest('label')?.textContent",
    );
    if (String(name).includes(text)) return;
  }
  assert.fail(`${text} is not reached with the keyboard`);
}

it('the widget in a browser', { timeout: 600_000 }, async (t) => {
  await withBrowser(async (browser) => {
    const asVisitor = (
      name: string,
      options: Parameters<typeof visit>[1],
      run: (v: Visit) => Promise<void>,
    ) => t.test(name, () => visit(browser, options, run));

    await asVisitor('is solved with the keyboard alone', {}, async ({ page, problems }) => {
      await pictureShown(page);
      assert.deepEqual(await problems(), []);
      assert.equal(await page.evaluate('document.images[0].width'), 450);
      await tabTo(page, 'Type the letters you see moving');
      await page.keyboard.type(service.answers.img.toLowerCase());
      await page.keyboard.press('Enter');
      await receiptOf(page).waitFor({ state: 'attached' });
      assert.equal(await status(page).textContent(), 'You’re verified');
      assert.equal(await page.evaluate("document.activeElement.getAttribute('role')"), 'status');
      assert.equal(await widget(page).locator('button:visible, img:visible').count(), 0);
      assert.deepEqual(await problems(), []);
      await tabTo(page, 'Send');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Sent' }).waitFor();
      const verdict = site.verdicts.at(-1)!;
      assert.equal(verdict.success, true, JSON.stringify(verdict));
      assert.equal(verdict.hostname, 'localhost');
      assert.equal(site.sent.at(-1)!.name, 'Ada');
    });

    await asVisitor('a theme and a size are chosen in the page', {}, async ({ page, problems }) => {
      await pictureShown(page);
      await page.setViewportSize({ width: 430, height: 800 });
      await until(page, 'document.images[0].width === 300');
      await page.setViewportSize({ width: 310, height: 800 });
      const fills =
        '(([{ width, parentElement: { clientWidth } }]) => width > 200 && width === clientWidth)(document.images)';
      await until(page, fills);
      await page.setViewportSize({ width: 1_280, height: 800 });
      await until(page, 'document.images[0].width === 450');
      const shade = () => widget(page).getAttribute('data-shade');
      const ground = () =>
        page.evaluate("getComputedStyle(document.querySelector('.portcullis-captcha')).background");
      assert.equal(await shade(), 'light');
      const light = await ground();
      await page.emulateMedia({ colorScheme: 'dark' });
      await within(async () => (await shade()) === 'dark', 'the device is dark');
      assert.notEqual(await ground(), light);
      // Another one beside it, that says what it wants.
      await page.evaluate(`(() => {
        const made = document.createElement('div');
        Object.assign(made.dataset, { sitekey: 'x', theme: 'light', size: 'compact' });
        made.className = 'portcullis-captcha';
        document.querySelector('form').append(made);
        portcullisCaptcha(made);
      })()`);
      const made = widget(page).last();
      assert.equal(await made.getAttribute('data-shade'), 'light');
      assert.equal((await made.boundingBox())!.width, 302);
      await until(page, 'document.images[1]?.naturalWidth > 0 && document.images[1].width === 300');
      assert.deepEqual(await problems(), []);
    });

    await asVisitor('in forced colours all of it can be seen', {}, async ({ page, problems }) => {
      // A reload in the middle of a request would count as a failed one.
      await pictureShown(page);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ forcedColors: 'active', colorScheme });
        await page.reload();
        await pictureShown(page);
        assert.deepEqual(await forcedColourProblems(page, '.portcullis-captcha'), []);
        await page.getByRole('button', { name: 'Listen' }).click();
        await page.getByLabel('Type the six digits you hear').waitFor();
        assert.deepEqual(await forcedColourProblems(page, '.portcullis-captcha'), []);
        await page.getByLabel('Type the six digits you hear').fill(service.answers.audio);
        await receiptOf(page).waitFor({ state: 'attached' });
        const tick =
          "getComputedStyle(document.querySelector('.portcullis-mark'), '::after').content";
        assert.equal(await page.evaluate(tick), '"✓"');
        assert.deepEqual(await forcedColourProblems(page, '.portcullis-captcha'), []);
      }
      assert.deepEqual(await problems(), []);
    });

    await asVisitor('a form is not sent unsolved', {}, async ({ page, problems }) => {
      await pictureShown(page);
      const before = site.sent.length;
      await page.getByRole('button', { name: 'Send' }).click();
      assert.equal(await status(page).textContent(), 'One more step: solve the check.');
      const focused = await page.evaluate("document.activeElement.closest('label')?.textContent");
      assert.equal(focused, 'Type the letters you see moving');
      assert.equal(site.sent.length, before);
      assert.deepEqual(await problems(), []);
    });

    await asVisitor('a wrong answer brings a new challenge', {}, async ({ page, problems }) => {
      await pictureShown(page);
      const first = await picture(page).getAttribute('src');
      await page.getByLabel('Type the letters you see moving').fill('wrong');
      await page.keyboard.press('Enter');
      await page.getByText('Not right. Here is a new one.').waitFor();
      await until(page, `(document.querySelector('img').src || '${first}') !== '${first}'`);
      await pictureShown(page);
      assert.equal(await page.evaluate('document.activeElement.value'), '', 'the emptied field');
      // No button and no key: it is checked once it is whole.
      await page.keyboard.type(service.answers.img);
      await receiptOf(page).waitFor({ state: 'attached' });
      assert.deepEqual(await problems(), []);
    });

    const calm = { reducedMotion: 'reduce' } as const;
    await asVisitor('reduced motion: nothing is loaded until chosen', calm, async (v) => {
      const { page, problems } = v;
      await page.getByText('Listen, or show the moving picture.').waitFor();
      const asked = service.asked.lastIndexOf('GET start');
      assert.ok(!service.asked.slice(asked).some((path) => /img|audio/.test(path)));
      assert.deepEqual(await problems(), []);
      await page.getByRole('button', { name: 'Send' }).click();
      assert.equal(await page.evaluate('document.activeElement.textContent'), 'Listen');
      await page.keyboard.press('Enter');
      await page.getByLabel('Type the six digits you hear').waitFor();
      await until(page, "document.querySelector('audio').readyState > 0");
      assert.equal(service.asked.at(-1), 'GET audio');
      assert.deepEqual(await problems(), []);
      await page.keyboard.type('314 159');
      await page.keyboard.press('Enter');
      await receiptOf(page).waitFor({ state: 'attached' });
      assert.deepEqual(await problems(), []);
    });

    await asVisitor(
      'from picture to sound and back, one challenge',
      {},
      async ({ page, problems }) => {
        await pictureShown(page);
        service.asked.length = 0;
        await page.getByRole('button', { name: 'Listen' }).click();
        await until(page, "document.querySelector('audio').readyState > 0");
        assert.ok(!(await picture(page).isVisible()));
        assert.equal(await page.locator('audio[controls]').count(), 0);
        const play = widget(page).locator('.portcullis-player button');
        await within(async () => (await play.textContent()) === 'Play again', 'it is over');
        await play.click();
        await until(page, "!document.querySelector('audio').ended");
        assert.deepEqual(service.asked, ['GET audio']);
        await page.getByRole('button', { name: 'Show the picture' }).click();
        await pictureShown(page);
        assert.ok(!service.asked.includes('GET start'), service.asked.join());
        await page.getByLabel('Type the letters you see moving').fill(service.answers.img);
        await page.keyboard.press('Enter');
        await receiptOf(page).waitFor({ state: 'attached' });
        assert.deepEqual(await problems(), []);
      },
    );

    await asVisitor('in French', { language: 'fr-CA' }, async ({ page, problems }) => {
      await pictureShown(page);
      await page.getByRole('button', { name: 'Écouter' }).waitFor();
      await page.getByLabel('Tapez les lettres que vous voyez bouger').fill('faux');
      await page.keyboard.press('Enter');
      await page.getByText('Ce n’est pas juste. En voici un autre.').waitFor();
      assert.equal(await widget(page).getAttribute('lang'), 'fr');
      assert.deepEqual(await problems(), []);
    });

    await asVisitor(
      'a picture is renewed before its end, and not for ever',
      { stopClock: true },
      async (v) => {
        const { page, problems } = v;
        await pictureShown(page);
        for (let i = 0; i < 5; i++) {
          const before = await picture(page).getAttribute('src');
          assert.match((await left(page))!, /^[12]:\d\d left$/);
          await page.clock.runFor(108_000);
          await until(page, `(document.querySelector('img').src || '${before}') !== '${before}'`);
          assert.equal(await status(page).textContent(), 'Expired. Here is a new one.');
          // One that is still on its way would be given up, which counts as a problem.
          await pictureShown(page);
        }
        service.asked.length = 0;
        await page.clock.runFor(108_000);
        assert.equal(await status(page).textContent(), 'Checked a while ago');
        assert.deepEqual(service.asked, []);
        // Whoever goes on in the form has the next one, without a press.
        await page.getByLabel('Name').fill('Eve');
        await pictureShown(page);
        assert.equal(await page.getByLabel('Name').inputValue(), 'Eve');
        assert.deepEqual(await problems(), []);
      },
    );

    await asVisitor(
      'a receipt that ends is taken out of the form',
      { stopClock: true },
      async (v) => {
        const { page, problems } = v;
        await pictureShown(page);
        await page.getByLabel('Type the letters you see moving').fill(service.answers.img);
        await page.keyboard.press('Enter');
        await receiptOf(page).waitFor({ state: 'attached' });
        await page.clock.runFor(299_000);
        assert.equal(await receiptOf(page).count(), 0);
        assert.equal(await widget(page).locator('input[type=hidden]').inputValue(), '');
        await page.getByText('Checked a while ago').waitFor();
        assert.deepEqual(await problems(), []);
      },
    );

    await asVisitor('a picture can be stopped', {}, async ({ page, problems }) => {
      await pictureShown(page);
      await page.getByRole('button', { name: 'Pause' }).click();
      assert.ok(!(await picture(page).isVisible()));
      const still = page.getByRole('img', { name: 'A single frame: noise' });
      assert.equal((await still.boundingBox())!.width, 450);
      assert.deepEqual(await problems(), []);
      await page.getByRole('button', { name: 'Let it move' }).click();
      assert.ok(await picture(page).isVisible());
    });

    await asVisitor(
      'who can not work, or is slow, sees a picture',
      { stopClock: true },
      async (v) => {
        const { page, problems } = v;
        const anew = () => page.evaluate("document.querySelector('form').reset()");
        const restart = async (work: string) => {
          await page.evaluate(work);
          await anew();
        };
        await pictureShown(page);
        // Else it goes on beside the steps of the test.
        await page.clock.pauseAt(await page.evaluate<number>('Date.now() + 1_000'));
        service.isSilent = true;
        try {
          await anew();
          await receiptOf(page).waitFor({ state: 'attached' });
          await restart(
            'globalThis.portcullisWork = () => new Promise(() => { globalThis.begun = true; })',
          );
          await until(page, 'globalThis.begun');
          await page.getByText('Checking your browser').waitFor();
          await page.clock.runFor(5_000);
          await page.getByText('Still checking').waitFor();
          await page.getByRole('button', { name: 'Use a picture' }).click();
          await pictureShown(page);
          await restart('globalThis.begun = false');
          await until(page, 'globalThis.begun');
          await page.clock.runFor(10_000);
          await pictureShown(page);
          await restart(
            "globalThis.portcullisWork = () => Promise.reject(new Error('no WebCrypto'))",
          );
          await pictureShown(page);
          await page.getByLabel('Type the letters you see moving').fill(service.answers.img);
          await page.keyboard.press('Enter');
          await receiptOf(page).waitFor({ state: 'attached' });
          await page.clock.resume();
          assert.deepEqual(await problems(), []);
        } finally {
          service.isSilent = false;
        }
      },
    );

    await asVisitor('work is done again by itself', { stopClock: true }, async ({ page }) => {
      await pictureShown(page);
      service.isSilent = true;
      try {
        await page.evaluate("document.querySelector('form').reset()");
        await receiptOf(page).waitFor({ state: 'attached' });
        const first = await receiptOf(page).inputValue();
        await page.clock.runFor(299_000);
        await within(async () => {
          const now = (await receiptOf(page).count()) && (await receiptOf(page).inputValue());
          return now !== 0 && now !== first;
        }, 'another receipt');
        assert.equal(await status(page).textContent(), 'You’re verified');
      } finally {
        service.isSilent = false;
      }
    });

    const refusals = [
      [429, 'Too many requests'],
      [503, 'Too many requests'],
      [500, 'No connection'],
    ] as const;
    for (const [code, text] of refusals) {
      for (const path of ['start', 'verify'] as const) {
        await asVisitor(`${code} for ${path} is said, and tried again`, calm, async ({ page }) => {
          await page.getByRole('button', { name: 'Show the picture' }).click();
          await pictureShown(page);
          service.refuse.set(path, code);
          if (path === 'start') await page.getByRole('button', { name: 'New picture' }).click();
          else {
            await page.getByLabel('Type the letters you see moving').fill('x');
            await page.keyboard.press('Enter');
          }
          await page.getByText(text).waitFor();
          assert.equal(await page.evaluate('document.activeElement.textContent'), 'Try again');
          service.refuse.clear();
          await page.keyboard.press('Enter');
          await pictureShown(page);
          await page.getByLabel('Type the letters you see moving').fill(service.answers.img);
          await page.keyboard.press('Enter');
          await receiptOf(page).waitFor({ state: 'attached' });
        });
      }
    }

    await asVisitor('a picture that does not come, and no network', calm, async ({ page }) => {
      service.refuse.set('img', 404);
      await page.getByRole('button', { name: 'Show the picture' }).click();
      await page.getByText('No connection').waitFor();
      service.refuse.clear();
      await page.context().setOffline(true);
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByText('No connection').waitFor();
      await page.context().setOffline(false);
      await page.getByRole('button', { name: 'Try again' }).click();
      await pictureShown(page);
    });

    for (const siteKey of ['pcs_unknown', 'pcs_closed']) {
      await asVisitor(`a page that may not use ${siteKey} says so`, { siteKey }, async (v) => {
        const { page, problems } = v;
        await pictureShown(page);
        await page.getByLabel('Type the letters you see moving').fill(service.answers.img);
        await page.keyboard.press('Enter');
        await page.getByText('This site is not set up for the check').waitFor();
        assert.deepEqual(await problems(), []);
      });
    }

    await asVisitor(
      'two widgets on a page are two checks',
      { forms: 2 },
      async ({ page, problems }) => {
        await until(page, '[...document.images].filter((i) => i.naturalWidth > 0).length === 2');
        assert.deepEqual(await problems(), []);
        const second = page.getByRole('form', { name: 'Form 2' });
        await second
          .getByRole('textbox', { name: 'Type the letters you see moving' })
          .fill(service.answers.img);
        await second.locator('input[name="portcullis-receipt"]').waitFor({ state: 'attached' });
        assert.equal(await receiptOf(page).count(), 1);
        await page
          .getByRole('form', { name: 'Form 1' })
          .getByRole('button', { name: 'Send' })
          .click();
        await page.getByText('One more step: solve the check.').waitFor();
        await second.getByRole('button', { name: 'Send' }).click();
        await page.getByRole('heading', { name: 'Sent' }).waitFor();
        assert.equal(site.verdicts.at(-1)!.success, true);
      },
    );

    const compat = { field: 'g-recaptcha-response' };
    await asVisitor('the field has the name that the site asks for', compat, async ({ page }) => {
      await page.evaluate(`globalThis.heard = [];
        addEventListener('portcullis-receipt', (event) => heard.push(event.detail))`);
      await pictureShown(page);
      await page.getByLabel('Type the letters you see moving').fill(service.answers.img);
      await page.keyboard.press('Enter');
      await receiptOf(page, compat.field).waitFor({ state: 'attached' });
      const value = await receiptOf(page, compat.field).inputValue();
      assert.deepEqual(await page.evaluate('heard'), [value]);
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByRole('heading', { name: 'Sent' }).waitFor();
      assert.equal(site.verdicts.at(-1)!.success, true);
      assert.equal(site.sent.at(-1)!['g-recaptcha-response'], value);
    });

    await asVisitor('pressing twice asks once', {}, async ({ page }) => {
      await pictureShown(page);
      service.asked.length = 0;
      await page.getByLabel('Type the letters you see moving').fill(service.answers.img);
      await page.evaluate(`for (let i = 0; i < 3; i++) document.activeElement.dispatchEvent(
        new KeyboardEvent('keydown', { key: 'Enter', cancelable: true }))`);
      await receiptOf(page).waitFor({ state: 'attached' });
      assert.deepEqual(service.asked, ['POST verify']);
    });

    await asVisitor('a page that comes back from memory starts anew', {}, async (v) => {
      const { page, problems } = v;
      await pictureShown(page);
      await page.getByLabel('Type the letters you see moving').fill(service.answers.img);
      await page.keyboard.press('Enter');
      await receiptOf(page).waitFor({ state: 'attached' });
      // The first load of a page is none of this.
      await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow'))");
      assert.equal(await receiptOf(page).count(), 1);
      await page.evaluate(
        "dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))",
      );
      assert.equal(await receiptOf(page).count(), 0);
      await pictureShown(page);
      await page.getByLabel('Type the letters you see moving').fill(service.answers.img);
      await page.keyboard.press('Enter');
      await receiptOf(page).waitFor({ state: 'attached' });
      assert.deepEqual(await problems(), []);
    });

    await asVisitor('a form that is reset starts anew', {}, async ({ page, problems }) => {
      await pictureShown(page);
      await page.getByLabel('Type the letters you see moving').fill(service.answers.img);
      await page.keyboard.press('Enter');
      await receiptOf(page).waitFor({ state: 'attached' });
      await page.evaluate("document.querySelector('form').reset()");
      assert.equal(await receiptOf(page).count(), 0);
      await pictureShown(page);
      assert.deepEqual(await problems(), []);
    });
  });
});
