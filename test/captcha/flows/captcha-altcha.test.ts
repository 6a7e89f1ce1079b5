/**
 * The public widget of ALTCHA in a real browser, on a page of another origin, with this server as its
 * challenge: what it puts into the form is redeemed at siteverify.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it } from 'node:test';
import { openContext, watchPage, withBrowser } from '../../support/browser/browser.ts';
import { solve } from '../../support/captcha/solution.ts';
import { forFile } from '../../support/server/for-file.ts';
import { demoEmail, startTestServer } from '../../support/server/server.ts';

const widget = readFileSync(new URL(import.meta.resolve('altcha')));
const origin = 'https://shop.example';
const server = forFile(
  await startTestServer({ threads: 1, env: { TRUSTED_PROXIES: '127.0.0.1' } }),
);
const siteKey = (await server.cliJson('sitekey', 'create', demoEmail)).id as string;

async function siteverify(response: string, more: Record<string, string> = {}) {
  const body = new URLSearchParams({ secret: server.key, response, sitekey: siteKey, ...more });
  const answer = await server.fetch('/captcha/siteverify', {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: body.toString(),
  });
  return answer.json() as Record<string, unknown>;
}

const ask = (query: string, headers: Record<string, string> = { Origin: origin }) =>
  server.fetch(`/captcha/altcha?${query}`, { headers });

it('its widget solves a challenge of ours, and siteverify takes the payload once', async () => {
  const page = createServer((request, response) => {
    const isScript = request.url === '/altcha.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html; charset=utf-8');
    response.end(
      isScript
        ? widget
        : `<!doctype html><html lang="en"><title>Shop</title><script type="module" src="/altcha.js"></script>
          <main><form><altcha-widget name="altcha" auto="onload"
            challenge="${server.baseUrl}/captcha/altcha?sitekey=${siteKey}&action=join"></altcha-widget></form></main></html>`,
    );
  });
  await new Promise<void>((resolve) => page.listen(0, '127.0.0.1', resolve));
  const url = `http://localhost:${(page.address() as AddressInfo).port}/`;
  let payload = '';
  try {
    await withBrowser(async (browser) => {
      const context = await openContext(browser, {});
      const tab = await context.newPage();
      const finish = await watchPage(tab, url);
      await tab.goto(url);
      await tab.locator('input[name=altcha][value]:not([value=""])').waitFor({ state: 'attached' });
      payload = await tab.locator('input[name=altcha]').inputValue();
      assert.deepEqual(await finish(), []);
      await context.close();
    });
  } finally {
    page.close();
    page.closeAllConnections();
  }
  const { success, hostname, level, score, action } = await siteverify(payload);
  assert.deepEqual(
    { success, hostname, level, score, action },
    { success: true, hostname: 'localhost', level: 'silent', score: 1, action: 'join' },
  );
  const again = await siteverify(payload);
  assert.deepEqual(again, { success: false, 'error-codes': ['timeout-or-duplicate'] });
});

it('what is altered, of another site key or of another account is none', async () => {
  const challenge = (await ask(`sitekey=${siteKey}`)).json();
  const solved = await solve(challenge);
  const textOf = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64');
  const { parameters } = solved.challenge;
  const codesOf = async (text: string, more?: Record<string, string>) =>
    (await siteverify(text, more))['error-codes'];
  const invalid = ['invalid-input-response'];
  const altered = { ...solved.challenge, parameters: { ...parameters, cost: 1 } };
  assert.deepEqual(await codesOf(textOf({ ...solved, challenge: altered })), invalid);
  assert.deepEqual(await codesOf(textOf({ ...solved, solution: { counter: 0 } })), invalid);
  assert.deepEqual(await codesOf('x'.repeat(5_000)), invalid);
  assert.deepEqual(await codesOf('e30='), invalid);
  const mismatch = ['sitekey-secret-mismatch'];
  assert.deepEqual(await codesOf(textOf(solved), { sitekey: 'pcs_x' }), mismatch);
  await server.cliJson('sitekey', 'set', siteKey, '--level', 'easy');
  assert.deepEqual(await codesOf(textOf(solved)), invalid, 'the site key asks for more by now');
  assert.equal((await ask(`sitekey=${siteKey}`)).status, 403);
  await server.cliJson('sitekey', 'set', siteKey, '--level', 'silent');
  assert.deepEqual(await codesOf(textOf(solved)), [], 'nothing before used it up');
});

it('a refusal says what is wrong, and no visitor who needs a picture gets work', async () => {
  const refused = async (query: string, headers?: Record<string, string>) => {
    const answer = await ask(query, headers);
    return [answer.status, (answer.json() as { errors: { detail: string }[] }).errors[0]!.detail];
  };
  const key = `sitekey=${siteKey}`;
  const from = (ip: string) => ({ Origin: origin, 'X-Forwarded-For': ip });
  const unknown = [422, 'There is no such site key.'];
  assert.deepEqual(await refused('sitekey=pcs_x'), unknown);
  assert.deepEqual(await refused(''), unknown);
  assert.deepEqual(await refused(`sitekey=${'x'.repeat(900)}`), unknown);
  assert.equal((await refused(`${key}&${key}`))[0], 422);
  assert.equal((await refused(key, {}))[0], 422);
  const picture = [403, 'This visitor has to see a picture, which this call has not.'];
  // Listed, and an anonymous exit.
  assert.deepEqual(await refused(key, from('198.51.100.7')), picture);
  assert.deepEqual(await refused(key, from('192.0.2.61')), picture);
  assert.equal((await server.fetch('/captcha/altcha', { method: 'POST' })).status, 405);
});
