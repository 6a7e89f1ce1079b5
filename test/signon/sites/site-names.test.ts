/** Names that sites give themselves: which are shown, and what it costs to learn them. */

import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, it } from 'node:test';
import { openDestinations } from '../../../src/reputation/lists/import/download.ts';
import {
  createSiteNames,
  shownName,
  siteManifestOf,
} from '../../../src/signon/sites/site-names.ts';
import { manualClock } from '../../support/seeded.ts';

const clock = manualClock(Date.UTC(2026, 0, 1));
let asked: string[] = [];
let onPage: (response: ServerResponse) => void;
let manifest = '';

const site = createServer((request, response) => {
  asked.push(request.url!);
  if (request.url === '/') onPage(response);
  else response.end(manifest);
});
await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
after(async () => {
  site.closeAllConnections();
  await new Promise((resolve) => site.close(resolve));
});

function namesOf({ isOn = true, allowPrivate = true } = {}) {
  asked = [];
  onPage = (response) =>
    response.end('<head><link rel="manifest" href="/m.json?a=1&amp;b"></head>');
  manifest = '{"name":"The Shop","short_name":"Shop"}';
  return createSiteNames({ clock, isOn, destinations: openDestinations({ allowPrivate }) });
}

async function learnt(names: ReturnType<typeof createSiteNames>, at = origin) {
  names.of(at, 'shop.com');
  await names.idle();
  return names.of(at, 'shop.com');
}

it('a name is learnt behind the page, once in a day', async () => {
  const names = namesOf();
  assert.equal(names.of(origin, 'shop.com'), undefined, 'no page waits');
  await names.idle();
  assert.equal(names.of(origin, 'shop.com'), 'The Shop');
  assert.deepEqual(asked, ['/', '/m.json?a=1&b']);
  manifest = '{"name":"Another"}';
  clock.advance(86_400_000);
  assert.equal(names.of(origin, 'shop.com'), 'The Shop', 'the one of before, meanwhile');
  await names.idle();
  assert.equal(names.of(origin, 'shop.com'), 'Another');
});

it('without the setting, and of a private address, nothing is asked', async () => {
  assert.equal(await learnt(namesOf({ isOn: false })), undefined);
  assert.deepEqual(asked, []);
  assert.equal(await learnt(namesOf({ allowPrivate: false })), undefined);
  assert.deepEqual(asked, []);
});

it('hostile answers give no name, and are asked again after an hour', async () => {
  const pages: ((response: ServerResponse) => void)[] = [
    (response) => response.writeHead(302, { Location: '/m.json' }).end(),
    (response) => response.writeHead(500).end('<link rel=manifest href=/m.json>'),
    (response) => response.end('x'.repeat(600_000)),
    (response) => response.end('<link rel=manifest href=//other.example/m.json>'),
    (response) => response.end('<'.repeat(100_000)),
    (response) => response.destroy(),
  ];
  for (const [i, page] of pages.entries()) {
    const names = namesOf();
    onPage = page;
    assert.equal(await learnt(names), undefined, `page ${i}`);
    assert.deepEqual(asked, ['/'], `page ${i}`);
  }
  for (const text of ['', '[]', 'null', '{"name":7}', `{"name":"x","p":"${'p'.repeat(70_000)}"}`]) {
    const names = namesOf();
    manifest = text;
    assert.equal(await learnt(names), undefined, text.slice(0, 20));
    clock.advance(3_599_000);
    manifest = '{"short_name":"Shop"}';
    assert.equal(await learnt(names), undefined);
    clock.advance(1_000);
    assert.equal(await learnt(names), 'Shop');
  }
});

it('a visitor who asks for many sites causes four requests at once and thirty in a minute', async () => {
  const names = namesOf();
  const held: ServerResponse[] = [];
  onPage = (response) => void held.push(response);
  // Nobody listens at these.
  const nowhere = (i: number) => `http://127.0.0.1:${i + 1}`;
  for (let i = 0; i < 3; i++) names.of(origin, 'same.com');
  while (held.length < 1) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(held.length, 1, 'one of a registrable domain');
  for (let i = 0; i < 10; i++) names.of(nowhere(i), `s${i}.com`);
  names.of(origin, 'fifth.com');
  held[0]!.end('');
  await names.idle();
  assert.equal(held.length, 1, 'four at once');
  for (let i = 10; i < 50; i++) {
    names.of(nowhere(i), `t${i}.com`);
    await names.idle();
  }
  names.of(origin.replace('127.0.0.1', 'localhost'), 'late.com');
  await names.idle();
  assert.deepEqual(asked, ['/']);
  clock.advance(60_000);
  onPage = (response) => response.end('');
  names.of(origin.replace('127.0.0.1', 'localhost'), 'late.com');
  await names.idle();
  assert.deepEqual(asked, ['/', '/'], 'a minute later');
  await names.close();
});

it('a name that could mislead is none', () => {
  const good: [string, string][] = [
    ['  The\n Shop ', 'The Shop'],
    ['Shop.com', 'Shop.com'],
    ['Café Zoë & Söhne', 'Café Zoë & Söhne'],
    ['متجر', 'متجر'],
    ['St. John’s', 'St. John’s'],
    ['Café ❤\uFE0F ½', 'Café ❤ ½'],
    ['Col·lecció', 'Col·lecció'],
    ['x'.repeat(41), `${'x'.repeat(39)}…`],
  ];
  for (const [name, shown] of good) assert.equal(shownName(name, 'shop.com'), shown);
  const bad: unknown[] = [
    ...[
      '',
      ' ',
      '!!!',
      'paypal.com',
      'Log in at bank.example',
      'ﬁne＠x',
      'a@b',
      'https://x',
      'x/y',
    ],
    ...[
      'a\u202Egnp.exe',
      'a\u2066b',
      'a\u200Bb',
      'a\u0000b',
      'a\u00ADb',
      '\uE000',
      'e\u0301\u0301\u0301\u0301',
    ],
    ...['paypal。com', 'x'.repeat(1_001), 7, null, undefined, {}],
    ...['paypal\u2024com', 'paypal\uFE52com', 'paypal\uA4F8com', 'paypal\u0701com'],
    ...['𝗽𝗮𝘆𝗽𝗮𝗹.𝗰𝗼𝗺', 'x\u2044y', 'x\u2215y', '\u3164', '\u115F\u1160', 'pay\u034Fpal', 'a\u2800'],
  ];
  for (const name of bad.filter((one) => one !== 'ﬁne＠x')) {
    assert.equal(shownName(name, 'shop.com'), undefined, JSON.stringify(name));
  }
});

it('a manifest is the one that the page links to, on its own origin', () => {
  const at = (html: string) => siteManifestOf(html, 'https://shop.com')?.href;
  assert.equal(at('<LINK href=/a.json REL="x Manifest">'), 'https://shop.com/a.json');
  assert.equal(at("<link rel='manifest' href='b.json'>"), 'https://shop.com/b.json');
  for (const html of [
    '<link rel=manifest>',
    '<link rel=stylesheet href=/a>',
    '<link rel=manifest href="https://evil.example/a">',
    '<link rel=manifest href="javascript:1">',
    '</head><link rel=manifest href=/a>',
    // Tags that never end are read once each, and not to the end from each.
    '<link href=/a <link rel=manifest>',
  ]) {
    assert.equal(at(html), undefined, html);
  }
});
