/**
 * What AbuseIPDB's own package for Laravel does in its tests, request by request: each answer has the fields
 * and types that its objects are made of.
 */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Answer, startTestServer, type TestServer } from '../../support/server/server.ts';

const bad = '8.8.8.10';
const boundary = 'a1b2c3d4e5f6';

// biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes, looked at field by field
type Json = any;
type Types = Readonly<Record<string, string>>;

/** A name that ends in `?` may be null or missing. */
function proveTypes(found: Json, wanted: Types): void {
  for (const [name, types] of Object.entries(wanted)) {
    const value = found[name.replace('?', '')];
    if (name.endsWith('?') && (value === null || value === undefined)) continue;
    assert.equal(Array.isArray(value) ? 'array' : typeof value, types, name);
  }
}

/** As PHP's DateTime::ATOM reads it: no fraction of a second, an offset with a colon. */
function proveDate(text: string): void {
  assert.match(text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/);
}

const checked = {
  ipAddress: 'string',
  isPublic: 'boolean',
  ipVersion: 'number',
  'isWhitelisted?': 'boolean',
  abuseConfidenceScore: 'number',
  'countryCode?': 'string',
  'usageType?': 'string',
  'isp?': 'string',
  'domain?': 'string',
  hostnames: 'array',
  isTor: 'boolean',
  totalReports: 'number',
  numDistinctUsers: 'number',
  'lastReportedAt?': 'string',
  'countryName?': 'string',
  'reports?': 'array',
};
const reportInfo = {
  reportedAt: 'string',
  comment: 'string',
  categories: 'array',
  reporterId: 'number',
  'reporterCountryCode?': 'string',
  'reporterCountryName?': 'string',
};

describe('the tests of a client package', () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer();
    const answer = await post('report', { ip: bad, categories: [18, 22], comment: 'ssh' });
    assert.equal(answer.status, 200, answer.body);
  });
  after(() => server[Symbol.asyncDispose]());

  const headers = () => ({
    Key: server.key,
    Accept: 'application/json',
    'User-Agent': 'GuzzleHttp/7',
    'X-Request-Source': 'Laravel_11.0.0;Laravel_1.0.10;',
  });
  const get = (path: string): Promise<Answer> =>
    server.fetch(`/api/v2/${path}`, { headers: headers() });
  function withJson(method: string, path: string, body: object): Promise<Answer> {
    const text = JSON.stringify(body);
    const length = String(Buffer.byteLength(text));
    return server.fetch(`/api/v2/${path}`, {
      method,
      headers: { ...headers(), 'Content-Type': 'application/json', 'Content-Length': length },
      body: text,
    });
  }
  const post = (path: string, body: object) => withJson('POST', path, body);

  function dataOf(answer: Answer): Json {
    assert.equal(answer.status, 200, answer.body);
    for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining']) {
      assert.match(String(answer.headers[name]), /^\d+$/, name);
    }
    assert.match(String(answer.headers['content-type']), /^application\/json/);
    assert.ok(answer.headers['cache-control']);
    return (answer.json() as Json).data;
  }
  const check = async (ip: string, more = 'maxAgeInDays=30') => {
    const data = dataOf(await get(`check?ipAddress=${ip}&${more}`));
    proveTypes(data, checked);
    return data;
  };
  async function report(ip: string, body: object = { categories: 21 }): Promise<void> {
    const data = dataOf(await post('report', { ip, ...body }));
    assert.deepEqual(data, { ipAddress: ip, abuseConfidenceScore: 0 });
    assert.equal((await check(ip)).totalReports, 0, 'nothing is kept');
  }

  it('checks an address of its own: fields, types and headers', async () => {
    for (const ip of ['127.0.0.1', '127.0.0.1', '127.0.0.2', '127.0.0.1', '127.0.0.1']) {
      await check(ip);
    }
  });

  it('finds reports and the name of the country when it asks for all, and only then', async () => {
    const plain = await check(bad);
    assert.deepEqual([plain.reports, plain.countryName], [undefined, undefined]);
    const all = await check(bad, 'maxAgeInDays=365&verbose=1');
    assert.ok(all.reports.length > 0 && all.countryName !== '');
    for (const one of all.reports) {
      proveTypes(one, reportInfo);
      proveDate(one.reportedAt);
    }
    proveDate(all.lastReportedAt);
  });

  it('reports addresses of 127.0.0.0/8, in each of its ways', async () => {
    await report('127.0.0.4');
    await report('127.0.0.5');
    await report('127.0.0.6', {
      categories: 21,
      comment: 'Suspicious Operation. Request content:\n',
    });
    const timestamp = new Date().toISOString().replace(/\.\d+Z$/, '+00:00');
    await report('127.0.0.8', { categories: [18, 22], comment: 'Bad IP', timestamp });
    for (const ip of ['127.255.255.254', '127.0.0.0', '127.45.6.7']) await report(ip);
  });

  it('reads a page of reports', async () => {
    const data = dataOf(await get(`reports?ipAddress=${bad}&maxAgeInDays=30&page=1&perPage=25`));
    proveTypes(data, {
      total: 'number',
      page: 'number',
      count: 'number',
      perPage: 'number',
      lastPage: 'number',
      'nextPageUrl?': 'string',
      'previousPageUrl?': 'string',
    });
    assert.ok(data.results.length > 0);
    for (const one of data.results) {
      proveTypes(one, reportInfo);
      proveDate(one.reportedAt);
    }
  });

  it('reads the blacklist', async () => {
    for (let i = 0; i < 2; i++) {
      const answer = await get('blacklist?confidenceMinimum=100&limit=20');
      const rows = dataOf(answer);
      assert.ok(Array.isArray(rows) && rows.length <= 20);
      proveDate((answer.json() as Json).meta.generatedAt);
      for (const row of rows) {
        proveTypes(row, { ipAddress: 'string', abuseConfidenceScore: 'number' });
        proveDate(row.lastReportedAt);
      }
    }
  });

  it('checks a block', async () => {
    const data = dataOf(await get('check-block?network=127.0.0.1%2F28&maxAgeInDays=30'));
    assert.deepEqual([data.networkAddress, data.netmask], ['127.0.0.0', '255.255.255.240']);
    proveTypes(data, {
      minAddress: 'string',
      maxAddress: 'string',
      numPossibleHosts: 'number',
      addressSpaceDesc: 'string',
      reportedAddress: 'array',
    });
  });

  it('sends a file of which no row is taken', async () => {
    const csv =
      'IP,Categories,ReportDate,Comment\n127.0.0.1,"18,22",2018-01-01T10:00:01-04:00,"Failed password"';
    const part = `Content-Disposition: form-data; name="csv"; filename="report.csv"\r\nContent-Length: ${csv.length}`;
    const answer = await server.fetch('/api/v2/bulk-report', {
      method: 'POST',
      headers: { ...headers(), 'Content-Type': `multipart/form-data; boundary=${boundary}` },
      body: `--${boundary}\r\n${part}\r\n\r\n${csv}\r\n--${boundary}--\r\n`,
    });
    const data = dataOf(answer);
    proveTypes(data, { savedReports: 'number', invalidReports: 'array' });
    for (const row of data.invalidReports) {
      proveTypes(row, { error: 'string', input: 'string', rowNumber: 'number' });
    }
  });

  it('takes back what it reported of such an address', async () => {
    await report('127.0.0.7');
    const data = dataOf(await withJson('DELETE', 'clear-address', { ipAddress: '127.0.0.7' }));
    assert.deepEqual(data, { numReportsDeleted: 0 });
  });

  it('is told of an age and a category that do not exist, and of a second report', async () => {
    const detail = (answer: Answer) => (answer.json() as Json).errors[0].detail;
    const age = await get('check?ipAddress=127.0.0.1&maxAgeInDays=367');
    assert.equal(age.status, 422);
    assert.equal(typeof detail(age), 'string');
    const category = await post('report', { ip: '127.0.0.1', categories: [21, 31] });
    assert.equal(category.status, 422);
    for (let i = 0; i < 2; i++) {
      const again = await post('report', { ip: '127.0.0.2', categories: 21 });
      assert.equal(again.status, 429);
      assert.match(detail(again), /once in 15 minutes/);
    }
  });
});
