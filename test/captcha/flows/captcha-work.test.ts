/**
 * Silent challenges on the whole server: a solution is good once, for many requests at once, for a process
 * beside it, and after kill -9; forms of our own take it in place of the picture.
 */

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { hiddenOf, webVisitor } from '../../support/browser/web-visitor.ts';
import { siteOrigin as origin } from '../../support/captcha/beside.ts';
import { payloadOf, solve } from '../../support/captcha/solution.ts';
import { demoEmail, startTestServer, type TestServer } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const directory = makeTempDir('captcha-work');
const options = { threads: 3, dataDir: directory.path, env: { TRUSTED_PROXIES: '127.0.0.1' } };
let server: TestServer;
let siteKey = '';
before(async () => {
  server = await startTestServer(options);
  siteKey = (await server.cliJson('sitekey', 'create', demoEmail)).id as string;
});
after(async () => {
  await server?.[Symbol.asyncDispose]();
  directory.remove();
});

const from = (clientIp: string) => ({ Origin: origin, 'X-Forwarded-For': clientIp });

async function solved(
  query = `sitekey=${siteKey}`,
  clientIp = '45.60.0.1',
  path = '/captcha/start',
) {
  const answer = await server.fetch(`${path}?${query}`, { headers: from(clientIp) });
  const { level, work } = answer.json() as { level: string; work?: unknown };
  assert.equal(level, 'silent', answer.body);
  return payloadOf(await solve(work));
}

async function send(work: string, clientIp = '45.60.0.1') {
  const answer = await server.fetch('/captcha/work', {
    method: 'POST',
    headers: { ...from(clientIp), 'Content-Type': 'application/json' },
    body: JSON.stringify({ work, sitekey: siteKey }),
  });
  return answer.json() as { ok: boolean; receipt?: string };
}

it('a solution is taken once, of fifty requests at once, and its receipt tells the level', async () => {
  const work = await solved();
  const answers = await Promise.all(Array.from({ length: 50 }, () => send(work)));
  const good = answers.filter(({ ok }) => ok);
  assert.equal(good.length, 1);
  const redeemed = await server.fetch('/captcha/receipt', {
    method: 'POST',
    headers: { Key: server.key, 'Content-Type': 'application/json' },
    body: JSON.stringify({ receipt: good[0]!.receipt, sitekey: siteKey }),
  });
  const { ok, level, solved: isSolved } = redeemed.json() as Record<string, unknown>;
  assert.deepEqual({ ok, level, isSolved }, { ok: true, level: 'silent', isSolved: false });
});

it('kill -9 makes no used solution good again, and keeps one that was not used', async () => {
  const [used, unused] = [await solved(), await solved()];
  assert.equal((await send(used)).ok, true);
  await server.kill();
  server = await startTestServer(options);
  assert.deepEqual(await send(used), { ok: false });
  assert.equal((await send(unused)).ok, true);
  assert.deepEqual(await send(unused), { ok: false });
});

it('a report takes the work in place of the picture, once', async () => {
  const client = '45.62.0.1';
  const visitor = webVisitor(server, { 'X-Forwarded-For': client });
  const page = await visitor.get('/report?address=198.51.100.7');
  assert.match(String(page.headers['content-security-policy']), /worker-src 'self'/);
  const { csrf } = hiddenOf(page, '/report');
  const captcha_work = await solved('', client);
  const report = (work: string) => {
    const fields = { csrf: csrf!, address: '198.51.100.7', categories: '18', captcha_work: work };
    return visitor.post('/report', new URLSearchParams(fields).toString());
  };
  assert.equal((await report('x')).status, 422);
  const sent = await report(captcha_work);
  assert.equal(sent.status, 200, sent.body.slice(0, 300));
  assert.equal((await report(captcha_work)).status, 422, 'used');
  const ofSite = await solved(`sitekey=${siteKey}`, client);
  assert.equal((await report(ofSite)).status, 422, 'for a site');
  const elsewhere = await solved('', '45.63.0.1');
  assert.equal((await report(elsewhere)).status, 422, 'of another network');
});

it('the gate takes it too, under the host of the site', async () => {
  const client = '45.64.0.1';
  const work = await solved('', client, '/.portcullis/start');
  const answer = (captcha_work: string) =>
    server.fetch('/.portcullis/challenge', {
      method: 'POST',
      headers: {
        ...from(client),
        'X-Forwarded-Host': 'shop.example',
        'Content-Type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams({ rd: '/cart', captcha_work }).toString(),
    });
  const passed = await answer(work);
  assert.equal(passed.status, 303, passed.body.slice(0, 300));
  assert.equal(passed.headers.location, '/cart');
  assert.ok(passed.headers['set-cookie']);
  assert.equal((await answer(work)).status, 403, 'used');
});
