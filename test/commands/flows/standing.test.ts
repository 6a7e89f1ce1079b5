/**
 * Whose word counts, and who may come: what the operator says by command and by setting, seen where
 * it ends: in a score, in an answer, on a page.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mailsIn, webVisitor } from '../../support/browser/web-visitor.ts';
import { runCli, startTestServer, type TestServer, within } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const dayMs = 86_400_000;
/** The highest score that each standing reaches alone; see docs/SCORING.md. */
const newcomerMax = 49;
const oneMemberMax = 74;
const blockedFrom = 75;

type Server = Pick<TestServer, 'fetch' | 'report' | 'cliJson' | 'cli'>;

async function report(server: Server, key: string, ip: string, agoMs = 0) {
  const timestamp = new Date(Date.now() - agoMs).toISOString();
  const answer = await server.report(ip, { key, timestamp });
  assert.equal(answer.status, 200, answer.body);
}

async function scoreOf(server: Server, key: string, ip: string): Promise<number> {
  const answer = await server.fetch(`/api/v2/check?ipAddress=${ip}`, { headers: { Key: key } });
  assert.equal(answer.status, 200, answer.body);
  const { data } = answer.json() as { data: { abuseConfidenceScore: number } };
  return data.abuseConfidenceScore;
}

/** With a key that the server knows. */
async function keyFor(server: Server, email: string): Promise<string> {
  const { text } = await server.cliJson('key', 'create', email);
  await within(async () => {
    const headers = { Key: text };
    return (await server.fetch('/api/v2/check?ipAddress=9.9.9.9', { headers })).status === 200;
  }, `the key of ${email} works`);
  return text;
}

async function accountWithKey(server: Server, email: string, ...flags: string[]): Promise<string> {
  await server.cliJson('account', 'create', email, ...flags);
  return keyFor(server, email);
}

const standing = async (server: Server, email: string) =>
  (await server.cliJson('account', 'show', email)).standing;

it('account vouch: what it says holds from the next report on', async () => {
  await using server = await startTestServer({ threads: 1, demo: false });
  const email = 'sensor@example.org';
  const key = await accountWithKey(server, email, '--standing', 'newcomer');
  assert.equal(await standing(server, email), 'none');
  await report(server, key, '5.5.5.1');
  const low = await scoreOf(server, key, '5.5.5.1');
  assert.ok(low > 0 && low <= newcomerMax, `newcomer: ${low}`);

  const staff = await server.cli('account', 'vouch', email, '--staff');
  assert.equal(staff.stdout, `standing of account ${email}: staff\n`);
  assert.equal(await standing(server, email), 'staff');
  // The server learns of it by the journal.
  let next = 2;
  await within(async () => {
    const ip = `5.5.5.${next++}`;
    await report(server, key, ip);
    return (await scoreOf(server, key, ip)) >= blockedFrom;
  }, 'one report of staff blocks');

  const other = 'other@example.org';
  const second = await accountWithKey(server, other, '--standing', 'newcomer');
  for (const one of [email, other]) {
    assert.equal((await server.cli('account', 'vouch', one, '--member')).code, 0);
    assert.equal(await standing(server, one), 'member');
  }
  await within(async () => {
    const ip = `5.5.6.${next++}`;
    await report(server, key, ip);
    const alone = await scoreOf(server, key, ip);
    await report(server, second, ip);
    const both = await scoreOf(server, key, ip);
    return alone <= oneMemberMax && both >= blockedFrom;
  }, 'two members block, and one does not');

  const none = await server.cli('account', 'vouch', email, '--none');
  assert.match(none.stdout, /what it earns by its record/);
  await within(async () => {
    const ip = `5.5.7.${next++}`;
    await report(server, key, ip);
    return (await scoreOf(server, key, ip)) <= newcomerMax;
  }, 'a newcomer again');
  assert.ok((await scoreOf(server, key, '5.5.5.1')) <= newcomerMax, 'reports of before stay');

  for (const [flags, said] of [
    [[], /say one of --staff, --member and --none/],
    [['--staff', '--none'], /say one of/],
    [['--admin'], /unknown option/],
  ] as const) {
    const refused = await server.cli('account', 'vouch', email, ...flags);
    assert.equal(refused.code, 1, `${flags}`);
    assert.match(refused.stderr, said);
  }
  const nobody = await server.cli('account', 'vouch', 'nobody@example.org', '--staff');
  assert.equal(nobody.code, 1);
  assert.match(nobody.stderr, /there is no account/);
});

it('account disable: reports stay; with --since or --abuse they are taken back', async () => {
  await using server = await startTestServer({ threads: 1, demo: false });
  const thief = 'thief@example.org';
  const key = await accountWithKey(server, thief, '--standing', 'staff');
  const watcher = await accountWithKey(server, 'watcher@example.org', '--standing', 'newcomer');
  const [old, recent] = ['5.5.5.1', '5.5.5.2'];
  await report(server, key, old, 5 * dayMs);
  await report(server, key, recent);
  const look = async () => [
    (await scoreOf(server, watcher, old)) > 0,
    (await scoreOf(server, watcher, recent)) >= blockedFrom,
  ];
  assert.deepEqual(await look(), [true, true]);

  const plain = await server.cli('account', 'disable', thief);
  assert.match(plain.stdout, /is disabled; its reports stay \(--abuse takes them back\)/);
  const check = () => server.fetch('/api/v2/check?ipAddress=9.9.9.9', { headers: { Key: key } });
  await within(async () => (await check()).status === 401, 'the key is refused');
  assert.deepEqual(await look(), [true, true]);

  const bad = await server.cli('account', 'disable', thief, '--since', 'yesterday');
  assert.equal(bad.code, 1);
  assert.match(bad.stderr, /--since: It must be a date such as 2026-12-31/);

  const since = new Date(Date.now() - 2 * dayMs).toISOString().slice(0, 10);
  const part = await server.cli('account', 'disable', thief, '--since', since);
  assert.match(part.stdout, /; retracted 1 report of 1 address/);
  await within(async () => (await scoreOf(server, watcher, recent)) === 0, 'the later one is gone');
  assert.ok((await scoreOf(server, watcher, old)) > 0, 'the earlier one stays');

  const all = await server.cli('account', 'disable', thief, '--abuse');
  assert.match(all.stdout, /; retracted 1 report of 1 address/);
  await within(async () => (await scoreOf(server, watcher, old)) === 0, 'all is gone');

  assert.equal((await server.cli('account', 'enable', thief)).code, 0);
  await within(async () => (await check()).status === 200, 'the key works again');
  assert.deepEqual(await look(), [false, false], 'what was taken back stays away');
});

it('KNOWN_GOOD: reports of what it names have no effect, until a start without it', async () => {
  const directory = makeTempDir('known-good');
  const dataDir = directory.path;
  try {
    let key = '';
    const ips = ['5.5.5.9', '5.5.6.77', '2a00:5:5::1'];
    {
      const env = { KNOWN_GOOD: '5.5.5.9, 5.5.6.0/24, 2a00:5:5::/48' };
      await using server = await startTestServer({ threads: 1, demo: false, dataDir, env });
      key = await accountWithKey(server, 'staff@example.org', '--standing', 'staff');
      // It is loaded once the server listens.
      const isGood = async (ip: string) => {
        const path = `/api/v2/check?ipAddress=${encodeURIComponent(ip)}`;
        return (await server.fetch(path, { headers: { Key: key } })).body.includes(
          '"isWhitelisted":true',
        );
      };
      for (const ip of ips) await within(() => isGood(ip), `${ip} is known good`);
      for (const ip of [...ips, '5.5.7.1']) await report(server, key, ip);
      for (const ip of ips) assert.equal(await scoreOf(server, key, ip), 0, ip);
      assert.ok((await scoreOf(server, key, '5.5.7.1')) >= blockedFrom, 'and others count');
      await server.stop();
    }
    await using server = await startTestServer({ threads: 1, demo: false, dataDir });
    const fresh = await accountWithKey(server, 'other@example.org', '--standing', 'staff');
    await within(async () => {
      await report(server, fresh, '5.5.6.78').catch(() => {});
      return (await scoreOf(server, fresh, '5.5.6.78')) >= blockedFrom;
    }, 'a report counts again');
  } finally {
    directory.remove();
  }
});

it('REPUTATION: accounts of the command line are staff on a private server, members on a public one', async () => {
  const cases = [
    [{ REPUTATION: 'public' }, 'member', false],
    [{ REPUTATION: 'private' }, 'staff', true],
    // While nobody else can make an account, the server is the operator's own.
    [{ REGISTRATION: 'closed' }, 'staff', true],
    [{ REGISTRATION: 'closed', REPUTATION: 'public' }, 'member', false],
  ] as const;
  for (const [env, expected, blocks] of cases) {
    await using server = await startTestServer({ threads: 1, demo: false, env });
    const email = 'sensor@example.org';
    const key = await accountWithKey(server, email);
    assert.equal(await standing(server, email), expected, JSON.stringify(env));
    await report(server, key, '5.5.5.1');
    const score = await scoreOf(server, key, '5.5.5.1');
    assert.equal(score >= blockedFrom, blocks, `${JSON.stringify(env)}: ${score}`);
  }
});

describe('REGISTRATION=closed', () => {
  it('no way of registering is open, and accounts of the command line sign in', async () => {
    const env = { REGISTRATION: 'closed', CLIENT_LIMITS: 'off' };
    await using server = await startTestServer({ demo: false, env });
    const visitor = webVisitor(server);
    const signIn = await visitor.get('/signin');
    assert.doesNotMatch(signIn.body, /href="\/register/);
    const { csrf = '' } = Object.fromEntries(
      [...signIn.body.matchAll(/name="(csrf)" value="([^"]+)"/g)].map(([, n, v]) => [n, v]),
    );
    const email = 'person@example.org';
    for (const path of ['/register', '/register/passkey', '/register/sent']) {
      const page = await visitor.get(path);
      assert.equal(page.status, 403, path);
    }
    const fields = { csrf, email, password: 'violet-harbour-72', with: 'passkey' };
    const body = new URLSearchParams(fields).toString();
    for (const path of ['/register', '/register/passkey']) {
      assert.equal((await visitor.post(path, body)).status, 403, path);
    }
    assert.equal((await server.cli('account', 'show', email)).code, 1, 'none was made');
    const created = await server.cli('account', 'create', email, '--standing', 'newcomer');
    assert.equal(created.code, 0, created.stderr);
    // An invitation goes round all of it: its link asks for a password, and signs nobody in.
    const invited = await server.cli('account', 'invite', 'guest@example.org', '--language', 'fr');
    assert.equal(invited.code, 0, invited.stderr);
    assert.doesNotMatch(invited.stdout + invited.stderr, /token=/);
    assert.match((await server.cli('account', 'invitations')).stdout, /guest@example\.org/);
    let mail = '';
    await within(() => {
      mail = mailsIn(server).find((text) => text.includes('To: guest@example.org')) ?? '';
      return mail !== '';
    }, 'the mail');
    const link = /\/verify\?token=[\w-]+/.exec(
      mail.replaceAll(/=\r?\n/g, '').replaceAll('=3D', '='),
    )![0];
    const guest = webVisitor(server);
    const asked = await guest.get(link);
    assert.match(asked.body, /You are invited/);
    assert.match(asked.body, /guest@example\.org/);
    const weak = await guest.submit(asked, '/verify', { password: 'short' });
    assert.equal(weak.status, 422);
    const byPasskey = await guest.submit(asked, '/verify', { password: '', with: 'passkey' });
    assert.match(byPasskey.body, /data-passkey-press="create"/);
    const made = await guest.submit(asked, '/verify', { password: 'violet-harbour-72' });
    assert.match(String(made.headers.location), /^\/signin\?/);
    assert.equal((await guest.get('/account')).status, 303, 'nobody is signed in');
    assert.equal((await server.cli('account', 'withdraw', 'guest@example.org')).code, 1);
    // A first password by mail.
    const recover = await visitor.get('/recover');
    const sent = await visitor.submit(recover, '/recover', { email });
    assert.equal(sent.headers.location, '/recover/sent');
  });
});

it('without a server, too, an address gets three invitations in an hour', async () => {
  const env = { DATA_DIR: `${makeTempDir('invited').path}/data` };
  assert.equal((await runCli(['account', 'create', 'other@example.org'], env)).code, 0);
  const invite = (email: string) => runCli(['account', 'invite', email], env);
  for (let sent = 0; sent < 3; sent++) {
    const done = await invite('guest@example.org');
    assert.equal(done.code, 0, done.stderr);
  }
  const refused = await invite('guest@example.org');
  assert.equal(refused.code, 1, refused.stdout);
  assert.match(refused.stderr, /guest@example\.org had its mails of this hour/);
  assert.equal((await invite('next@example.org')).code, 0);
});
