/** Static files: hashed names, strong tags, twins, and no way out of the folder. */

import assert from 'node:assert/strict';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { readAccent } from '../../src/core/accent.ts';
import { loadAssets } from '../../src/web/assets.ts';
import { testAssets } from './page-fixtures.ts';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-assets-'));
after(() => rmSync(folder, { recursive: true, force: true }));

function folderWith(name: string, files: Record<string, string>): string {
  const root = join(folder, name);
  mkdirSync(join(root, 'fonts'), { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(root, file), text);
  return root;
}

test('a file is served under the hash of its content', () => {
  const first = loadAssets(folderWith('a', { 'app.js': 'one' }));
  const second = loadAssets(folderWith('b', { 'app.js': 'two' }));
  assert.match(first.url('app.js'), /^\/static\/app\.[0-9a-f]{16}\.js$/);
  assert.notEqual(first.url('app.js'), second.url('app.js'));
  const asset = first.assetFor(first.url('app.js'));
  assert.equal(asset?.type, 'text/javascript; charset=utf-8');
  assert.equal(asset?.cacheControl, 'public, max-age=31536000, immutable');
  assert.equal(asset?.identity.body.toString(), 'one');
});

test('an operator’s accent is in the style sheet, and the logo runs no script under any address', () => {
  const accent = readAccent('#7b2d8b');
  assert.ok(typeof accent !== 'string');
  const bytes = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>x()</script></svg>');
  const logo = { type: 'image/svg+xml', bytes, sizes: 'any' } as const;
  const own = loadAssets('data/static', { accent, logo });
  const css = (assets: typeof own) =>
    assets.assetFor(assets.url('app.css'))!.identity.body.toString();
  const plain = css(testAssets());
  const root = css(own).slice(0, css(own).indexOf('Chosen in the footer'));
  for (const line of [
    '--accent: light-dark(#7b2d8b, #be6ecf);',
    `--accent-hover: light-dark(${accent.light.hover}, ${accent.dark.hover});`,
    `--on-accent: light-dark(#ffffff, #0b1a2a);`,
    `--accent-tint: light-dark(${accent.light.tint}, ${accent.dark.tint});`,
  ]) {
    assert.ok(root.includes(line), line);
  }
  assert.equal(css(own).split('\n').length, plain.split('\n').length);
  assert.notEqual(own.url('app.css'), testAssets().url('app.css'));
  const path = own.url('site-logo.svg');
  for (const found of [own.assetFor(path), own.shared().get(path)]) {
    assert.equal(found?.type, 'image/svg+xml');
    const headers = new Map(found.headers);
    assert.match(headers.get('Content-Security-Policy')!, /^default-src 'none'; .*; sandbox$/);
    assert.doesNotMatch(headers.get('Content-Security-Policy')!, /script/);
    assert.equal(headers.get('X-Content-Type-Options'), 'nosniff');
  }
  assert.throws(() => testAssets().url('site-logo.svg'), /no static file/);
});

test('each encoding has its own strong tag and the same content', () => {
  const assets = testAssets();
  const asset = assets.assetFor(assets.url('app.css'))!;
  const { identity, gzip, brotli } = asset;
  const tags = [identity.etag, gzip!.etag, brotli!.etag];
  assert.equal(new Set(tags).size, 3);
  for (const tag of tags) assert.match(tag, /^"[0-9a-z-]+"$/);
  assert.ok(gunzipSync(gzip!.body).equals(identity.body));
  assert.ok(brotliDecompressSync(brotli!.body).equals(identity.body));
  const font = assets.assetFor(assets.url('fonts/recursive-latin.woff2'))!;
  assert.equal(font.type, 'font/woff2');
  assert.equal(font.gzip, undefined);
});

test('twins are prepared without holding the event loop, with the bytes that a request would make', async () => {
  // Changed, or the build would have made them.
  const folder = folderWith('twins', {});
  cpSync('data/static', folder, { recursive: true });
  for (const name of ['app.css', 'app.js']) appendFileSync(join(folder, name), '/* changed */');
  const [ready, asked] = [loadAssets(folder), loadAssets(folder)];
  const changed = ['app.css', 'app.js'].flatMap(
    (name) => ready.assetFor(ready.url(name))!.preparations,
  );
  for (const prepare of changed) {
    let isOver = false;
    const preparing = Promise.resolve(prepare()).then(() => {
      isOver = true;
    });
    // Made in this turn, it would be there after the microtasks.
    for (let i = 0; i < 10; i++) await Promise.resolve();
    assert.ok(!isOver, 'made in the turn of the call');
    await preparing;
  }
  for (const name of ['app.css', 'app.js']) {
    const of = (assets: typeof ready) => assets.assetFor(assets.url(name))!;
    assert.ok(of(ready).gzip!.body.equals(of(asked).gzip!.body), name);
    assert.ok(of(ready).brotli!.body.equals(of(asked).brotli!.body), name);
  }
});

test('the build has compressed every file, as it is compressed when it is asked for', () => {
  const all = [...testAssets().shared().values()];
  assert.ok(all.some(({ gzip }) => gzip !== undefined));
  for (const { identity, gzip, brotli } of all) {
    if (gzip === undefined || brotli === undefined) continue;
    const built = ({ etag }: { etag: string }) => readFileSync(`dist/built/${etag.slice(1, -1)}`);
    assert.ok(built(gzip).equals(gzipSync(identity.body, { level: 9 })));
    assert.ok(brotliDecompressSync(built(brotli)).equals(Buffer.from(identity.body)));
  }
});

test('a style sheet names its fonts by their hashed path, so a new font renames it', () => {
  const css = '@font-face { src: url("./fonts/a.woff2") }';
  const one = loadAssets(folderWith('c', { 'app.css': css, 'fonts/a.woff2': '1' }));
  const two = loadAssets(folderWith('d', { 'app.css': css, 'fonts/a.woff2': '2' }));
  const text = one.assetFor(one.url('app.css'))!.identity.body.toString();
  // Relative to the sheet, which another beginning of the path may stand before.
  assert.ok(text.includes(`url(".${one.url('fonts/a.woff2').slice('/static'.length)}")`));
  assert.notEqual(one.url('app.css'), two.url('app.css'));
  const broken = folderWith('e', { 'app.css': 'a { src: url("./fonts/none.woff2") }' });
  assert.throws(() => loadAssets(broken), /no static file/);
});

test('nothing but the listed files can be reached', () => {
  const assets = testAssets();
  const real = assets.url('app.css');
  for (const path of [
    '/static/app.css',
    '/static/',
    '/static',
    '/static/../app.css',
    '/static/%2e%2e/package.json',
    '/static/fonts/../app.css',
    `${real}?x`,
    `/${real}`,
    real.toUpperCase(),
    `${real}\0`,
    '/static/__proto__',
    'constructor',
    '',
  ]) {
    assert.equal(assets.assetFor(path), undefined, path);
  }
  assert.throws(() => assets.url('../package.json'), /no static file/);
});

test('links and unknown types stop the start', () => {
  const linked = folderWith('f', {});
  symlinkSync('/etc/hostname', join(linked, 'x.txt'));
  assert.throws(() => loadAssets(linked), /not a regular file/);
  const strange = folderWith('g', { 'x.html': '<b>' });
  assert.throws(() => loadAssets(strange), /unknown type/);
});
