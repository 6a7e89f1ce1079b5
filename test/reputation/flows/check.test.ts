/** GET /api/v2/check of a whole server: the answer, the refusals, the rate-limit headers. */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  type Answer,
  demoEmail,
  plenty,
  proveEachThread,
  startTestServer,
  type TestServer,
  threadCounts,
  within,
} from '../../support/server/server.ts';

const maxAgeDetail = 'The max age in days must be between 1 and 365.';
const keyDetail = 'Authentication failed. Your API key is either missing, incorrect, or revoked.';

/** Address asked → address answered, score, malicious, isAnon, rows of the list that cover it. */
const verdicts: readonly (readonly [string, string, number, boolean, boolean, number])[] = [
  ['198.51.100.7', '198.51.100.7', 99, true, false, 1],
  ['192.0.2.61', '192.0.2.61', 61, false, true, 1],
  ['192.0.2.74', '192.0.2.74', 74, false, false, 1],
  ['192.0.2.75', '192.0.2.75', 75, true, false, 1],
  ['192.0.2.10', '192.0.2.10', 0, false, false, 1],
  ['192.0.2.100', '192.0.2.100', 100, true, false, 1],
  ['2001:db8:bad::1', '2001:db8:bad::1', 99, true, false, 2],
  ['2001:0DB8:0BAD:0::0001', '2001:db8:bad::1', 99, true, false, 2],
  ['2001:db8:bad:ffff::2', '2001:db8:bad:ffff::2', 90, true, false, 1],
  ['::ffff:198.51.100.7', '198.51.100.7', 99, true, false, 1],
  ['::ffff:c633:6407', '198.51.100.7', 99, true, false, 1],
  ['203.0.113.129', '203.0.113.129', 80, true, false, 1],
  ['203.0.113.127', '203.0.113.127', 0, false, false, 0],
  ['203.0.113.200', '203.0.113.200', 96, true, false, 2],
  ['198.51.100.200', '198.51.100.200', 0, false, true, 0],
  ['2001:db8::a0:1', '2001:db8::a0:1', 0, false, true, 0],
  ['127.0.0.1', '127.0.0.1', 0, false, false, 0],
];

const invalidQueries: readonly (readonly [string, string, string | undefined])[] = [
  ['missing', '', 'ipAddress'],
  ['missing beside another', 'maxAgeInDays=3', 'ipAddress'],
  ['empty', 'ipAddress=', 'ipAddress'],
  ['a repeated one', 'ipAddress=1.1.1.1&ipAddress=1.1.1.1', 'ipAddress'],
  ['a repeated one, encoded', 'ipAddress=1.1.1.1&ip%41ddress=8.8.8.8', 'ipAddress'],
  ['a name', 'ipAddress=localhost', 'ipAddress'],
  ['a short form', 'ipAddress=127.1', 'ipAddress'],
  ['octal', 'ipAddress=010.0.0.1', 'ipAddress'],
  ['hexadecimal', 'ipAddress=0x7f.0.0.1', 'ipAddress'],
  ['an integer', 'ipAddress=2130706433', 'ipAddress'],
  ['a network', 'ipAddress=10.0.0.0/8', 'ipAddress'],
  ['a zone', 'ipAddress=fe80::1%25eth0', 'ipAddress'],
  ['a bracketed one', 'ipAddress=%5B::1%5D', 'ipAddress'],
  ['a space before', 'ipAddress=%201.1.1.1', 'ipAddress'],
  ['a plus before', 'ipAddress=+1.1.1.1', 'ipAddress'],
  ['over-long', `ipAddress=${'1'.repeat(3_000)}`, 'ipAddress'],
  ['a bad escape', 'ipAddress=1.1.1.1%', 'ipAddress'],
  ['a worse escape', 'ipAddress=%zz', 'ipAddress'],
  ['an encoded NUL', 'ipAddress=1.1.1.1%00', 'ipAddress'],
  ['encoded invalid UTF-8', 'ipAddress=%ff', 'ipAddress'],
  ['a bad escape elsewhere', 'ipAddress=1.1.1.1&x=%', 'x'],
  ['maxAgeInDays 0', 'ipAddress=1.1.1.1&maxAgeInDays=0', 'maxAgeInDays'],
  ['maxAgeInDays 366', 'ipAddress=1.1.1.1&maxAgeInDays=366', 'maxAgeInDays'],
  ['maxAgeInDays abc', 'ipAddress=1.1.1.1&maxAgeInDays=abc', 'maxAgeInDays'],
  ['maxAgeInDays -1', 'ipAddress=1.1.1.1&maxAgeInDays=-1', 'maxAgeInDays'],
  ['maxAgeInDays 1.5', 'ipAddress=1.1.1.1&maxAgeInDays=1.5', 'maxAgeInDays'],
  ['maxAgeInDays empty', 'ipAddress=1.1.1.1&maxAgeInDays=', 'maxAgeInDays'],
];

interface ApiErrors {
  readonly errors: readonly {
    readonly detail: string;
    readonly status: number;
    readonly source?: { readonly parameter: string };
  }[];
}

function errorOf(answer: Answer): ApiErrors['errors'][number] {
  assert.match(String(answer.headers['content-type']), /^application\/json\b/);
  const { errors, ...rest } = answer.json() as ApiErrors;
  assert.deepEqual(rest, {});
  assert.equal(errors.length, 1);
  assert.equal(errors[0]!.status, answer.status);
  assert.ok(errors[0]!.detail.length > 5);
  return errors[0]!;
}

function assertRateLimit({ headers }: Answer): void {
  for (const name of ['limit', 'remaining', 'reset']) {
    assert.match(String(headers[`x-ratelimit-${name}`]), /^\d+$/, name);
  }
  const reset = Number(headers['x-ratelimit-reset']) - Date.now() / 1_000;
  assert.ok(reset > -60 && reset < 70, `reset in ${reset} s`);
}

function assertNoRateLimit({ headers }: Answer): void {
  assert.deepEqual(
    Object.keys(headers).filter((name) => /ratelimit|retry-after/.test(name)),
    [],
  );
}

for (const threads of threadCounts) {
  describe(`check, ${threads} threads`, () => {
    let server: TestServer;
    before(async () => {
      server = await startTestServer({ threads });
    });
    after(() => server[Symbol.asyncDispose]());

    const ask = (query: string, headers: Record<string, string> = { Key: server.key }) =>
      server.fetch(`/api/v2/check${query === '' ? '' : `?${query}`}`, { headers });

    it('answers the fields that clients rely on, and nothing else', async () => {
      const answer = await ask('ipAddress=8.8.8.8');
      assert.equal(answer.status, 200);
      assert.match(String(answer.headers['content-type']), /^application\/json\b/);
      assert.equal(answer.headers['cache-control'], 'no-store');
      assertRateLimit(answer);
      const { data, ...rest } = answer.json() as { data: Record<string, unknown> };
      assert.deepEqual(rest, {});
      assert.deepEqual(
        Object.entries(data).map(([name, value]) => `${name} ${typeof value}`),
        [
          'ipAddress string',
          'abuseConfidenceScore number',
          'countryCode string',
          'isp string',
          'isAnon boolean',
          'totalReports number',
          'malicious boolean',
          'isPublic boolean',
          'ipVersion number',
          'isWhitelisted boolean',
          'usageType string',
          'domain string',
          'hostnames object',
          'isTor boolean',
          'numDistinctUsers number',
          'lastReportedAt object',
        ],
        'the fields that clients rely on: docs/API.md shows each',
      );
      assert.deepEqual(
        [data.usageType, data.domain, data.hostnames, data.lastReportedAt],
        ['Data Center/Web Hosting/Transit', 'google.com', [], null],
      );
      // On the list of known-good addresses.
      assert.deepEqual([data.isPublic, data.ipVersion, data.isWhitelisted], [true, 4, true]);
      assert.equal(
        answer.body.indexOf('{"data":{"ipAddress":"8.8.8.8","abuseConfidenceScore":0,'),
        0,
      );
      assert.equal(data.ipAddress, '8.8.8.8');
      assert.equal(data.countryCode, 'US');
      assert.match(String(data.isp), /google/i);
    });

    it('knows each demo address, in either family and spelling', async () => {
      for (const [asked, address, score, malicious, isAnon, listed] of verdicts) {
        const { lastReportedAt, ...others } = await server.check(asked);
        const expected: Partial<typeof others> = {
          ipAddress: address,
          abuseConfidenceScore: score,
          countryCode: 'ZZ',
          isp: 'Unknown',
          isAnon,
          totalReports: listed,
          malicious,
          isPublic: false,
          ipVersion: address.includes(':') ? 6 : 4,
          isWhitelisted: false,
          usageType: 'Reserved',
          domain: null,
          hostnames: [],
          isTor: isAnon,
          numDistinctUsers: listed,
        };
        for (const [name, value] of Object.entries(expected)) {
          assert.deepEqual(others[name as keyof typeof others], value, `${asked} ${name}`);
        }
        if (listed === 0) assert.equal(lastReportedAt, null, asked);
        else assert.match(String(lastReportedAt), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/);
      }
    });

    it('answers the same from every thread', async () => {
      await proveEachThread(server, '/api/v2/check', async () => {
        assert.equal((await server.check('192.0.2.61')).abuseConfidenceScore, 61);
      });
    });

    it('finds an allowlisted address harmless, and guilty again afterwards', async () => {
      await server.cliJson('allow', 'add', '192.0.2.96/27', '--reason', 'ours');
      await within(async () => !(await server.check('192.0.2.100')).malicious, 'allowed');
      const allowed = await server.check('192.0.2.100');
      assert.deepEqual([allowed.abuseConfidenceScore, allowed.isWhitelisted], [0, true]);
      await server.cliJson('allow', 'remove', '192.0.2.96/27');
      await within(async () => (await server.check('192.0.2.100')).malicious, 'removed');
    });

    it('takes the key in any case of the header and in the query', async () => {
      for (const name of ['Key', 'key', 'KEY', 'kEy']) {
        const answer = await ask('ipAddress=192.0.2.75', { [name]: server.key });
        assert.equal(answer.status, 200, name);
      }
      for (const query of ['key=@&ipAddress=192.0.2.75', 'ipAddress=192.0.2.75&key=@']) {
        assert.equal((await ask(query.replace('@', server.key), {})).status, 200);
      }
      assert.equal((await ask('ipAddress=1.1.1.1&maxAgeInDays=365')).status, 200);
      assert.equal((await ask('ipAddress=1.1.1.1&maxAgeInDays=1&unknown=x')).status, 200);
    });

    it('refuses a missing, malformed and unknown key with 401 and no rate limit', async () => {
      const unknown = `${server.key.slice(0, -1)}${server.key.endsWith('A') ? 'B' : 'A'}`;
      const keys = ['', 'pcl_', 'x'.repeat(3_000), unknown, ` ${server.key}x`];
      const answers = await Promise.all([
        ask('ipAddress=1.1.1.1', {}),
        ask('', {}),
        ask('ipAddress=1.1.1.1&key=x', {}),
        ...keys.map((key) => ask('ipAddress=1.1.1.1', { Key: key })),
      ]);
      for (const answer of answers) {
        assert.equal(answer.status, 401);
        assert.equal(errorOf(answer).detail, keyDetail);
        assertNoRateLimit(answer);
      }
    });

    it('refuses a revoked key and a disabled account with the same 401', async () => {
      const email = 'gone@portcullis.example';
      await server.cliJson('account', 'create', email);
      const { text, id } = await server.cliJson('key', 'create', email);
      const status = async () => (await ask('ipAddress=1.1.1.1', { Key: text })).status;
      await within(async () => (await status()) === 200, 'the new key');
      await server.cliJson('account', 'disable', email);
      await within(async () => (await status()) === 401, 'disabling');
      assert.equal(errorOf(await ask('ipAddress=1.1.1.1', { Key: text })).detail, keyDetail);
      await server.cliJson('account', 'enable', email);
      await within(async () => (await status()) === 200, 'enabling');
      await server.cliJson('key', 'revoke', id);
      await within(async () => (await status()) === 401, 'revoking');
    });

    it('refuses a bad parameter with 422, which costs a read', async () => {
      for (const [name, query, parameter] of invalidQueries) {
        const answer = await ask(query);
        assert.equal(answer.status, 422, `${name}: ${answer.body}`);
        const error = errorOf(answer);
        assert.equal(error.source?.parameter, parameter, name);
        if (parameter === 'maxAgeInDays') assert.equal(error.detail, maxAgeDetail);
        assertRateLimit(answer);
      }
    });

    it('counts refused parameters, and ends with 429 and Retry-After', async () => {
      const email = 'small@portcullis.example';
      await server.cliJson('account', 'create', email);
      const { text } = await server.cliJson('key', 'create', email, '--read-per-minute', '7');
      const small = (query: string) => ask(query, { Key: text });
      await within(async () => {
        const { headers } = await small('ipAddress=1.1.1.1');
        return headers['x-ratelimit-limit'] === '7';
      });
      let last = await small('ipAddress=nonsense');
      for (let tries = 0; tries < 8 && last.status !== 429; tries++) {
        assert.equal(last.status, 422);
        last = await small('ipAddress=nonsense');
      }
      assert.equal(last.status, 429);
      assertRateLimit(last);
      assert.equal(last.headers['x-ratelimit-remaining'], '0');
      const wait = Number(last.headers['retry-after']);
      assert.ok(Number.isInteger(wait) && wait >= 1 && wait <= 60, `Retry-After ${wait}`);
      assert.match(
        errorOf(last).detail,
        /^Per-minute read rate limit of 7 requests exceeded for this endpoint\. Try again in \d+ seconds\. See headers for additional details\.$/,
      );
      // One account's end is not another's.
      assert.equal((await ask('ipAddress=1.1.1.1')).status, 200);
      assert.equal((await ask('ipAddress=1.1.1.1', { Key: 'x' })).status, 401);
    });

    it('answers HEAD with the headers of GET and no body', async () => {
      const path = '/api/v2/check?ipAddress=192.0.2.75';
      const options = { headers: { Key: server.key } };
      const head = await server.fetch(path, { ...options, method: 'HEAD' });
      const get = await server.fetch(path, options);
      assert.equal(head.status, 200);
      assert.equal(head.bytes.length, 0);
      assert.equal(head.headers['content-length'], String(get.bytes.length));
      assertRateLimit(head);
      const refused = await server.fetch(path, { method: 'HEAD' });
      assert.equal(refused.status, 401);
      assert.equal(refused.bytes.length, 0);
    });

    it('refuses other methods with 405 and Allow', async () => {
      const path = '/api/v2/check?ipAddress=192.0.2.75';
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']) {
        const answer = await server.fetch(path, { method, headers: { Key: server.key } });
        assert.equal(answer.status, 405, method);
        assert.equal(answer.headers.allow, 'GET, HEAD');
        errorOf(answer);
      }
      const bulk = await server.fetch('/api/v2/check-bulk', { headers: { Key: server.key } });
      assert.equal(bulk.status, 405);
      assert.equal(bulk.headers.allow, 'POST');
      errorOf(bulk);
    });

    it('finds its path with stray slashes, and no other path', async () => {
      const paths = ['//api/v2/check', '/api/v2//check', '/api/v2/check/', '//api//v2///check//'];
      for (const path of paths) {
        const options = { headers: { Key: server.key } };
        const found = await server.fetch(`${path}?ipAddress=192.0.2.75`, options);
        assert.equal(found.status, 200, path);
        const { data } = found.json() as { data: Record<string, unknown> };
        assert.deepEqual(data, { ...(await server.check('192.0.2.75')) }, path);
        const verbose = await server.fetch(`${path}?ipAddress=192.0.2.75&verbose`, options);
        assert.equal(verbose.status, 200, path);
        const head = await server.fetch(`${path}?ipAddress=x`, { ...options, method: 'HEAD' });
        assert.equal(head.status, 422, path);
        const post = await server.fetch(path, { ...options, method: 'POST' });
        assert.equal(post.status, 405, path);
        errorOf(post);
        assert.equal((await server.fetch(`${path}?ipAddress=x`)).status, 401, path);
      }
      for (const path of ['//manifest', '//healthz', '/captcha//new', '//signin']) {
        assert.equal((await server.fetch(path)).status, 404, path);
      }
    });

    it('names the parameters that it does not know, encoded and bounded', async () => {
      const ignored = async (query: string) => {
        const answer = await ask(`ipAddress=192.0.2.75${query}`);
        assert.equal(answer.status, 200, query);
        return answer.headers['x-ignored-parameters'];
      };
      for (const more of ['', '&verbose', '&maxAgeInDays=3', `&key=${server.key}`]) {
        assert.equal(await ignored(more), undefined, more);
      }
      for (const more of ['', '&verbose']) {
        assert.equal(await ignored(`&maxAge=3${more}`), 'maxAge');
        assert.equal(await ignored(`&a%0d%0aX-Evil:%201=1${more}`), 'a%0D%0AX-Evil%3A%201');
        assert.equal(await ignored(`&a,b=1&%C3%A9=2&=3${more}`), 'a%2Cb, %C3%A9, ""');
        assert.equal(await ignored(`&${'x'.repeat(3_000)}=1${more}`), `${'x'.repeat(40)}...`);
        assert.equal(await ignored(`&__proto__=1&constructor=2${more}`), '__proto__, constructor');
        const many = Array.from({ length: 100 }, (_, i) => `n${i}=1`).join('&');
        assert.equal(await ignored(`&${many}${more}`), 'n0, n1, n2, n3, n4, n5, n6, n7, ...');
      }
    });

    it('answers unknown paths with JSON under /api/ and with a page elsewhere', async () => {
      for (const path of [
        '/api/v2/nothing',
        '/api/v2/check/x',
        '/api/',
        '/api/v3/check',
        '//api//v2/nothing/',
      ]) {
        const answer = await server.fetch(path, { headers: { Key: server.key } });
        assert.equal(answer.status, 404, path);
        errorOf(answer);
      }
      for (const path of [
        '/nothing',
        '/API/v2/check',
        '/static/nothing.css',
        '/%00',
        '/ip/1/2',
        '//docs',
      ]) {
        const answer = await server.fetch(path);
        assert.equal(answer.status, 404, path);
        assert.match(String(answer.headers['content-type']), /^text\/html\b/);
        assert.match(answer.body, /<!doctype html>/i);
        assert.ok(answer.headers['content-security-policy']);
        assert.equal(answer.headers['cache-control'], 'no-store');
      }
    });

    it('keeps what an operator sets: the quota shows in the headers', async () => {
      assert.equal((await ask('ipAddress=1.1.1.1')).headers['x-ratelimit-limit'], String(plenty));
      const shown = await server.cliJson('account', 'show', demoEmail);
      assert.equal(shown.email, demoEmail);
    });

    it('logs neither keys nor queries', () => {
      const log = server.stderr();
      assert.match(log, /"msg":"listening"/);
      assert.ok(!log.includes(server.key.split('_')[2]!), 'a key is in the log');
      assert.doesNotMatch(log, /ipAddress|192\.0\.2\.|198\.51\.100\./);
    });
  });
}
