/** Markdown to pages: escaping, anchors, and what is an error. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { docsFolder, loadDocs, publishedPart } from '../../src/site/docs/library.ts';
import { anchorOf, highlighted, parseArticle } from '../../src/site/docs/markdown.tsx';
import { translationsFor } from '../../src/site/words.ts';
import { renderHtml } from '../../src/web/html.ts';

const nowhere = () => undefined;
const anywhere = (href: string) => href;
const render = (source: string) =>
  renderHtml(parseArticle('x.md', source, anywhere).render(translationsFor('en')));

test('every text of the source is escaped, in code, cells, headings and links', () => {
  const html = render(
    '# A `<b>`\n\nText `<script>` & [<`i`](/x "t")\n\n| `<u>` |\n| --- |\n| `<s>` |\n\n```html\n<p onclick="x">\n```\n',
  );
  assert.doesNotMatch(html, /<(b|script|u|s|p onclick)>/);
  assert.match(html, /&lt;script>|&lt;script&gt;/);
  assert.match(html, /&lt;p<\/span> <span class="code-name">onclick</);
  assert.doesNotMatch(html, /<p onclick/);
});

test('raw HTML, pictures, entities, odd links and untitled columns are refused', () => {
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

test('fences that follow one another, each in another language, are one sample', () => {
  const groups = (source: string) => render(`# T\n\n${source}`).match(/data-title="\w+"/g) ?? [];
  const fence = (language: string) => `\`\`\`${language}\na\n\`\`\`\n\n`;
  assert.deepEqual(groups(fence('sh') + fence('php')), ['data-title="curl"', 'data-title="PHP"']);
  for (const apart of [
    fence('sh'),
    fence('sh') + fence('sh'),
    fence('sh') + fence('json') + fence('php'),
    `${fence('sh')}And\n\n${fence('php')}`,
  ]) {
    assert.deepEqual(groups(apart), [], apart);
  }
});

test('what stands behind the first sample under a heading comes once, and only where there is one', () => {
  const source = '# T\n\n## U\n\n```sh\na\n```\n\n```sh\nb\n```\n\n## V\n\nc\n';
  const after = (id: string) => ({ [id]: (heading: string) => `[after ${heading}]` });
  const article = parseArticle('x.md', source, anywhere, after('u'));
  const html = renderHtml(article.render(translationsFor('en')));
  assert.equal(html.split('[after U]').length, 2);
  assert.ok(html.indexOf('[after U]') < html.indexOf('>b<'));
  for (const id of ['t', 'v', 'w']) {
    assert.throws(() => parseArticle('x.md', source, anywhere, after(id)), /no sample under #/, id);
  }
});

test('a long table and a long answer are lines that open, all other text is there to read', () => {
  const table = (rows: number) => `| A | B |\n| - | - |\n${'| a | b |\n'.repeat(rows)}\n`;
  const answer = (lines: number) => `\`\`\`json\n${'1\n'.repeat(lines)}\`\`\`\n`;
  const summaries = (source: string) =>
    [...render(`# T\n\n## U\n\nb\n\n${source}`).matchAll(/<summary>(.*?)<\/summary>/g)].map(
      ([, text]) => text!.replace(/<[^>]*>/g, ' ').trim(),
    );
  assert.deepEqual(summaries(table(21) + answer(13)), [
    'Table: A, B  21 rows',
    'Answer in JSON  13 lines',
  ]);
  assert.deepEqual(summaries(table(20) + answer(12)), []);
});

test('each sentence of a section can be found as such: paragraphs and items are lines of their own', () => {
  const source =
    '# T\n\nOne\nstill `one`.\n\n- two\n- [three](/x)\n\n| A | B |\n| - | - |\n| `c` | d |\n';
  const [section] = parseArticle('x.md', source, anywhere).sections;
  assert.equal(section!.body, 'One still one.\ntwo\nthree');
  assert.equal(section!.rest, 'A · B\nc · d');
});

test('code has its parts marked, and its text stays as it is', () => {
  const partsOf = (language: string, code: string) =>
    [
      ...renderHtml(highlighted(language, code)).matchAll(
        /<span class="code-(\w+)">(.*?)<\/span>/gs,
      ),
    ].map(([, kind, text]) => `${kind} ${text}`);
  assert.deepEqual(partsOf('js', "const a = 'x'; // 1\nf(a, 23, b.of);"), [
    ...['keyword const', "string 'x'", 'comment // 1', 'number 23'],
  ]);
  assert.deepEqual(partsOf('json', '{"a": "b", "c": 1.5, "d": null}'), [
    ...['name &quot;a&quot;', 'string &quot;b&quot;', 'name &quot;c&quot;', 'number 1.5'],
    ...['name &quot;d&quot;', 'keyword null'],
  ]);
  assert.deepEqual(partsOf('sh', 'curl -H "Key: $KEY" http://x/#a $B # if'), [
    ...['string &quot;Key: $KEY&quot;', 'name $B', 'comment # if'],
  ]);
  assert.deepEqual(partsOf('nginx', 'server {\n  listen 80; # x\n}'), [
    ...['keyword server', 'keyword listen', 'comment # x'],
  ]);
  assert.deepEqual(partsOf('text', 'const a = 1'), []);
  assert.deepEqual(partsOf('js', `const a;${' '.repeat(20_000)}`), []);
});

test('the text of each sample is that of its source, whatever is marked in it', () => {
  const values = new Proxy({}, { get: () => 'https://x.example' });
  for (const { slug, english } of loadDocs(docsFolder, 'https://id.example', () => values)) {
    const html = renderHtml(english.article.render(translationsFor('en')));
    const shown = [...html.matchAll(/<code id="code-\d+">(.*?)<\/code>/gs)].map(([, inner]) =>
      inner!
        .replace(/<[^>]*>/g, '')
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>')
        .replaceAll('&quot;', '"')
        .replaceAll('&amp;', '&'),
    );
    const fences = [...english.markdown.matchAll(/^( *)```\w*\n([\s\S]*?)\n^ *```$/gm)];
    assert.deepEqual(
      shown,
      fences.map(([, indent, code]) => code!.replaceAll(new RegExp(`^${indent}`, 'gm'), '')),
      slug,
    );
  }
});
