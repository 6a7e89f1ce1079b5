/**
 * Silent challenges on the whole server: a solution is good once, for many requests at once, for a process
 * beside it, and after kill -9; forms of our own take it in place of the picture.
 */

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { hiddenOf, webVisitor } from '../../support/browser/web-visitor.ts';
import { knownSolution } from '../../support/captcha/answers.ts';
import { siteOrigin as origin } from '../../support/captcha/beside.ts';
import { payloadOf, solve } from '../../support/captcha/solution.ts';
import { demoEmail, startTestServer, type TestServer } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';
import { openPeople, password } from '../../support/signon/visitor.ts';

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

async function asked(
  query = `sitekey=${siteKey}`,
  clientIp = '45.60.0.1',
  path = '/captcha/start',
) {
  const answer = await server.fetch(`${path}?${query}`, { headers: from(clientIp) });
  const { level, work } = answer.json() as { level: string; work?: unknown };
  assert.equal(level, 'silent', answer.body);
  return work;
}

/** Found by the server that made the challenge: the search takes a second. */
const solved = async (...of: Parameters<typeof asked>) =>
  payloadOf(knownSolution(await asked(...of)));

async function send(work: string, clientIp = '45.60.0.1') {
  const answer = await server.fetch('/captcha/work', {
    method: 'POST',
    headers: { ...from(clientIp), 'Content-Type': 'application/json' },
    body: JSON.stringify({ work, sitekey: siteKey }),
  });
  return answer.json() as { ok: boolean; receipt?: string };
}

it('a solution is taken once, of fifty requests at once, and its receipt tells the level', async () => {
  const work = payloadOf(await solve(await asked()));
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

it('work for a site key that asks for more by now brings that level, and no receipt', async () => {
  const work = await solved();
  const level = (of: string) => server.cliJson('sitekey', 'set', siteKey, '--level', of);
  await level('hard');
  assert.deepEqual(await send(work), { ok: false, level: 'hard' });
  await level('silent');
  assert.deepEqual(await send(work), { ok: false }, 'it was used');
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
  const report = (captcha_work: string) => {
    const rest = { address: '198.51.100.7', categories: '18', comment: 'knocked at the gate' };
    const fields = { csrf: csrf!, ...rest, captcha_work };
    return visitor.post('/report', new URLSearchParams(fields).toString());
  };
  const failed = await report('x');
  assert.equal(failed.status, 422);
  assert.match(failed.body, /knocked at the gate/, 'all that was typed is kept');
  assert.match(failed.body, /captcha_token"[^>]*><div class="challenge-panel">/);
  assert.match(failed.body, /Wrong or too late/, 'no word was typed');
  const sent = await report(captcha_work);
  assert.equal(sent.status, 200, sent.body.slice(0, 300));
  assert.equal((await report(captcha_work)).status, 422, 'used');
  const ofSite = await solved(`sitekey=${siteKey}`, client);
  assert.equal((await report(ofSite)).status, 422, 'for a site');
  const elsewhere = await solved('', '45.63.0.1');
  assert.equal((await report(elsewhere)).status, 422, 'of another network');
  const ofSignIn = await solved('for=sign-in', client);
  assert.equal((await report(ofSignIn)).status, 422, 'for a sign-in');
  const { challenge } = JSON.parse(Buffer.from(ofSignIn, 'base64').toString());
  assert.equal(challenge.parameters.data.site, 'sign-in', 'a node of before looks at no more');
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
  const used = await answer(work);
  assert.equal(used.status, 403);
  assert.match(used.body, /Wrong or too late/);
});

it('at a malicious address a sign-in asks strangers for a picture, and its owner’s browser for work or nothing', async () => {
  const email = 'traveller@portcullis.example';
  const people = openPeople(server);
  await people.add(email);
  await people[Symbol.asyncDispose]();
  const bad = '198.51.100.7';
  assert.equal((await server.check(bad)).malicious, true);
  const limited = async (visitor: ReturnType<typeof webVisitor>) => {
    for (let i = 0; i < 9; i++) {
      const answer = await visitor.signIn(email, `wrong-guess-${i}`);
      if (answer.status === 429) return answer;
      assert.equal(answer.status, 422);
    }
    throw new Error('it is never limited');
  };
  const owner = webVisitor(server, { 'X-Forwarded-For': '45.65.0.1' });
  assert.equal((await owner.signIn(email, password)).status, 303);
  const away = webVisitor(server, { 'X-Forwarded-For': bad });
  for (const [name, value] of owner.cookies) away.cookies.set(name, value);
  const stranger = webVisitor(server, { 'X-Forwarded-For': bad });
  const asked = await limited(stranger);
  assert.match(asked.body, /data-level="hard"/);
  assert.doesNotMatch(asked.body, /captcha_beside/);
  const another = await stranger.submit(asked, '/signin', { email, captcha_new: '1' });
  assert.equal(another.status, 200);
  assert.match(another.body, /name="captcha_token" value="[\w-]{48}"/);
  assert.match(another.body, /value="traveller@portcullis\.example"/);
  assert.doesNotMatch(another.body, /has-error/);
  const work = () => solved('for=sign-in', bad);
  // The password is wrong, for the wait may be over by now.
  const fields = { email, password: 'wrong-guess-9' };
  const forged = { ...fields, captcha_token: '', captcha_work: await work() };
  const refused = await stranger.submit(asked, '/signin', forged);
  assert.match(refused.body, /captcha-image/);
  const beside = await stranger.submit(asked, '/signin', { ...fields, captcha_beside: '1' });
  assert.notEqual(beside.status, 303, 'nor is the button good for strangers');
  const known = await limited(away);
  assert.match(known.body, /data-level="silent"/);
  assert.doesNotMatch(known.body, /captcha_token|captcha-image/);
  const unscripted = await away.submit(known, '/signin', { ...fields, captcha_work: '' });
  assert.doesNotMatch(unscripted.body, /Wrong or too late/, 'nothing was answered');
  const again = await away.submit(known, '/signin', { ...fields, captcha_work: 'x' });
  assert.doesNotMatch(again.body, /captcha-image/, 'work that fails opens no picture');
  const right = { email, password, captcha_work: await work() };
  const done = await away.submit(known, '/signin', right);
  assert.equal(done.status, 303, done.body.slice(0, 300));
});
