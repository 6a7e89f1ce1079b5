/** GET /api/v2/blacklist of a whole server: both forms, filters, refusals, cost, and the allowlist. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { forFile } from '../../support/server/for-file.ts';
import {
  type Answer,
  proveEachThread,
  startTestServer,
  within,
} from '../../support/server/server.ts';

const path = '/api/v2/blacklist';
const datePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/;

interface Meta {
  readonly generatedAt: string;
  readonly confidenceMinimum: number;
}

interface Row {
  readonly ipAddress: string;
  readonly countryCode: string;
  readonly abuseConfidenceScore: number;
  readonly lastReportedAt: string | null;
}

const server = forFile(await startTestServer());

describe('blacklist', () => {
  function get(query: string, key = server.key, more: Record<string, string> = {}) {
    return server.fetch(`${path}${query}`, { headers: { Key: key, ...more } });
  }
  function rowsOf(answer: Answer): Row[] {
    assert.equal(answer.status, 200, answer.body);
    assert.match(String(answer.headers['content-type']), /^application\/json/);
    assert.equal(answer.headers['x-generated-at'], undefined);
    const { meta, data } = answer.json() as { meta: Meta; data: Row[] };
    assert.deepEqual(Object.keys(meta), ['generatedAt', 'confidenceMinimum']);
    assert.match(meta.generatedAt, datePattern);
    return data;
  }
  const addresses = (rows: readonly Row[]) => rows.map((row) => row.ipAddress);
  const rows = async (query: string) => rowsOf(await get(query));

  it('lists the demo, highest score first, with the score of a check', async () => {
    const all = await rows('');
    assert.deepEqual(addresses(all).slice(0, 5), [
      ...['192.0.2.100', '198.51.100.7', '2001:db8:bad::1', '2001:db8::bad', '203.0.113.200'],
    ]);
    assert.ok(addresses(all).includes('203.0.113.128/25'));
    assert.ok(addresses(all).includes('2001:db8:bad::/48'));
    assert.ok(!addresses(all).includes('192.0.2.74'), '75 is where it begins');
    const scores = all.map((row) => row.abuseConfidenceScore);
    assert.deepEqual(
      scores,
      [...scores].sort((a, b) => b - a),
    );
    for (const row of all) {
      assert.deepEqual(Object.keys(row), [
        ...['ipAddress', 'countryCode', 'abuseConfidenceScore', 'lastReportedAt'],
      ]);
      assert.match(String(row.lastReportedAt), datePattern, row.ipAddress);
      if (row.ipAddress.includes('/')) continue;
      const { abuseConfidenceScore, countryCode } = await server.check(row.ipAddress);
      assert.equal(row.abuseConfidenceScore, abuseConfidenceScore, row.ipAddress);
      assert.equal(row.countryCode, countryCode);
    }
    await proveEachThread(server, path, async () =>
      assert.equal((await rows('?limit=1'))[0]?.ipAddress, '192.0.2.100'),
    );
  });

  it('a minimum of 100 means what the default means; the answer says which was used', async () => {
    const used = async (query: string) => {
      const { meta } = (await get(query)).json() as { meta: Meta };
      return meta.confidenceMinimum;
    };
    const byDefault = await rows('');
    assert.ok(byDefault.length > 5);
    assert.deepEqual(await rows('?confidenceMinimum=100'), byDefault);
    assert.deepEqual(await rows('?confidenceMinimum=100&limit=10000&ipVersion=4%2C6'), byDefault);
    assert.deepEqual(
      await Promise.all(
        ['', '100', '99', '25'].map((text) =>
          used(text === '' ? '' : `?confidenceMinimum=${text}`),
        ),
      ),
      [75, 75, 99, 25],
    );
    const text = await get('?confidenceMinimum=100&plaintext');
    assert.equal(text.headers['x-confidence-minimum'], '75');
    assert.equal(text.body.trim().split('\n').length, byDefault.length);
  });

  it('a host without a time of its own has that of the network around it', async () => {
    // An exit of an anonymising network in a listed network is an entry of its own.
    const [network, exits] = ['network.txt', 'exits.txt'].map((n) => join(server.dataDir, n));
    writeFileSync(network!, '6.0.0.0/24\n');
    writeFileSync(exits!, '6.0.0.9\n');
    await server.cliJson('seed', network!, '--format', 'plain', '--source', 'network');
    await server.cliJson('anon', exits!);
    const find = async () => (await rows('')).find(({ ipAddress }) => ipAddress === '6.0.0.9');
    await within(async () => (await find()) !== undefined);
    assert.match(String((await find())!.lastReportedAt), datePattern);
    await server.cliJson('allow', 'add', '6.0.0.0/24');
    await within(async () => (await find()) === undefined);
  });

  it('names what it does not know', async () => {
    const answer = await get('?maxAgeInDays=30&onlyCountry=US&confidenceMinimum=100');
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['x-ignored-parameters'], 'maxAgeInDays, onlyCountry');
    assert.equal((await get('?limit=0&x=1')).headers['x-ignored-parameters'], 'x');
    assert.equal(
      (await get('?limit=1&onlyCountries[]=US')).headers['x-ignored-parameters'],
      undefined,
    );
    assert.equal((await get('?x=1', 'nonsense')).headers['x-ignored-parameters'], undefined);
  });

  it('plain text has a line each, and says when it was made', async () => {
    const lines = addresses(await rows(''));
    const asked: [string, Record<string, string>][] = [
      ['?plaintext', {}],
      ['?plaintext=false', {}],
      ['?plaintext', { Accept: 'application/json' }],
      ['', { Accept: 'text/plain' }],
      ['', { Accept: 'text/plain; charset=utf-8, */*;q=0.1' }],
    ];
    for (const [query, headers] of asked) {
      const answer = await get(query, server.key, headers);
      assert.equal(answer.status, 200);
      assert.match(String(answer.headers['content-type']), /^text\/plain/);
      assert.match(String(answer.headers['x-generated-at']), datePattern);
      assert.equal(answer.body, `${lines.join('\n')}\n`);
    }
    for (const accept of ['*/*', 'application/json, text/plain, */*', 'text/html', 'x'.repeat(900)])
      rowsOf(await get('', server.key, { Accept: accept }));
    const csf = await server.fetch(`${path}?key=${server.key}&plaintext`);
    assert.equal(csf.status, 200, 'the key in the query');
    assert.equal(csf.body, `${lines.join('\n')}\n`);
  });

  it('filters by confidence, limit, family and country', async () => {
    assert.deepEqual(addresses(await rows('?confidenceMinimum=99&ipVersion=6')), [
      '2001:db8:bad::1',
    ]);
    assert.deepEqual(addresses(await rows('?limit=2&ipVersion=4')), [
      ...['192.0.2.100', '198.51.100.7'],
    ]);
    const low = await rows('?confidenceMinimum=25&limit=99999999999999999999');
    assert.ok(addresses(low).includes('192.0.2.30'));
    assert.ok(!addresses(low).includes('192.0.2.20'));
    const list = join(server.dataDir, 'list.txt');
    writeFileSync(list, '8.8.8.8\n193.0.6.139\n');
    await server.cliJson('seed', list, '--format', 'plain', '--confidence', '97');
    await within(async () => addresses(await rows('?limit=500000')).includes('8.8.8.8'));
    assert.deepEqual(addresses(await rows('?onlyCountries=us')), ['8.8.8.8']);
    assert.deepEqual(addresses(await rows('?onlyCountries=QQ')), []);
    for (const query of [
      'onlyCountries[]=US',
      'onlyCountries%5B%5D=us&onlyCountries%5B%5D=QQ',
      'onlyCountries%5B0%5D=QQ&onlyCountries%5B1%5D=US',
      'onlyCountries=US&onlyCountries=QQ',
      'onlyCountries=QQ,US&onlyCountries[]=CH',
      'onlyCountries[]=US&ipVersion[]=4&ipVersion[]=6',
      'onlyCountries[]=US&ipVersion%5B0%5D=4&ipVersion%5B1%5D=6',
      'exceptCountries[]=NL&exceptCountries[]=ZZ',
    ]) {
      assert.deepEqual(addresses(await rows(`?${query}`)), ['8.8.8.8'], query);
    }
    const except = addresses(await rows('?exceptCountries=US,%20ZZ'));
    assert.deepEqual(except, ['193.0.6.139']);
  });

  it('hostile parameters are 422 with the name at fault', async () => {
    const vectors: [query: string, parameter: string][] = [
      ...['24', '101', '-1', '', 'x', '75.0', '1e2', '9'.repeat(500)].map(
        (text): [string, string] => [`confidenceMinimum=${text}`, 'confidenceMinimum'],
      ),
      ...['0', '-1', '', 'all', '1.5', '0x10', '9'.repeat(21)].map((text): [string, string] => [
        `limit=${text}`,
        'limit',
      ]),
      ...['5', '', '4,5', 'v4', '4,'].map((text): [string, string] => [
        `ipVersion=${text}`,
        'ipVersion',
      ]),
      ...['', 'USA', 'U', 'US,,FR', 'US;FR', '12', 'US,F%0A', `US${',FR'.repeat(300)}`].map(
        (text): [string, string] => [`onlyCountries=${text}`, 'onlyCountries'],
      ),
      ['exceptCountries=USA', 'exceptCountries'],
      ['onlyCountries=US&exceptCountries=FR', 'exceptCountries'],
      ['onlyCountries[]=US&exceptCountries[]=FR', 'exceptCountries'],
      ['onlyCountries[]=US&onlyCountries[]=', 'onlyCountries'],
      ['ipVersion[]=4&ipVersion[]=5', 'ipVersion'],
      ['limit[]=1&limit=1&limit=2', 'limit'],
      ['limit=1&limit=2', 'limit'],
      ['plaintext&plaintext', 'plaintext'],
      ['limit=%ff', 'limit'],
    ];
    for (const [query, parameter] of vectors) {
      const answer = await get(`?${query}`);
      assert.equal(answer.status, 422, `${query}: ${answer.body}`);
      const { errors } = answer.json() as { errors: { source: object }[] };
      assert.deepEqual(errors[0]!.source, { parameter }, query);
    }
    assert.equal((await get('', 'nonsense')).status, 401);
    const post = await server.fetch(path, { method: 'POST' });
    assert.equal(post.status, 405);
    assert.equal(post.headers.allow, 'GET, HEAD');
    const head = await server.fetch(path, { method: 'HEAD', headers: { Key: server.key } });
    assert.equal(head.status, 200);
    assert.equal(head.bytes.length, 0);
    assert.ok(Number(head.headers['content-length']) > 100);
  });

  it('what is allowed is not listed, at once', async () => {
    assert.ok(addresses(await rows('')).includes('203.0.113.5'));
    await server.cliJson('allow', 'add', '203.0.113.5');
    await server.cliJson('allow', 'add', '203.0.113.192/26');
    await within(async () => !addresses(await rows('')).includes('203.0.113.200'));
    const left = addresses(await rows('')).filter((text) => text.startsWith('203.'));
    assert.deepEqual(left, ['203.0.113.128/26'], 'the network without its allowed part');
  });

  it('costs a read each thousand rows, and one when that is more than what is left', async () => {
    const many = Array.from({ length: 3_500 }, (_, i) => `7.${i >> 8}.${i & 255}.1`);
    const list = join(server.dataDir, 'many.txt');
    writeFileSync(list, `${many.join('\n')}\n`);
    await server.cliJson('seed', list, '--format', 'plain', '--confidence', '80');
    await within(async () => (await rows('?ipVersion=4')).length > 3_500);
    await server.cliJson('account', 'create', 'lists@x.example');
    const limit = ['--read-per-minute', '40'];
    const { text: key } = await server.cliJson('key', 'create', 'lists@x.example', ...limit);
    let left = Number.NaN;
    await within(async () => {
      const answer = await get('?limit=0', key);
      left = Number(answer.headers['x-ratelimit-remaining']);
      return answer.headers['x-ratelimit-limit'] === '40';
    });
    // The key may be known before its quota is: how many of these were counted can't be foreseen.
    for (; left > 11; left--) {
      const answer = await get('?limit=1', key);
      assert.equal(answer.headers['x-ratelimit-remaining'], String(left - 1));
    }
    const costs: [query: string, cost: number, status: number][] = [
      ['?limit=1000', 1, 200],
      ['?limit=1001', 2, 200],
      ['?onlyCountries=QQ', 1, 200],
      ['?limit=3500', 4, 200],
      ['?limit=3500', 1, 429],
      ['?limit=2000&plaintext', 2, 200],
      ['?limit=1', 0, 429],
    ];
    for (const [query, cost, status] of costs) {
      const answer = await get(query, key);
      assert.equal(answer.status, status, `${query}: ${answer.body.slice(0, 200)}`);
      left -= cost;
      assert.equal(answer.headers['x-ratelimit-remaining'], String(left), query);
      assert.equal(answer.headers['retry-after'] !== undefined, status === 429);
    }
    assert.equal(left, 0);
  });

  it('a report shows in the list soon after', async () => {
    const before = await rows('?confidenceMinimum=25');
    const ip = '7.0.0.1';
    const old = before.find((r) => r.ipAddress === ip);
    const answer = await server.report(ip);
    const { data } = answer.json() as { data: { abuseConfidenceScore: number } };
    let row: Row | undefined;
    await within(async () => {
      row = (await rows('?confidenceMinimum=25')).find((r) => r.ipAddress === ip);
      // What a list says and what is reported don't add up: the higher counts.
      return (
        row !== undefined &&
        row.lastReportedAt! >= old!.lastReportedAt! &&
        row.abuseConfidenceScore === data.abuseConfidenceScore
      );
    });
    assert.match(String(row?.lastReportedAt), datePattern);
    assert.ok(old !== undefined && old.abuseConfidenceScore <= data.abuseConfidenceScore);
  });

  it('more requests than may wait are told to come again', async () => {
    const answers = await Promise.all(Array.from({ length: 120 }, () => get('?limit=4000')));
    const statuses = new Set(answers.map((answer) => answer.status));
    for (const status of statuses) assert.ok(status === 200 || status === 503, String(status));
    assert.ok(statuses.has(200));
    for (const answer of answers) {
      if (answer.status === 503) assert.match(String(answer.headers['retry-after']), /^\d+$/);
    }
  });
});
