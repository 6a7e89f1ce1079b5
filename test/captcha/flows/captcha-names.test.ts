/**
 * Pages written for reCAPTCHA, hCaptcha and Turnstile with their script's address changed to
 * `/captcha/api.js`, in a real browser, on another origin with a strict policy.
 */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { axeProblems, openContext, watchPage, withBrowser } from '../../support/browser/browser.ts';
import { startCaptchaService } from '../../support/captcha/service.ts';
import { type OtherPage, startSite } from '../../support/captcha/site.ts';
import { forFile } from '../../support/server/for-file.ts';
import { within } from '../../support/server/server.ts';

const service = forFile(await startCaptchaService());
const site = forFile(await startSite(service));

/** @param wanted which problems are what the test is about */
async function visit(
  browser: Browser,
  other: OtherPage,
  run: (page: Page) => Promise<void>,
  wanted?: RegExp,
) {
  const context = await openContext(browser, { reducedMotion: 'no-preference' });
  try {
    const page = await context.newPage();
    const url = site.url({ other });
    const finish = await watchPage(page, url);
    await page.goto(url);
    await until(page, "typeof turnstile === 'object' && document.readyState === 'complete'");
    await run(page);
    const problems = [...(await axeProblems(page)), ...(await finish())];
    assert.deepEqual(
      problems.filter((problem) => wanted?.test(problem) !== true),
      [],
    );
  } finally {
    await context.close();
  }
}

function until(page: Page, expression: string): Promise<void> {
  return within(async () => Boolean(await page.evaluate(expression)), expression);
}

/** Types the word into the n-th widget that shows one. */
async function solve(page: Page, n = 0): Promise<void> {
  const box = page.locator('.portcullis-captcha').nth(n);
  await until(
    page,
    `((image) => image?.hasAttribute('src') && image.complete && image.naturalWidth > 0)(
      document.querySelectorAll('.portcullis-captcha img')[${n}])`,
  );
  await box.locator('input').first().fill(service.answers.img);
  await page.keyboard.press('Enter');
}

const heard = (page: Page) => page.evaluate<string[]>('window.heard');
const value = (page: Page, name: string) =>
  page.evaluate<string>(`document.getElementsByName('${name}')[0].value`);

it('pages of other services', { timeout: 600_000 }, async (t) => {
  await withBrowser(async (browser) => {
    const on = (
      name: string,
      other: OtherPage,
      run: (page: Page) => Promise<void>,
      wanted?: RegExp,
    ) => t.test(name, () => visit(browser, other, run, wanted));
    const sent = async (page: Page) => {
      await page.getByRole('button', { name: 'Send' }).first().click();
      await page.getByRole('heading', { name: 'Sent' }).waitFor();
      assert.equal(site.verdicts.at(-1)!.success, true, JSON.stringify(site.verdicts.at(-1)));
      return site.sent.at(-1)!;
    };

    await on(
      'reCAPTCHA: found, in French, with its callbacks and field',
      'recaptcha',
      async (page) => {
        await until(page, "heard.includes('loaded')");
        assert.deepEqual(await heard(page), ['ready function', 'loaded']);
        assert.equal(await page.evaluate('grecaptcha.early'), true, 'what was there stays');
        assert.equal(await page.evaluate('grecaptcha.getResponse()'), '');
        assert.equal(await value(page, 'g-recaptcha-response'), '');
        await page.getByRole('button', { name: 'Nouvelle image' }).waitFor();
        await solve(page);
        await until(page, "heard.includes('solved pcr2.')");
        const token = await page.evaluate<string>('grecaptcha.getResponse(0)');
        assert.match(token, /^pcr2\./);
        const byId = "document.getElementById('g-recaptcha-response').value";
        assert.equal(await page.evaluate(byId), token);
        const fields = await sent(page);
        assert.deepEqual(Object.keys(fields), ['name', 'g-recaptcha-response']);
      },
    );

    await on('hCaptcha: both of its fields', 'hcaptcha', async (page) => {
      await solve(page);
      await until(page, "hcaptcha.getResponse() !== ''");
      const fields = await sent(page);
      assert.equal(fields['h-captcha-response'], fields['g-recaptcha-response']);
      assert.match(fields['h-captcha-response']!, /^pcr2\./);
    });

    await on('Turnstile: its field and its action', 'turnstile', async (page) => {
      await solve(page);
      await until(page, "turnstile.getResponse() !== ''");
      const fields = await sent(page);
      assert.match(fields['cf-turnstile-response']!, /^pcr2\./);
      assert.equal(site.verdicts.at(-1)!.action, 'login');
    });

    await on(
      'two widgets: each has its own answer; a reset takes one away',
      'two',
      async (page) => {
        await solve(page, 1);
        await until(page, "grecaptcha.getResponse(1) !== ''");
        assert.equal(await page.evaluate('grecaptcha.getResponse(0)'), '');
        await page.evaluate('grecaptcha.reset(1)');
        assert.equal(await page.evaluate('grecaptcha.getResponse(1)'), '');
        await solve(page, 1);
        await until(page, "grecaptcha.getResponse(1) !== ''");
        await page.evaluate("document.getElementById('second').reset()");
        assert.equal(await page.evaluate('grecaptcha.getResponse(1)'), '');
        assert.equal(
          await page.evaluate("document.getElementById('g-recaptcha-response-1').value"),
          '',
        );
        await solve(page, 0);
        await until(page, "grecaptcha.getResponse() !== ''");
        await sent(page);
      },
    );

    await on('explicit: nothing by itself, all by render', 'explicit', async (page) => {
      await until(page, "heard.includes('loaded')");
      assert.equal(await page.locator('.portcullis-captcha').count(), 0);
      const key = service.siteKey;
      const options = `{ sitekey: '${key}', callback: (token) => heard.push('own ' + token.slice(0, 5)) }`;
      assert.equal(await page.evaluate(`grecaptcha.render('place', ${options})`), 0);
      const faults = [
        "grecaptcha.render('place', {})",
        "grecaptcha.render('nowhere', {})",
        "grecaptcha.render(document.createElement('div'), {})",
        'grecaptcha.getResponse(7)',
      ];
      for (const fault of faults) {
        const message = await page.evaluate(
          `(() => { try { ${fault}; return ''; } catch (e) { return e.message; } })()`,
        );
        assert.notEqual(message, '', fault);
      }
      await solve(page);
      await until(page, "heard.includes('own pcr2.')");
      // Added later, as single-page applications do, and by each of the names.
      await page.evaluate(`((a, b) => {
        document.forms[0].append(a, b);
        window.ids = [hcaptcha.render(a, { sitekey: '${key}' }), turnstile.render(b, { sitekey: '${key}', 'response-field-name': 'mine' })];
      })(document.createElement('div'), document.createElement('div'))`);
      assert.equal(await page.locator('.portcullis-captcha').count(), 3);
      await solve(page, 2);
      await until(page, "turnstile.getResponse(ids[1]) !== ''");
      assert.match(await value(page, 'mine'), /^pcr2\./);
      assert.equal(await page.evaluate('turnstile.isExpired(ids[1])'), false);
      await page.evaluate('hcaptcha.remove(ids[0]), turnstile.remove(ids[1])');
      assert.equal(await page.locator('.portcullis-captcha').count(), 1);
      assert.equal(await page.locator('[name=mine], [name=h-captcha-response]').count(), 0);
    });

    await on(
      'callbacks tell of an end, a timeout and an error',
      'explicit',
      async (page) => {
        await page.clock.install();
        await page.reload();
        await until(page, "heard.includes('loaded')");
        const key = service.siteKey;
        const callbacks = ['expired', 'error', 'timeout', 'chalexpired'].map(
          (name) => `'${name}-callback': (code) => heard.push(['${name}', code].join(' '))`,
        );
        await page.evaluate(
          `grecaptcha.render('place', { sitekey: '${key}', tabindex: 7, ${callbacks.join()} })`,
        );
        const stops = '[...document.querySelectorAll(".portcullis-captcha :is(input, button)")]';
        const indexes = await page.evaluate<number[]>(
          `${stops}.filter((one) => one.type !== 'hidden').map((one) => one.tabIndex)`,
        );
        assert.deepEqual([...new Set(indexes)], [7]);
        await solve(page);
        await until(page, "grecaptcha.getResponse() !== ''");
        assert.equal(await page.evaluate('turnstile.isExpired(0)'), false);
        await page.clock.runFor(299_000);
        await until(page, "heard.includes('expired ')");
        assert.equal(await page.evaluate('grecaptcha.getResponse()'), '');
        assert.equal(await page.evaluate('turnstile.isExpired(0)'), true);

        await page.evaluate('grecaptcha.reset()');
        assert.equal(await page.evaluate('turnstile.isExpired(0)'), false);
        for (let i = 0; i < 6; i++) {
          await until(
            page,
            'document.images[0]?.naturalWidth > 0 && document.images[0].src !== window.last',
          );
          await page.evaluate('window.last = document.images[0].src');
          await page.clock.runFor(108_000);
        }
        await until(page, "heard.includes('timeout ') && heard.includes('chalexpired ')");
        const ends = (await heard(page)).filter((one) => one === 'expired ');
        assert.equal(ends.length, 1, 'nothing was solved, so nothing expired');

        service.refuse.set('start', 429);
        await page.evaluate('grecaptcha.reset()');
        await until(page, "heard.includes('error rate-limited')");
        service.refuse.set('start', 500);
        await page.evaluate('grecaptcha.reset()');
        await until(page, "heard.includes('error network-error')");
        service.refuse.clear();
        await page.evaluate('grecaptcha.reset()');
        await solve(page);
        await until(page, "grecaptcha.getResponse() !== ''");
      },
      /\b(429|500)\b|captcha\/start\S* net::ERR_ABORTED/,
    );

    await on('an element that comes later is found', 'recaptcha', async (page) => {
      await page.evaluate(`((later) => {
        later.className = 'cf-turnstile';
        later.dataset.sitekey = '${service.siteKey}';
        document.forms[0].append(later);
      })(document.createElement('div'))`);
      await until(page, "document.querySelectorAll('.portcullis-captcha').length === 2");
      await page.evaluate(
        "turnstile.render('.cf-turnstile', { callback: () => heard.push('later') })",
      );
      await solve(page, 1);
      await until(page, "heard.includes('later')");
    });

    await on(
      'version 3: execute asks in a dialog and gives score and action',
      'version3',
      async (page) => {
        await page.evaluate(`grecaptcha.ready(() => grecaptcha
        .execute('${service.siteKey}', { action: 'checkout/pay' })
        .then((token) => { window.token = token; }))`);
        await page.getByRole('dialog').waitFor();
        assert.deepEqual(await axeProblems(page), []);
        await solve(page);
        await until(page, 'window.token !== undefined');
        assert.equal(await page.getByRole('dialog').count(), 0);
        const response = await page.evaluate<string>('window.token');
        const asked = new URLSearchParams({ secret: service.apiKey, response });
        const answer = await fetch(`${service.origin}/captcha/siteverify?${asked}`);
        const verdict = (await answer.json()) as Record<string, unknown>;
        assert.equal(verdict.action, 'checkout/pay');
        assert.equal(verdict.score, 1);
      },
    );

    await on(
      'version 3: silent, where the level is: no dialog is shown',
      'version3',
      async (page) => {
        service.isSilent = true;
        try {
          await page.evaluate(`void new MutationObserver(() => {
          if (document.querySelector('dialog[open]')) window.wasOpen = true;
        }).observe(document, { subtree: true, childList: true, attributes: true })`);
          await page.evaluate(`void grecaptcha.execute('${service.siteKey}', { action: 'join' })
          .then((token) => { window.token = token; })`);
          await until(page, 'window.token !== undefined');
          const response = await page.evaluate<string>('window.token');
          const asked = new URLSearchParams({ secret: service.apiKey, response });
          const answer = await fetch(`${service.origin}/captcha/siteverify?${asked}`);
          const { success, level, action } = (await answer.json()) as Record<string, unknown>;
          assert.deepEqual([success, level, action], [true, 'silent', 'join']);
          assert.equal(await page.evaluate('window.wasOpen'), undefined);
          assert.equal(await page.locator('dialog').count(), 0);
        } finally {
          service.isSilent = false;
        }
      },
    );

    await on(
      'version 3: who closes the dialog is told, and may ask again',
      'version3',
      async (page) => {
        const ask = `grecaptcha.execute('${service.siteKey}').then(
        () => { window.outcome = 'solved'; }, (e) => { window.outcome = e.message; })`;
        await page.evaluate(`void ${ask}`);
        await page.getByRole('button', { name: 'Cancel' }).click();
        await until(page, "window.outcome === 'challenge-closed'");
        await page.evaluate(`void ${ask}`);
        await solve(page);
        await until(page, "window.outcome === 'solved'");
      },
    );

    await on('a button asks first, then sends its form', 'button', async (page) => {
      await page.getByRole('button', { name: 'Join' }).click();
      await solve(page);
      await page.getByRole('heading', { name: 'Sent' }).waitFor();
      assert.equal(site.verdicts.at(-1)!.action, 'join');
      assert.equal(site.sent.at(-1)!.name, 'Ada');
    });
  });
});
