/** The forms about an address: a request for removal with the operator's queue, and a report by hand. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { hiddenOf, type WebVisitor, webVisitor } from '../../support/browser/web-visitor.ts';
import { solveGif } from '../../support/captcha/solver.ts';
import { forFile } from '../../support/server/for-file.ts';
import { startTestServer, within } from '../../support/server/server.ts';
import { openPeopleOf, personPassword } from '../../support/signon/person.ts';

const email = 'reporter@example.org';
const address = '45.30.0.7';
const other = '45.30.0.8';
const reason = 'The machine <b>was</b> cleaned,\nsee our ticket.';

const env = { TRUSTED_PROXIES: '127.0.0.1', CLIENT_LIMITS: 'off' };
const server = forFile(await startTestServer({ threads: 1, demo: false, env }));
const people = forFile(openPeopleOf(server));
await people.register(email);
const person = webVisitor(server);
await person.signIn(email, personPassword);

async function summary(ip: string) {
  const answer = await server.fetch(`/ip/${ip}`, { headers: { Accept: 'application/json' } });
  return (answer.json() as { data: { totalReports: number; abuseConfidenceScore: number } }).data;
}

it('a report by hand wants an account with a key, and counts at once', async () => {
  const form = (await person.get(`/report?address=${address}`)).body;
  assert.match(form, /href="\/account\/keys"/);
  const offered = [...form.matchAll(/name="categories" value="(\d+)"/g)].map(([, one]) =>
    Number(one),
  );
  assert.equal(offered[0], 22, 'the most common one comes first');
  assert.deepEqual(
    offered.toSorted((one, other) => one - other),
    Array.from({ length: 23 }, (_, i) => i + 1),
  );
  await server.cliJson('key', 'create', email);
  const page = await (async () => {
    let found = await person.get(`/report?address=${address}`);
    await within(async () => {
      found = await person.get(`/report?address=${address}`);
      return !found.body.includes('href="/account/keys"');
    }, 'the key');
    return found;
  })();
  const fields = hiddenOf(page, '/report');
  const none = await person.post('/report', new URLSearchParams(fields).toString());
  assert.equal(none.status, 422);
  assert.match(none.body, /Choose at least one/);
  const body = new URLSearchParams({ ...fields, comment: 'knocked at the gate' });
  for (const category of ['18', '22']) body.append('categories', category);
  const sent = await person.post('/report', body.toString());
  assert.deepEqual([sent.status, sent.headers.location], [303, `/ip/${address}`]);
  assert.equal((await summary(address)).totalReports, 1);
  const shown = (await server.fetch(`/ip/${address}`)).body;
  for (const text of ['knocked at the gate', 'SSH', `/removal?address=${address}`]) {
    assert.ok(shown.includes(text), text);
  }
  const again = await person.post('/report', body.toString());
  assert.match(again.body, /only report the same IP address/);
  for (const bad of ['', 'x', '10.0.0.1', '192.0.2.1']) {
    // The look-up has a field for the address, and says what is wrong with it.
    const lookUp = bad === '' ? '/ip' : `/ip?address=${bad}`;
    for (const form of ['/report', '/removal']) {
      const { status, headers } = await person.get(`${form}?address=${bad}`);
      assert.deepEqual([status, headers.location], [303, lookUp]);
    }
  }
});

/** Sends a form with the challenge of its page. The solver misreads one in ten. */
async function solves(visitor: WebVisitor, form: '/removal' | '/report', ip: string, said: string) {
  for (let i = 0; ; i++) {
    const page = await visitor.get(`${form}?address=${ip}`);
    const hidden = hiddenOf(page, form);
    const picture = await server.fetch(`/captcha/img/${hidden.captcha_token}.gif`);
    const { word } = solveGif(new Uint8Array(picture.bytes));
    const all = new URLSearchParams({ ...hidden, captcha_answer: word });
    const sent = await visitor.post(form, `${all}&${said}`);
    if (sent.status !== 422 || i === 8) return sent;
  }
}

it('a report without an account is a tip that changes nothing, and a page tells of both', async () => {
  const stranger = webVisitor(server, { 'X-Forwarded-For': '45.31.0.9' });
  const path = `/report?address=${address}`;
  const page = await stranger.get(path);
  assert.equal(page.status, 200);
  assert.match(page.body, /href="\/signin\?return=%2Freport%3Faddress%3D45\.30\.0\.7"/);
  const bad = new URLSearchParams({ ...hiddenOf(page, '/report'), comment: 'a "quoted" <line>' });
  const none = await stranger.post('/report', bad.toString());
  assert.equal(none.status, 422);
  assert.match(none.body, /Choose at least one.*a .{1,6}quoted.{1,6} &lt;line/s);
  const wrong = await stranger.submit(await stranger.get(path), '/report', {
    categories: '18',
    captcha_answer: 'wrong',
  });
  assert.equal(wrong.status, 422);
  assert.match(wrong.body, /value="18" checked/);
  assert.deepEqual(await server.cliJson('tips', 'list'), []);
  const before = await summary(address);
  const said = 'categories=18&categories=22&comment=scans';
  const sent = await solves(stranger, '/report', address, said);
  assert.equal(sent.status, 200, sent.body.slice(0, 500));
  assert.match(sent.body, /The operator will read it/);
  assert.match(sent.body, /Open the address’s page/);
  assert.match(sent.body, /href="\/connect\/fail2ban"/);
  // The first one stays.
  const again = await solves(stranger, '/report', address, 'categories=4&comment=others');
  assert.equal(again.status, 200);
  const [tip, ...others] = await server.cliJson('tips', 'list');
  assert.deepEqual(others, []);
  assert.deepEqual({ ...tip, at: '' }, { address, at: '', categories: [18, 22], comment: 'scans' });
  assert.deepEqual(await summary(address), before);
  assert.deepEqual(await server.cliJson('tips', 'remove', address), { address });
  const twice = await server.cli('tips', 'remove', address);
  assert.deepEqual([twice.code, /nothing waits for/.test(twice.stderr)], [1, true]);
});

it('nobody asks to remove what is not said', async () => {
  const path = '/removal?address=45.30.9.9';
  const page = await person.get(path);
  assert.match(page.body, /No list or report names this address/);
  const { csrf } = hiddenOf(await person.get('/account'), '/signout');
  const form = new URLSearchParams({ csrf: csrf!, address: '45.30.9.9', reason });
  assert.match((await person.post('/removal', form.toString())).body, /No list or report names/);
  assert.deepEqual(await server.cliJson('removals', 'list'), []);
});

it('who is signed in asks without a challenge, and the operator accepts', async () => {
  const page = await person.get(`/removal?address=${address}`);
  assert.doesNotMatch(page.body, /captcha_token/);
  const short = await person.submit(page, '/removal', { reason: 'short' });
  assert.equal(short.status, 422);
  assert.match(short.body, /Write 10 to 1000 characters/);
  const sent = await person.submit(page, '/removal', { reason });
  assert.deepEqual([sent.status, sent.headers.location], [303, `/removal?address=${address}`]);
  assert.match(
    (await person.get(`/removal?address=${address}`)).body,
    /You asked on [^<]+\. If the operator agrees, the address’s page will show it\./,
  );
  const [open, ...others] = await server.cliJson('removals', 'list');
  assert.deepEqual(others, []);
  const { at, ...rest } = open;
  assert.match(at, /^\d{4}-/);
  assert.deepEqual(rest, {
    address,
    reason: 'The machine <b>was</b> cleaned, see our ticket.',
    fromAddress: false,
    signedIn: true,
  });
  const done = await server.cliJson('removals', 'accept', address);
  assert.deepEqual(done, { address, removed: 1, allowed: false });
  await within(async () => (await summary(address)).totalReports === 0, 'the report is gone');
  assert.deepEqual(await server.cliJson('removals', 'list'), []);
  const twice = await server.cli('removals', 'accept', address);
  assert.deepEqual([twice.code, /there is no request/.test(twice.stderr)], [1, true]);
});

it('others solve a challenge; from the address itself is noted, and a refusal changes nothing', async () => {
  const fields = hiddenOf(await person.get(`/report?address=${other}`), '/report');
  const body = new URLSearchParams({ ...fields, categories: '18' }).toString();
  assert.equal((await person.post('/report', body)).status, 303);
  const before = await person.submit(await person.get(`/removal?address=${other}`), '/removal', {
    reason: 'Somebody who has an account asks.',
  });
  assert.equal(before.status, 303);
  const visitor = webVisitor(server, { 'X-Forwarded-For': other });
  const path = `/removal?address=${other}`;
  const wrong = await visitor.submit(await visitor.get(path), '/removal', {
    reason,
    captcha_answer: 'wrong',
  });
  assert.equal(wrong.status, 422);
  assert.equal((await server.cliJson('removals', 'list'))[0].signedIn, true, 'as it was');
  const said = new URLSearchParams({ reason }).toString();
  const sent = await solves(visitor, '/removal', other, said);
  assert.equal(sent.status, 303, sent.body.slice(0, 500));
  const [open] = await server.cliJson('removals', 'list');
  assert.deepEqual([open.fromAddress, open.signedIn], [true, false]);
  // Somebody else is told that it was asked for, signed in or not, and can't ask in its place.
  assert.match((await person.get(path)).body, /You asked on/);
  assert.deepEqual(await server.cliJson('removals', 'refuse', other), { address: other });
  assert.deepEqual(await server.cliJson('removals', 'list'), []);
  assert.doesNotMatch((await visitor.get(path)).body, /You asked on/);
});
