/** The widget as it is served: small, compressed, cached, for any site; and nothing lost in serving. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { captchaWidgetRoutes, servedLines } from '../../../src/captcha/page/captcha-page.route.ts';
import type { Request } from '../../../src/http/request/message.ts';
import { startServer } from '../../http/raw.ts';
import { guardOf } from '../../support/server/guard.ts';

const source = readFileSync('data/widget/widget.js', 'utf8');
const names = readFileSync('data/widget/names.js', 'utf8');
const [route] = captchaWidgetRoutes(guardOf());

async function ask(headers: Record<string, string> = {}) {
  const lists = Object.entries(headers).map(([name, value]) => [name, [value]]);
  const request = { headers: Object.fromEntries(lists) as Request['headers'] } as Request;
  const reply = await route!.handle(request, { onGone: () => undefined });
  return { ...reply, header: new Map(reply.headers) };
}

test('it is under 18 KiB, and under 6 compressed', async () => {
  const { body } = await ask();
  assert.ok(body!.length < 18 * 1_024, `${body!.length} bytes`);
  const brotli = await ask({ 'accept-encoding': 'br' });
  assert.ok(brotli.body!.length < 6 * 1_024, `${brotli.body!.length} bytes`);
});

for (const [name, script] of Object.entries({ source, names }))
  test(`what is left out in serving is indents and lines of comment only: ${name}`, () => {
    const pieces = (text: string) =>
      text
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== '');
    const served = pieces(servedLines(script));
    const dropped = pieces(script).filter((line) => !served.includes(line));
    for (const line of dropped) assert.match(line, /^\/\/|^\/\*\*.*\*\/$/);
    assert.deepEqual(
      pieces(script).filter((line) => !dropped.includes(line)),
      served,
    );
    // A string over several lines would lose its indents.
    for (const line of script.split('\n')) {
      assert.equal(line.split('`').length % 2, 1, `a template goes over the end of: ${line}`);
      assert.doesNotMatch(line, /\\$/);
    }
    new Function(servedLines(script));
  });

test('it needs nothing that a strict policy forbids', () => {
  const forbidden =
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|new Function|setAttribute\(|\.on\w+ = '|https?:/;
  assert.doesNotMatch(servedLines(source), forbidden);
  assert.doesNotMatch(servedLines(names), forbidden);
});

test('both languages have every text', () => {
  const pairs = source.split('\n').filter((line) => /^ {4}\w+: \[/.test(line));
  assert.ok(pairs.length > 15);
  for (const line of pairs) assert.match(line, /^ {4}\w+: \['[^']+', '[^']+'\],$/);
  const names = pairs.map((line) => line.trim().split(':')[0]!);
  for (const name of names) {
    assert.ok(source.split(`'${name}'`).length > 1, `${name} is used by nobody`);
  }
});

test('gzip, brotli and plain text are the same script, each with its own ETag', async () => {
  const plain = await ask();
  const gzip = await ask({ 'accept-encoding': 'gzip' });
  const brotli = await ask({ 'accept-encoding': 'gzip, br' });
  assert.deepEqual(gunzipSync(gzip.body as Uint8Array), plain.body);
  assert.deepEqual(brotliDecompressSync(brotli.body as Uint8Array), plain.body);
  const tags = [plain, gzip, brotli].map((reply) => reply.header.get('ETag')!);
  assert.equal(new Set(tags).size, 3);
  assert.equal(plain.header.get('Vary'), 'Accept-Encoding');
  assert.equal(plain.header.get('Content-Type'), 'text/javascript; charset=utf-8');
  assert.equal(plain.header.get('Cache-Control'), 'public, max-age=3600');
  const again = await ask({ 'accept-encoding': 'br', 'if-none-match': tags[2]! });
  assert.equal(again.status, 304);
  assert.equal((await ask({ 'if-none-match': tags[2]! })).status, 200);
});

test('api.js is the widget with the other names behind it', async () => {
  const other = captchaWidgetRoutes(guardOf()).find(({ path }) => path === '/captcha/api.js')!;
  const request = { headers: {} } as Request;
  const reply = await other.handle(request, { onGone: () => undefined });
  assert.equal(String(reply.body), servedLines(source) + servedLines(names));
});

test('any site may load it, with HEAD and OPTIONS', async () => {
  await using running = await startServer(captchaWidgetRoutes(guardOf()));
  const url = `http://127.0.0.1:${running.port}/captcha/widget.js`;
  for (const method of ['GET', 'HEAD']) {
    const reply = await fetch(url, { method, headers: { Origin: 'https://shop.example' } });
    assert.equal(reply.status, 200);
    assert.equal(reply.headers.get('access-control-allow-origin'), '*');
    assert.equal(reply.headers.get('cross-origin-resource-policy'), 'cross-origin');
    assert.equal(reply.headers.get('x-content-type-options'), 'nosniff');
    assert.equal((await reply.text()) !== '', method === 'GET');
  }
  assert.equal((await fetch(url, { method: 'OPTIONS' })).status, 204);
  assert.equal((await fetch(url, { method: 'POST' })).status, 405);
});
