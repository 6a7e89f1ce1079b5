/** The pages of the real server in a real browser, in both colour schemes. */

import { it } from 'node:test';
import { checkPage, withBrowser } from '../../support/browser/browser.ts';
import { startTestServer, within } from '../../support/server/server.ts';

for (const threads of [1, 3]) {
  it(`pages are in order in a browser, ${threads} threads`, async () => {
    await using server = await startTestServer({ threads, env: { CLIENT_LIMITS: 'off' } });
    await withBrowser(async (browser) => {
      // The pages' own tests look at every width: here the server's headers matter.
      const widths = [320];
      const at = (path: string) => server.baseUrl + path;
      await checkPage(browser, at('/'), { name: 'flow-home', widths });
      await checkPage(browser, at('/ip/198.51.100.7'), { name: 'flow-malicious', widths });
      await checkPage(browser, at('/ip/192.0.2.61'), {
        name: 'flow-suspect',
        widths,
        locale: 'fr-FR',
      });
      await checkPage(browser, at('/ip/198.51.100.0/24'), { name: 'flow-network', widths });
      await checkPage(browser, at('/ip?address=198.51.100.7+192.0.2.61'), {
        name: 'flow-found',
        widths,
        locale: 'fr-FR',
      });
      const wide = { widths: [390, 1440] };
      // Its index is built behind the start, while nothing else asks.
      await within(async () => (await fetch(at('/as/15169'))).status === 200);
      await checkPage(browser, at('/as/15169'), { name: 'flow-system', ...wide });
      await checkPage(browser, at('/ip/8.8.8.8'), { name: 'flow-known-good', ...wide });
      await checkPage(browser, at('/ip/10.0.0.1'), { name: 'flow-private', ...wide });
      await checkPage(browser, at('/nothing'), { name: 'flow-404', widths, status: 404 });
    });
  });
}
