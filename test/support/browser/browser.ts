/**
 * Pages in a real browser. `checkPage` shows a page at several widths and in both colour schemes
 * and reports everything a visitor or an auditor would object to: script errors, blocked
 * resources, sideways scrolling, accessibility violations. Web security stays on.
 */

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import { findChromium } from './chromium.ts';

export type Theme = 'light' | 'dark';

interface CheckPageOptions {
  /** Sent with each request, such as the address that a proxy would name. */
  readonly headers?: Readonly<Record<string, string>>;
  /** File name stem of the screenshots; unique per page. */
  readonly name: string;
  /** CSS pixels. */
  readonly widths?: readonly number[];
  readonly themes?: readonly Theme[];
  /** Accept-Language of the visit, e.g. `fr-FR`. */
  readonly locale?: string;
  /** Of a person who is signed in. */
  readonly session?: PageSession;
  /** The status that the page itself must answer with. */
  readonly status?: number;
  /** What is done once it is there, before it is looked at. */
  readonly prepare?: (page: Page) => Promise<void>;
}

export interface PageSession {
  readonly cookies: readonly { name: string; value: string; url: string }[];
}

const screenshotFolder = 'test-output/screenshots';
/** Of each wait in a browser. A good run never waits for so long. */
const patienceMs = 120_000;
const viewportHeight = 900;
/** Of a picture, far below what a surface may have. */
const pictureHeightMax = 4_000;

const launchArguments = [
  '--headless=shell',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-breakpad',
  // Letters at their true distances, as on a display with many pixels.
  '--font-render-hinting=none',
];

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
);

/** Starts a browser with a home of its own, and closes both whatever `run` does. */
export async function withBrowser<T>(run: (browser: Browser) => Promise<T>): Promise<T> {
  const { executablePath, env } = findChromium();
  const home = mkdtempSync(join(tmpdir(), 'portcullis-browser-'));
  try {
    const launch = () =>
      chromium.launch({
        executablePath,
        args: launchArguments,
        chromiumSandbox: false,
        timeout: patienceMs,
        env: {
          ...env,
          HOME: home,
          XDG_CONFIG_HOME: home,
          XDG_CACHE_HOME: home,
          PATH: '/usr/bin:/bin',
        },
      });
    // On a loaded machine one crashes now and then as it starts.
    const browser = await launch().catch(launch);
    try {
      return await run(browser);
    } finally {
      await browser.close();
    }
  } finally {
    // A process of the browser may be gone a moment after it.
    rmSync(home, { recursive: true, force: true, maxRetries: 10 });
  }
}

/**
 * Without motion, unless the test is about motion: after a change of scheme, axe and pictures
 * must not meet a colour on its way to another.
 */
export async function openContext(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<BrowserContext> {
  const context = await browser.newContext({
    locale: 'en-GB',
    reducedMotion: 'reduce',
    ...options,
  });
  context.setDefaultTimeout(patienceMs);
  return context;
}

/** Presses what leads to another page and waits for that page: the one before is not looked at. */
export async function leavePage(page: Page, press: () => Promise<void>): Promise<void> {
  await Promise.all([page.waitForEvent('load'), press()]);
}

/** A passkey device of the page's own, whose owner says yes to everything. */
export async function addAuthenticator(page: Page): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}

/** Collects what goes wrong on a page while it is open. Attach before navigating. */
export async function watchPage(page: Page, pageUrl: string): Promise<() => Promise<string[]>> {
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(`script error: ${error.message}`));
  page.on('requestfailed', (request) => {
    const why = request.failure()?.errorText ?? '';
    // Whoever leaves a page breaks off what it asks on the side: for passkeys, whether a password is weak, for
    // the radar's next report.
    const isLeft =
      why === 'net::ERR_ABORTED' &&
      /\/signin\/passkey\/options$|\/register\/password$|\/radar\/events\?/.test(request.url());
    if (!isLeft) problems.push(`request failed: ${request.url()} ${why}`);
  });
  page.on('response', (response) => {
    if (response.url() !== pageUrl && response.status() >= 400) {
      problems.push(`${response.status()} for ${response.url()}`);
    }
  });
  page.on('console', (message) => {
    const ownStatus =
      message.text().startsWith('Failed to load resource') && message.location().url === pageUrl;
    if ((message.type() === 'error' || message.type() === 'warning') && !ownStatus) {
      problems.push(`console ${message.type()}: ${message.text()}`);
    }
  });
  await page.addInitScript(`
    globalThis.__cspViolations = [];
    document.addEventListener('securitypolicyviolation', (event) => {
      globalThis.__cspViolations.push(
        event.effectiveDirective + ' blocked ' + (event.blockedURI || 'inline') + ' ' + event.sample);
    });`);
  return async () => {
    const violations = (await page.evaluate('globalThis.__cspViolations')) as string[];
    return [...problems, ...violations.map((text) => `CSP: ${text}`)];
  };
}

/** Elements that stick out at the right; empty when the page does not scroll sideways. */
async function overflowProblems(page: Page): Promise<string[]> {
  return (await page.evaluate(`(() => {
    const root = document.documentElement;
    if (root.scrollWidth <= root.clientWidth) return [];
    const wide = [...document.body.querySelectorAll('*')]
      .filter((element) => element.getBoundingClientRect().right > root.clientWidth + 0.5)
      .slice(0, 5)
      .map((element) => element.tagName.toLowerCase() + '.' + element.getAttribute('class'));
    return ['scrolls sideways: ' + root.scrollWidth + ' > ' + root.clientWidth + ' ' + wide.join(', ')];
  })()`)) as string[];
}

/** The page's policy forbids injected script elements, so axe goes in through the debugger. */
export async function axeProblems(page: Page): Promise<string[]> {
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(`${axeSource};0`);
  return (await page.evaluate(`(async () => {
    const { violations } = await axe.run(document, { preload: false, resultTypes: ['violations'] });
    return violations.map((v) => 'axe ' + v.id + ': ' + v.help + ' ' +
      v.nodes.slice(0, 3).map((n) => n.target.join(' ') + ' ' +
        n.any.concat(n.all).map((c) => c.message).join('; ')).join(' | '));
  })()`)) as string[];
}

/**
 * Of a part of a page that is open in forced colours, where grounds and shadows are gone: its own line, text, the lines
 * of what can be pressed or typed in, icons, and the ring of each that has the focus, which don't stand out.
 */
export async function forcedColourProblems(page: Page, part: string): Promise<string[]> {
  // After a key of its own, what a script focuses shows the ring as well.
  await page.keyboard.press('Shift');
  return (await page.evaluate(`(() => {
    if (!matchMedia('(forced-colors: active)').matches) return ['colours are not forced'];
    const part = document.querySelector(${JSON.stringify(part)});
    const parts = (color) => color.match(/[\\d.]+/g).map(Number);
    const ground = parts(getComputedStyle(part).backgroundColor);
    const luminance = (rgb) => {
      const [r, g, b] = rgb.map((value) => value / 255)
        .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (color) => {
      const [r, g, b, alpha = 1] = parts(color);
      const seen = [r, g, b].map((value, i) => value * alpha + ground[i] * (1 - alpha));
      const [low, high] = [luminance(seen), luminance(ground.slice(0, 3))].sort((a, b) => a - b);
      return (high + 0.05) / (low + 0.05);
    };
    const problems = [];
    const expect = (isSo, element, what) => {
      if (!isSo) problems.push(what + ': ' + element.tagName + ' ' + element.textContent);
    };
    const line = (style) => parseFloat(style.borderTopWidth) >= 1 && contrast(style.borderTopColor) >= 3;
    expect(ground[3] !== 0 && line(getComputedStyle(part)), part, 'no line around');
    for (const element of part.querySelectorAll('*')) {
      if (!element.checkVisibility() || element.closest('.visually-hidden')) continue;
      const style = getComputedStyle(element);
      const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '');
      if (hasText) expect(contrast(style.color) >= 4.5, element, 'text');
      if (element.matches('svg.icon')) expect(contrast(style.stroke) >= 3, element.parentElement, 'icon');
      if (!element.matches('button, input, a.button')) continue;
      expect(line(style), element, 'no line');
      const before = getComputedStyle(element, '::before');
      if (before.content !== 'none') expect(contrast(before.backgroundColor) >= 3, element, 'icon');
      element.focus();
      const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(element);
      const isRing = outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2 && contrast(outlineColor) >= 3;
      expect(document.activeElement === element && isRing, element, 'no ring');
    }
    return problems;
  })()`)) as string[];
}

/** Of a page that is open: what sticks out, and what axe objects to. */
export async function layoutProblems(page: Page): Promise<string[]> {
  return [...(await overflowProblems(page)), ...(await axeProblems(page))];
}

/**
 * The whole page, in one picture or (`-1.png`, `-2.png` …) in several. A page of the documentation is
 * 21,000 pixels high on a telephone: more than the 16,384 that a browser's surface has, so taking
 * it in one piece took seconds, and failed now and then where other tests ran beside it.
 */
async function takePictures(page: Page, width: number, stem: string): Promise<void> {
  const height = (await page.evaluate('document.documentElement.scrollHeight')) as number;
  if (height <= pictureHeightMax) {
    await page.screenshot({ path: `${stem}.png`, fullPage: true, animations: 'disabled' });
    return;
  }
  await page.setViewportSize({ width, height: pictureHeightMax });
  for (let number = 1, top = 0; top < height; number++, top += pictureHeightMax) {
    await page.evaluate(`scrollTo({ top: ${top}, behavior: 'instant' })`);
    await page.screenshot({ path: `${stem}-${number}.png`, animations: 'disabled' });
  }
}

/** Leaves the whole page as a picture in test-output/screenshots/, for people: with `SCREENSHOTS=1`. */
export async function picture(page: Page, name: string): Promise<void> {
  if (!process.env.SCREENSHOTS) return;
  await page.screenshot({ path: join(screenshotFolder, `${name}.png`), fullPage: true });
}

async function checkTheme(
  context: BrowserContext,
  url: string,
  theme: Theme,
  options: CheckPageOptions,
): Promise<string[]> {
  const problems: string[] = [];
  const page = await context.newPage();
  const finish = await watchPage(page, url);
  const [first = 320, ...others] = options.widths ?? [320, 768, 1280];
  await page.setViewportSize({ width: first, height: viewportHeight });
  const response = await page.goto(url, { waitUntil: 'load' });
  await page.evaluate('document.fonts.ready.then(() => 0)');
  await options.prepare?.(page);
  const status = response?.status();
  if (status !== (options.status ?? 200)) problems.push(`${theme}: status ${status}`);
  // Starting a page and axe in it costs as much as looking at it: the window is resized instead.
  for (const width of [first, ...others]) {
    await page.setViewportSize({ width, height: viewportHeight });
    await page.evaluate(
      'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))',
    );
    problems.push(...(await layoutProblems(page)).map((text) => `${width}px ${theme}: ${text}`));
    const stem = join(screenshotFolder, `${options.name}-${width}-${theme}`);
    if (process.env.SCREENSHOTS) await takePictures(page, width, stem);
  }
  problems.push(...(await finish()).map((text) => `${theme}: ${text}`));
  await page.close();
  return problems;
}

/** Every objection to the page, as one line each; with `SCREENSHOTS=1`, pictures land in test-output/screenshots/. */
export async function pageProblems(
  browser: Browser,
  url: string,
  options: CheckPageOptions,
): Promise<string[]> {
  mkdirSync(screenshotFolder, { recursive: true });
  const problems: string[] = [];
  for (const theme of options.themes ?? (['light', 'dark'] as const)) {
    const context = await openContext(browser, {
      colorScheme: theme,
      locale: options.locale ?? 'en-GB',
    });
    await context.addCookies([...(options.session?.cookies ?? [])]);
    await context.setExtraHTTPHeaders({ ...options.headers });
    try {
      problems.push(...(await checkTheme(context, url, theme, options)));
    } finally {
      await context.close();
    }
  }
  return problems;
}

/** Fails with the list of objections, if there are any. */
export async function checkPage(
  browser: Browser,
  url: string,
  options: CheckPageOptions,
): Promise<void> {
  assert.deepEqual(await pageProblems(browser, url, options), []);
}
