/**
 * Manual entries on a whole server: what the operator says of a range by hand is the same for check, page, feed,
 * bouncers, gate and DNS list, has its reason on the page, and survives a restart.
 */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  accuserKeys,
  accuserSettings,
  allAccusers,
  proveAgreement,
} from '../../support/integrations/accusers.ts';
import { startTestServer, type TestServer, within } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const email = 'sensor@example.org';
const [own, inNetwork, allowed, weak] = ['45.30.0.7', '45.31.0.7', '45.31.0.9', '45.32.0.7'];
const wanted = { [own!]: allAccusers, [inNetwork!]: '', [allowed!]: '', [weak!]: '' };
// A network is a line of the feed, not its addresses.
const withoutFeed = allAccusers.replace(' feed', '');

interface Why {
  readonly decidedBy: string | null;
  readonly lists: readonly Record<string, unknown>[];
}

async function whyOf(server: TestServer, ip: string): Promise<Why> {
  const page = await server.fetch(`/ip/${ip}`, { headers: { Accept: 'application/json' } });
  return JSON.parse(page.body).data.why as Why;
}

it('a manual entry counts everywhere, also after a restart, and until it is removed', async () => {
  const data = makeTempDir('manual-entries-data');
  const start = () =>
    startTestServer({ threads: 2, demo: false, dataDir: data.path, env: accuserSettings });
  const said = { ...wanted, [inNetwork!]: withoutFeed };
  try {
    let keys = { api: '', bouncer: '' };
    {
      await using server = await start();
      await server.cliJson('account', 'create', email);
      keys = await accuserKeys(server, email);
      const terms = [
        '--category',
        'port scan',
        '--note',
        'seen in our logs',
        '--until',
        '2099-12-31',
      ];
      const set = await server.cliJson('entry', 'add', own!, '--score', '90', ...terms);
      assert.deepEqual(
        [set.prefix, set.score, set.category, set.categoryName, set.note, set.endsAt],
        [`${own}/32`, 90, 14, 'Port Scan', 'seen in our logs', '2099-12-31T00:00:00+00:00'],
      );
      await server.cliJson('entry', 'add', '45.31.0.0/24');
      await server.cliJson('allow', 'add', allowed!);
      await server.cliJson('entry', 'add', weak!, '--score', '60');
      await proveAgreement(server, keys, said);
      const why = await whyOf(server, own!);
      const { setAt, endsAt } = set;
      assert.deepEqual(why, {
        decidedBy: own,
        fallsBelowAt: null,
        reports: [],
        networks: [],
        lists: [
          {
            name: 'operator',
            kind: 'own',
            service: null,
            category: 14,
            group: null,
            confidence: 90,
            entry: own,
            since: setAt,
            loadedAt: setAt,
            endsAt,
          },
        ],
      });
      const page = await server.fetch(`/ip/${own}`);
      for (const words of ['Manual rule', 'Port Scan', 'until 31 Dec 2099']) {
        assert.ok(page.body.includes(words), words);
      }
      assert.ok(!page.body.includes('seen in our logs'), 'the note is for operators');
      await server.stop();
    }
    await using server = await start();
    await proveAgreement(server, keys, said);
    assert.equal((await whyOf(server, inNetwork!)).decidedBy, '45.31.0.0/24');
    assert.equal((await server.cliJson('entry', 'list')).length, 3);
    const [listed] = await server.cliJson('entry', 'list', inNetwork!);
    assert.deepEqual([listed.prefix, listed.score, listed.endsAt], ['45.31.0.0/24', 100, null]);
    assert.equal((await server.cliJson('entry', 'list', 'OUR LOGS'))[0].prefix, `${own}/32`);
    await server.cliJson('entry', 'add', weak!, '--score', '80');
    await server.cliJson('entry', 'remove', own!);
    await server.cliJson('entry', 'remove', '45.31.0.0/24');
    await proveAgreement(server, keys, { [own!]: '', [inNetwork!]: '', [weak!]: allAccusers });
  } finally {
    data.remove();
  }
});

it('an entry that makes no sense is refused in words, and nothing is written', async () => {
  await using server = await startTestServer({ threads: 1, demo: false });
  const cases = [
    [['10.0.0.0/8'], /not public/],
    [['172.0.0.0/8'], /not public/],
    [['44.0.0.0/7'], /covers too much/],
    [['0.0.0.0/0'], /covers too much/],
    [['nonsense'], /prefix|address/],
    [['45.30.0.7', '--score', '0'], /whole number from 1 to 100/],
    [['45.30.0.7', '--category', '24'], /number from 1 to 23/],
    [['45.30.0.7', '--until', 'soon'], /a date such as/],
    [['45.30.0.7', '--until', '2020-01-01'], /must lie ahead/],
    [['45.30.0.7', '--note', 'x'.repeat(201)], /at most 200 characters/],
  ] as const;
  for (const [words, said] of cases) {
    const { code, stderr } = await server.cli('entry', 'add', ...words);
    assert.equal(code, 1, words.join(' '));
    assert.match(stderr, said);
  }
  assert.match((await server.cli('entry', 'remove', '45.30.0.7')).stderr, /has no manual rule/);
  assert.deepEqual(await server.cliJson('entry', 'list'), []);
});

it('the allowlist takes no part of the Internet by a slip, but whole private networks', async () => {
  await using server = await startTestServer({ threads: 1, demo: false });
  for (const wide of [
    '0.0.0.0/0',
    '::/0',
    '8.0.0.0/7',
    '2000::/3',
    '2a00::/12',
    '::/1',
    '0.0.0.0/1',
  ]) {
    const { code, stderr } = await server.cli('allow', 'add', wide);
    assert.deepEqual([code, /covers too much/.test(stderr)], [1, true], `${wide}: ${stderr}`);
  }
  assert.deepEqual(await server.cliJson('allow', 'list'), []);
  const taken = ['10.0.0.0/8', '44.0.0.0/8', '224.0.0.0/4', '2a00::/16', 'fc00::/7', 'fe80::/10'];
  for (const prefix of taken) await server.cliJson('allow', 'add', prefix);
  const rules: { prefix: string }[] = await server.cliJson('allow', 'list');
  assert.deepEqual(rules.map(({ prefix }) => prefix).sort(), taken.sort());
});

it('the page of the blocklists says that they are empty and where sources are chosen, until something is on them', async () => {
  await using server = await startTestServer({ threads: 1, demo: false });
  const page = async (language = 'en') =>
    (await server.fetch('/feeds', { headers: { 'Accept-Language': language } })).body;
  await within(async () => !(await page()).includes('being built'), 'the first build');
  assert.match(
    await page(),
    /The lists are still empty\..*<a href="\/admin\/lists">Choose sources/,
  );
  assert.match(await page('fr'), /encore vides.*<a href="\/admin\/lists">Choisir des sources/);
  await server.cliJson('entry', 'add', '45.30.0.7', '--score', '90');
  await within(async () => !(await page()).includes('The lists are still empty'), 'an entry');
});
