/** Bodies packed by gzip at every endpoint whose clients pack: agents, bouncers, reports, bulk checks. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { forFile } from '../../support/server/for-file.ts';
import { demoEmail, metricsHeaders, startTestServer, within } from '../../support/server/server.ts';

const json = { 'Content-Type': 'application/json' };
const gzip = { 'Content-Encoding': 'gzip' };
const boundary = 'a-boundary';
const multipart = { 'Content-Type': `multipart/form-data; boundary=${boundary}` };

function bulkForm(rows: number): Buffer {
  const lines = Array.from(
    { length: rows },
    (_, i) => `44.${i >>> 8}.${i & 255}.9,18,${new Date().toISOString()},"${'x'.repeat(40)}"`,
  );
  const csv = ['IP,Categories,ReportDate,Comment', ...lines].join('\n');
  const head = 'Content-Disposition: form-data; name="csv"; filename="a.csv"';
  return Buffer.from(`--${boundary}\r\n${head}\r\n\r\n${csv}\r\n--${boundary}--\r\n`);
}

const server = forFile(await startTestServer({ demo: false }));
await server.cliJson('account', 'create', demoEmail, '--standing', 'staff');
const key = (await server.cliJson('key', 'create', demoEmail)).text;
const bouncer = (await server.cliJson('bouncer', 'add', demoEmail, 'b-1')).text;
const agent = (await server.cliJson('bouncer', 'add', demoEmail, 'a-1', '--agent')).text;

describe('packed bodies', () => {
  const post = (path: string, body: string | Uint8Array, headers: Record<string, string>) =>
    server.fetch(path, { method: 'POST', body, headers });

  async function bearer(): Promise<Record<string, string>> {
    const body = gzipSync(JSON.stringify({ machine_id: 'm', password: agent, scenarios: [] }));
    const answer = await post('/v1/watchers/login', body, { ...json, ...gzip });
    assert.equal(answer.status, 200, answer.body);
    return { Authorization: `Bearer ${JSON.parse(answer.body).token}`, ...json };
  }

  const alert = (ip: string) => ({
    scenario: 'crowdsecurity/ssh-bf',
    message: 'm',
    simulated: false,
    source: { ip, scope: 'Ip', value: ip },
  });

  it('an agent logs in and sends alerts packed, under both names and in several members', async () => {
    const headers = await bearer();
    const send = (body: Uint8Array, coding: string) =>
      post('/v1/alerts', body, { ...headers, 'Content-Encoding': coding });
    assert.deepEqual((await send(gzipSync('[]'), 'gzip')).body, '[]');
    const text = JSON.stringify([alert('45.21.0.1'), alert('45.21.0.2')]);
    const answer = await send(gzipSync(text), 'x-gzip');
    assert.equal(answer.status, 201, answer.body);
    assert.ok(JSON.parse(answer.body).every((id: string) => id !== '0'));
    const halves = [text.slice(0, 30), text.slice(30)].map((half) => gzipSync(half));
    assert.equal((await send(Buffer.concat(halves), 'gzip')).status, 201);
    assert.equal((await send(Buffer.from('[]'), 'identity')).status, 201);
  });

  it('the bound of alerts counts what is unpacked, and a stranger has nothing unpacked', async () => {
    const headers = await bearer();
    const send = (text: string) => post('/v1/alerts', gzipSync(text), { ...headers, ...gzip });
    const most = `[${JSON.stringify({ events: 'x'.repeat(1_048_576 - 15) })}]`;
    assert.equal(most.length, 1_048_576);
    const fits = await send(most);
    assert.deepEqual([fits.status, fits.body], [201, '["0"]']);
    const over = await send(`${most} `);
    assert.equal(over.status, 413, over.body);
    assert.match(JSON.parse(over.body).message, /1048576 bytes once it is unpacked/);
    const bomb = gzipSync(Buffer.alloc(500_000_000));
    assert.equal((await post('/v1/alerts', bomb, { ...headers, ...gzip })).status, 413);
    const stranger = await post('/v1/alerts', bomb, { ...json, ...gzip });
    assert.equal(stranger.status, 401);
  });

  it('what is no gzip stream says so, and another coding is answered with those taken', async () => {
    const headers = await bearer();
    const cut = gzipSync('[]').subarray(0, -4);
    const broken = await post('/v1/alerts', cut, { ...headers, ...gzip });
    assert.equal(broken.status, 400, broken.body);
    assert.match(JSON.parse(broken.body).message, /no whole gzip stream/);
    for (const path of [
      '/v1/alerts',
      '/v1/usage-metrics',
      '/api/v2/report',
      '/api/v2/check-bulk',
    ]) {
      const other = { ...headers, 'Content-Encoding': 'br', Key: key };
      const answer = await post(path, 'x', other);
      assert.equal(answer.status, 415, path);
      assert.equal(answer.headers['accept-encoding'], 'gzip, identity', path);
    }
    const form = { 'Content-Type': 'application/x-www-form-urlencoded', ...gzip };
    const signIn = await post('/signin', gzipSync('a=b'), form);
    assert.equal(signIn.status, 415);
    assert.equal(signIn.headers['accept-encoding'], 'identity');
  });

  it('a bouncer says what it stopped, packed', async () => {
    const item = { name: 'dropped', unit: 'request', value: 3 };
    const component = { version: 'v1', utc_startup_timestamp: 1, metrics: [{ items: [item] }] };
    const body = JSON.stringify({ remediation_components: [component] });
    const headers = { ...json, ...gzip, 'X-Api-Key': bouncer };
    const answer = await post('/v1/usage-metrics', gzipSync(body), headers);
    assert.equal(answer.status, 201, answer.body);
    const over = await post('/v1/usage-metrics', gzipSync(Buffer.alloc(262_145)), headers);
    assert.equal(over.status, 413, over.body);
    assert.equal((await post('/v1/usage-metrics', gzipSync('x'), headers)).status, 400);
  });

  it('reports come packed as form and as JSON, with the key inside, too', async () => {
    const asForm = { 'Content-Type': 'application/x-www-form-urlencoded', ...gzip };
    const form = await post('/api/v2/report', gzipSync('ip=45.22.0.1&categories=18'), {
      ...asForm,
      Key: key,
    });
    assert.equal(form.status, 200, form.body);
    const body = JSON.stringify({ ip: '45.22.0.2', categories: '18', key });
    const inside = await post('/api/v2/report', gzipSync(body), { ...json, ...gzip });
    assert.equal(inside.status, 200, inside.body);
    const headers = { ...json, ...gzip, Key: key };
    const long = await post('/api/v2/report', gzipSync(Buffer.alloc(16_385, ' ')), headers);
    assert.equal(long.status, 413, long.body);
    const cut = await post('/api/v2/report', gzipSync(body).subarray(0, -1), headers);
    assert.equal(cut.status, 422, cut.body);
    assert.equal(JSON.parse(cut.body).errors[0].source.parameter, 'body');
  });

  it('a report is answered and counted alike, read in the front end or packed and read behind it', async () => {
    const account = 'both-ways@portcullis.example';
    await server.cliJson('account', 'create', account, '--standing', 'staff');
    const { text } = await server.cliJson('key', 'create', account);
    await within(async () => (await post('/api/v2/report', '', { Key: text })).status === 422);
    const counts = async () => {
      const { body } = await server.fetch('/metrics', { headers: metricsHeaders });
      const lines = body.split('\n').filter((line) => /_(refused|errors)_total\{/.test(line));
      return new Map(lines.map((line) => line.split(' ') as [string, string]));
    };
    const bodies = (net: number) => [
      { ip: `45.${net}.0.1`, categories: '18,22', comment: 'caf\u00e9 \u200b' },
      { ip: `45.${net}.0.1`, categories: 18 },
      { ip: `45.${net}.0.2`, categories: [99] },
      { ip: '10.0.0.1', categories: [18] },
      { ip: '127.0.0.1', categories: [18] },
      { ip: `45.${net}.0.3`, categories: 18, timestamp: '2001-01-01' },
    ];
    const wayOf = async (net: number, packed: boolean) => {
      const before = await counts();
      const answers: unknown[] = [];
      for (const body of bodies(net).map((fields) => JSON.stringify(fields))) {
        const headers = { ...json, Key: text, ...(packed ? gzip : {}) };
        const answer = await post('/api/v2/report', packed ? gzipSync(body) : body, headers);
        const { date: _date, 'x-request-id': _id, ...others } = answer.headers;
        const known = Object.keys(others).map((name) =>
          name.startsWith('x-ratelimit') ? name : [name, others[name]],
        );
        const said = answer.body.replaceAll(`45.${net}.`, '45.').replace(/"[\w-]{16,}"/g, '');
        answers.push([answer.status, known, said]);
      }
      const more = [...(await counts())].map(([name, count]) => [
        name,
        Number(count) - Number(before.get(name) ?? 0),
      ]);
      return { answers, counted: more.filter(([, count]) => count !== 0) };
    };
    const whole = await wayOf(24, true);
    assert.deepEqual(
      (whole.answers as [number][]).map(([status]) => status),
      [200, 429, 422, 422, 200, 422],
    );
    assert.ok(whole.counted.length > 1);
    assert.deepEqual(await wayOf(25, false), whole);
    const seen = await server.fetch('/api/v2/check?ipAddress=45.25.0.1', {
      headers: { Key: text },
    });
    assert.equal(JSON.parse(seen.body).data.totalReports, 1);
  });

  it('addresses are checked in bulk, packed', async () => {
    const text = Array.from({ length: 900 }, (_, i) => `9.${i >>> 8}.${i & 255}.1`).join('\n');
    const headers = { 'Content-Type': 'text/plain', ...gzip };
    const unknown = await post('/api/v2/check-bulk', gzipSync(text), headers);
    assert.equal(unknown.status, 401);
    const answer = await post('/api/v2/check-bulk', gzipSync(text), { ...headers, Key: key });
    assert.equal(answer.status, 200, answer.body.slice(0, 200));
    assert.equal(answer.body.trimEnd().split('\n').length, 900);
    const over = gzipSync(Buffer.alloc(655_361, ' '));
    assert.equal((await post('/api/v2/check-bulk', over, { ...headers, Key: key })).status, 413);
  });

  it('a file of reports comes packed, and a bomb in it ends with nothing saved', async () => {
    const headers = { ...multipart, ...gzip, Key: key };
    const form = bulkForm(1_500);
    const answer = await post('/api/v2/bulk-report', gzipSync(form), headers);
    assert.equal(answer.status, 200, answer.body);
    assert.equal(JSON.parse(answer.body).data.savedReports, 1_500);
    const cut = await post('/api/v2/bulk-report', gzipSync(form).subarray(0, -5), headers);
    assert.equal(cut.status, 422, cut.body);
    const over = Buffer.concat([form.subarray(0, 400), Buffer.alloc(9_000_000, 'x\n'), form]);
    const long = await post('/api/v2/bulk-report', gzipSync(over), headers);
    assert.equal(long.status, 413, long.body);
    const bomb = gzipSync(Buffer.alloc(200_000_000));
    const stranger = await post('/api/v2/bulk-report', bomb, { ...multipart, ...gzip });
    assert.equal(stranger.status, 401, stranger.body);
  });
});
