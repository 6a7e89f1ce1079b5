/** Markdown to pages: escaping, anchors, and what is an error. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { publishedPart } from '../../src/published/docs/library.ts';
import { anchorOf, parseArticle } from '../../src/published/docs/markdown.ts';
import { catalogueFor } from '../../src/published/words.ts';
import { renderHtml } from '../../src/web/html.ts';

const nowhere = () => undefined;
const anywhere = (href: string) => href;
const render = (source: string) =>
  renderHtml(parseArticle('x.md', source, anywhere).render(catalogueFor('en')));

test('every text of the source is escaped, in code, cells, headings and links', () => {
  const html = render(
    '# A `<b>`\n\nText `<script>` & [<`i`](/x "t")\n\n| `<u>` |\n| --- |\n| `<s>` |\n\n```html\n<p onclick="x">\n```\n',
  );
  assert.doesNotMatch(html, /<(b|script|u|s|p onclick)>/);
  assert.match(html, /&lt;script>|&lt;script&gt;/);
  assert.match(html, /&lt;p onclick=/);
});

test('raw HTML, pictures, entities, odd links and untitled columns stop the start', () => {
  for (const bad of ['<b>x</b>', '<!-- x -->', '![x](y)', 'a &amp; b', '| a | |\n|-|-|\n|1|2|']) {
    assert.throws(() => parseArticle('x.md', `# T\n\n${bad}\n`, anywhere), /x\.md/, bad);
  }
  assert.throws(() => parseArticle('x.md', '# T\n\n[a](b.md)\n', nowhere), /leads nowhere/);
  assert.throws(() => parseArticle('x.md', '## T\n', anywhere), /one heading/);
  assert.throws(() => parseArticle('x.md', '# T\n\n# U\n', anywhere), /one heading/);
});

test('a link to a script becomes no link', () => {
  assert.match(render('# T\n\n[a](javascript:alert(1))\n'), /href="#"/);
});

test('anchors are stable, unique, and the sections carry their text', () => {
  assert.equal(anchorOf('GET or POST /api.php'), 'get-or-post-api-php');
  const { headings, sections } = parseArticle(
    'x.md',
    '# T\n\na\n\n## U\n\nb `c`\n\n## U\n',
    anywhere,
  );
  assert.deepEqual(
    headings.map(({ id }) => id),
    ['u', 'u-2'],
  );
  assert.deepEqual(
    sections.map(({ body }) => body),
    ['a', 'b c', ''],
  );
});

test('no two frames of a page have one name', () => {
  const html = render('# T\n\n```sh\na\n```\n\n```sh\nb\n```\n');
  const labels = [...html.matchAll(/aria-label="(Shell[^"]*)"/g)].map((match) => match[1]);
  assert.equal(labels.length, 2);
  assert.notEqual(labels[0], labels[1]);
});

test('what is unpublished is left out, to its end or to the end', () => {
  const open = '<!-- unpublished -->';
  const close = '<!-- published -->';
  assert.equal(publishedPart(`a\n${open}\nb\n${close}\nc\n`), 'a\nc\n');
  assert.equal(publishedPart(`a\n\n${open}\nb\n`), 'a\n');
});
