/**
 * Whatever text arrives in a field, the page's markup stays the same: the sequence of tags and
 * attribute names of a page filled with hostile strings equals that of a page filled with words.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { h } from 'preact';
import { type IpPageData, ipPage } from '../../src/reputation/address/address.page.tsx';
import { homePage } from '../../src/site/home/home.page.tsx';
import { CodeBlock, Notice } from '../../src/web/components/card.tsx';
import { Field } from '../../src/web/components/form.tsx';
import { Badge, Table } from '../../src/web/components/table.tsx';
import { type Html, renderHtml, safeHref } from '../../src/web/html.ts';
import { translationsFor } from '../../src/web/language.ts';
import { errorPage } from '../../src/web/layout/layout.tsx';
import { maliciousAddress, testFrame } from './page-fixtures.ts';

const hostileTexts = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "'><svg/onload=alert(1)>",
  '</title></head><body onload=alert(1)>',
  '<!-- --><![CDATA[<b>]]>',
  '&lt;b&gt;&#60;i&#62;',
  '" autofocus onfocus="alert(1)',
  '</textarea></code></pre><a href=x>',
  '`{{7*7}}<%= 7 %>`',
  '\ud800<b>\u0000',
];

/** Names of tags and of their attributes, in order, as an HTML tokenizer would see them. */
function skeleton(markup: string): string[] {
  const names: string[] = [];
  for (const [, tag, attributes] of markup.matchAll(/<([a-z!/][^\s>"]*)((?:[^>"]|"[^"]*")*)>/gi)) {
    if (tag === 'wbr' || tag === 'wbr/') continue; // one per colon of an address
    const attributeNames = [...attributes!.matchAll(/([^\s=/"]+)(?:="[^"]*")?/g)].map((m) => m[1]);
    names.push([tag, ...attributeNames].join(' '));
  }
  return names;
}

function ipData(text: string): IpPageData {
  return {
    ...maliciousAddress,
    address: text,
    provider: text,
    countryCode: text,
    scorePrefix: text,
    reportHref: text,
    categories: [{ name: text, count: 3 }],
    comments: [{ text: `a ${text}`, at: maliciousAddress.now, categories: [text] }],
    attribution: { name: text, href: text, licence: text, madeAt: 1 },
  };
}

const views: Record<string, (text: string) => string> = {
  'page of an address': (text) => ipPage(testFrame(), ipData(text)),
  'French page of an address': (text) => ipPage(testFrame('fr'), ipData(text)),
  'home page': (text) =>
    homePage(
      { ...testFrame(), links: { docs: text, feeds: text, register: text }, lookupAction: text },
      {
        secureUrl: text,
        exampleAddresses: [text],
        arrivals: [{ address: text, score: 61 }],
        sample: { address: text, answer: text },
      },
    ),
  'error page': (text) => errorPage(testFrame(), { status: 400, title: text, detail: text }),
  nonce: (text) => errorPage({ ...testFrame(), nonce: text }, { status: 500 }),
  badge: (text) => render(Badge({ label: text, title: text })),
  notice: (text) => render(Notice({ title: text, children: text })),
  'code block': (text) =>
    render(CodeBlock({ id: text, title: text, code: text, text: translationsFor('en') })),
  field: (text) =>
    render(
      Field({
        id: text,
        name: text,
        label: text,
        value: text,
        placeholder: text,
        hint: text,
        error: text,
      }),
    ),
  table: (text) => render(Table({ caption: text, columns: [{ title: text }], rows: [[text]] })),
};

function render(tree: Html): string {
  return renderHtml(tree);
}

for (const [name, view] of Object.entries(views)) {
  test(`hostile text never becomes markup: ${name}`, () => {
    const expected = skeleton(view('word'));
    assert.ok(expected.length > 0);
    for (const text of hostileTexts) {
      const markup = view(text);
      assert.deepEqual(skeleton(markup), expected, text);
      assert.equal(markup, Buffer.from(markup).toString(), 'survives UTF-8');
      assert.doesNotMatch(markup, /[\u0000-\u0008]/);
    }
  });
}

test('pages have no inline styles and no event handlers', () => {
  for (const markup of [
    ipPage(testFrame(), maliciousAddress),
    homePage(testFrame(), { secureUrl: 'https://secure.example' }),
    errorPage(testFrame(), { status: 404 }),
  ]) {
    for (const tag of skeleton(markup)) assert.doesNotMatch(tag, / (?:style|on[a-z]+)(?: |$)/);
  }
});

test('a word with a short side of its hyphen stays on one line, in texts alone', () => {
  const shown = (tree: Html) =>
    renderHtml(tree).replace(/<span class="unbroken">(.*?)<\/span>/g, '[$1]');
  const text = 'Un e-mail, « E-mails », TEST-NET-2 (RFC 5737), lui-même, a-1.example, x@a-1.';
  const marked =
    'Un [e-mail], « [E-mails] », [TEST-NET-2] (RFC 5737), lui-même, a-1.example, x@a-1.';
  assert.equal(shown(h('p', null, text)), `<p><span class="whole-words">${marked}</span></p>`);
  assert.equal(shown(h('p', null, ['Un e-mail', h('b', null, 'x')])).includes('[e-mail]'), true);
  for (const name of ['title', 'option', 'code', 'textarea']) {
    assert.doesNotMatch(renderHtml(h(name, { title: 'e-mail' }, 'e-mail')), /unbroken/, name);
  }
  assert.doesNotMatch(renderHtml(h('a', { title: 'un e-mail' }, 'x')), /unbroken/);
});

test('a link target that could run code or leave by surprise becomes #', () => {
  for (const bad of [
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'java\tscript:alert(1)',
    ' javascript:alert(1)',
    'data:text/html,<b>',
    'vbscript:x',
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    'https:evil',
    'https:///evil',
    'relative',
    '',
  ]) {
    assert.equal(safeHref(bad), '#', JSON.stringify(bad));
  }
  for (const good of [
    '/',
    '/ip/2001:db8::1',
    '#main',
    'https://example.com/a?b=c',
    'mailto:a@example.com',
  ]) {
    assert.equal(safeHref(good), good);
  }
});
