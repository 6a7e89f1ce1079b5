/** The button as a site would show it: in light and dark, narrow and wide, for every reader. */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { unzipSync } from 'fflate';
import { openKit } from '../../../src/site/kit/open-kit.ts';
import { checkPage, withBrowser } from '../../support/browser/browser.ts';

const types: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css',
  svg: 'image/svg+xml',
};
const files = unzipSync(openKit().bytes);

test('the page with all buttons has no fault', async () => {
  const server = createServer((request, response) => {
    const name = `button${request.url}`;
    const bytes = files[name];
    response.writeHead(bytes === undefined ? 204 : 200, {
      'content-type': types[name.split('.').at(-1)!] ?? 'text/plain',
    });
    response.end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    await withBrowser((browser) =>
      checkPage(browser, `http://127.0.0.1:${port}/button.html`, { name: 'kit-button' }),
    );
  } finally {
    server.close();
    server.closeAllConnections();
  }
});

test('each picture names itself in its language and runs no script', () => {
  for (const [language, words] of [
    ['en', 'Sign in with Portcullis'],
    ['fr', 'Se connecter avec Portcullis'],
  ] as const) {
    for (const theme of ['light', 'dark']) {
      const name = `button/sign-in-${language}-${theme}.svg`;
      const svg = Buffer.from(files[name]!).toString('utf8');
      assert.match(svg, /^<svg [^>]*role="img"/, name);
      assert.ok(svg.includes(` lang="${language}" aria-label="${words}">`), name);
      assert.ok(svg.includes(`<title>${words}</title>`), name);
      assert.doesNotMatch(svg, /script|on\w+=|href|url\(|@import/i, name);
    }
  }
});
