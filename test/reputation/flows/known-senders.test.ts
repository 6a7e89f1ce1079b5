/** Requests in the shapes in which known clients send reports, and the texts they look for. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forFile } from '../../support/server/for-file.ts';
import { type Answer, startTestServer } from '../../support/server/server.ts';

const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
const json = { 'Content-Type': 'application/json' };
const boundary = '------------------------d74496d66958873e';
const multipart = { 'Content-Type': `multipart/form-data; boundary=${boundary}` };

function fieldsOf(fields: Readonly<Record<string, string>>): string {
  const parts = Object.entries(fields).map(
    ([name, value]) =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return `${parts.join('')}--${boundary}--\r\n`;
}

interface Shape {
  readonly sender: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: string;
  /** Where the key is: the name of the header, or `query`. */
  readonly key: string;
}

/** `@` stands for the address: another one for each. */
const shapes: readonly Shape[] = [
  {
    sender: 'fail2ban',
    key: 'Key',
    headers: { ...form, Accept: 'application/json' },
    body: 'comment=Nov+21+host+sshd%5B1%5D%3A+Failed%0A...&ip=@&categories=18,22',
  },
  {
    sender: 'Laravel, categories as an int',
    key: 'Key',
    headers: { ...json, Accept: 'application/json', 'X-Request-Source': 'Laravel' },
    body: '{"ip":"@","categories":22,"comment":"ssh"}',
  },
  {
    sender: 'Laravel, categories as an array',
    key: 'Key',
    headers: { ...json, Accept: 'application/json' },
    body: '{"ip":"@","categories":[18,22],"comment":"ssh"}',
  },
  {
    sender: 'kristuff/abuseipdb, multipart',
    key: 'Key',
    headers: { ...multipart, Accept: 'application/json;' },
    body: fieldsOf({ ip: '@', categories: '18,22', comment: 'ssh, « déjà vu »' }),
  },
  {
    sender: 'arthur-melo/abuseipdb-client, all in the query',
    key: 'Key',
    headers: { Accept: 'application/json' },
    query: '?ip=@&categories=18%2C22&comment=ssh%20attempt',
  },
  {
    sender: 'Cortex XSOAR, all in the query, an empty form',
    key: 'key',
    headers: { ...form, accept: 'application/json', 'Content-Length': '0' },
    query: '?ip=@&categories=18,22&comment=ssh+attempt',
  },
  {
    sender: 'PHP, repeated categories',
    key: 'KEY',
    headers: form,
    body: 'ipAddress=@&categories%5B%5D=18&categories%5B%5D=22',
  },
  { sender: 'the key in the query', key: 'query', headers: form, body: 'ip=@&categories=18' },
];

const server = forFile(await startTestServer());

describe('known senders', () => {
  function send(shape: Shape, ip: string): Promise<Answer> {
    const fill = (text: string) => text.replace('@', ip);
    const inQuery = shape.key === 'query';
    const query = fill(shape.query ?? '') + (inQuery ? `?key=${server.key}` : '');
    const headers = inQuery ? shape.headers : { ...shape.headers, [shape.key]: server.key };
    return server.fetch(`/api/v2/report${query}`, {
      method: 'POST',
      headers,
      ...(shape.body === undefined ? {} : { body: fill(shape.body) }),
    });
  }
  const errorOf = (answer: Answer) =>
    (answer.json() as { errors: [{ detail: string; status: number; source?: object }] }).errors[0];

  for (const [i, shape] of shapes.entries()) {
    it(`takes a report of ${shape.sender}, and refuses it a second time`, async () => {
      const ip = `8.8.4.${i + 1}`;
      const answer = await send(shape, ip);
      assert.equal(answer.status, 200, answer.body);
      assert.match(String(answer.headers['content-type']), /^application\/json/);
      const { data } = answer.json() as { data: Record<string, unknown> };
      assert.deepEqual(Object.keys(data), ['ipAddress', 'abuseConfidenceScore']);
      assert.equal(data.ipAddress, ip);
      const { abuseConfidenceScore, totalReports } = await server.check(ip);
      assert.deepEqual([data.abuseConfidenceScore, 1], [abuseConfidenceScore, totalReports]);
      for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) {
        assert.match(String(answer.headers[name]), /^\d+$/, name);
      }
      const again = await send(shape, ip);
      assert.equal(again.status, 429);
      assert.deepEqual(errorOf(again), {
        detail: `You can only report the same IP address (\`${ip}\`) once in 15 minutes.`,
        status: 429,
        source: { parameter: 'ip' },
      });
    });
  }

  it('answers the test address, a bad key and a bad age in the words that clients match', async () => {
    const [first] = shapes;
    const test = await send(first!, '127.0.0.2');
    assert.deepEqual([test.status, errorOf(test).source], [429, { parameter: 'ip' }]);
    assert.match(
      errorOf(test).detail,
      /^You can only report the same IP address \(`127\.0\.0\.2`\)/,
    );
    assert.equal((await server.check('127.0.0.2')).abuseConfidenceScore, 0);
    for (const headers of [{}, { Key: '' }, { Key: 'x'.repeat(80) }]) {
      for (const path of ['report', 'bulk-report', 'check-block?network=8.8.8.0/24']) {
        const method = path.startsWith('check') ? 'GET' : 'POST';
        const answer = await server.fetch(`/api/v2/${path}`, { method, headers });
        assert.deepEqual(errorOf(answer), {
          detail: 'Authentication failed. Your API key is either missing, incorrect, or revoked.',
          status: 401,
        });
      }
    }
    const path = '/api/v2/check-block?network=8.8.8.0/24&maxAgeInDays=366';
    const age = await server.fetch(path, { headers: { Key: server.key } });
    assert.deepEqual(errorOf(age), {
      detail: 'The max age in days must be between 1 and 365.',
      status: 422,
      source: { parameter: 'maxAgeInDays' },
    });
  });

  it('says of a spent quota when to come back, and blames no parameter', async () => {
    let answer = await send(shapes[0]!, '127.0.0.2');
    for (let n = 0; n < 300 && errorOf(answer).source !== undefined; n++) {
      answer = await send(shapes[0]!, '127.0.0.2');
    }
    assert.equal(answer.status, 429);
    assert.match(
      errorOf(answer).detail,
      /rate limit of \d+ requests exceeded for this endpoint\. Try again in \d+ seconds\./,
    );
    assert.match(String(answer.headers['retry-after']), /^[1-9]\d*$/);
    assert.equal(answer.headers['x-ratelimit-remaining'], '0');
    assert.equal(errorOf(answer).source, undefined);
  });
});
