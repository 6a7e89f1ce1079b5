/** Verbose checks, reports and clear-address of a whole server: fields, refusals, cost, races. */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CheckResult } from '../../../src/reputation/check/check.route.ts';
import { startNameServer } from '../../support/reputation/name-server.ts';
import {
  type Answer,
  proveEachThread,
  startTestServer,
  type TestServer,
  within,
} from '../../support/server/server.ts';

const datePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/;
const secureUrl = 'https://ip.portcullis.example';
const fields = Object.keys(CheckResult.entries);
const verbose = ['countryName', 'crawler', 'why', 'reports'];

// biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes, looked at field by field
type Json = any;

describe('api reads', () => {
  let server: TestServer;
  let other = '';
  let names: Awaited<ReturnType<typeof startNameServer>>;
  before(async () => {
    names = await startNameServer({
      'PTR 1.66.249.66.in-addr.arpa': ['crawl-66-249-66-1.googlebot.com', 'liar.example.net'],
      'A crawl-66-249-66-1.googlebot.com': ['66.249.66.1'],
    });
    const env = { SECURE_URL: secureUrl, RDNS: 'verbose', RDNS_RESOLVER: names.address };
    server = await startTestServer({ env });
    other = await keyOf('other@portcullis.example');
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    await names[Symbol.asyncDispose]();
  });

  /** A key of a new account, with quotas that its requests are counted against exactly. */
  async function keyOf(email: string, ...limits: string[]): Promise<string> {
    await server.cliJson('account', 'create', email);
    const { text } = await server.cliJson('key', 'create', email, ...limits);
    const wanted = limits.at(-1);
    await within(async () => {
      const { status, headers } =
        wanted === undefined || limits[0] === '--read-per-minute'
          ? await get('check?ipAddress=x', text)
          : await clear('', undefined, '', text);
      return status === 422 && (!wanted || headers['x-ratelimit-limit'] === wanted);
    });
    return text;
  }

  const get = (path: string, key = server.key): Promise<Answer> =>
    server.fetch(`/api/v2/${path}`, { headers: { Key: key } });
  async function data(path: string, key = server.key): Promise<Json> {
    const answer = await get(path, key);
    assert.equal(answer.status, 200, answer.body);
    assert.match(String(answer.headers['x-ratelimit-remaining']), /^\d+$/);
    return (answer.json() as Json).data;
  }
  async function report(ip: string, more: Record<string, string> = {}, key = server.key) {
    const answer = await server.report(ip, { key, categories: '18,22', ...more });
    assert.equal(answer.status, 200, answer.body);
  }
  function clear(query: string, body?: string, type = 'application/json', key = server.key) {
    const path = `/api/v2/clear-address${query}`;
    if (body === undefined) return server.fetch(path, { method: 'DELETE', headers: { Key: key } });
    // Node's client sends no length with a DELETE unless it is told to.
    const length = String(Buffer.byteLength(body));
    const headers = { Key: key, 'Content-Type': type, 'Content-Length': length };
    return server.fetch(path, { method: 'DELETE', headers, body });
  }
  const ago = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();

  it('verbose, page and command name the hosts that DNS confirms; a check waits for none of it', async () => {
    const host = 'crawl-66-249-66-1.googlebot.com';
    const asked = 'check?ipAddress=66.249.66.1&verbose';
    assert.deepEqual((await data(asked)).hostnames, []);
    await within(async () => (await data(asked)).hostnames.length > 0, 'named');
    const { hostnames, crawler, abuseConfidenceScore } = await data(asked);
    assert.deepEqual([hostnames, crawler, abuseConfidenceScore], [[host], 'Googlebot', 0]);
    assert.deepEqual((await data('check?ipAddress=66.249.66.1')).hostnames, []);
    const page = await server.fetch('/ip/66.249.66.1');
    assert.match(
      page.body.replaceAll('<wbr/>', ''),
      /Host name.*crawl-66-249-66-1\.googlebot\.com/s,
    );
    assert.match(page.body, /Crawler, confirmed by its host name/);
    assert.doesNotMatch(page.body, /liar/);
    const json = await server.fetch('/ip/66.249.66.1?format=json');
    assert.deepEqual((json.json() as Json).data.hostnames, [host]);
    // The command does wait, and says so of an address that nobody asked about before.
    names.zone['PTR 2.66.249.66.in-addr.arpa'] = ['crawl-66-249-66-2.googlebot.com'];
    names.zone['A crawl-66-249-66-2.googlebot.com'] = ['66.249.66.2'];
    const verdict = await server.cliJson('check', '66.249.66.2', '--verbose');
    assert.deepEqual(
      [verdict.hostnames, verdict.crawler],
      [['crawl-66-249-66-2.googlebot.com'], 'Googlebot'],
    );
  });

  it('the command tells what is allowed from what is known good, which a list may block', async () => {
    const said = async () => (await server.cli('check', '1.0.0.1')).stdout;
    assert.match(
      await said(),
      /^1\.0\.0\.1: 0 of 100, clean, known good\n(.*\n)* *Known good +yes/,
    );
    await server.cliJson('allow', 'add', '1.0.0.0/28');
    const allowed = await said();
    assert.match(
      allowed,
      /^1\.0\.0\.1: 0 of 100, clean, on the allowlist\n(.*\n)* *Allowlist +yes/,
    );
    assert.doesNotMatch(allowed, /Known good/);
    await server.cliJson('allow', 'remove', '1.0.0.0/28');
  });

  it('verbose adds its fields behind the others, through every thread', async () => {
    await report('8.8.8.8', { comment: 'say "hi" </script>', timestamp: ago(40) });
    await report('8.8.8.8', { comment: 'other' }, other);
    const plain = await data('check?ipAddress=8.8.8.8');
    assert.deepEqual(Object.keys(plain), fields);
    for (const flag of ['verbose', 'verbose=false', 'verbose=', 'verbose=true']) {
      const full = await data(`check?ipAddress=8.8.8.8&${flag}`);
      assert.deepEqual(Object.keys(full), [...fields, ...verbose]);
      for (const name of fields) assert.deepEqual(full[name], plain[name], name);
      assert.equal(full.isPublic, true);
      assert.equal(full.ipVersion, 4);
      // A known-good address: the operator has not allowed it.
      assert.equal(full.isWhitelisted, true);
      assert.equal(full.usageType, 'Data Center/Web Hosting/Transit');
      assert.equal(full.domain, 'google.com');
      assert.deepEqual(full.hostnames, []);
      assert.equal(full.isTor, false);
      assert.equal(full.totalReports, 2);
      assert.equal(full.numDistinctUsers, 2);
      assert.equal(full.countryName, 'United States');
      assert.match(full.lastReportedAt, datePattern);
      assert.equal(full.reports.length, 2);
      const [newest, oldest] = full.reports;
      assert.deepEqual(Object.keys(newest), [
        ...['reportedAt', 'comment', 'categories', 'reporterId', 'reporterCountryCode'],
        'reporterCountryName',
      ]);
      assert.equal(newest.comment, 'other');
      assert.equal(newest.reportedAt, full.lastReportedAt);
      assert.equal(oldest.comment, 'say "hi" </script>');
      assert.deepEqual(oldest.categories, [18, 22]);
      assert.match(oldest.reportedAt, datePattern);
      assert.equal(oldest.reporterCountryCode, 'ZZ');
      assert.equal(oldest.reporterCountryName, 'Unknown');
      assert.notEqual(oldest.reporterId, newest.reporterId);
    }
    await proveEachThread(server, '/api/v2/check', () =>
      data('check?ipAddress=8.8.8.8&verbose').then((full) => assert.equal(full.totalReports, 2)),
    );
  });

  it('a list counts as a report, but for an explicit window and the list of reports', async () => {
    const ip = '198.51.100.7';
    await report(ip);
    const said = async (query: string) => {
      const { totalReports, numDistinctUsers, lastReportedAt } = await data(`check?${query}`);
      return [totalReports, numDistinctUsers, lastReportedAt === null];
    };
    assert.deepEqual(await said(`ipAddress=${ip}`), [2, 2, false]);
    assert.deepEqual(await said(`ipAddress=${ip}&verbose`), [2, 2, false]);
    assert.deepEqual(await said(`ipAddress=${ip}&maxAgeInDays=365`), [1, 1, false]);
    assert.deepEqual(await said(`ipAddress=${ip}&maxAgeInDays=365&verbose`), [1, 1, false]);
    assert.equal((await data(`reports?ipAddress=${ip}`)).total, 1);
    const listed = '198.51.100.23';
    assert.deepEqual(await said(`ipAddress=${listed}`), [1, 1, false]);
    assert.deepEqual(await said(`ipAddress=${listed}&maxAgeInDays=30`), [0, 0, true]);
    assert.equal((await data(`reports?ipAddress=${listed}`)).total, 0);
    const page = await server.fetch(`/ip/${ip}`, { headers: { Accept: 'application/json' } });
    const { data: shown } = page.json() as Json;
    assert.equal(shown.totalReports, 2);
    assert.match(shown.lastReportedAt, datePattern);
    const people = await server.fetch(`/ip/${ip}`);
    assert.match(people.body, /The demo list holds it, and one account reported it\./);
  });

  it('an explicit window counts what lies in it, and shows the same fields', async () => {
    await report('8.8.8.9', { timestamp: ago(40) });
    await report('8.8.8.9', {}, other);
    const one = await data('check?ipAddress=8.8.8.9&maxAgeInDays=30');
    assert.deepEqual(Object.keys(one), fields);
    assert.deepEqual([one.totalReports, one.numDistinctUsers], [1, 1]);
    assert.equal((await data('check?ipAddress=8.8.8.9&maxAgeInDays=365')).totalReports, 2);
    const full = await data('check?verbose&ipAddress=8.8.8.9&maxAgeInDays=30');
    assert.equal(full.numDistinctUsers, 1);
    assert.equal(full.reports.length, 1);
  });

  it('an address without reports has all the fields too', async () => {
    const full = await data('check?ipAddress=127.0.0.2&verbose');
    assert.equal(full.isPublic, false);
    assert.equal(full.numDistinctUsers, 0);
    assert.equal(full.lastReportedAt, null);
    assert.equal(full.countryName, null);
    assert.deepEqual(full.reports, []);
    const six = await data('check?ipAddress=2001:db8:bad::1&verbose');
    assert.equal(six.ipVersion, 6);
    assert.equal(six.malicious, true);
    const exit = await data('check?ipAddress=192.0.2.200&verbose');
    assert.equal(exit.isTor, exit.isAnon);
  });

  it('an allowed address says so and is never malicious', async () => {
    await report('9.9.9.9');
    await server.cliJson('allow', 'add', '9.9.9.0/24');
    await within(async () => (await data('check?ipAddress=9.9.9.9&verbose')).isWhitelisted);
    const full = await data('check?ipAddress=9.9.9.9&verbose');
    assert.equal(full.abuseConfidenceScore, 0);
    assert.equal(full.malicious, false);
    assert.equal(full.reports.length, 1);
  });

  it('HEAD has the length of GET and no body', async () => {
    const path = '/api/v2/check?ipAddress=8.8.8.8&verbose';
    const headers = { Key: server.key };
    const whole = await server.fetch(path, { headers });
    const head = await server.fetch(path, { method: 'HEAD', headers });
    assert.equal(head.status, 200);
    assert.equal(head.headers['content-length'], String(whole.bytes.length));
    assert.equal(head.bytes.length, 0);
  });

  it('reports come in pages with links, newest first', async () => {
    for (const [i, key] of [server.key, other, await keyOf('third@x.example')].entries()) {
      await report('8.8.4.4', { comment: `n${i}`, timestamp: ago(i * 10 + 1) }, key);
    }
    const first = await data('reports?ipAddress=8.8.4.4&perPage=2&maxAgeInDays=100');
    assert.deepEqual(Object.keys(first), [
      ...['total', 'page', 'count', 'perPage', 'lastPage', 'nextPageUrl', 'previousPageUrl'],
      'results',
    ]);
    const { results, nextPageUrl, previousPageUrl, ...numbers } = first;
    assert.deepEqual(numbers, { total: 3, page: 1, count: 2, perPage: 2, lastPage: 2 });
    assert.deepEqual(
      results.map((result: Json) => result.comment),
      ['n0', 'n1'],
    );
    assert.equal(previousPageUrl, null);
    assert.ok(nextPageUrl.startsWith(`${secureUrl}/api/v2/reports?`), nextPageUrl);
    assert.ok(!nextPageUrl.includes(server.key));
    const second = await data(nextPageUrl.slice(`${secureUrl}/api/v2/`.length));
    assert.equal(second.results[0].comment, 'n2');
    assert.equal(second.nextPageUrl, null);
    assert.match(second.previousPageUrl, /page=1$/);
    const recent = await data('reports?ipAddress=8.8.4.4&maxAgeInDays=5');
    assert.equal(recent.total, 1);
    assert.equal(recent.perPage, 25);
    const far = await data('reports?ipAddress=8.8.4.4&page=1000000&perPage=100');
    assert.deepEqual([far.count, far.lastPage, far.nextPageUrl], [0, 1, null]);
    const none = await data('reports?ipAddress=1.2.3.4');
    assert.deepEqual([none.total, none.lastPage, none.results], [0, 1, []]);
  });

  it('hostile parameters are 422 with the name at fault', async () => {
    const vectors: [path: string, parameter: string][] = [
      ['check?verbose', 'ipAddress'],
      ['check?verbose&ipAddress=', 'ipAddress'],
      ['check?verbose&ipAddress=1.2.3', 'ipAddress'],
      ['check?verbose&ipAddress=010.1.1.1', 'ipAddress'],
      [`check?verbose&ipAddress=${'1'.repeat(3_000)}`, 'ipAddress'],
      ['check?verbose&ipAddress=8.8.8.8&ipAddress=8.8.4.4', 'ipAddress'],
      ['check?verbose&verbose&ipAddress=8.8.8.8', 'verbose'],
      ['check?verbose&ipAddress=%ff', 'ipAddress'],
      ...['0', '366', '-1', '1.5', 'x', '', '1e2', '%31%00', '99999'].map(
        (text): [string, string] => [
          `check?ipAddress=8.8.8.8&maxAgeInDays=${text}`,
          'maxAgeInDays',
        ],
      ),
      ['reports', 'ipAddress'],
      ['reports?ipAddress=8.8.8.8/32', 'ipAddress'],
      ['reports?ipAddress=8.8.8.8&maxAgeInDays=0', 'maxAgeInDays'],
      ...['0', '-1', 'x', '', '1.0', '0x1', '1000001', '9'.repeat(400)].map(
        (text): [string, string] => [`reports?ipAddress=8.8.8.8&page=${text}`, 'page'],
      ),
      ...['0', '101', 'x', '', '١'].map((text): [string, string] => [
        `reports?ipAddress=8.8.8.8&perPage=${encodeURIComponent(text)}`,
        'perPage',
      ]),
      ['reports?ipAddress=8.8.8.8&page=1&page=2', 'page'],
    ];
    for (const [path, parameter] of vectors) {
      const answer = await get(path);
      assert.equal(answer.status, 422, `${path}: ${answer.body}`);
      const [error] = (answer.json() as Json).errors;
      assert.deepEqual(error.source, { parameter }, path);
      assert.equal(error.status, 422);
      assert.match(String(answer.headers['x-ratelimit-remaining']), /^\d+$/);
    }
    const old = await get('reports?ipAddress=8.8.8.8&maxAgeInDays=366');
    const detail = 'The max age in days must be between 1 and 365.';
    assert.equal((old.json() as Json).errors[0].detail, detail);
  });

  it('a key is needed, in the header of any case or in the query', async () => {
    for (const path of ['check?ipAddress=8.8.8.8&verbose', 'reports?ipAddress=8.8.8.8']) {
      for (const key of ['', 'nonsense']) {
        const answer = await get(path, key);
        assert.equal(answer.status, 401);
        assert.equal(answer.headers['x-ratelimit-limit'], undefined);
        assert.match(answer.body, /Your API key is either missing, incorrect, or revoked\./);
      }
      const url = `/api/v2/${path}`;
      assert.equal((await server.fetch(`${url}&key=${server.key}`)).status, 200);
      assert.equal((await server.fetch(url, { headers: { kEY: server.key } })).status, 200);
    }
    assert.equal((await server.fetch('/api/v2/clear-address', { method: 'DELETE' })).status, 401);
  });

  it('a wrong method is 405 with Allow', async () => {
    const allowed = { check: 'GET, HEAD', reports: 'GET, HEAD', 'clear-address': 'DELETE' };
    for (const [path, allow] of Object.entries(allowed)) {
      for (const method of ['POST', 'PUT', 'PATCH', ...(allow === 'DELETE' ? ['GET'] : [])]) {
        const answer = await server.fetch(`/api/v2/${path}?verbose`, { method });
        assert.equal(answer.status, 405, `${method} ${path}`);
        assert.equal(answer.headers.allow, allow);
      }
    }
  });

  it('each of these costs exactly one read, refused or not, until none is left', async () => {
    const key = await keyOf('counted@x.example', '--read-per-minute', '40');
    let left = -1;
    const paths = [
      'check?ipAddress=8.8.8.8&verbose',
      'check?ipAddress=8.8.8.8&maxAgeInDays=3',
      'check?ipAddress=8.8.8.8&maxAgeInDays=0',
      'check?ipAddress=8.8.8.8',
      'check?ipAddress=nonsense&verbose',
      'reports?ipAddress=8.8.8.8',
      'reports?ipAddress=8.8.8.8&page=x',
    ];
    for (let i = 0; left !== 0; i++) {
      const answer = await get(paths[i % paths.length]!, key);
      assert.notEqual(answer.status, 429);
      const now = Number(answer.headers['x-ratelimit-remaining']);
      if (left >= 0) assert.equal(now, left - 1, paths[i % paths.length]);
      left = now;
    }
    for (const path of paths) {
      const answer = await get(path, key);
      assert.equal(answer.status, 429, path);
      assert.match(String(answer.headers['retry-after']), /^\d+$/);
    }
  });

  it('clear-address takes back the own reports, and they leave the score', async () => {
    const score = async (ip: string) => (await data(`check?ipAddress=${ip}`)).abuseConfidenceScore;
    const bodies: [string, string | undefined, string][] = [
      ['?ipAddress=8.8.7.1', undefined, ''],
      ['', JSON.stringify({ ipAddress: '8.8.7.2' }), 'application/json'],
      ['', 'ipAddress=8.8.7.3', 'application/x-www-form-urlencoded'],
      ['', JSON.stringify({ ipAddress: '::ffff:8.8.7.4' }), 'application/json'],
    ];
    for (const [i, [query, body, type]] of bodies.entries()) {
      const ip = `8.8.7.${i + 1}`;
      await report(ip, {}, other);
      const alone = await score(ip);
      await report(ip);
      assert.ok((await score(ip)) > alone);
      const answer = await clear(query, body, type);
      assert.equal(answer.status, 200, answer.body);
      assert.deepEqual(answer.json(), { data: { numReportsDeleted: 1 } });
      assert.equal(await score(ip), alone, 'the other account stays');
      const full = await data(`check?ipAddress=${ip}&verbose`);
      assert.equal(full.totalReports, 1);
      assert.equal(full.numDistinctUsers, 1);
      assert.equal(full.reports.length, 1);
      const again = await clear(query, body, type);
      assert.deepEqual(again.json(), { data: { numReportsDeleted: 0 } });
    }
    assert.deepEqual((await clear('?ipAddress=127.0.0.2')).json(), {
      data: { numReportsDeleted: 0 },
    });
  });

  it('clear-address refuses what is no address, and costs one write', async () => {
    const key = await keyOf('clears@x.example', '--write-per-minute', '30');
    const refused: [string, string | undefined, string][] = [
      ['', undefined, ''],
      ['?ipAddress=1.2.3.4/24', undefined, ''],
      ['?ipAddress=8.8.8.8', JSON.stringify({ ipAddress: '8.8.8.8' }), 'application/json'],
      ['', '{"ipAddress":["8.8.8.8"]}', 'application/json'],
      ['', 'nonsense', 'application/json'],
      ['?ipAddress=8.8.8.8&ipAddress=8.8.4.4', undefined, ''],
      ['?ipAddress=8.8.8.8&ip=8.8.4.4', undefined, ''],
    ];
    let left = Number.NaN;
    for (const [query, body, type] of refused) {
      const answer = await clear(query, body, type, key);
      assert.equal(answer.status, 422, `${query} ${body}: ${answer.body}`);
      assert.equal(answer.headers['x-ratelimit-limit'], '30');
      const now = Number(answer.headers['x-ratelimit-remaining']);
      if (!Number.isNaN(left)) assert.equal(now, left - 1);
      left = now;
    }
    const parameterOf = async (query: string) =>
      ((await clear(query)).json() as { errors: { source: object }[] }).errors[0]!.source;
    assert.deepEqual(await parameterOf('?ip=1.2.3.4/24'), { parameter: 'ip' });
    assert.deepEqual(await parameterOf('?ipAddress=1.2.3.4/24'), { parameter: 'ipAddress' });
    assert.equal((await clear('', '<a/>', 'text/xml', key)).status, 415);
    assert.equal((await clear('', 'x'.repeat(10_000), 'text/plain', key)).status, 413);
    // The refusal of the media type has cost one, that of the length none.
    for (left--; left > 0; left--) {
      const answer = await clear('?ipAddress=8.8.8.1', undefined, '', key);
      assert.equal(answer.status, 200);
      assert.equal(answer.headers['x-ratelimit-remaining'], String(left - 1));
    }
    assert.equal((await clear('?ipAddress=8.8.8.1', undefined, '', key)).status, 429);
  });

  it('beside reports of others, clear-address takes only the own ones', async () => {
    const ip = '8.8.6.6';
    await report(ip);
    const [cleared] = await Promise.all([clear(`?ipAddress=${ip}`), report(ip, {}, other)]);
    assert.deepEqual(cleared.json(), { data: { numReportsDeleted: 1 } });
    const full = await data(`check?ipAddress=${ip}&verbose`);
    assert.equal(full.totalReports, 1);
    assert.equal(full.reports.length, 1);
    assert.ok(full.abuseConfidenceScore > 0);
    await clear(`?ipAddress=${ip}`, undefined, '', other);
    assert.equal((await data(`check?ipAddress=${ip}`)).abuseConfidenceScore, 0);
  });
});
