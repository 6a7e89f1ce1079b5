/** Feeds of the whole server: what a firewall's refresher asks, across changes and restarts. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import {
  type Answer,
  answersByThread,
  fetchUnhurried,
  metric,
  proveEachThread,
  startTestServer,
  type TestServer,
  threadCounts,
  within,
} from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

// biome-ignore lint/suspicious/noExplicitAny: what an answer holds is what is tested
type Loose = any;

const listed = '198.51.100.7';
const names = [
  'blocklist.txt',
  'blocklist.csv',
  'blocklist.json',
  'anon-exits.txt',
  'blocklist.ipset',
  'blocklist.nft',
  'blocklist.haproxy',
  'blocklist.nginx',
  'blocklist.geo',
  'blocklist.rsc',
  'blocklist.zone',
  'blocklist.zone6',
  'blocklist.rpz',
] as const;
const env = { CLIENT_LIMITS: 'off', FEED_INTERVAL_SECONDS: '1' };

function entriesIn(body: string): string[] {
  return body.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

async function text(server: TestServer, path = 'blocklist.txt'): Promise<string[]> {
  // On a busy machine the first build takes longer than a request waits for it.
  const answer = await fetchUnhurried(server, `/feeds/${path}`);
  assert.equal(answer.status, 200, answer.body);
  return entriesIn(answer.body);
}

async function fingerprints(server: TestServer): Promise<string[]> {
  const found: string[] = [];
  for (const name of names) {
    for (const encoding of ['identity', 'gzip', 'br']) {
      const { headers } = await server.fetch(`/feeds/${name}`, {
        method: 'HEAD',
        headers: { 'Accept-Encoding': encoding },
      });
      found.push(`${name} ${encoding} ${headers.etag} ${headers['last-modified']}`);
    }
  }
  return found;
}

/** Once all threads serve the same build: one of them may still have the one before. */
async function settledFingerprints(server: TestServer): Promise<string[]> {
  let last: string[] = [];
  await within(async () => {
    const before = last;
    last = await fingerprints(server);
    return isDeepStrictEqual(last, before);
  }, 'one build in all threads');
  return last;
}

/** Each thread and each form follows in its own time: until all threads have answered, and with one version. */
async function oneVersion(server: TestServer): Promise<void> {
  const answered = () => answersByThread(server, '/feeds/blocklist.txt');
  await within(async () => {
    const before = await answered();
    const versions = new Set<unknown>();
    while (versions.size < 2) {
      for (const name of ['txt', 'haproxy', 'nft', 'ipset', 'rsc', 'txt', 'txt', 'txt']) {
        const { headers } = await server.fetch(`/feeds/blocklist.${name}`);
        versions.add(headers['x-feed-version']);
      }
      if ((await answered()).every((count, thread) => count > before[thread]!)) break;
    }
    return versions.size === 1;
  }, 'one version everywhere');
}

async function refusal(server: TestServer, path: string, status: number): Promise<Answer> {
  const answer = await server.fetch(`/feeds/${path}`);
  assert.equal(answer.status, status, `${path}: ${answer.body}`);
  assert.ok(answer.body.length > 10, path);
  assert.doesNotMatch(answer.body, /<html/);
  return answer;
}

for (const threads of threadCounts) {
  describe(`feeds, ${threads} threads`, () => {
    /** One server for what the lists are at a start; the last two of its tests change them. */
    let server: TestServer;
    before(async () => {
      server = await startTestServer({ threads, env });
    });
    after(() => server?.[Symbol.asyncDispose]());

    it('are served in each encoding, with conditions, ranges and HEAD, by every thread', async () => {
      await text(server);
      for (const name of names) {
        const path = `/feeds/${name}`;
        const plain = await server.fetch(path);
        assert.equal(plain.status, 200, name);
        assert.ok(plain.bytes.length > 20, name);
        assert.equal(plain.headers.vary, 'Accept-Encoding');
        assert.equal(plain.headers['access-control-allow-origin'], '*');
        assert.match(plain.headers['cache-control']!, /^public, max-age=\d+$/);
        const zipped = await server.fetch(path, { headers: { 'Accept-Encoding': 'gzip' } });
        assert.deepEqual(gunzipSync(zipped.bytes), plain.bytes, name);
        const brotli = await server.fetch(path, { headers: { 'Accept-Encoding': 'br, gzip' } });
        assert.deepEqual(brotliDecompressSync(brotli.bytes), plain.bytes, name);
        const etag = plain.headers.etag!;
        const date = plain.headers['last-modified']!;
        const status = async (headers: Record<string, string>) =>
          (await server.fetch(path, { headers })).status;
        assert.equal(await status({ 'If-None-Match': etag }), 304);
        assert.equal(await status({ 'If-Modified-Since': date }), 304);
        assert.equal(await status({ 'If-None-Match': zipped.headers.etag! }), 200);
        const part = await server.fetch(path, {
          headers: { Range: 'bytes=5-14', 'If-Range': etag },
        });
        assert.equal(part.status, 206);
        assert.deepEqual(part.bytes, plain.bytes.subarray(5, 15));
        const head = await server.fetch(path, { method: 'HEAD' });
        assert.equal(head.headers['content-length'], String(plain.bytes.length));
        assert.equal(head.bytes.length, 0);
      }
      const lines = await text(server);
      assert.ok(lines.includes(listed));
      const { data } = (await server.fetch('/feeds/blocklist.json')).json() as {
        data: { ipAddress: string }[];
      };
      assert.deepEqual(data.map((one) => one.ipAddress).sort(), [...lines].sort());
      for (const address of lines) {
        const [host] = address.split('/');
        assert.ok((await server.check(host!)).malicious, address);
      }
      await proveEachThread(server, '/feeds/blocklist.txt', () => text(server));
      const bytes = await metric(server, 'portcullis_feed_bytes');
      for (const encoding of ['identity', 'gzip', 'br']) {
        assert.ok(bytes.get(`encoding="${encoding}"`)! > 0, encoding);
      }
      assert.ok((await metric(server, 'portcullis_feed_variants')).get('')! > 50);
    });

    it('refuse with the right status and a line of text', async () => {
      await fetchUnhurried(server, '/feeds/blocklist.txt');
      await refusal(server, 'nothing.txt', 404);
      for (const query of [
        'ipVersion=5',
        'ipVersion=',
        'ipVersion=4&ipVersion=4',
        'minimumScore=80',
        'minimumScore=75.0',
        'aggregate=yes',
        'unknown=1',
        'ipVersion=%00',
        'ipVersion=%ff',
        `minimumScore=${'9'.repeat(300)}`,
      ]) {
        await refusal(server, `blocklist.txt?${query}`, 422);
      }
      await refusal(server, 'blocklist.csv?aggregate=1', 422);
      await refusal(server, 'blocklist.nginx?minimumScore=95', 422);
      await refusal(server, 'blocklist.zone?ipVersion=6', 422);
      await refusal(server, 'anon-exits.txt?minimumScore=85', 422);
      const { body } = await refusal(server, 'blocklist.json?minimumScore=1', 422);
      assert.equal(JSON.parse(body).errors[0].source.parameter, 'minimumScore');
      for (const since of [
        '',
        '?since=',
        '?since=-1',
        '?since=1e3',
        '?since=x',
        '?since=1&since=2',
        '?a=1',
      ]) {
        await refusal(server, `changes.json${since}`, 422);
      }
      const future = await refusal(server, 'changes.json?since=999999999999999', 422);
      assert.match(future.body, /newest version/);
      const post = await server.fetch('/feeds/blocklist.txt', { method: 'POST', body: 'x' });
      assert.equal(post.status, 405);
      assert.equal(post.headers.allow, 'GET, HEAD, OPTIONS');
      const range = await server.fetch('/feeds/blocklist.txt', {
        headers: { Range: 'bytes=9999999-' },
      });
      assert.equal(range.status, 416);
      const preflight = await server.fetch('/feeds/blocklist.txt', { method: 'OPTIONS' });
      assert.equal(preflight.status, 204);
    });

    it('are limited per client, all feeds together', async () => {
      await using server = await startTestServer({ threads, env: { FEED_INTERVAL_SECONDS: '1' } });
      const statuses: number[] = [];
      let last: Answer | undefined;
      for (let i = 0; i < 62; i++) {
        last = await server.fetch(`/feeds/${names[i % names.length]}`);
        statuses.push(last.status);
      }
      // The first ones may come before a list is built: 503.
      assert.ok(
        statuses.every((status) => [200, 503, 429].includes(status)),
        `${statuses}`,
      );
      assert.equal(statuses.filter((status) => status !== 429).length, 60);
      assert.equal(last!.status, 429);
      assert.ok(Number(last!.headers['retry-after']) >= 1);
    });

    it('let an allowlisted address go at once, whatever the interval', async () => {
      await using server = await startTestServer({
        threads,
        env: { ...env, FEED_INTERVAL_SECONDS: '3600' },
      });
      await text(server);
      // The builds behind the first two begin at once; an interval of an hour begins with the second.
      for (const address of [listed, '203.0.113.129', '192.0.2.95']) {
        await server.cliJson('allow', 'add', address);
        await within(async () => !(await text(server)).includes(address), address);
      }
    });

    it('follow the allowlist and the lists, and tell what changed', async () => {
      const directory = makeTempDir('feeds');
      try {
        const before = await text(server);
        const version = (await server.fetch('/feeds/blocklist.txt')).headers['x-feed-version'];
        await server.cliJson('allow', 'add', listed);
        await server.cliJson('allow', 'add', '203.0.113.129');
        await within(async () => !(await text(server)).includes(listed), 'the removal');
        await within(async () => (await text(server)).includes('203.0.113.128'), 'the cut');
        const file = `${directory.path}/list.txt`;
        writeFileSync(file, '100.64.0.0/10\n9.9.9.8\n9.9.9.9\n2620:fe::9\n');
        const seed = ['seed', file, '--format', 'plain', '--confidence', '96', '--source', 's'];
        await server.cliJson(...seed);
        await within(async () => (await text(server)).includes('9.9.9.9'), 'the addition');
        await oneVersion(server);
        const after = await text(server);
        const changes = (await server.fetch(`/feeds/changes.json?since=${version}`)).json() as {
          reload: boolean;
          added: string[];
          removed: string[];
        };
        assert.equal(changes.reload, false);
        const list = new Set(before);
        for (const one of changes.removed) list.delete(one);
        for (const one of changes.added) list.add(one);
        assert.deepEqual([...list].sort(), [...after].sort());
        assert.ok(changes.removed.includes(listed));
        const aggregated = await text(server, 'blocklist.txt?aggregate=1&ipVersion=4');
        assert.ok(aggregated.includes('9.9.9.8/31') && !aggregated.includes('9.9.9.9'));
        const high = await text(server, 'blocklist.txt?minimumScore=95');
        assert.ok(high.includes('9.9.9.9') && high.length < after.length);
        for (const [name, entry] of [
          ['haproxy', /^[0-9a-f.:/]+$/gm],
          ['nft', /(?<=^)[0-9a-f.:/]+(?=,$)/gm],
          ['ipset', /(?<=^add portcullis[46]-next )\S+/gm],
          ['rsc', /(?<=address=)[^\s]+/gm],
        ] as const) {
          const path = `/feeds/blocklist.${name}?minimumScore=95`;
          const entries = (await server.fetch(path)).body.match(entry) ?? [];
          assert.deepEqual([...entries].sort(), [...high].sort(), name);
        }
        assert.equal(await server.check('203.0.113.129').then((data) => data.malicious), false);
        const covering = after.filter((one) => one.startsWith('203.0.113.128/'));
        assert.deepEqual(covering, [], 'no prefix covers the allowlisted address');
        const reload = (await server.fetch('/feeds/changes.json?since=5')).json();
        assert.deepEqual(
          { ...(reload as object), version: 0 },
          {
            version: 0,
            since: 5,
            reload: true,
            added: [],
            removed: [],
          },
        );
      } finally {
        directory.remove();
      }
    });

    it('take names of the operator, each in every form, until they are removed', async () => {
      const refused = await server.cli('feed', 'add', 'docs', '--list', 'nobody');
      assert.match(refused.stderr, /there is no list nobody; [\w., -]+ (?:is|are) known/);
      for (const bad of ['UK', 'DE,ZZ', 'D1']) {
        const said = /codes of countries/;
        await assert.rejects(server.cliJson('feed', 'add', 'docs', '--country', bad), said, bad);
      }
      const old = server.cliJson('feed', 'add', 'docs', '--max-age', '366d');
      await assert.rejects(old, /a duration such as 24h, 90m or 7d, 365d at most/);
      await server.cliJson('feed', 'add', 'docs', '--country', 'AQ', '--max-age', '24h');
      const added = await server.cliJson('feed', 'add', 'high', '--minimum-score', '90');
      const { addresses } = added as { addresses: string[] };
      for (const address of addresses) {
        const { pathname } = new URL(address);
        const path = pathname.slice('/feeds/'.length);
        await within(async () => (await server.fetch(pathname)).status === 200, path);
        const answer = await server.fetch(pathname);
        assert.ok(answer.body.length > 20, path);
        const { etag } = answer.headers;
        const again = await server.fetch(pathname, { headers: { 'If-None-Match': etag! } });
        assert.equal(again.status, 304, path);
      }
      const entries = await text(server, 'high.txt');
      assert.ok(entries.length > 0);
      for (const entry of entries.filter((one) => !one.includes('/'))) {
        assert.ok((await server.check(entry)).abuseConfidenceScore >= 90, entry);
      }
      assert.deepEqual(await text(server, 'docs.txt'), []);
      const part = await server.fetch('/feeds/high.txt', { headers: { Range: 'bytes=0-5' } });
      assert.equal(part.status, 206);
      await refusal(server, 'high.txt?limit=5', 422);
      await refusal(server, 'high.txt?mark=1', 422);
      const script = (await server.fetch('/feeds/high.ros')).body;
      const [, of] = /of=(\d+)&part=/.exec(script)!;
      const first = await server.fetch(`/feeds/high.ros?of=${of}&part=1`);
      assert.match(first.body, /^\/ip(v6)? firewall address-list add list=portcullis-high-next /);
      await refusal(server, `high.ros?of=${of}&part=999`, 404);
      await refusal(server, 'high.ros?of=1&part=1', 404);
      await refusal(server, 'high.ros?part=0', 422);
      await refusal(server, `high.ros?of=${of}&part=1&part=1`, 422);
      const whole = await server.fetch('/feeds/blocklist.srx');
      assert.deepEqual(
        entriesIn(whole.body).map((one) => one.replace(/\/(32|128)$/, '')),
        await text(server),
      );
      await refusal(server, 'high.exe', 404);
      await refusal(server, 'high', 404);
      await refusal(server, 'hi%67h.txt', 404);
      await refusal(server, `${'a'.repeat(500)}.txt`, 404);
      assert.equal((await server.fetch('/feeds/high.txt', { method: 'POST' })).status, 405);
      await server.cliJson('feed', 'remove', 'high');
      await within(async () => (await server.fetch('/feeds/high.txt')).status === 404, 'removed');
      const left = (await server.cliJson('feed', 'list')) as { name: string }[];
      assert.deepEqual(
        left.map(({ name }) => name),
        ['docs'],
      );
    });

    it('are collections of TAXII 2.1, for who has a key, with the same entries page by page', async () => {
      const media = 'application/taxii+json;version=2.1';
      const basic = `Basic ${Buffer.from(`any:${server.key}`).toString('base64')}`;
      async function taxii(path: string, status = 200, headers: Record<string, string> = {}) {
        const sent = { Accept: media, Authorization: basic, ...headers };
        const answer = await server.fetch(`/taxii2/${path}`, { headers: sent });
        assert.equal(answer.status, status, `${path}: ${answer.body}`);
        assert.equal(answer.headers['content-type'], media);
        const body = answer.json() as Loose;
        if (status !== 200) assert.equal(body.http_status, String(status));
        return { ...body, headers: answer.headers } as Loose;
      }
      const unknown = await taxii('', 401, { Authorization: '' });
      assert.match(unknown.headers['www-authenticate'], /^Basic /);
      await taxii('', 401, { Authorization: `Bearer ${server.key.slice(0, -1)}` });
      await taxii('', 401, { Authorization: 'Basic !' });
      await taxii('', 406, { Accept: 'application/taxii+json;version=2.0' });
      for (const parameters of ['; version=2.1', ';version="2.1"', '', ';VERSION=2.1, text/html']) {
        await taxii('', 200, { Accept: `application/taxii+json${parameters}` });
      }
      const discovery = await taxii('', 200, { Authorization: `Bearer ${server.key}` });
      assert.equal(discovery.default, discovery.api_roots[0]);
      const root = new URL(discovery.default).pathname.slice('/taxii2/'.length);
      assert.deepEqual((await taxii(root)).versions, [media]);
      const { collections } = await taxii(`${root}collections/`);
      assert.deepEqual(
        collections.map((one: Loose) => one.alias),
        ['blocklist', 'docs'],
      );
      const [whole, docs] = collections;
      const at = `${root}collections/${whole.id}/`;
      const { headers: _, ...shown } = await taxii(at);
      assert.deepEqual(shown, whole);
      const found: Loose[] = [];
      let next: string | undefined = '';
      for (let pages = 0; next !== undefined && pages < 100; pages++) {
        const after: string = next === '' ? '' : `&next=${encodeURIComponent(next)}`;
        const page: Loose = await taxii(`${at}objects/?limit=2${after}`);
        assert.ok(page.objects.length <= 2);
        assert.equal(page.more === true, page.next !== undefined);
        assert.match(page.headers['x-taxii-date-added-first'], /^\d{4}-.*Z$/);
        found.push(...page.objects);
        next = page.next;
      }
      const indicators = found.filter(({ type }) => type === 'indicator');
      assert.deepEqual(
        indicators.map(({ name }) => name),
        await text(server),
      );
      assert.equal(new Set(found.map(({ id }) => id)).size, found.length);
      for (const one of indicators) {
        assert.match(one.id, /^indicator--[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-/);
        const family = one.name.includes(':') ? 6 : 4;
        assert.equal(one.pattern, `[ipv${family}-addr:value = '${one.name}']`);
        assert.ok(one.valid_until > one.valid_from && one.confidence >= 75);
        assert.equal(one.created_by_ref, found[0]!.id);
      }
      // The identity alone is a page, and leads to the next one.
      const begin = await taxii(`${at}objects/?limit=1`);
      const second = await taxii(`${at}objects/?limit=1&next=${begin.next}`);
      assert.deepEqual(
        [...begin.objects, ...second.objects].map((one: Loose) => one.id),
        found.slice(0, 2).map((one) => one.id),
      );
      const { id } = indicators[1]!;
      const [same] = (await taxii(`${at}objects/${id}/`)).objects;
      assert.deepEqual([same.id, same.pattern], [id, indicators[1]!.pattern]);
      assert.equal((await taxii(`${at}objects/${id}/versions/`)).versions.length, 1);
      const matched = await taxii(`${at}objects/?match[id]=${id}&match[type]=indicator`);
      assert.deepEqual(
        matched.objects.map((one: Loose) => one.id),
        [id],
      );
      const { objects: listed } = await taxii(`${at}manifest/`);
      assert.deepEqual(
        listed.map((one: Loose) => one.id),
        found.map((one) => one.id),
      );
      // The version that is told of an object finds it.
      for (const [i, { id: one, modified }] of [found[0]!, same].entries()) {
        const version = listed.find((other: Loose) => other.id === one).version;
        assert.equal(version, i === 0 ? modified : same.modified);
        assert.deepEqual((await taxii(`${at}objects/${one}/versions/`)).versions, [version]);
        const exact = await taxii(`${at}objects/?match[version]=${version}`);
        assert.ok(exact.objects.some((other: Loose) => other.id === one));
        await taxii(`${at}objects/${one}/?match[version]=2020-01-01T00:00:00Z`, 404);
      }
      const known = await taxii(`${at}objects/?added_after=2099-01-01T00:00:00.000Z`);
      assert.equal(known.objects, undefined);
      const since = await taxii(`${at}manifest/?added_after=2020-01-01T00:00:00Z`);
      assert.equal(since.objects.length, found.length);
      assert.deepEqual((await taxii(`${at}objects/?match[spec_version]=2.0`)).objects, undefined);
      assert.equal((await taxii(`${root}collections/${docs.alias}/objects/`)).objects.length, 1);
      for (const query of [
        'limit=0',
        'limit=x',
        'next=%21',
        'added_after=1',
        'evil=1',
        'limit=1&limit=2',
        `match[id]=${'x'.repeat(4_001)}`,
      ]) {
        await taxii(`${at}objects/?${query}`, 422);
      }
      for (const path of ['other/', `${root}collections/x/`, `${at}objects/x/`, `${at}status/`]) {
        await taxii(path, 404);
      }
      assert.equal((await server.fetch('/taxii2/', { method: 'POST', body: '' })).status, 405);
    });

    it('are read whole by a client that works as the one of OASIS does', async () => {
      const media = 'application/taxii+json;version=2.1';
      /** Its `get`: what a server must say, or the client ends. */
      async function get(url: string, query: Record<string, string> = {}): Promise<Loose> {
        const { pathname } = new URL(url);
        // Python encodes the brackets of `match[type]`, and commas.
        const asked = new URLSearchParams(query);
        const path = asked.size === 0 ? pathname : `${pathname}?${asked}`;
        const headers = { Accept: media, Authorization: `Token ${server.key}` };
        const answer = await server.fetch(path, { headers });
        assert.equal(answer.status, 200, `${path}: ${answer.body}`);
        const said = answer.headers['content-type']!.replaceAll(' ', '').split(';');
        assert.ok(media.split(';').every((token) => said.includes(token)));
        return answer.json() as Loose;
      }
      /** Its `as_pages`: a page that is shorter than what was asked for sets the size of all that follow. */
      async function pages(url: string, size: number, filter: Record<string, string> = {}) {
        const found: Loose[] = [];
        let envelope = await get(url, { ...filter, limit: String(size) });
        found.push(...(envelope.objects ?? []));
        const limit = String(envelope.objects?.length ?? size);
        for (let turn = 0; envelope.more === true; turn++) {
          assert.ok(turn < 100 && typeof envelope.next === 'string');
          envelope = await get(url, { ...filter, limit, next: envelope.next });
          found.push(...envelope.objects);
        }
        return found;
      }
      const { title, api_roots } = await get('http://localhost/taxii2/');
      assert.ok(title);
      for (const root of api_roots) {
        const { title: name, versions, max_content_length } = await get(root);
        assert.ok(name && versions.length > 0 && max_content_length > 0);
        for (const { id, title: of, can_read, can_write } of (await get(`${root}collections/`))
          .collections) {
          assert.deepEqual([typeof of, can_read, can_write], ['string', true, false]);
          const url = `${root}collections/${id}/`;
          assert.equal((await get(url)).id, id);
          const all = await pages(`${url}objects/`, 1);
          const ids = all.map((one) => one.id);
          assert.equal(new Set(ids).size, ids.length);
          for (const size of [2, 3, 5_000]) {
            const again = await pages(`${url}objects/`, size);
            assert.deepEqual(
              again.map((one) => one.id),
              ids,
              `by ${size}`,
            );
          }
          const manifest = await pages(`${url}manifest/`, 2);
          assert.deepEqual(
            manifest.map((one) => one.id),
            ids,
          );
          const indicators = ids.filter((one: string) => one.startsWith('indicator--'));
          const typed = await pages(`${url}objects/`, 2, { 'match[type]': 'indicator,malware' });
          assert.deepEqual(
            typed.map((one) => one.id),
            indicators,
          );
          if (indicators.length === 0) continue;
          const named = {
            'match[id]': indicators.slice(0, 3).join(),
            'match[version]': 'all,last',
          };
          const picked = await pages(`${url}objects/`, 1, named);
          assert.deepEqual(picked.map((one) => one.id).sort(), indicators.slice(0, 3).sort());
          // It asks for what came after the last answer, to the microsecond.
          const since = { added_after: '2020-01-01T00:00:00.123456Z' };
          assert.equal((await pages(`${url}objects/`, 2, since)).length, ids.length);
          const stamp = manifest.at(-1)!.date_added.replace('Z', '999Z');
          assert.deepEqual(await pages(`${url}objects/`, 2, { added_after: stamp }), []);
        }
      }
    });

    it('are a feed of MISP: manifest, event and hashes', async () => {
      const at = '/feeds/blocklist/misp';
      const manifest = (await server.fetch(`${at}/manifest.json`)).json() as Loose;
      const [[uuid, facts]] = Object.entries(manifest) as [[string, Loose]];
      const { Event } = (await server.fetch(`${at}/${uuid}.json`)).json() as Loose;
      for (const name of Object.keys(facts)) assert.deepEqual(Event[name], facts[name], name);
      assert.equal(Event.uuid, uuid);
      const values = Event.Attribute.map(({ value }: Loose) => value);
      assert.deepEqual(values, await text(server));
      for (const { type, category, to_ids } of Event.Attribute) {
        assert.deepEqual([type, category, to_ids], ['ip-src', 'Network activity', true]);
      }
      const hashes = (await server.fetch(`${at}/hashes.csv`)).body.trimEnd().split('\n');
      const md5 = (value: string) => createHash('md5').update(value).digest('hex');
      assert.deepEqual(
        hashes,
        values.map((value: string) => `${md5(value)},${uuid}`),
      );
      await refusal(server, 'blocklist/misp/other.json', 404);
      await refusal(server, 'nothing/misp/manifest.json', 404);
      await refusal(server, 'blocklist/misp/../blocklist.txt', 404);
    });

    it('are told of on a page, with what is served, one line that fetches it and where each is set up', async () => {
      await text(server);
      const page = await server.fetch('/feeds');
      assert.equal(page.status, 200);
      for (const name of names) assert.ok(page.body.includes(`href="/feeds/${name}"`), name);
      assert.match(
        page.body,
        /<code id="feed-fetch">curl [^<]* http:[^<]*\/feeds\/blocklist\.txt\n</,
      );
      assert.match(page.body, /Free for protecting networks and services, without warranty/);
      const setUps = [...page.body.matchAll(/href="(\/connect\/[^"]+)"/g)].map(([, path]) => path!);
      assert.equal(setUps.length, 10);
      for (const path of setUps) assert.equal((await server.fetch(path)).status, 200, path);
      const again = await server.fetch('/feeds', {
        headers: { 'If-None-Match': page.headers.etag! },
      });
      assert.equal(again.status, 304);
      const french = await server.fetch('/feeds', { headers: { 'Accept-Language': 'fr' } });
      assert.match(french.body, /<html lang="fr">/);
      assert.notEqual(french.headers.etag, page.headers.etag);
      assert.equal((await server.fetch('/feeds/')).headers.location, '/feeds');
      assert.match((await server.fetch('/')).body, /href="\/feeds"/);
      await server.cliJson('allow', 'remove', listed);
      const isNewer = async () => (await server.fetch('/feeds')).headers.etag !== page.headers.etag;
      await within(isNewer, 'the new figures');
    });

    it('have the same ETags and dates after a stop and after kill -9, and remember changes', async () => {
      const directory = makeTempDir('feeds');
      try {
        const options = { threads, env, dataDir: directory.path };
        let old: string;
        let before: string[];
        let known: string[];
        {
          await using first = await startTestServer(options);
          await text(first);
          old = String((await first.fetch('/feeds/blocklist.txt')).headers['x-feed-version']);
          known = await text(first);
          await first.cliJson('allow', 'add', listed);
          await within(async () => !(await text(first)).includes(listed));
          before = await settledFingerprints(first);
          await first.stop();
        }
        {
          await using second = await startTestServer(options);
          await text(second);
          assert.deepEqual(await fingerprints(second), before);
          await second.cliJson('allow', 'remove', listed);
          await within(async () => (await text(second)).includes(listed));
          before = await settledFingerprints(second);
          await second.kill();
        }
        await using third = await startTestServer(options);
        const present = await text(third);
        assert.deepEqual(await fingerprints(third), before);
        const changes = (await third.fetch(`/feeds/changes.json?since=${old}`)).json() as {
          reload: boolean;
          added: string[];
          removed: string[];
        };
        assert.equal(changes.reload, false);
        const list = new Set(known);
        for (const one of changes.removed) list.delete(one);
        for (const one of changes.added) list.add(one);
        assert.deepEqual([...list].sort(), [...present].sort());
      } finally {
        directory.remove();
      }
    });
  });
}
