/** What is published about the service: the manifest and its schema, OpenAPI, llms.txt, the pages. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { endpoints } from '../../src/app/modules.ts';
import { type ClientLimitName, clientLimits } from '../../src/config/limits.ts';
import type { Reply } from '../../src/http/request/message.ts';
import type { PlainRoute } from '../../src/http/router.ts';
import { feeds } from '../../src/reputation/blocklists/feed-definitions.ts';
import { profileFieldsOf } from '../../src/signon/people/profile/profile.ts';
import { codeLifeMs } from '../../src/signon/sites/codes.ts';
import { scopeNames } from '../../src/signon/sites/scopes.ts';
import { type DocText, docsFolder, loadDocs } from '../../src/site/docs/library.ts';
import { publishedRoutes } from '../../src/site/manifest/published.route.ts';
import { frenchCosts, translationsFor } from '../../src/site/words.ts';
import type { Endpoint } from '../../src/web/guard/endpoint.ts';
import { renderHtml } from '../../src/web/html.ts';
import { createPageTools, openAssets, siteLinks } from '../../src/web/page-tools.ts';
import { guardOf } from '../support/server/guard.ts';

// biome-ignore lint/suspicious/noExplicitAny: JSON documents, looked into
type Loose = any;

const baseUrl = 'https://id.example';
const secureUrl = 'https://ip.example';
const kit = { path: '/kit.zip', version: '1.2.3', sha256: 'ab'.repeat(32) };

function published(
  more: {
    kit?: typeof kit;
    endpoints?: readonly Endpoint[];
    dnsZone?: string;
    spoeListen?: string;
  } = {},
): readonly PlainRoute[] {
  const tools = createPageTools({ assets: openAssets(), links: siteLinks, https: true });
  return publishedRoutes({
    guard: guardOf(),
    tools,
    endpoints,
    baseUrl,
    secureUrl,
    ...more,
  });
}

const routes = published();

async function ask(
  path: string,
  headers: Record<string, readonly string[]> = {},
  from = routes,
  query = '',
): Promise<Reply> {
  const param = path.startsWith('/docs/') ? path.slice('/docs/'.length) : '';
  const route =
    from.find((each) => each.path === path) ?? from.find((each) => each.path === '/docs/:page')!;
  const request = {
    method: 'GET',
    path,
    param,
    query,
    headers,
    body: new Uint8Array(),
    clientIp: '',
    id: 'r1',
  };
  return route.handle(request as never, { onGone: () => {} });
}

const bodyOf = (reply: Reply) => Buffer.from(reply.body as Uint8Array).toString('utf8');
const jsonOf = async (path: string, from = routes): Promise<Loose> =>
  JSON.parse(bodyOf(await ask(path, {}, from)));
const headerOf = (reply: Reply, name: string) =>
  reply.headers.find(([key]) => key.toLowerCase() === name)?.[1];

function strictAjv() {
  const ajv = new Ajv2020.default({ strict: true, strictTypes: false, allErrors: true });
  addFormats.default(ajv);
  return ajv;
}

test('a slash behind the first page leads there', async () => {
  const reply = await ask('/docs/');
  assert.equal(reply.status, 301);
  assert.equal(headerOf(reply, 'location'), '/docs');
});

/** Cells of a Markdown table, by its first head. */
function tableIn(page: string, head: string): string[][] {
  const lines = page
    .slice(page.indexOf(`| ${head} |`))
    .split('\n\n', 1)[0]!
    .split('\n');
  return lines
    .slice(2)
    .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '')));
}

test('the limits of the docs and the manifest are those that endpoints declare, in words', async () => {
  const page = bodyOf(await ask('/docs/limits.md'));
  const byName = new Map<ClientLimitName, string[]>();
  for (const { method, path, limits = [], handlerLimits = [] } of endpoints) {
    for (const name of [...limits, ...handlerLimits]) {
      byName.set(name, [...(byName.get(name) ?? []), `\`${method} ${path}\``]);
    }
  }
  // Of the transport, which asks no endpoint.
  for (const name of ['answers', 'answersNear'] as const) byName.set(name, ['everywhere']);
  const probes = endpoints.filter(({ isProbe }) => isProbe === true);
  byName.set(
    'probes',
    probes.map(({ path }) => `\`GET ${path}\``),
  );
  const words = new Map([
    [3_600_000, 'an hour'],
    [60_000, 'a minute'],
    [10_000, '10 seconds'],
  ]);
  const expected = [...byName].map(([name, lines]) => {
    const { max, windowMs } = clientLimits[name];
    return [max.toLocaleString('en'), words.get(windowMs)!, lines.join(', ')];
  });
  const rows = tableIn(page, 'What | Requests');
  assert.deepEqual(rows.map(([, ...cells]) => cells).sort(), expected.sort());
  assert.equal(new Set(rows.map(([what]) => what)).size, rows.length);
  for (const name of byName.keys()) assert.ok(!page.includes(`\`${name}\``), name);
  const { limits } = await jsonOf('/manifest');
  assert.deepEqual(new Set(limits.map(({ name }: Loose) => name)), new Set(byName.keys()));
  for (const { name, requests, window_seconds } of limits) {
    const { max, windowMs } = clientLimits[name as ClientLimitName];
    assert.deepEqual([requests, window_seconds * 1_000], [max, windowMs]);
  }
});

test('a limit that no endpoint declares is not published', async () => {
  const without = endpoints.filter(({ limits = [] }) => !(limits as string[]).includes('feeds'));
  const fewer = published({ endpoints: without });
  const { limits } = await jsonOf('/manifest', fewer);
  assert.ok(!limits.some(({ name }: Loose) => name === 'feeds'));
  assert.doesNotMatch(bodyOf(await ask('/docs/limits.md', {}, fewer)), /^\| feeds \|/m);
});

test('what a key pays is what the endpoints declare', async () => {
  const rows = tableIn(bodyOf(await ask('/docs/limits.md')), 'What | Costs');
  const paid = endpoints.filter(({ cost }) => cost !== undefined);
  assert.deepEqual(
    rows.map(([what]) => what),
    paid.map(({ method, path }) => `\`${method} ${path}\``),
  );
  rows.forEach(([, cost], i) => {
    assert.match(cost!, new RegExp(`^one ${paid[i]!.cost!.quota}( |$)`));
  });
});

test('the manifest obeys its schema, with a kit and without', async () => {
  const validate = strictAjv().compile(await jsonOf('/manifest.schema.json'));
  const zoned = published({ dnsZone: 'bl.example.org', spoeListen: '127.0.0.1:9002' });
  for (const from of [routes, published({ kit }), zoned]) {
    assert.ok(validate(await jsonOf('/manifest', from)), JSON.stringify(validate.errors));
  }
  const manifest = await jsonOf('/manifest', published({ kit }));
  assert.deepEqual(manifest.kit, {
    url: `${baseUrl}/kit.zip`,
    version: '1.2.3',
    sha256: kit.sha256,
  });
  assert.equal((await jsonOf('/manifest')).kit, null);
  const haproxyOf = async (from?: typeof routes) =>
    ((await jsonOf('/manifest', from)).gate as { haproxy: { message: string } | null }).haproxy;
  assert.equal(await haproxyOf(), null);
  assert.equal((await haproxyOf(zoned))?.message, 'check-ip');
  const { dns_block_list: zones, bouncers } = await jsonOf('/manifest', zoned);
  assert.equal((zones as { scores: string }).scores, 'score.bl.example.org');
  const integrations = new Set(Object.values(bouncers as Record<string, string>));
  for (const { path } of endpoints.filter(
    (one) => one.shape === 'bouncer' && one.who === 'bouncer',
  )) {
    assert.ok(integrations.has(`${secureUrl}${path}`), path);
  }
});

test('the schema refuses a manifest that lacks or adds a member, at any depth', async () => {
  const validate = strictAjv().compile(await jsonOf('/manifest.schema.json'));
  const whole = await jsonOf('/manifest');
  for (const name of Object.keys(whole)) {
    const { [name]: _, ...rest } = whole;
    assert.equal(validate(rest), false, name);
  }
  assert.equal(validate({ ...whole, id_token: true }), false);
  assert.equal(validate({ ...whole, openid_connect: true }), false);
  assert.equal(validate({ ...whole, endpoints: { ...whole.endpoints, token: baseUrl } }), false);
});

test('the manifest says what the code does', async () => {
  const manifest = await jsonOf('/manifest');
  assert.equal(manifest.issuer, baseUrl);
  assert.equal(manifest.endpoints.check, `${secureUrl}/api/v2/check`);
  assert.equal(manifest.authorization_code.lifetime_seconds * 1_000, codeLifeMs);
  assert.deepEqual(
    manifest.scopes.map((scope: Loose) => [scope.name, scope.fields.map((f: Loose) => f.name)]),
    scopeNames.map((name) => [name, [...profileFieldsOf(name)]]),
  );
  assert.equal(manifest.feeds.lists.length, feeds.length);
  assert.equal(manifest.limits.length, Object.keys(clientLimits).length);
});

test('the OpenAPI document is whole: references, names, parameters, schemas', async () => {
  const document = await jsonOf('/openapi.json');
  assert.match(document.openapi, /^3\.1\./);
  const text = JSON.stringify(document);
  for (const [, name] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    assert.ok(document.components.schemas[name!], name);
  }
  const operations = Object.entries<Loose>(document.paths).flatMap(([path, item]) =>
    Object.values<Loose>(item).map((operation) => ({ path, operation })),
  );
  const ids = operations.map(({ operation }) => operation.operationId);
  assert.deepEqual(
    ids.filter((id, i) => ids.indexOf(id) !== i),
    [],
  );
  for (const { path, operation } of operations) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    const declared = (operation.parameters ?? []).filter((p: Loose) => p.in === 'path');
    assert.deepEqual(
      declared.map((p: Loose) => p.name),
      inPath,
      operation.operationId,
    );
    assert.ok(Object.keys(operation.responses).length > 0);
  }
  const used = JSON.parse(text.replaceAll('#/components/schemas/', '#/$defs/'));
  const schemas = strictAjv();
  schemas.addSchema({ $id: 'https://x.example/api', $defs: used.components.schemas });
  for (const name of Object.keys(used.components.schemas)) {
    schemas.compile({ $ref: `https://x.example/api#/$defs/${name}` });
  }
});

test('the list of pages, which reads the beginning of each alone, has the titles and first paragraphs of the pages', () => {
  const values = new Proxy({}, { get: () => '' });
  for (const { slug, english, french } of loadDocs(docsFolder, baseUrl, () => values)) {
    for (const { intro, article } of french === undefined ? [english] : [english, french]) {
      assert.deepEqual(intro, { title: article.title, summary: article.summary }, slug);
      assert.notEqual(intro.summary, '', slug);
    }
  }
});

test('a French page has the headings, the code, the links and the tables of the English one', () => {
  const values = new Proxy(
    {},
    { get: (_, name) => (name === 'base_url' ? 'https://x.example' : `{${String(name)}}`) },
  );
  const pages = loadDocs(docsFolder, baseUrl, () => values);
  const translated = pages.filter(({ french }) => french !== undefined);
  assert.equal(translated.length, 5);
  for (const { slug, english, french } of translated) {
    const shapeOf = ({ language, article, markdown }: DocText) => {
      const html = renderHtml(article.render(translationsFor(language)));
      return {
        headings: article.sections.map(({ depth, id }) => [depth, id]),
        codes: [...markdown.matchAll(/^```\w+\n[\s\S]*?^```$/gm)].map(([code]) => code),
        links: [...html.matchAll(/href="([^"]*)"/g)].map(([, href]) => href),
        rows: [...html.matchAll(/<tr/g)].length,
        facts: [...markdown.matchAll(/\{[a-z_]+\}/g)].map(([name]) => name).sort(),
      };
    };
    assert.deepEqual(shapeOf(french!), shapeOf(english), slug);
    assert.notEqual(french!.intro.summary, english.intro.summary, slug);
    assert.doesNotMatch(
      french!.markdown.replace(/```[\s\S]*?```|`[^`]*`/g, ''),
      / [:;?!»]|'/,
      slug,
    );
  }
});

test('each block of code says its language', () => {
  const values = new Proxy({}, { get: () => 'https://x.example' });
  for (const { slug, english, french } of loadDocs(docsFolder, baseUrl, () => values)) {
    for (const { article, language } of french === undefined ? [english] : [english, french]) {
      const html = renderHtml(article.render(translationsFor(language)));
      for (const [, title] of html.matchAll(/<figcaption><span>([^<]*)</g)) {
        assert.match(title!, /^(?!Text$)(\p{Lu}|nginx$|curl$)/u, slug);
      }
    }
  }
});

test('prose has the quotes and apostrophes of print, in both languages', () => {
  const values = new Proxy({}, { get: () => 'https://x.example' });
  const found = loadDocs(docsFolder, baseUrl, () => values).flatMap(({ slug, english, french }) =>
    [english.markdown, french?.markdown ?? ''].flatMap((text) => {
      const prose = text.replace(/^```[\s\S]*?^```$|``[\s\S]*?``|`[^`]*`/gm, '');
      return [...prose.matchAll(/.{0,20}['"].{0,20}/g)].map(([line]) => `${slug}: ${line}`);
    }),
  );
  assert.deepEqual(found, []);
});

test('no sentence of the documentation has more than 25 words', () => {
  const values = new Proxy({}, { get: () => 'https://x.example' });
  const wordsIn = (text: string) => text.split(/\s+/).filter((word) => /[\p{L}\d]/u.test(word));
  const long = loadDocs(docsFolder, baseUrl, () => values).flatMap(({ slug, english, french }) =>
    [english, french ?? english]
      .flatMap(({ article }) => article.sections.flatMap(({ body }) => body.split('\n')))
      .flatMap((line) => line.split(/(?<=[.!?:;])\s+/))
      .filter((sentence) => wordsIn(sentence).length > 25)
      .map((sentence) => `${slug}: ${sentence}`),
  );
  assert.deepEqual(long, []);
});

test('what an endpoint costs is said in French, too', () => {
  const said = endpoints.flatMap(({ cost }) => (cost?.more === undefined ? [] : [cost.more]));
  assert.deepEqual(new Set(said), new Set(Object.keys(frenchCosts)));
});

test('llms.txt has the form of llmstxt.org, says first what this is not, and links to Markdown', async () => {
  const reply = await ask('/llms.txt');
  const text = bodyOf(reply);
  assert.equal(headerOf(reply, 'content-type'), 'text/plain; charset=utf-8');
  const [title, , quote] = text.split('\n');
  assert.match(title!, /^# \S/);
  assert.match(
    quote!,
    /^> .*not OpenID Connect: no `id_token`, no `\/token` endpoint, no client secret/,
  );
  const afterFirstSection = text.slice(text.indexOf('\n## '));
  for (const line of afterFirstSection.split('\n').filter((each) => each !== '')) {
    assert.match(line, /^(## \S|- \[[^\]]+\]\(https:\/\/[^)]+\)(: \S.*)?$)/, line);
  }
  for (const [, path] of text.matchAll(/\(https:\/\/id\.example(\/docs\/[^)]+)\)/g)) {
    const twin = await ask(path!);
    assert.equal(twin.status, 200, path);
    assert.equal(headerOf(twin, 'content-type'), 'text/markdown; charset=utf-8');
    assert.doesNotMatch(bodyOf(twin), /\{base_url\}|\{secure_url\}|unpublished/);
  }
  assert.ok([...text.matchAll(/\/docs\/[\w-]+\.md/g)].length >= 9);
});

test('every link inside the documentation leads to a page and a heading that are there', async () => {
  const index = await jsonOf('/docs/search.json');
  const targets = new Set<string>(index.sections.map((section: Loose) => section.href));
  const pages = [...targets].filter((href) => !href.includes('#'));
  assert.ok(pages.length >= 9);
  for (const page of pages) {
    const html = bodyOf(await ask(page));
    const links = [...html.matchAll(/href="([^"]*)"/g)].map((match) => match[1]!);
    for (const link of links.filter((each) => /^(#|\/docs)/.test(each) && each !== '#main')) {
      const [address = '', fragment] = link.split('#');
      const [path = ''] = address.split('?');
      if (path.endsWith('.md')) {
        assert.equal((await ask(path)).status, 200, link);
        continue;
      }
      assert.ok(pages.includes(path === '' ? page : path), `${page}: ${link}`);
      const target = path === '' || path === page ? html : bodyOf(await ask(path));
      if (fragment !== undefined) assert.match(target, new RegExp(`id="${fragment}"`), link);
    }
  }
});

test('texts have ETags and packed twins; an unchanged one is not sent again', async () => {
  for (const path of ['/docs', '/docs/ip-api.md', '/manifest', '/openapi.json', '/llms.txt']) {
    const plain = await ask(path);
    const etag = headerOf(plain, 'etag')!;
    const again = await ask(path, { 'if-none-match': [etag] });
    assert.equal(again.status, 304);
    assert.equal(again.body, undefined);
    const gzip = await ask(path, { 'accept-encoding': ['gzip'] });
    assert.equal(gunzipSync(gzip.body as Uint8Array).toString(), bodyOf(plain));
    const brotli = await ask(path, { 'accept-encoding': ['br'] });
    assert.equal(brotliDecompressSync(brotli.body as Uint8Array).toString(), bodyOf(plain));
    // Made anew, as after a restart.
    assert.equal(headerOf(await ask(path, {}, published()), 'etag'), etag, path);
  }
});

test('pages speak the language of the reader, around an English text where there is no other', async () => {
  const fr = { 'accept-language': ['fr'] };
  const html = bodyOf(await ask('/docs/ip-api', fr));
  assert.match(html, /<html lang="fr"/);
  assert.match(html, /<article class="docs-article" lang="en"/);
  assert.match(html, /Cette page n’est pas encore traduite/);
  const french = await ask('/docs', fr);
  assert.match(bodyOf(french), /<article class="docs-article" lang="fr"/);
  assert.match(bodyOf(french), /data-index="\/docs\/search\.fr\.json"/);
  assert.match(bodyOf(french), /href="\/docs\/index\.fr\.md"/);
  assert.equal(headerOf(french, 'content-language'), 'fr');
  const etag = headerOf(french, 'etag');
  assert.notEqual(headerOf(await ask('/docs'), 'etag'), etag);
});

test('a link leads to the page in the other language, whatever the reader speaks', async () => {
  const fr = { 'accept-language': ['fr'] };
  const languageOf = (reply: Reply) =>
    /docs-article" lang="(..)"/.exec(bodyOf(reply))?.[1] ?? reply.status;
  assert.match(bodyOf(await ask('/docs/limits')), /href="\/docs\/limits\?language=fr" lang="fr"/);
  assert.match(
    bodyOf(await ask('/docs/limits', fr)),
    /href="\/docs\/limits\?language=en" lang="en"/,
  );
  assert.doesNotMatch(bodyOf(await ask('/docs/ip-api')), /\?language=/);
  for (const [query, expected] of [
    ['language=fr', 'fr'],
    ['language=en', 'en'],
    ['language=', 'en'],
    ['language=xx', 'en'],
    ['language=__proto__', 'en'],
    ['language=%00%ff', 'en'],
    ['language=fr&language=en', 'fr'],
  ] as const) {
    assert.equal(languageOf(await ask('/docs/limits', {}, routes, query)), expected, query);
  }
  assert.equal(languageOf(await ask('/docs/limits', fr, routes, 'language=en')), 'en');
});

test('the search of French readers has the French text of a section, with the address of the English one', async () => {
  const titles = async (path: string) => {
    const { sections } = await jsonOf(path);
    return new Map<string, string[]>(
      sections.map(({ href, title, language }: Loose) => [href, [language, title]]),
    );
  };
  const english = await titles('/docs/search.json');
  const french = await titles('/docs/search.fr.json');
  assert.deepEqual([...french.keys()], [...english.keys()]);
  assert.deepEqual(english.get('/docs/limits#without-a-key'), ['en', 'Without a key']);
  assert.deepEqual(french.get('/docs/limits#without-a-key'), ['fr', 'Sans clé']);
  assert.deepEqual(french.get('/docs/ip-api#get-check'), english.get('/docs/ip-api#get-check'));
});

test('an unknown page, and a second address of the first one, are 404', async () => {
  for (const path of [
    '/docs/nothing',
    '/docs/index',
    '/docs/..',
    '/docs/x.md',
    '/docs/__proto__',
  ]) {
    assert.equal((await ask(path)).status, 404, path);
  }
});
