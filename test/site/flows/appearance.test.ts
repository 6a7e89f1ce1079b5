/** The choice of language and theme in the footer: what is kept, where it shows, what is refused. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { endpoints } from '../../../src/app/modules.ts';
import { forFile } from '../../support/server/for-file.ts';
import { startTestServer } from '../../support/server/server.ts';

const form = { 'Content-Type': 'application/x-www-form-urlencoded' };

const server = forFile(await startTestServer({ threads: 1, env: { CLIENT_LIMITS: 'off' } }));

describe('looks', () => {
  const choose = (body: string, headers: Record<string, string> = {}) =>
    server.fetch('/looks', { method: 'POST', headers: { ...form, ...headers }, body });
  const cookieOf = async (body: string, headers?: Record<string, string>) => {
    const answer = await choose(body, headers);
    assert.equal(answer.status, 303);
    return /^looks=([^;]*); Path=\/; HttpOnly; SameSite=Lax/.exec(
      String(answer.headers['set-cookie']),
    )![1]!;
  };
  const page = (path: string, cookie: string, headers: Record<string, string> = {}) =>
    server.fetch(path, { headers: { Cookie: `looks=${cookie}`, ...headers } });

  it('each choice is kept beside the other, and the last goes with its cookie', async () => {
    assert.equal(await cookieOf('language=fr'), 'fr.-');
    assert.equal(await cookieOf('theme=dark'), '-.dark');
    assert.equal(await cookieOf('theme=dark', { Cookie: 'looks=fr.-' }), 'fr.dark');
    assert.equal(await cookieOf('language=en', { Cookie: 'looks=fr.dark' }), 'en.dark');
    assert.equal(await cookieOf('theme=auto', { Cookie: 'looks=fr.dark' }), 'fr.-');
    assert.equal(await cookieOf('theme=auto', { Cookie: 'looks=-.dark' }), '');
    assert.equal(await cookieOf('theme=light', { Cookie: 'looks=xx.yy' }), '-.light');
  });

  it('pages of all kinds are in the language and the theme that was chosen', async () => {
    const paths = ['/', '/docs', '/feeds', '/captcha/', '/ip/198.51.100.7', '/signin', '/connect'];
    for (const path of paths) {
      const plain = await server.fetch(path, { headers: { 'Accept-Language': 'en' } });
      assert.match(plain.body, /^<!doctype html><html lang="en">/, path);
      const dark = await page(path, 'fr.dark', { 'Accept-Language': 'en' });
      assert.equal(dark.status, plain.status, path);
      assert.match(dark.body, /^<!doctype html><html data-theme="dark" lang="fr">/, path);
      assert.match(dark.headers['cache-control']!, /no-store/, path);
      assert.equal(dark.headers.etag, undefined, path);
      const french = await page(path, 'fr.-', { 'Accept-Language': 'en' });
      assert.match(french.body, /^<!doctype html><html lang="fr">/, path);
      assert.match(
        `${plain.headers.vary} ${plain.headers['cache-control']}`,
        /Cookie|no-store/,
        path,
      );
    }
  });

  it('so is the page of an unknown path, for whoever may be signed in', async () => {
    const { status, body } = await server.fetch('/nowhere', {
      headers: { Cookie: 'session=x; looks=fr.dark', 'Accept-Language': 'en' },
    });
    assert.equal(status, 404);
    assert.match(body, /^<!doctype html><html data-theme="dark" lang="fr">/);
  });

  it('no copy of one reader is given to another', async () => {
    const { etag } = (await server.fetch('/feeds')).headers;
    if (etag === undefined) return;
    const again = await page('/feeds', '-.dark', { 'If-None-Match': etag });
    assert.equal(again.status, 200);
    assert.match(again.body, /data-theme="dark"/);
    assert.doesNotMatch((await server.fetch('/feeds')).body, /data-theme/);
  });

  it('leads back to the page it was chosen on, and nowhere else', async () => {
    const host = new URL(server.baseUrl).host;
    const back = async (referer: string) =>
      (await choose('theme=dark', { Host: host, Referer: referer })).headers.location;
    assert.equal(await back(`http://${host}/docs/ip-api?x=1`), '/docs/ip-api?x=1');
    assert.equal(
      await back(`http://${host}/signin?return=%2Faccount`),
      '/signin?return=%2Faccount',
    );
    for (const referer of ['', 'x', 'https://evil.example/', `http://${host}//evil.example`]) {
      assert.equal(await back(referer), '/', referer);
    }
  });

  it('from the answer to a form it leads to a page that can be opened', async () => {
    const host = new URL(server.baseUrl).host;
    const forms = endpoints.filter(({ method, shape }) => method === 'POST' && shape === 'page');
    const opened = new Set(
      endpoints.filter(({ method }) => method === 'GET').map(({ path }) => path),
    );
    assert.ok(
      forms.some(({ path }) => !opened.has(path)),
      'a form that sends elsewhere',
    );
    for (const { path } of forms) {
      const shown = path.replace(/:\w+/, 'x').replace('*', 'x');
      const referer = `http://${host}${shown}?a=1`;
      const { location } = (await choose('theme=dark', { Host: host, Referer: referer })).headers;
      if (opened.has(path)) assert.equal(location, `${shown}?a=1`);
      else assert.ok(location !== shown && shown.startsWith(location!), `${shown} → ${location}`);
      const { status } = await server.fetch(location!);
      assert.ok(status !== 405 && (opened.has(path) || status !== 404), `${location}: ${status}`);
    }
  });

  it('what is no choice, and what comes from elsewhere, is refused', async () => {
    assert.equal((await choose('theme=blue')).status, 422);
    assert.equal((await choose('language=de')).status, 422);
    assert.equal((await choose('theme=dark&theme=light')).status, 400);
    assert.equal((await choose(`theme=${'d'.repeat(70_000)}`)).status, 413);
    assert.equal((await choose('theme=dark', { Origin: 'https://evil.example' })).status, 403);
    assert.equal((await server.fetch('/looks')).headers.location, '/');
    for (const cookie of ['fr.dark; Domain=x', '"><script>', 'fr.dark.dark', '..', 'dark.fr']) {
      const { body } = await page('/', cookie, { 'Accept-Language': 'en' });
      assert.doesNotMatch(body.slice(0, 200), /data-theme="(?!dark)|<script>/, cookie);
    }
  });
});
