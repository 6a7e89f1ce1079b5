/** Lists that the server fetches by itself, from the command to checks, feeds, bouncers and metrics. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import {
  metric,
  startTestServer,
  type TestServer,
  type TestServerOptions,
  within,
} from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const address = (n: number) => `198.51.100.${n}`;
const addresses = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => address(from + i));

/** The publisher of the list, who says what the test wants. */
const publisher = {
  list: [...addresses(1, 10), 'not an address'],
  etag: '"a"',
  /** `hang`: begins, and never ends. */
  mood: 'well' as 'well' | 'failing' | 'hang',
  asked: [] as {
    etag: string | undefined;
    url: string | undefined;
    headers: IncomingHttpHeaders;
  }[],
};
const login = `Basic ${Buffer.from('ada:open sesame').toString('base64')}`;
const web = createServer((req, res) => {
  const etag = req.headers['if-none-match'];
  publisher.asked.push({ etag, url: req.url, headers: req.headers });
  const isOurs = req.headers['x-key'] === 'hush-hush' && req.headers.authorization === login;
  if (req.url?.startsWith('/closed') && !isOurs) return res.writeHead(401).end();
  if (publisher.mood === 'failing') return res.writeHead(500).end();
  if (publisher.mood === 'hang') return res.write(`${address(99)}\n`);
  if (etag === publisher.etag) return res.writeHead(304).end();
  return res.setHeader('etag', publisher.etag).end(publisher.list.join('\n'));
});

describe('lists that the server fetches', () => {
  const directory = makeTempDir('sources');
  const env = { SOURCE_ALLOW_PRIVATE: 'on', FEED_INTERVAL_SECONDS: '1' };
  const options = { threads: 1, demo: false, withKey: true, dataDir: directory.path };
  let server: TestServer;
  let url = '';
  before(async () => {
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(web.address() as AddressInfo).port}/bad.txt?key=secret`;
    server = await startTestServer({ ...options, env } satisfies TestServerOptions);
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    web.closeAllConnections();
    web.close();
    directory.remove();
  });

  const source = async () => (await server.cliJson('source', 'list'))[0];
  const by = (label: string) => `source="bad.txt"${label}`;
  const value = async (name: string, label = '') =>
    (await metric(server, `portcullis_source_${name}`)).get(by(label)) ?? 0;
  /** Until so many tries ended so; the row of then. */
  async function until(result: string, count: number) {
    const label = `,result="${result}"`;
    await within(async () => (await value('fetches_total', label)) >= count, `${count} ${result}`);
    return source();
  }
  const isMalicious = async (n: number) => (await server.check(address(n))).malicious;
  const feed = async () => (await server.fetch('/feeds/blocklist.txt')).body.split('\n');

  it('brings rows into checks, feeds and bouncers, and takes vanished ones out again', async () => {
    const words = ['--format', 'plain', '--every', '6h', '--confidence', '90', '--documentation'];
    const added = await server.cliJson('source', 'add', url, ...words);
    assert.deepEqual([added.name, added.state, added.everySeconds], ['bad.txt', 'new', 21_600]);
    const first = await until('loaded', 1);
    assert.equal(first.state, 'active');
    assert.deepEqual([first.rows, first.added, first.removed, first.badLines], [10, 10, 0, 1]);
    assert.equal(first.samples[0].text, 'not an address');
    assert.equal(first.url, url.split('?')[0]);
    assert.equal(publisher.asked[0]!.url, '/bad.txt?key=secret');
    assert.equal(await isMalicious(1), true);
    await within(async () => (await feed()).includes(address(1)), 'a row in the feed');

    const { text } = await server.cliJson('bouncer', 'add', 'demo@portcullis.example', 'fw');
    const decisions = async (startup: boolean) => {
      const path = `/v1/decisions/stream?startup=${startup}`;
      const answer = await server.fetch(path, { headers: { 'X-Api-Key': text } });
      assert.equal(answer.status, 200, answer.body);
      return answer.json() as { deleted: { value: string }[] | null };
    };
    await decisions(true);

    publisher.list = addresses(2, 12);
    publisher.etag = '"b"';
    await server.cliJson('source', 'refresh', 'bad.txt');
    const second = await until('loaded', 2);
    assert.deepEqual([second.rows, second.added, second.removed], [11, 2, 1]);
    await within(async () => !(await isMalicious(1)), 'the check of a vanished row');
    assert.equal(await isMalicious(12), true);
    await within(async () => !(await feed()).includes(address(1)), 'the feed without it');
    const gone: string[] = [];
    await within(async () => {
      gone.push(...((await decisions(false)).deleted ?? []).map(({ value }) => value));
      return gone.includes(address(1));
    }, 'the word to the bouncer');
  });

  it('asks whether there is something new, and shows neither key nor password', async () => {
    publisher.asked.length = 0;
    await server.cliJson('source', 'refresh', 'bad.txt');
    const row = await until('unchanged', 1);
    assert.equal(publisher.asked[0]!.etag, '"b"');
    assert.deepEqual([row.rows, row.failures], [11, 0]);
    const shown = await server.cli('source', 'list');
    assert.match(shown.stdout, /bad\.txt +active +11 +\d+ min +\+2 -1/);
    const said = shown.stdout + server.stderr() + JSON.stringify(await source());
    assert.doesNotMatch(said, /secret/);
    const refused = await server.cli('source', 'add', 'http://u:pw@h/l', '--format', 'plain');
    assert.equal(refused.code, 1);
    assert.doesNotMatch(refused.stderr, /pw/);
    const again = await server.cli('source', 'add', url, '--format', 'plain');
    assert.equal(again.code, 1);
    assert.match(again.stderr, /there is a source 'bad\.txt' already: give another --source/);
  });

  it('a header and a password go to the source, and stand nowhere in the clear', async () => {
    const closed = url.replace(/\/bad.*/, '/closed.txt');
    const words = ['--header', 'X-Key: hush-hush', '--user', 'ada:open sesame'];
    assert.match((await server.cli('source', 'preview', closed)).stderr, /answered 401/);
    assert.match((await server.cli('source', 'preview', closed, ...words)).stderr, /no usable row/);
    const added = await server.cli(
      'source',
      'add',
      closed,
      '--format',
      'plain',
      '--documentation',
      ...words,
    );
    assert.equal(added.code, 0, added.stderr);
    const row = async () =>
      (await server.cliJson('source', 'list')).find(
        (one: { name: string }) => one.name === 'closed.txt',
      );
    await within(async () => (await row()).loads === 1, 'the list is loaded');
    assert.equal((await row()).isSecret, true);
    assert.equal((await source()).isSecret, false);
    for (const bad of ['X-Key hush-hush', 'Host: hush-hush', 'X-Key: hush\thush\r\nX: y']) {
      const refused = await server.cli(
        'source',
        'add',
        closed,
        '--format',
        'plain',
        '--header',
        bad,
      );
      assert.equal(refused.code, 1);
      assert.doesNotMatch(refused.stderr, /hush/);
    }
    const shown = (await server.cli('source', 'list')).stdout;
    const audit = JSON.stringify(await server.cliJson('audit'));
    assert.match(shown, /with a header or password/);
    const files = readdirSync(directory.path, { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile())
      .map((one) => readFileSync(`${one.parentPath}/${one.name}`, 'latin1'));
    for (const secret of ['hush-hush', 'open sesame', login.slice(6)]) {
      for (const text of [...files, shown, audit, added.stdout, server.stderr()]) {
        assert.ok(!text.includes(secret), `${secret} stands in the clear`);
      }
    }
    await server.cliJson('source', 'remove', 'closed.txt');
    await server.cliJson('source', 'add', closed, '--format', 'plain');
    await within(async () => (await row()).failuresEver > 0, 'it is asked without them');
    assert.equal((await row()).isSecret, false, 'they went with the source');
    await server.cliJson('source', 'remove', 'closed.txt');
  });

  it('keeps the rows when a download fails or shrinks, until the operator says otherwise', async () => {
    publisher.mood = 'failing';
    await server.cliJson('source', 'refresh', 'bad.txt');
    const failing = await until('failed', 1);
    assert.equal(failing.state, 'failing');
    assert.match(failing.failure, /answered 500/);
    assert.equal(failing.rows, 11);
    publisher.mood = 'well';
    publisher.list = addresses(11, 12);
    publisher.etag = '"c"';
    await server.cliJson('source', 'refresh', 'bad.txt');
    const held = await until('held', 1);
    assert.equal(held.state, 'held');
    assert.deepEqual([held.rows, held.heldRows, held.failures], [11, 2, 0]);
    assert.equal(await isMalicious(2), true);
    assert.equal(await value('held_rows'), 2);
    assert.equal(await value('rows'), 11);
    assert.equal(await value('fetches_total', ',result="failed"'), 1);
    assert.equal(await value('fetches_total', ',result="held"'), 1);
    assert.equal(await value('changes_total', ',change="removed"'), 1);
    assert.ok((await value('fresh_timestamp_seconds')) > 1_700_000_000);

    await server.cliJson('source', 'accept', 'bad.txt');
    const accepted = await until('loaded', 3);
    assert.deepEqual([accepted.rows, accepted.removed, accepted.heldRows], [2, 9, null]);
    await within(async () => !(await isMalicious(2)), 'the check of a row that went');
    assert.equal(await isMalicious(12), true);
    const none = await server.cli('source', 'accept', 'bad.txt');
    assert.match(none.stderr, /no download that is held/);
  });

  it('a server that is killed in a download has the last good rows, and tries again', async () => {
    publisher.mood = 'hang';
    publisher.asked.length = 0;
    await server.cliJson('source', 'refresh', 'bad.txt');
    await within(() => publisher.asked.length > 0, 'the request');
    const before = await source();
    await server.kill();
    const { key } = server;
    // Without leave for private addresses: what was due is tried, and the publisher not asked.
    publisher.asked.length = 0;
    server = await startTestServer({ ...options, withKey: false });
    const check = async (n: number) => {
      const path = `/api/v2/check?ipAddress=${address(n)}`;
      const answer = await server.fetch(path, { headers: { Key: key } });
      return (answer.json() as { data: { malicious: boolean } }).data.malicious;
    };
    assert.equal(await check(12), true);
    assert.equal(await check(99), false);
    const row = await until('failed', before.failuresEver + 1);
    assert.match(row.failure, /private address/);
    assert.deepEqual([row.rows, row.loads, row.freshAt], [2, before.loads, before.freshAt]);
    assert.equal(publisher.asked.length, 0);
    const words = ['source', 'add', 'http://localhost/l', '--format', 'plain'];
    const refused = await server.cli(...words);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /SOURCE_ALLOW_PRIVATE/);

    assert.equal((await server.cliJson('source', 'pause', 'bad.txt')).state, 'paused');
    assert.equal((await server.cli('source', 'refresh', 'bad.txt')).code, 1);
    await server.cliJson('source', 'resume', 'bad.txt');
    await until('failed', row.failuresEver + 1);
    await server.cliJson('source', 'remove', 'bad.txt');
    assert.deepEqual(await server.cliJson('source', 'list'), []);
    await within(async () => !(await check(12)), 'the check without the list');
  });
});
