/**
 * Registration to recovery on the whole server, by plain forms: the way of a person, and what
 * stops whoever is none. Mails are read from the outbox.
 */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { hiddenOf, mailedLink, mailsIn, webVisitor } from '../../support/browser/web-visitor.ts';
import { startTestServer, type TestServer, threadCounts } from '../../support/server/server.ts';
import { doneWay } from '../../support/signon/done-way.ts';

const password = 'violet-harbour-72';
const newPassword = 'copper-meadow-19';

for (const threads of threadCounts) {
  describe(`sign-in, ${threads} threads`, () => {
    let server: TestServer;
    before(async () => {
      server = await startTestServer({ threads, env: { CLIENT_LIMITS: 'off' }, demo: false });
    });
    after(() => server[Symbol.asyncDispose]());

    it('register, verify, sign in, recover: every session ends', { timeout: 600_000 }, async () => {
      const email = 'ada@portcullis.example';
      const ada = webVisitor(server);
      const registered = await ada.register(email, password);
      assert.equal(registered.headers.location, '/register/sent');
      // Before another is sent: links are of the browser that asked for them.
      const { pathname, search } = await mailedLink(server, email, '/verify');

      const early = webVisitor(server);
      assert.equal((await early.signIn(email, password)).headers.location, '/verify');
      const waiting = await early.get('/verify');
      assert.match(waiting.body, /ada@portcullis\.example/);
      const resent = await early.submit(waiting, '/verify/resend');
      assert.equal(doneWay(resent), '/verify?done=sent');
      const again = 'Another email is on its way';
      assert.ok((await early.get(resent.headers.location!)).body.includes(again));
      assert.ok(!(await early.get('/verify?done=sent')).body.includes(again), 'a forged mark');
      assert.equal((await early.get('/register')).headers.location, '/account');

      for (let i = 0; i < 2; i++) {
        const scanned = await webVisitor(server).get(pathname + search);
        assert.equal(scanned.status, 200, 'a scanner of mail opens it and uses nothing up');
      }
      const page = await ada.get(pathname + search);
      assert.doesNotMatch(page.body, /name="password"/);
      const mallory = webVisitor(server);
      const opened = await mallory.get(pathname + search);
      assert.match(opened.body, /name="password"/, 'another browser than the one that registered');
      const refused = await mallory.submit(opened, '/verify', { password: 'not the password' });
      assert.equal(refused.status, 422);
      const verified = await ada.submit(page, '/verify');
      assert.equal(verified.headers.location, '/account', 'signed in where it was registered');
      assert.equal((await ada.get('/account')).status, 200);
      const own = (await ada.get('/account/security')).body;
      assert.doesNotMatch(own, /class="fresh-wanted"/, 'the password was typed here just now');
      assert.equal((await ada.get(pathname + search)).status, 400, 'no button where none works');
      assert.equal((await ada.submit(page, '/verify')).status, 403, 'a form of before the sign-in');
      ada.cookies.delete('session');
      assert.equal((await ada.submit(page, '/verify')).status, 400, 'once');

      const inside = await ada.signIn(email, password);
      assert.equal(inside.status, 303);
      assert.equal(inside.headers.location, '/account');
      assert.equal((await ada.get('/signin')).headers.location, '/account');

      const stranger = webVisitor(server, { Host: 'evil.example' });
      const { csrf } = hiddenOf(await stranger.get('/recover'), '/recover');
      const asked = await stranger.post('/recover', `csrf=${csrf}&email=${email}`, {
        Origin: 'http://localhost:0',
      });
      assert.equal(asked.headers.location, '/recover/sent');
      const link = await mailedLink(server, email, '/reset');
      assert.equal(link.hostname, 'localhost', 'the Host header of the request names no link');

      const reset = webVisitor(server);
      const choose = await reset.get(link.pathname + link.search);
      const weak = await reset.submit(choose, '/reset', { password: 'password1' });
      assert.equal(weak.status, 422);
      const changed = await reset.submit(choose, '/reset', { password: newPassword });
      assert.equal(doneWay(changed), '/signin?done=reset');
      const told = 'Your password is changed';
      assert.ok((await reset.get(changed.headers.location!)).body.includes(told));
      // A link that somebody else sends says nothing.
      for (const [who, href] of [
        [stranger, changed.headers.location!],
        [reset, '/signin?done=reset'],
      ] as const) {
        const page = await who.get(href);
        assert.equal(page.status, 200, href);
        assert.ok(!page.body.includes('notice-success'), href);
      }
      assert.equal((await reset.submit(choose, '/reset', { password })).status, 400, 'once');
      assert.equal((await reset.get(link.pathname + link.search)).status, 400);

      assert.equal((await ada.get('/signin')).status, 200, 'the session is over');
      assert.equal(ada.cookies.has('session'), false, 'and its cookie taken away');
      assert.equal((await ada.signIn(email, password)).status, 422);
      assert.equal((await ada.signIn(email, newPassword)).headers.location, '/account');
    });

    it('known and unknown addresses get the same answers', { timeout: 600_000 }, async () => {
      const known = 'ada@portcullis.example';
      const unknown = 'nobody@portcullis.example';
      const shape = async (email: string) => {
        const visitor = webVisitor(server);
        const signIn = await visitor.signIn(email, 'wrong-password-8');
        const page = await visitor.get('/recover');
        const recover = await visitor.submit(page, '/recover', { email });
        const register = await visitor.register(email, password);
        return [signIn, recover, register].map(({ status, headers, body }) => ({
          status,
          location: headers.location,
          names: Object.keys(headers).sort(),
          body: body
            .replaceAll(email, '')
            .replace(/nonce="[^"]*"/g, '')
            .replace(/(value|data-csrf)="[^"]*"/g, ''),
        }));
      };
      assert.deepEqual(await shape(unknown), await shape(known));
      const link = await mailedLink(server, known, '/recover');
      assert.equal(link.search, '', 'the owner is told of the second registration');
    });

    it('sign-out ends the session', async () => {
      const visitor = webVisitor(server);
      await visitor.signIn('ada@portcullis.example', newPassword);
      const session = visitor.cookies.get('session')!;
      const inside = await visitor.get('/recover');
      assert.match(inside.body, /Signed in as ada@portcullis\.example/);
      const out = await visitor.submit(inside, '/signout');
      assert.equal(out.headers.location, '/');
      assert.equal(visitor.cookies.has('session'), false);
      visitor.cookies.set('session', session);
      assert.equal((await visitor.get('/signin')).status, 200, 'the old cookie opens nothing');
    });

    it('a sign-in leads to paths of ours alone', async () => {
      const id = 'A'.repeat(43);
      const wanted: [string, string][] = [
        ['return=%2Faccount%2Fkeys%3Fa%3D1', '/account/keys?a=1'],
        [`continue=${id}`, `/authorize.php/continue?id=${id}`],
        ['continue=https%3A%2F%2Fevil.example', '/account'],
        [`continue=${id}%0d%0aX%3A1`, '/account'],
        ['return=https%3A%2F%2Fevil.example', '/account'],
        ['return=%2F%2Fevil.example', '/account'],
        ['return=%2F%5Cevil.example', '/account'],
        ['return=%2F%09%2Fevil.example', '/account'],
        ['return=%2F..%2F%2Fevil.example', '/account'],
        ['return=%2F.%2F%2Fevil.example', '/account'],
        ['return=javascript%3Aalert(1)', '/account'],
        ['return=%2Fsignout', '/account'],
        [`return=%2F${'a'.repeat(2_000)}`, '/account'],
      ];
      for (const [query, target] of wanted) {
        const visitor = webVisitor(server);
        const page = await visitor.get(`/signin?${query}`);
        const email = 'ada@portcullis.example';
        const done = await visitor.submit(page, '/signin', { email, password: newPassword });
        assert.equal(done.headers.location, target, query);
        const forged = webVisitor(server);
        const blank = await forged.get('/signin');
        const [name, value] = query.split('=') as [string, string];
        const more = { [name]: decodeURIComponent(value), email, password: newPassword };
        const sent = await forged.submit(blank, '/signin', more);
        assert.equal(sent.headers.location, target, `${query} in the form`);
      }
    });

    it('logs hold no password, token or cookie', () => {
      const log = server.stdout() + server.stderr();
      const links = mailsIn(server).flatMap((mail) => mail.match(/token=([\w-]+)/)?.[1] ?? []);
      assert.ok(links.length > 2);
      assert.ok(!log.includes(password) && !log.includes(newPassword));
      // The outbox stands in for a mail server, and its links are logged for whoever tries it out.
      const rest = log
        .split('\n')
        .filter((line) => !line.includes('mail written to outbox'))
        .join('\n');
      for (const token of links) assert.ok(!rest.includes(token));
      assert.ok(!/session=|__Host-|\$argon2/.test(log));
    });
  });
}

describe('forms from elsewhere', () => {
  let server: TestServer;
  const email = 'demo@portcullis.example';
  before(async () => {
    server = await startTestServer({ threads: 1, env: { CLIENT_LIMITS: 'off' } });
  });
  after(() => server[Symbol.asyncDispose]());

  const demoPassword = () => /password (\S+)/.exec(server.stdout())![1]!;

  it('the demo account signs in with the password that was printed', async () => {
    const done = await webVisitor(server).signIn(email, demoPassword());
    assert.equal(done.headers.location, '/account');
  });

  it('a form without a token, with another one, or from another site does nothing', async () => {
    const mine = webVisitor(server);
    const page = await mine.get('/signin');
    const other = webVisitor(server);
    const foreign = hiddenOf(await other.get('/signin'), '/signin').csrf!;
    const own = hiddenOf(page, '/signin').csrf!;
    const body = (csrf: string) =>
      new URLSearchParams({ email, password: demoPassword(), ...(csrf && { csrf }) }).toString();
    const refused: [string, string, Record<string, string>][] = [
      ['no token', body(''), {}],
      ["another visitor's token", body(foreign), {}],
      ['a longer token', body(`${own}A`), {}],
      ['cross-site', body(own), { 'Sec-Fetch-Site': 'cross-site', Origin: 'https://evil.example' }],
      ['another origin', body(own), { Origin: 'https://evil.example' }],
      ['null origin', body(own), { Origin: 'null' }],
      ['same-site', body(own), { 'Sec-Fetch-Site': 'same-site' }],
      ['another port', body(own), { Origin: 'http://127.0.0.1:1' }],
    ];
    for (const [what, sent, headers] of refused) {
      const answer = await mine.post('/signin', sent, headers);
      assert.equal(answer.status, 403, what);
      assert.equal(mine.cookies.has('session'), false, what);
    }
    mine.cookies.delete('form');
    assert.equal((await mine.post('/signin', body(own))).status, 403, 'its cookie is gone');
  });

  it('the token of one session is no good in another, nor after sign-out', async () => {
    const one = webVisitor(server);
    const two = webVisitor(server);
    await one.signIn(email, demoPassword());
    await two.signIn(email, demoPassword());
    const { csrf } = hiddenOf(await one.get('/recover'), '/signout');
    assert.equal((await two.post('/signout', `csrf=${csrf}`)).status, 403);
    assert.equal((await one.post('/signout', `csrf=${csrf}`)).headers.location, '/');
    assert.equal((await one.post('/signout', `csrf=${csrf}`)).headers.location, '/signin');
  });

  it('damaged forms are refused', async () => {
    const visitor = webVisitor(server);
    const page = await visitor.get('/signin');
    const { csrf } = hiddenOf(page, '/signin');
    const base = `csrf=${csrf}&email=${email}`;
    const cases: [string, number][] = [
      [`${base}&email=b%40c.example&password=x`, 400],
      [`${base}&csrf=${csrf}&password=x`, 400],
      [`${base}&password=%00aaaaaaaa`, 400],
      [`${base}&password=%ff%fe`, 400],
      [`${base}&password=%zz`, 400],
      [`${base}&password=`, 422],
      [base, 422],
      [`${base}&password=${'a'.repeat(2_000)}`, 422],
      [`${base}&password=${'a'.repeat(70_000)}`, 413],
      [
        `${base}&${'a=&'.repeat(1)}${Array.from({ length: 300 }, (_, i) => `f${i}=1`).join('&')}`,
        400,
      ],
      [`csrf=${csrf}&email=${'a'.repeat(5_000)}&password=12345678`, 422],
    ];
    for (const [body, status] of cases) {
      const answer = await visitor.post('/signin', body);
      assert.equal(answer.status, status, body.slice(0, 120));
    }
    const type = { 'Content-Type': 'application/json' };
    assert.equal((await visitor.post('/signin', '{}', type)).status, 415);
    assert.equal((await visitor.post('/register', base)).status, 422);
    assert.equal((await visitor.post('/recover', `csrf=${csrf}&email=x`)).status, 422);
    assert.equal(
      (await visitor.post('/verify', `csrf=${csrf}&token=${'A'.repeat(43)}`)).status,
      400,
    );
    assert.equal((await visitor.post('/reset', `csrf=${csrf}&token=x`)).status, 400);
    assert.equal((await visitor.get('/reset?token=a&token=b')).status, 400);
    assert.equal((await visitor.get('/signout')).headers.location, '/');
    assert.equal((await visitor.get('/signin?hint=%3Cscript%3E')).body.includes('<script>'), false);
  });

  it('cookies can be neither read by scripts nor sent by other sites', async () => {
    const visitor = webVisitor(server);
    const done = await visitor.signIn(email, demoPassword());
    const lines = done.headers['set-cookie'] ?? [];
    assert.equal(lines.length, 2);
    for (const line of lines) assert.match(line, /; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+$/);
    assert.equal(done.headers['cache-control'], 'no-store');
    const page = await visitor.get('/recover');
    const policy = page.headers['content-security-policy'] as string;
    for (const part of ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'"]) {
      assert.ok(policy.includes(part), policy);
    }
    const signIn = await webVisitor(server).get('/signin');
    assert.ok(!signIn.headers['content-security-policy']!.includes('form-action'));
    assert.equal(signIn.headers['referrer-policy'], 'same-origin');
  });
});

it('over https cookies belong to this host alone', async () => {
  const env = { BASE_URL: 'https://sign-on.example' };
  await using server = await startTestServer({ threads: 1, env, demo: false });
  const page = await server.fetch('/signin');
  const [line] = page.headers['set-cookie'] ?? [];
  assert.match(line ?? '', /^__Host-form=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
});

it('sign-in and registration are limited per client', { timeout: 600_000 }, async () => {
  await using server = await startTestServer({ threads: 1, demo: false });
  const visitor = webVisitor(server);
  const page = await visitor.get('/recover');
  for (let i = 0; i < 10; i++) {
    const answer = await visitor.submit(page, '/recover', { email: `p${i}@portcullis.example` });
    assert.equal(answer.status, 303, `attempt ${i}`);
  }
  const refused = await visitor.submit(page, '/recover', { email: 'p@portcullis.example' });
  assert.equal(refused.status, 429);
  assert.ok(Number(refused.headers['retry-after']) > 0);
  assert.match(refused.body, /too many attempts/);
  for (let i = 0; i < 5; i++) {
    const done = await visitor.register(`r${i}@portcullis.example`, password);
    assert.equal(done.status, 303, `registration ${i}`);
  }
  const sixth = await visitor.register('r@portcullis.example', password);
  assert.equal(sixth.status, 429);
  assert.ok(Number(sixth.headers['retry-after']) > 60);
});
