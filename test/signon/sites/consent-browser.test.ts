/**
 * Consent and what stands in its place, in a real browser with their real headers: three widths,
 * both colour schemes, both languages.
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { Language } from '../../../src/core/language.ts';
import {
  consentPage,
  endedFormPage,
  nameTargetPage,
  refusalPage,
  verifyFirstPage,
} from '../../../src/signon/sites/consent.page.tsx';
import { pickLanguage } from '../../../src/web/language.ts';
import { pageHeaders } from '../../../src/web/page-tools.ts';
import { checkPage, withBrowser } from '../../support/browser/browser.ts';
import { testAssets, testFrame } from '../../web/page-fixtures.ts';
import {
  addedConsent,
  firstConsent,
  lookAlikeConsent,
  targetOf,
  wideConsent,
} from './consent-fixtures.ts';

const target = targetOf('xn--bcher-kva.com', 'https://www.xn--bcher-kva.com/cb');
const detail = 'The redirect_uri is not an https address on the domain of the client.';

const pages: Readonly<Record<string, (language: Language) => string>> = {
  '/consent-first': (language) => consentPage(testFrame(language), firstConsent),
  '/consent-added': (language) => consentPage(testFrame(language), addedConsent),
  '/consent-look-alike': (language) => consentPage(testFrame(language), lookAlikeConsent),
  '/consent-wide': (language) => consentPage(testFrame(language), wideConsent),
  '/authorize-refused': (language) =>
    refusalPage(testFrame(language), { error: 'invalid_redirect_uri', detail }),
  '/authorize-named': (language) =>
    nameTargetPage(
      testFrame(language),
      { target, error: 'login_required', detail: 'there is no sign-in' },
      'https://www.xn--bcher-kva.com/cb?error=login_required',
    ),
  '/authorize-verify': (language) =>
    verifyFirstPage(testFrame(language), {
      email: 'ada@mail.example',
      nextHref: '/authorize.php/continue?id=x',
      againHref: '/verify',
    }),
  '/authorize-over': (language) => endedFormPage(testFrame(language)),
};

test('consent and its neighbours are clean in a browser', { timeout: 600_000 }, async (t) => {
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    const asset = testAssets().assetFor(path);
    if (asset !== undefined) {
      response.writeHead(200, { 'content-type': asset.type });
      response.end(asset.identity.body);
      return;
    }
    const language = pickLanguage(request.headers['accept-language']);
    const page = pages[path];
    const headers = pageHeaders(language, { formAction: 'unrestricted' });
    response.writeHead(page === undefined ? 404 : 200, headers);
    response.end(page?.(language));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    await withBrowser(async (browser) => {
      for (const path of Object.keys(pages)) {
        const name = path.slice(1);
        await t.test(name, () => checkPage(browser, origin + path, { name }));
        await t.test(`${name} in French`, () =>
          checkPage(browser, origin + path, {
            name: `${name}-fr`,
            locale: 'fr-FR',
            widths: [320, 1280],
            themes: [name.length % 2 === 0 ? 'light' : 'dark'],
          }),
        );
      }
    });
  } finally {
    server.close();
    server.closeAllConnections();
  }
});
