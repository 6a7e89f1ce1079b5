/** The demo as a newcomer meets it: its mails, its one name, the numbers of its home page. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../../../src/core/clock.ts';
import { createLog } from '../../../src/core/log.ts';
import { mailSender } from '../../../src/signon/mail/mail-format.ts';
import { openOutbox } from '../../../src/signon/mail/outbox.ts';
import { freePort } from '../../support/server/free-port.ts';
import {
  demoEmail,
  type FetchOptions,
  startTestServer,
  type TestServer,
  within,
} from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';
import { openPeopleOf } from '../../support/signon/person.ts';

const hostile = '<img src=x onerror=alert(1)> <script>"\' &amp; é 漢';

describe('demo', () => {
  let server: TestServer;
  let plain: TestServer;
  let port: number;
  const host = () => ({ Host: `localhost:${port}` });
  const get = (path: string, headers: FetchOptions['headers'] = {}) =>
    server.fetch(path, { headers: { ...host(), ...headers } });

  /** The terminal alone has it. */
  const outboxPath = () =>
    /(\/outbox\/[\w-]{22})\n/.exec(server.stdout())?.[1] ?? assert.fail(server.stdout());

  before(async () => {
    port = await freePort();
    [server, plain] = await Promise.all([
      startTestServer({ env: { PORT: String(port), CLIENT_LIMITS: 'off' } }),
      startTestServer({ demo: false }),
    ]);
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    await plain[Symbol.asyncDispose]();
  });

  async function write(mail: { to: string; subject: string; text: string }): Promise<void> {
    const outbox = openOutbox({
      folder: `${server.dataDir}/outbox`,
      from: 'portcullis@localhost',
      sender: mailSender({ baseUrl: `http://localhost:${port}` }),
      clock: systemClock(),
      random: { bytes: (count) => randomBytes(count) },
      log: createLog('silent'),
      isErased: async () => false,
    });
    await outbox.mail.send({ ...mail, language: 'en' });
  }

  it('a page of an address has the number of its system, though nobody asked for a system', async () => {
    const named = async () => /AS13335/.test((await get('/ip/1.0.0.11')).body);
    await within(named, 'the table of systems', 60_000);
  });

  it('the terminal names the page of its mails', async () => {
    await within(() => server.stdout().includes('Ctrl-C'), 'the welcome');
    const said = server.stdout();
    assert.ok(said.includes(`http://localhost:${port}${outboxPath()}\n`), said);
    assert.doesNotMatch(said, /http:\/\/127/);
  });

  it('a mail is shown decoded, with its link to follow, and as text whatever it says', async () => {
    assert.ok((await get(outboxPath())).body.includes('No emails yet.'));
    const link = `http://localhost:${port}/verify?token=${'a=b'.repeat(30)}`;
    const foreign = `http://localhost:${port}.evil.example/ https://evil.example/x javascript:alert(1)`;
    const subject = `Adresse vérifiée ${hostile}`;
    await write({
      to: 'ada@mail.example',
      subject,
      text: `Bonjour é\n\n${link}\n\n${foreign} ${hostile}`,
    });
    const { status, headers, body } = await get(outboxPath());
    assert.equal(status, 200);
    assert.equal(headers['cache-control'], 'no-store');
    assert.ok(body.includes(`<a href="${link}">${link}</a>`), body);
    assert.ok(body.includes('To ada@mail.example'));
    assert.ok(
      body.includes('Adresse vérifiée &lt;img src=x onerror=alert(1)>') ||
        body.includes('Adresse vérifiée &lt;img src=x onerror=alert(1)&gt;'),
    );
    assert.ok(body.includes('漢'));
    assert.doesNotMatch(
      body,
      /<img|<script>|href="(http:\/\/localhost:\d+\.evil|https:\/\/evil|javascript)/,
    );
    const french = await get(outboxPath(), { 'Accept-Language': 'fr' });
    assert.match(french.body, />E-mails<\/span> de cette démo/);
  });

  it('the mail is shown as its reader sees it, in a frame that reaches nothing of this server', async () => {
    const subject = `Shown ${hostile}`;
    await write({ to: 'eve@mail.example', subject, text: `Hello ${hostile}` });
    const { body, headers } = await get(outboxPath());
    assert.match(String(headers['content-security-policy']), /frame-src 'self'/);
    const frames = [...body.matchAll(/<iframe.*?<\/iframe>/gs)].map(([tag]) => tag);
    assert.equal(frames.length, 1, 'the newest is open');
    assert.match(frames[0]!, /sandbox="allow-top-navigation-by-user-activation"/);
    const source = /src="([^"]+)"/.exec(frames[0]!)![1]!.replaceAll('&amp;', '&');
    const framed = await get(source);
    assert.equal(framed.status, 200);
    assert.equal(framed.headers['cache-control'], 'no-store');
    const policy = String(framed.headers['content-security-policy']);
    assert.match(policy, /^default-src 'none';/);
    assert.match(policy, /; sandbox allow-top-navigation-by-user-activation$/);
    assert.doesNotMatch(policy, /script|allow-same-origin/);
    assert.match(framed.body, /Hello &lt;img src=x/);
    assert.doesNotMatch(framed.body, /<img|<script/);
    assert.match(framed.body, />Portcullis<\/p>/, 'it is signed by a name, not by localhost');
    const lines = [...body.matchAll(/<a href="([^"]+mail=[^"]+)"[^>]*>/g)].map(([, to]) => to!);
    assert.equal(lines.length, 2);
    const older = await get(lines[1]!.replaceAll('&amp;', '&'));
    assert.match(older.body, /<h2>Adresse vérifiée/);
    assert.equal((await get(`${outboxPath()}?mail=..%2Fkeys&as=html`)).status, 404);
    const stranger = { Via: '1.1 proxy' };
    assert.equal((await get(source, stranger)).status, 404);
  });

  it('only a browser of this machine reads it', async () => {
    const strangers: Record<string, string>[] = [
      { 'X-Forwarded-For': '127.0.0.1' },
      { Forwarded: 'for=127.0.0.1' },
      { Via: '1.1 proxy' },
      { Host: 'evil.example' },
      { Host: `evil.example:${port}` },
      { Host: `localhost.evil.example:${port}` },
      { Host: `127.0.0.1.nip.io:${port}` },
      { Host: `localhost:${port}@evil.example` },
      { Host: `0.0.0.0:${port}` },
    ];
    for (const headers of strangers) {
      const answer = await get(outboxPath(), headers);
      assert.ok([400, 404].includes(answer.status), `${JSON.stringify(headers)} ${answer.status}`);
      assert.doesNotMatch(answer.body, /ada@mail|token=/);
    }
    const elsewhere = await plain.fetch(outboxPath(), { headers: { Host: 'localhost' } });
    assert.equal(elsewhere.status, 404);
  });

  it('whoever does not know its address reads no mail, also behind a proxy that adds no header', async () => {
    const name = outboxPath();
    const guesses = ['/outbox', '/outbox/', '/outbox?', `/outbox/${'A'.repeat(22)}`, '/outbox/*'];
    for (const path of [
      ...guesses,
      name.slice(0, -1),
      `${name}A`,
      `${name}/`,
      name.toUpperCase(),
    ]) {
      for (const accept of ['text/html', 'application/json', '*/*']) {
        const answer = await get(path, { Accept: accept });
        assert.equal(answer.status, 404, `${path} ${accept}`);
        assert.doesNotMatch(answer.body, /ada@mail|token=/);
      }
    }
  });

  it('no page and no file of the service tells its address', async () => {
    const secret = outboxPath().slice('/outbox/'.length);
    const paths = [
      '/',
      '/register',
      '/register/sent',
      '/recover/sent',
      '/signin',
      '/docs',
      '/docs/sign-in-button',
    ];
    for (const path of [
      ...paths,
      '/manifest',
      '/llms.txt',
      '/robots.txt',
      '/openapi.json',
      '/nothing',
    ]) {
      const { body, headers } = await get(path);
      assert.ok(!`${body}${JSON.stringify(headers)}`.includes(secret), path);
      assert.doesNotMatch(body, /href="\/outbox/, path);
    }
    assert.match((await get('/register/sent')).body, /The terminal shows the link/);
  });

  it('a page by address leads to localhost, a call of a program is answered', async () => {
    const byAddress = { Host: `127.0.0.1:${port}` };
    for (const path of ['/', '/signin?return=%2Faccount', '/docs', '/captcha/', '/ip/192.0.2.61']) {
      const { status, headers } = await get(path, byAddress);
      assert.equal(status, 307, path);
      assert.equal(headers.location, `http://localhost:${port}${path}`);
      assert.equal(headers['cache-control'], 'no-store');
    }
    assert.equal((await get('/', { Host: `[::1]:${port}` })).status, 307);
    for (const path of ['/feeds/blocklist.txt', '/captcha/new', '/healthz', '/manifest']) {
      // The first feeds of a busy machine take a while.
      await within(async () => (await get(path, byAddress)).status === 200, path);
    }
    const headers = { ...byAddress, Key: server.key };
    assert.equal((await get('/api/v2/check?ipAddress=192.0.2.61', headers)).status, 200);
    const json = { ...byAddress, Accept: 'application/json' };
    assert.equal((await get('/ip/192.0.2.61', json)).status, 200);
    for (const foreign of ['evil.example', 'localhost']) {
      assert.equal((await get('/', { Host: foreign })).status, 200, foreign);
    }
    assert.equal((await plain.fetch('/')).status, 200);
  });

  it('the sample answer and the numbers of the home page are those of a check', async () => {
    const { body } = await get('/');
    const shown = /<code[^>]*>(\{.*?\})<\/code>/s.exec(body)?.[1] ?? '';
    const answer = JSON.parse(shown.replaceAll('&quot;', '"'));
    const checked: Record<string, unknown> = { ...(await server.check(answer.data.ipAddress)) };
    for (const [name, value] of Object.entries(answer.data))
      assert.equal(value, checked[name], name);
    assert.equal(Object.keys(answer.data).length, 4);
    // Nothing was reported yet: a nought is no figure to show here, and a footnote is none either.
    assert.doesNotMatch(body, /<dd>0<|totalReports also/);
    const list = /<ul class="arrivals">(.*?)<\/ul>/s.exec(body)![1]!;
    const pairs = [...list.matchAll(/<span class="mono">([^<]+)<\/span>\s*<strong[^>]*>(\d+)</g)];
    assert.equal(pairs.length, 3);
    for (const [, address, score] of pairs) {
      assert.equal((await server.check(address!)).abuseConfidenceScore, Number(score));
    }
    const other = (await plain.fetch('/')).body;
    assert.doesNotMatch(other, /class="arrivals"/);
    assert.doesNotMatch(other, /abuseConfidenceScore/, 'an empty server has no sample');
    assert.match(other, /No list is loaded yet\./);
    assert.match(other, /href="\/admin"/);
  });
});

it('behind a proxy, where nobody has the page of its mails, the terminal names none', async () => {
  await using server = await startTestServer({ threads: 1, env: { TRUSTED_PROXIES: '127.0.0.1' } });
  await within(() => server.stdout().includes('Ctrl-C'), 'the welcome');
  assert.doesNotMatch(server.stdout(), /outbox/);
});

describe('the operator of a demo', () => {
  /** What its terminal says: where the console is, and with which address and password. */
  async function welcomeOf(server: TestServer) {
    await within(() => server.stdout().includes('Ctrl-C'), 'the welcome');
    const said = server.stdout();
    const [, email = '', password = ''] =
      /as its operator: (\S+), password (\S+)/.exec(said) ?? assert.fail(said);
    return { console: /^Console: (\S+)$/m.exec(said)?.[1] ?? assert.fail(said), email, password };
  }

  it('signs in with what the terminal shows, and is in the console without a second factor', async () => {
    await using server = await startTestServer({ threads: 1, env: { CLIENT_LIMITS: 'off' } });
    const { console, email, password } = await welcomeOf(server);
    assert.match(console, /^http:\/\/localhost:\d+\/admin$/);
    await using people = openPeopleOf(server);
    const demo = await people.signIn(email, 0, password);
    assert.equal((await demo.get('/admin/lists')).status, 200);
    const rule = { do: 'add', prefix: '192.0.2.61', reason: 'ours' };
    assert.equal((await demo.post('/admin/allow/change', rule)).status, 303);
    assert.match((await demo.get('/ip/192.0.2.61')).body, /operator-bar/);
    // A tunnel or a proxy that nobody set up.
    for (const name of ['X-Forwarded-For', 'CF-Connecting-IP']) {
      const headers = { [name]: '203.0.113.9', Cookie: demo.cookie };
      assert.equal((await server.fetch('/admin/lists', { headers })).status, 403, name);
      assert.doesNotMatch((await server.fetch('/ip/192.0.2.61', { headers })).body, /operator-bar/);
    }
  });

  it('is an operator in the demo alone', async () => {
    const directory = makeTempDir('after-demo');
    const start = { threads: 1, dataDir: directory.path };
    await (await startTestServer(start)).stop();
    await using server = await startTestServer({ ...start, demo: false });
    const [demo] = (await server.cliJson('account', 'list')) as { email: string; role: string }[];
    assert.deepEqual([demo?.email, demo?.role], [demoEmail, 'member']);
    await server.stop();
    directory.remove();
  });

  it('is asked for one where somebody else could reach the demo', async () => {
    const env = { CLIENT_LIMITS: 'off', TRUSTED_PROXIES: '127.0.0.1' };
    await using server = await startTestServer({ threads: 1, env });
    const { email, password } = await welcomeOf(server);
    await using people = openPeopleOf(server);
    const demo = await people.signIn(email, 0, password);
    const led = await demo.get('/admin/lists');
    assert.equal(led.status, 303);
    assert.equal(led.headers.location, '/account/security?return=%2Fadmin%2Flists');
  });
});
