/**
 * Reports whose comment is not sound text, and examples that people copy: an attacker's user name
 * stands in the comment, so no byte of it may suppress the report.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forFile } from '../../support/server/for-file.ts';
import { type Answer, startTestServer, within } from '../../support/server/server.ts';

const form = 'application/x-www-form-urlencoded';
const boundary = 'xyz';
const multipart = `multipart/form-data; boundary=${boundary}`;
const latin = (text: string) => Buffer.from(text, 'latin1');

/** `é` is two bytes; the first alone is none. */
const cut = '\xc3';

function part(name: string, value: string): string {
  return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
}

function multipartOf(ip: string, comment: string): Buffer {
  const fields = part('ip', ip) + part('categories', '18') + part('comment', comment);
  return latin(`${fields}--${boundary}--\r\n`);
}

const damaged: readonly (readonly [string, string, (ip: string) => Buffer, string])[] = [
  [
    'fail2ban, cut and encoded',
    form,
    (ip) => latin(`comment=user+%C3%0A...&ip=${ip}&categories=18,22`),
    'user � ...',
  ],
  [
    'raw bytes in a form',
    form,
    (ip) => latin(`ip=${ip}&categories=18&comment=user ${cut}`),
    'user �',
  ],
  ['three of four bytes', form, (ip) => latin(`ip=${ip}&categories=18&comment=%F0%9F%98`), '�'],
  [
    'a percent sign that escapes nothing',
    form,
    (ip) => latin(`ip=${ip}&categories=18&comment=100%+%zz%4&x=1`),
    '100% %zz%4',
  ],
  [
    'an escape cut in the middle',
    form,
    (ip) => latin(`ip=${ip}&categories=18&comment=a%C3%A`),
    'a�%A',
  ],
  ['a NUL', form, (ip) => latin(`ip=${ip}&categories=18&comment=ro%00ot`), 'root'],
  ['an over-long NUL', form, (ip) => latin(`ip=${ip}&categories=18&comment=a%C0%80b`), 'a��b'],
  ['half of a pair', form, (ip) => latin(`ip=${ip}&categories=18&comment=a%ED%A0%BDb`), 'a���b'],
  ['raw bytes in a multipart form', multipart, (ip) => multipartOf(ip, `user ${cut}`), 'user �'],
  ['a NUL in a multipart form', multipart, (ip) => multipartOf(ip, 'ro\0ot'), 'root'],
  [
    'raw bytes in JSON',
    'application/json',
    (ip) => latin(`{"ip":"${ip}","categories":[18],"comment":"user ${cut}"}`),
    'user �',
  ],
];

const server = forFile(await startTestServer());

describe('damaged reports', () => {
  function send(body: Uint8Array | string, type = form, query = ''): Promise<Answer> {
    const headers = { Key: server.key, 'Content-Type': type };
    return server.fetch(`/api/v2/report${query}`, { method: 'POST', headers, body });
  }
  // biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes, looked at field by field
  async function verbose(ip: string): Promise<any> {
    const path = `/api/v2/check?ipAddress=${ip}&verbose`;
    const answer = await server.fetch(path, { headers: { Key: server.key } });
    return (answer.json() as { data: unknown }).data;
  }
  const commentOf = async (ip: string) => (await verbose(ip)).reports[0]?.comment;
  const detailOf = (answer: Answer) =>
    (answer.json() as { errors: { detail: string }[] }).errors[0]!.detail;

  it('a comment is repaired, wherever it was cut', async () => {
    for (const [i, [name, type, bodyFor, comment]] of damaged.entries()) {
      const ip = `9.0.0.${i + 1}`;
      const answer = await send(bodyFor(ip), type);
      assert.equal(answer.status, 200, `${name}: ${answer.body}`);
      assert.equal(await commentOf(ip), comment, name);
    }
    const query = '?ip=9.0.1.1&categories=18,22&comment=user%C3';
    assert.equal((await send('', form, query)).status, 200);
    assert.equal(await commentOf('9.0.1.1'), 'user�');
  });

  it('in a file too, and nothing else is repaired', async () => {
    const csv = [
      'IP,Categories,ReportDate,Comment',
      `9.0.2.1,"18,22",,"user ${cut}"`,
      `9.0.2.2,18,,ro\0ot`,
      `9.0.2.3,18,,x${cut}`,
      `9.0.2.4${cut},18,,x`,
      `9.0.2.5\0,18,,x`,
      '127.0.0.1,18,,an example',
      '127.0.0.1,18,,again',
      '9.0.2.6,18,,sound',
    ].join('\n');
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="csv"; filename="r.csv"\r\n\r\n`;
    const answer = await server.fetch('/api/v2/bulk-report', {
      method: 'POST',
      headers: { Key: server.key, 'Content-Type': multipart },
      body: latin(`${head}${csv}\r\n--${boundary}--\r\n`),
    });
    assert.equal(answer.status, 200, answer.body);
    const { data } = answer.json() as {
      data: { savedReports: number; invalidReports: { rowNumber: number; error: string }[] };
    };
    assert.equal(data.savedReports, 6);
    assert.deepEqual(
      data.invalidReports.map(({ rowNumber, error }) => [rowNumber, error]),
      [
        [5, 'The row is not valid UTF-8.'],
        [6, 'The row holds a NUL character.'],
      ],
    );
    assert.equal(await commentOf('9.0.2.1'), 'user �');
    assert.equal(await commentOf('9.0.2.2'), 'root');
    assert.equal(await commentOf('9.0.2.3'), 'x�');
    for (const body of [
      `ip=9.0.3.1%C3&categories=18`,
      `ip=9.0.3.1&categories=18%C3`,
      `ip=9.0.3.1&categories=18&timestamp=%C3`,
      `ip=9.0.3.1&categories=18&ip%C3=1`,
      `ip=9.0.3.1&categories=18&x=%zz`,
      `ip=9.0.3.1%00&categories=18`,
    ]) {
      assert.equal((await send(latin(body))).status, 422, body);
    }
    assert.equal((await send(multipartOf(`9.0.3.1${cut}`, 'x'), multipart)).status, 422);
    const json = latin(`{"ip":"9.0.3.1","categories":"18","x":"${cut}"}`);
    assert.equal((await send(json, 'application/json')).status, 422);
    assert.equal((await verbose('9.0.3.1')).totalReports, 0);
  });

  it('127.0.0.1 is taken each time, costs a write, and leaves nothing', async () => {
    const left = (answer: Answer) => Number(answer.headers['x-ratelimit-remaining']);
    const body = 'ip=127.0.0.1&categories=18,22&comment=SSH%20login%20attempts.';
    let before = Number.NaN;
    // Writes of a minute ago, of the tests above, come back meanwhile: never does it cost more than one.
    let costs = 0;
    await within(async () => {
      const answer = await send(body);
      assert.equal(answer.status, 200, answer.body);
      const data = { ipAddress: '127.0.0.1', abuseConfidenceScore: 0 };
      assert.deepEqual(answer.json(), { data });
      if (left(answer) === before - 1) costs += 1;
      else assert.ok(!(left(answer) < before), `${left(answer)} of ${before}`);
      before = left(answer);
      return costs === 2;
    }, 'two of them that cost one each');
    assert.equal((await send('ip=::ffff:127.0.0.1&categories=18')).status, 200);
    const shown = await verbose('127.0.0.1');
    assert.deepEqual([shown.totalReports, shown.reports], [0, []]);
    for (const bad of [
      'ip=127.0.0.1',
      'ip=127.0.0.1&categories=99',
      'ip=127.0.0.1&categories=18&timestamp=x',
    ]) {
      assert.equal((await send(bad)).status, 422, bad);
    }
    for (const ip of ['128.0.0.0/8', '::1', '10.0.0.1']) {
      assert.equal((await send(`ip=${ip}&categories=18`)).status, 422, ip);
    }
    assert.equal((await send('ip=127.0.0.2&categories=18')).status, 429);
  });

  it('categories may be repeated, in each way that clients write lists', async () => {
    const ways = [
      'categories=18&categories=22',
      'categories[]=18&categories[]=22',
      'categories%5B0%5D=18&categories%5B1%5D=22',
      'categories=18,22&categories=18',
      'categories[]=18,22',
      'categories=22&categories[]=18',
    ];
    for (const [i, way] of ways.entries()) {
      const ip = `9.0.4.${i + 1}`;
      const answer = await (i % 2 === 0
        ? send(`ip=${ip}&${way}`)
        : send('', form, `?ip=${ip}&${way}`));
      assert.equal(answer.status, 200, `${way}: ${answer.body}`);
      assert.deepEqual((await verbose(ip)).reports[0].categories, [18, 22], way);
    }
    const parts = part('ip', '9.0.4.9') + part('categories', '22') + part('categories', '18');
    assert.equal((await send(`${parts}--${boundary}--\r\n`, multipart)).status, 200);
    assert.deepEqual((await verbose('9.0.4.9')).reports[0].categories, [18, 22]);
    const many = Array.from({ length: 31 }, () => 'categories=18').join('&');
    for (const bad of [
      'categories=18&categories=',
      'categories=18&categories=99',
      'categories[x]=18',
      many,
    ]) {
      assert.equal((await send(`ip=9.0.4.8&${bad}`)).status, 422, bad);
    }
    for (const name of ['ip', 'timestamp', 'comment', 'key']) {
      const twice = await send(`ip=9.0.4.8&categories=18&${name}=x&${name}=x`);
      assert.equal(twice.status, 422, name);
    }
  });

  it('an unencoded plus in a timestamp is one', async () => {
    const date = new Date(Date.now() - 3_600_000).toISOString().slice(0, 19);
    const ways = [
      `${date}+00:00`,
      `${date}.123+00:00`,
      `${date.slice(0, 16)}+0000`,
      `${date.replace('T', ' ')}+00:00`,
    ];
    for (const [i, timestamp] of ways.entries()) {
      const ip = `9.0.5.${i + 1}`;
      const answer = await send(`ip=${ip}&categories=18&timestamp=${timestamp}`);
      assert.equal(answer.status, 200, `${timestamp}: ${answer.body}`);
      const { reportedAt } = (await verbose(ip)).reports[0];
      assert.equal(reportedAt.slice(0, 16), date.slice(0, 16), timestamp);
    }
    for (const bad of [`${date}++00:00`, `${date}+0:00`]) {
      const answer = await send(`ip=9.0.5.9&categories=18&timestamp=${bad}`);
      assert.equal(answer.status, 422, bad);
      assert.match(detailOf(answer), /ISO 8601/);
    }
  });
});
