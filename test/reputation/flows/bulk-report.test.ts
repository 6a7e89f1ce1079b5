/** POST /api/v2/bulk-report of a whole server: good rows, bad rows, broken forms, and the price. */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openConnection } from '../../http/raw.ts';
import {
  type Answer,
  metric,
  startTestServer,
  type TestServer,
  within,
} from '../../support/server/server.ts';

const boundary = 'a-boundary';
const multipart = { 'Content-Type': `multipart/form-data; boundary=${boundary}` };
const now = new Date().toISOString();

interface Bulk {
  readonly savedReports: number;
  readonly invalidReports: { error: string; input: string; rowNumber: number }[];
}

function part(head: string, data: string): string {
  return `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${data}\r\n`;
}
const csvPart = (csv: string) => part('name="csv"; filename="report.csv"', csv);
const end = `--${boundary}--\r\n`;
const formOf = (csv: string) => csvPart(csv) + end;

describe('bulk-report', () => {
  let server: TestServer;
  /** Many writes. */
  let key = '';
  /** 50 writes a minute, set by hand: what an account begins with, but it doesn't grow. */
  let fewKey = '';
  before(async () => {
    server = await startTestServer();
    const create = async (email: string, ...more: string[]): Promise<string> => {
      await server.cliJson('account', 'create', email);
      return (await server.cliJson('key', 'create', email, ...more)).text;
    };
    key = await create('bulk@portcullis.example', '--write-per-minute', '100000');
    fewKey = await create('few@portcullis.example', '--write-per-minute', '50');
    const path = `/api/v2/check?ipAddress=8.8.8.8&key=${fewKey}`;
    await within(async () => (await server.fetch(path)).status === 200);
  });
  after(() => server[Symbol.asyncDispose]());

  const post = (
    body: string | Uint8Array,
    headers: Record<string, string> = { Key: key },
    query = '',
  ): Promise<Answer> =>
    server.fetch(`/api/v2/bulk-report${query}`, {
      method: 'POST',
      headers: { ...multipart, ...headers },
      body: typeof body === 'string' ? Buffer.from(body, 'latin1') : body,
    });
  async function bulk(csv: string): Promise<Bulk> {
    const answer = await post(formOf(csv));
    assert.equal(answer.status, 200, answer.body);
    return (answer.json() as { data: Bulk }).data;
  }
  const score = async (ip: string) => (await server.check(ip)).abuseConfidenceScore;
  const events = async () => (await metric(server, 'portcullis_journal_applied_seq')).get('')!;
  const refusal = (answer: Answer) =>
    (answer.json() as { errors: { detail: string; source?: { parameter: string } }[] }).errors[0]!;

  it('an account brings in 2,000 new addresses a day, then only known ones are taken', async () => {
    await server.cliJson('account', 'create', 'ever-new@portcullis.example');
    const quotas = ['--write-per-minute', '50'];
    const made = await server.cliJson('key', 'create', 'ever-new@portcullis.example', ...quotas);
    const own = { Key: made.text as string };
    await within(async () => {
      const path = `/api/v2/check?ipAddress=8.8.8.8&key=${own.Key}`;
      return (await server.fetch(path)).status === 200;
    });
    const report = (ip: string, headers: Record<string, string>) =>
      server.fetch(`/api/v2/report?ip=${ip}&categories=18`, { method: 'POST', headers });
    const rows = Array.from({ length: 2_000 }, (_, i) => `44.${i >> 8}.${i & 255}.1,18,,\n`);
    const answer = await post(formOf(rows.join('')), own);
    assert.equal((answer.json() as { data: Bulk }).data.savedReports, 2_000, answer.body);
    const refused = await report('44.9.9.9', own);
    assert.equal(refused.status, 429);
    assert.match(refusal(refused).detail, /2000 new addresses a day/);
    assert.equal(refusal(refused).source?.parameter, 'ip');
    const wait = Number(refused.headers['retry-after']);
    assert.ok(wait > 0 && wait <= 86_400, `${wait}`);
    assert.equal(refused.headers['x-ratelimit-limit'], '50');
    const ofBulk = await post(formOf('44.9.9.8,18,,\n'), own);
    const { savedReports, invalidReports } = (ofBulk.json() as { data: Bulk }).data;
    assert.equal(savedReports, 0);
    assert.match(invalidReports[0]!.error, /^Not saved: The limit of 2000 new addresses/);
    assert.equal((await report('44.9.9.9', { Key: key })).status, 200);
    assert.equal((await report('44.9.9.9', own)).status, 200, 'somebody else has named it');
    const counts = await metric(server, 'portcullis_reports_refused_total');
    assert.equal(counts.get('reason="address_quota_exceeded"'), 2);
    assert.equal(counts.get('reason="duplicate_report"'), undefined);
    assert.equal((await report('44.9.9.9', own)).status, 429);
    const later = await metric(server, 'portcullis_reports_refused_total');
    assert.equal(later.get('reason="duplicate_report"'), 1);
  });

  it('saves the good rows, names the bad ones, and shows the scores at once', async () => {
    assert.equal(
      (
        await server.fetch('/api/v2/report?ip=8.8.0.9&categories=18', {
          method: 'POST',
          headers: { Key: key },
        })
      ).status,
      200,
    );
    const { savedReports, invalidReports } = await bulk(
      [
        '\xef\xbb\xbfIP,Categories,ReportDate,Comment',
        `8.8.0.1,"18,22",${now},"Failed password for ""root"", twice"`,
        `8.8.0.2,18,${now},`,
        '127.0.foo.bar,18',
        '8.8.0.3,24',
        '8.8.0.3,18,2999-01-01T00:00:00Z,x',
        '8.8.0.1,18',
        '8.8.0.9,18',
        '127.0.0.2,18',
        '10.1.2.3,18',
        '127.0.0.1,18',
        '8.8.0.4\0,18,,xy',
        '8.8.0.4,18\xff,,x',
        '"8.8.0.4"x,18',
        '2A00:1450:4001:0::7,14',
        ',18',
      ].join('\r\n'),
    );
    for (const [header, name] of [
      ['ip', 'ip'],
      ['IP Address', 'ipAddress'],
    ]) {
      const { error } = (await bulk(`${header},Categories\n10.1.2.3,18\n`)).invalidReports[0]!;
      assert.match(error, new RegExp(`The ${name} lies in a range`), header);
    }
    // 127.0.0.1 counts as saved, and nothing is kept of it.
    assert.equal(savedReports, 4);
    assert.deepEqual(
      invalidReports.map(({ rowNumber, error, input }) => [
        rowNumber,
        error.split(/[:.]/)[0],
        input,
      ]),
      [
        [4, 'Invalid IP', '127.0.foo.bar'],
        [5, 'Invalid Category', '8.8.0.3'],
        [6, 'Invalid Date', '8.8.0.3'],
        [7, 'Duplicate IP', '8.8.0.1'],
        [8, 'Duplicate IP', '8.8.0.9'],
        [9, 'Duplicate IP', '127.0.0.2'],
        [10, 'Invalid IP', '10.1.2.3'],
        [12, 'The row holds a NUL character', '8.8.0.4\0,18,,xy'],
        [13, 'The row is not valid UTF-8', '8.8.0.4,18\ufffd,,x'],
        [14, 'Bad quoting', '"8.8.0.4"x,18'],
        [16, 'Invalid IP', ''],
      ],
    );
    // Of one member; a port scan alone carries no vote, since its source can be forged.
    const expected = { '8.8.0.1': 49, '8.8.0.2': 49, '2a00:1450:4001::7': 39 };
    for (const [ip, reported] of Object.entries(expected)) {
      for (let n = 0; n < 4; n++) {
        const shown = await score(ip);
        assert.ok(Math.abs(shown - reported) <= 1, `${ip}: ${shown}`);
      }
    }
    for (const ip of ['8.8.0.3', '8.8.0.4']) assert.equal(await score(ip), 0, ip);
    const page = await server.fetch('/ip/8.8.0.1');
    assert.match(page.body, /Failed password for (&quot;|")root(&quot;|"), twice/);
  });

  it('saves ten thousand rows before it answers', async () => {
    const before = await events();
    const rows = Array.from({ length: 10_000 }, (_, i) => `9.9.${i >> 8}.${i & 255},18\n`);
    const bytes = Buffer.from(formOf(rows.join('')));
    const answer = await post(bytes);
    assert.equal(answer.status, 200, answer.body);
    assert.deepEqual((answer.json() as { data: Bulk }).data, {
      savedReports: 10_000,
      invalidReports: [],
    });
    assert.equal((await events()) - before, 10_000);
    for (const i of [0, 127, 128, 9_999]) assert.ok((await score(`9.9.${i >> 8}.${i & 255}`)) > 0);
  });

  it('saves nothing of a form that is broken, cut off, doubled or too long', async () => {
    const before = await events();
    const row = `8.8.1.1,18,${now},x\n`;
    const broken: [string, string | Uint8Array, number, string | undefined][] = [
      ['no form', '', 422, 'body'],
      ['cut off in the file', csvPart(row).slice(0, -20), 422, 'body'],
      ['no end', csvPart(row), 422, 'body'],
      ['no csv', part('name="x"', row) + end, 422, 'csv'],
      ['a file of another name', part('name="x"; filename="csv"', row) + end, 422, 'csv'],
      ['an empty csv', formOf(''), 422, 'csv'],
      ['two csv', csvPart(row) + formOf(row), 422, 'csv'],
      ['too many rows', formOf(row.repeat(10_001)), 422, 'csv'],
      ['a poor header', formOf(`IP,Comment\n${row}`), 422, 'csv'],
      ['too many parts', csvPart(row) + part('name="x"', 'x').repeat(20) + end, 422, 'body'],
      ['a file over 8 MiB', formOf(`${row}${' '.repeat(8 * 1024 * 1024)}`), 413, undefined],
    ];
    for (const [name, body, status, parameter] of broken) {
      const answer = await post(body);
      assert.equal(answer.status, status, `${name}: ${answer.body}`);
      assert.equal(refusal(answer).source?.parameter, parameter, name);
      assert.match(String(answer.headers['x-ratelimit-remaining']), /^\d+$/, name);
    }
    const tooLong = await post(Buffer.alloc(9 * 1024 * 1024, 'x'));
    assert.equal(tooLong.status, 413);
    for (const type of ['text/csv', 'application/json', 'multipart/mixed; boundary=b']) {
      const answer = await post(formOf(row), { Key: key, 'Content-Type': type });
      assert.equal(answer.status, 415, type);
    }
    const repeated = await post(formOf(row), { Key: key }, '?a=1&a=2');
    assert.equal(repeated.status, 422);
    assert.equal(await events(), before);
    assert.equal(await score('8.8.1.1'), 0);
  });

  it('saves nothing for a client that leaves half-way, and goes on', async () => {
    const before = await events();
    const form = formOf(`8.8.1.2,18,${now},x\n`.repeat(2_000));
    const head = `POST /api/v2/bulk-report HTTP/1.1\r\nHost: x\r\nKey: ${key}\r\nContent-Type: ${multipart['Content-Type']}\r\nContent-Length: ${form.length}\r\n\r\n`;
    for (let n = 0; n < 6; n++) {
      const connection = openConnection(server.port);
      connection.send(head + form.slice(0, 30_000));
      await new Promise((resolve) => setTimeout(resolve, 50));
      connection.socket.destroy();
    }
    // More of them than may run at the same time: each has left its place.
    await within(async () => (await post(formOf('8.8.1.3,18\n'))).status === 200);
    assert.equal(await events(), before + 1);
    assert.equal(await score('8.8.1.2'), 0);
    assert.doesNotMatch(server.stderr(), /"level":(50|60)/);
  });

  it('takes the key from header, query, or the form before the file', async () => {
    const keyPart = part('name="key"', key);
    const good = [
      await post(formOf('8.8.2.1,18\n'), {}, `?key=${key}`),
      await post(keyPart + formOf('8.8.2.2,18\n'), {}),
    ];
    for (const answer of good) {
      assert.equal(answer.status, 200, answer.body);
      assert.equal((answer.json() as { data: Bulk }).data.savedReports, 1);
    }
    const bad = [
      await post(csvPart('8.8.2.3,18\n') + keyPart + end, {}),
      await post(part('name="key"', 'x'.repeat(2_000)) + formOf('8.8.2.3,18\n'), {}),
      await post(keyPart + formOf('8.8.2.3,18\n'), { Key: 'pcl_no' }),
      await post(formOf('8.8.2.3,18\n'), {}),
      await post('', {}),
      await post('{}', { 'Content-Type': 'application/json' }),
    ];
    for (const answer of bad) {
      assert.equal(answer.status, 401, answer.body);
      assert.equal(answer.headers['x-ratelimit-limit'], undefined);
    }
    assert.equal(await score('8.8.2.3'), 0);
    const wrong = await server.fetch('/api/v2/bulk-report', { headers: { Key: key } });
    assert.deepEqual([wrong.status, wrong.headers.allow], [405, 'POST']);
  });

  it('costs one write for each 100 rows begun, and is refused whole beyond', async () => {
    const rows = (count: number, net: number) =>
      formOf(
        Array.from({ length: count }, (_, i) => `9.${net}.${i >> 8}.${i & 255},18\n`).join(''),
      );
    const asFew = (body: string) => post(body, { Key: fewKey });
    const left = (answer: Answer) => Number(answer.headers['x-ratelimit-remaining']);
    const first = await asFew(rows(100, 10));
    assert.deepEqual([first.status, left(first)], [200, 49], first.body);
    const second = await asFew(rows(101, 11));
    assert.deepEqual([second.status, left(second)], [200, 47]);
    const broken = await asFew('x');
    assert.deepEqual([broken.status, left(broken)], [422, 46]);
    const before = await events();
    const beyond = await asFew(rows(4_601, 12));
    assert.equal(beyond.status, 429);
    assert.match(refusal(beyond).detail, /cost 47 writes; nothing was saved/);
    assert.match(String(beyond.headers['retry-after']), /^\d+$/);
    assert.equal(await events(), before);
    const rest = await asFew(rows(4_500, 13));
    assert.deepEqual([rest.status, left(rest)], [200, 0], rest.body);
    assert.equal((await asFew(rows(1, 14))).status, 429);
  });
});
