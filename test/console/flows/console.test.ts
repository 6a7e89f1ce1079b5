/** The operators' console on a whole server: who gets in, what it changes, and what the audit log says. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { endpoints } from '../../../src/app/modules.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { accountReportsPerPage } from '../../../src/reputation/reports/store/account-reports.ts';
import { createAnonymousReports, createRemovals } from '../../../src/reputation/requests/queue.ts';
import { startTestServer, type TestServer, within } from '../../support/server/server.ts';
import { isShared } from '../../support/server/shared-store.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';
import { totpOn } from '../../support/signon/factors.ts';
import {
  type OwnBrowser,
  openPeopleOf,
  outboxOf,
  type People,
} from '../../support/signon/person.ts';

const operator = 'operator@example.org';
const member = 'member@example.org';

let server: TestServer;
let people: People;
let backups: ReturnType<typeof makeTempDir>;
let ada: OwnBrowser;
let adaId: string;
before(async () => {
  backups = makeTempDir('console-backups');
  // Of an hour ago, so that none is made now.
  const hourAgo = new Date(Date.now() - 3_600_000).toISOString().replace(/[-:]/g, '');
  writeFileSync(join(backups.path, `portcullis-${hourAgo}.backup`), '');
  const env = { CLIENT_LIMITS: 'off', ...(!isShared && { BACKUP_FOLDER: backups.path }) };
  server = await startTestServer({ threads: 1, demo: false, env });
  people = openPeopleOf(server);
  adaId = await people.register(operator);
  await people.register(member);
  await server.cliJson('account', 'set-role', operator, 'operator');
  ada = await people.signIn(operator);
});
after(async () => {
  await people?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
  backups?.remove();
});

interface Entry {
  readonly user: string;
  readonly command: string;
  readonly result: string;
  readonly before: string;
  readonly after: string;
  readonly address: string;
}
/** The notice of a change, as a page has it. */
const told = 'class="status-line" role="status"';

/** The answer leads back to the page, with the mark of a change. */
function isDoneAt(answer: Awaited<ReturnType<OwnBrowser['post']>>, path: string): void {
  const [to, mark] = answer.headers.location?.split('?done=') ?? [];
  assert.equal(to, path, answer.body);
  assert.match(mark!, /^changed\.\d+\.[\w-]{43}&did=[\w-]{22}$/);
}

const audit = async (): Promise<Entry[]> => server.cliJson('audit');
const screens = endpoints.filter(
  ({ who, method }) => who === 'signed-in operator' && method === 'GET',
);

it('is nothing to members, and asks an operator for a second factor', async () => {
  const stranger = await server.fetch('/admin');
  assert.match(String(stranger.headers.location), /^\/signin\?return=%2Fadmin$/);
  const bob = await people.signIn(member);
  for (const { path } of screens) {
    assert.equal((await bob.get(path.replace(':id', adaId))).status, 404, path);
  }
  assert.equal((await bob.post('/admin/allow/change', { do: 'add' })).status, 404);
  const missing = await ada.get('/admin/lists');
  assert.equal(missing.status, 303);
  const factorPage = '/account/security?return=%2Fadmin%2Flists';
  assert.equal(missing.headers.location, factorPage);
  const add = await ada.get(factorPage);
  assert.match(add.body, /Add a passkey or a second factor.*?data-return="\/admin\/lists"/s);
  assert.equal((await ada.post('/admin/allow/change', { do: 'add' })).status, 403);
  await totpOn(ada);
});

it('shows a list that was loaded by hand', async () => {
  const file = join(backups.path, 'by-hand.txt');
  writeFileSync(file, '93.184.216.34\n');
  await server.cliJson('seed', file, '--format', 'plain', '--source', 'by-hand');
  let body = '';
  const isShown = async () => {
    body = (await ada.get('/admin/lists')).body;
    return body.includes('>by-hand<') && !body.includes('not finished');
  };
  await within(isShown, 'the list');
  assert.ok(body.includes('bad addresses') && !body.includes('There is no list yet.'));
  const row = body.split('<tr').find((one) => one.includes('>by-hand<'))!;
  const counts = [...row.matchAll(/<td[^>]*>(\d+)<\/td>/g)].map(([, count]) => count);
  assert.deepEqual(counts, ['1', '1'], 'its rows, and how many of them block');
});

it('shows every screen to nobody but its reader, in both languages', async () => {
  assert.ok(screens.length > 6);
  for (const { path } of screens) {
    for (const language of ['en', 'fr']) {
      const page = await ada.get(path.replace(':id', adaId), { 'Accept-Language': language });
      assert.equal(page.status, 200, `${path}: ${page.body.slice(0, 300)}`);
      assert.equal(page.headers['cache-control'], 'no-store', path);
      if (path.includes('audit.')) continue;
      assert.ok(page.headers['content-security-policy'], path);
      assert.match(page.body, /<meta name="robots" content="noindex"/, path);
      assert.match(page.body, new RegExp(`<html lang="${language}"`), path);
    }
  }
});

it('each chart of the system stands under its own heading, and a sentence in place of an empty one', async () => {
  const { body } = await ada.get('/admin/system');
  assert.match(body, /No checks in 24 hours|Checks per minute/);
  const headingOf = (summary: string) => {
    const before = body.slice(0, body.indexOf(summary));
    const headings = [...before.matchAll(/<h[23][^>]*>([\s\S]*?)<\/h[23]>/g)];
    const last = headings.at(-1)?.[1] ?? '';
    return last.replace(/<[^>]*>/g, '').trim();
  };
  assert.equal(headingOf('No reports in 24 hours.'), 'Reports in 24 hours');
});

it('the system says what was done in words', async () => {
  const { body } = await ada.get('/admin/system');
  assert.match(body, /Second factor turned on<\/span>/);
  assert.doesNotMatch(body, /sign_on:|challenges:|consents:|reports_refused:/);
});

it('a change wants a token of our own and a recent proof', async () => {
  const forged = await ada.post('/admin/allow/change', {
    do: 'add',
    prefix: '203.0.113.0/24',
    csrf: 'x'.repeat(43),
  });
  assert.equal(forged.status, 403);
  const known = await server.cliJson('allow', 'list');
  assert.deepEqual(known, []);
});

it('allows and forgets a range, as the command does, and the log has both', async () => {
  const reason = '<script>alert(1)</script>';
  const added = await ada.post('/admin/allow/change', {
    do: 'add',
    prefix: '198.51.100.0/24',
    reason,
  });
  isDoneAt(added, '/admin/allow');
  const [rule] = await server.cliJson('allow', 'list');
  assert.equal(rule.prefix, '198.51.100.0/24');
  const page = await ada.get(added.headers.location!);
  assert.ok(page.body.includes(told));
  assert.ok(
    page.body.includes('&lt;script>alert(1)') || page.body.includes('&lt;script&gt;alert(1)'),
  );
  assert.ok(!page.body.includes(reason));
  const gone = await ada.post('/admin/allow/change', { do: 'remove', prefix: '198.51.100.0/24' });
  assert.equal(gone.status, 303);
  const wrong = await ada.post('/admin/allow/change', { do: 'add', prefix: 'eve@mail.example' });
  assert.equal(wrong.status, 400, wrong.body);
  const entries = (await audit()).filter(({ user }) => user === `account ${adaId}`);
  assert.deepEqual(
    entries.map(({ command, result, address }) => [command, result, address]),
    [
      ['allow add 198.51.100.0/24', 'done', '127.0.0.1'],
      ['allow remove 198.51.100.0/24', 'done', '127.0.0.1'],
      ['allow add (not a network)', 'failed', '127.0.0.1'],
    ],
  );
  const shown = (await ada.get('/admin/audit')).body;
  const text = shown.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
  assert.ok(text.includes('No longer allowed 198.51.100.0/24') && text.includes(operator));
  // One that failed is not told as done.
  assert.ok(text.includes('Not done: allowed (not a network)'), text);
  const csv = (await ada.get('/admin/audit.csv')).body;
  assert.match(csv, /done,account [\w-]+,127\.0\.0\.1,allow add 198\.51\.100\.0\/24,/);
  const farAhead = await ada.get(`/admin/audit?before=${Number.MAX_SAFE_INTEGER}`);
  assert.equal(farAhead.status, 200);
  assert.ok(farAhead.body.includes('No longer allowed'));
  const changesIn = async (part: string) =>
    (await ada.get(`/admin/audit?${new URLSearchParams({ part })}`)).body.split('<tr').length - 1;
  // One row more is the heading.
  assert.equal(await changesIn('NOT A NETWORK'), 2);
  assert.equal(await changesIn('198.51.100.0/24'), 3);
  assert.equal(await changesIn('nothing has this'), 0);
  const lines = (await ada.get('/admin/audit.jsonl')).body.trim().split('\n');
  assert.ok(lines.some((line) => JSON.parse(line).command === 'allow add (not a network)'));
});

it('a page tells of a change only where one was made', async () => {
  const allow = { do: 'add', prefix: '198.51.100.0/24', reason: 'a test' };
  const added = await ada.post('/admin/allow/change', allow);
  const way = added.headers.location!;
  const [name, atMs, mac] = way.split('?done=')[1]!.split('.');
  const later = `${name}.${Number(atMs) + 1}.${mac}`;
  for (const mark of ['1', '', '.', 'changed', `${name}.${atMs}.`, later, `${atMs}.${mac}`]) {
    const page = await ada.get(`/admin/allow?done=${mark}`);
    assert.equal(page.status, 200);
    assert.ok(!page.body.includes(told), mark);
  }
  assert.ok((await ada.get(way)).body.includes(told));
  await ada.post('/admin/allow/change', { do: 'remove', prefix: '198.51.100.0/24' });
});

it('decides about a request for removal', async () => {
  const removals = createRemovals({ store: people.store, clock: systemClock() });
  for (const address of ['8.8.4.4', '8.8.8.8']) {
    const asked = { reason: 'this one is ours by now', fromAddress: false, signedIn: true };
    assert.ok((await removals.add(address, asked)).ok);
  }
  assert.match((await ada.get('/admin/removals')).body, /this one is ours by now/);
  const accepted = await ada.post('/admin/removals/change', { do: 'allow', address: '8.8.4.4' });
  isDoneAt(accepted, '/admin/removals');
  const refused = await ada.post('/admin/removals/change', { do: 'refuse', address: '8.8.8.8' });
  assert.equal(refused.status, 303);
  assert.deepEqual(await server.cliJson('removals', 'list'), []);
  const again = await ada.post('/admin/removals/change', { do: 'refuse', address: '8.8.8.8' });
  assert.equal(again.status, 404);
  assert.equal((await server.cliJson('allow', 'list'))[0].prefix, '8.8.4.4/32');
});

it('shows a tip as words and forgets it, as the command does', async () => {
  const tips = createAnonymousReports({ store: people.store, clock: systemClock() });
  const comment = '<img src=x onerror=alert(1)>';
  assert.ok((await tips.add('8.8.8.8', { categories: 2 ** 18, comment })).ok);
  const page = (await ada.get('/admin/tips')).body;
  assert.ok(page.includes('img src=x onerror') && !page.includes(comment));
  assert.ok(page.includes('href="/report?address=8.8.8.8"'));
  const gone = await ada.post('/admin/tips/change', { do: 'remove', address: '8.8.8.8' });
  isDoneAt(gone, '/admin/tips');
  assert.deepEqual(await server.cliJson('tips', 'list'), []);
  const again = await ada.post('/admin/tips/change', { do: 'remove', address: '8.8.8.8' });
  assert.equal(again.status, 404);
  const entries = (await audit()).filter(({ command }) => command === 'tips remove 8.8.8.8');
  assert.deepEqual(
    entries.map(({ result }) => result),
    ['done', 'failed'],
  );
});

it('the first steps tell how old the tables of countries and networks are', async () => {
  const { body } = await ada.get('/admin/checklist');
  const [, card = ''] = /Country and network data(.*?)<\/section>/s.exec(body)!;
  assert.match(card, /GEO_COUNTRY_MMDB=\/.*GEO_ASN_MMDB=\//);
  assert.match(card, /Data from \d+ \w+ 20\d\d: /);
  const page = await server.fetch('/ip/8.8.8.8');
  assert.match(page.body, /CC BY 4\.0 · data of \d+ \w+ 20\d\d/);
});

it('the first steps tell when the newest backup was begun, and a node none of it', async () => {
  if (isShared) {
    const { body } = await ada.get('/admin/checklist');
    assert.match(body, /<code class="breaks"[^>]*>SMTP_URL/);
    assert.ok(!body.includes('BACKUP_FOLDER'));
    return;
  }
  const isShown = async () =>
    /<p class="card-note">Newest backup: (today|yesterday), /.test(
      (await ada.get('/admin/checklist')).body,
    );
  await within(isShown, 'the folder was looked at');
});

it('sends the operator a test mail, and nobody else', async () => {
  const to = 'stranger@example.org';
  const sent = await ada.post('/admin/checklist/change', { do: 'mail-test', to, address: to });
  isDoneAt(sent, '/admin/checklist');
  const mails = outboxOf(server.dataDir, 'Test email');
  assert.deepEqual(
    mails.map((mail) => mail.includes(`To: ${operator}`)),
    [true],
  );
  assert.deepEqual(outboxOf(server.dataDir, to), []);
  const entry = (await audit()).find(({ command }) => command === `mail test ${adaId}`)!;
  assert.deepEqual([entry.result, entry.after], ['done', isShared ? 'sent' : 'outbox']);
});

it('refuses changes of what there is none of, however long its name is, and notes it', async () => {
  const before = (await audit()).length;
  const long = 'x'.repeat(2_000);
  for (const what of ['accept', 'allow', 'refuse']) {
    const refused = await ada.post('/admin/removals/change', { do: what, address: long });
    assert.equal(refused.status, 422, what);
  }
  for (const [name, status] of [
    [long, 422],
    ['nobody', 404],
  ] as const) {
    const refused = await ada.post('/admin/lists/change', { do: 'pause', name });
    assert.equal(refused.status, status, name);
  }
  assert.deepEqual(
    (await audit()).slice(before).map(({ command, result }) => [command, result]),
    [
      ['removals accept (refused)', 'failed'],
      ['removals accept (refused)', 'failed'],
      ['removals refuse (refused)', 'failed'],
      ['source pause (refused)', 'failed'],
      ['source pause nobody', 'failed'],
    ],
  );
});

it('finds people, and changes what the commands change, the last operator aside', async () => {
  const found = (await ada.get('/admin/people?part=MEMBER')).body;
  const id = /href="\/admin\/people\/([\w-]{16})"/.exec(found)![1]!;
  assert.ok(found.includes(member) && !found.includes(`>${operator}</a>`));
  const change = (fields: Record<string, string>) =>
    ada.post('/admin/people/change', { id, ...fields });
  const bob = await people.signIn(member);
  await bob.post('/account/keys/create');
  await bob.post('/account/keys/named/create', { name: 'mx-1', check: 'on' });
  const listed = (await ada.get('/admin/people?part=MEMBER')).body;
  assert.match(listed, />2<\/td>/, 'a named key counts');
  const page = (await ada.get(`/admin/people/${id}`)).body;
  assert.doesNotMatch(page, /<dt>Vouching/, 'its card says that nobody does');
  const key = /name="key" value="([\w-]+)"/.exec(page)![1]!;
  assert.doesNotMatch(page, /pcl_[\w-]+_/, 'no key in clear');
  const changes = [
    { do: 'plan', plan: 'plus' },
    { do: 'quotas', reads: '7', writes: '' },
  ];
  for (const fields of [...changes, { do: 'revoke', key }, { do: 'end-sessions' }]) {
    const done = await change(fields as unknown as Record<string, string>);
    isDoneAt(done, `/admin/people/${id}`);
  }
  const facts = (await ada.get(`/admin/people/${id}`)).body;
  assert.match(facts, /<dt>Checks a minute<\/dt><dd>7, set by an operator<\/dd>/);
  assert.match(facts, /<p class="lede">Active\. Can sign in and use API keys\.<\/p>/);
  assert.match(
    facts,
    /<dt>Last sign-in<\/dt><dd><time[^>]*>[^<]*<\/time><small>Firefox, Linux, France</,
  );
  assert.match(facts, /<dt>Reports<\/dt><dd><a [^>]*>0<\/a>/);
  assert.match(facts, /<dt>Reports a minute<\/dt><dd>\d+, by trust<\/dd>/);
  assert.equal((await bob.get('/account')).status, 303, 'signed out');
  const [revoked] = await server.cliJson('key', 'list');
  assert.deepEqual([revoked.id, revoked.state], [key, 'revoked']);
  assert.equal((await change({ do: 'quotas', reads: '-1' })).status, 422);
  assert.equal((await change({ do: 'disable' })).status, 303);
  assert.equal((await server.cliJson('account', 'list', 'member@'))[0].state, 'disabled');
  const off = (await ada.get(`/admin/people/${id}`)).body;
  assert.match(off, /<p class="lede">Disabled\. Can’t sign in, and API keys don’t work\.<\/p>/);
  assert.equal((await change({ do: 'enable' })).status, 303);
  const last = await ada.post('/admin/people/change', { id: adaId, do: 'member' });
  assert.equal(last.status, 409);
  assert.match(last.body, /is the last operator/);
  assert.equal((await ada.post('/admin/people/change', { id: adaId, do: 'disable' })).status, 409);
  const log = await audit();
  const plan = log.find(({ command }) => command === `account set-plan ${id} plus`)!;
  assert.deepEqual([plan.before, plan.after, plan.result], ['free', 'plus', 'done']);
  const quotas = log.find(({ command }) => command === `account set-quotas ${id} readPerMinute=7`)!;
  assert.match(quotas.before, /^checks \d+ by trust, reports \d+ by trust$/);
  assert.equal(quotas.after, 'checks 7, reports as before');
  assert.ok(!JSON.stringify(log).includes('@'), 'no mail address');
});

it('mails a link for a new password to its owner, which nobody else sees, and says when it can not', async () => {
  const address = 'lena@b\u00fccher.example';
  const stored = 'lena@xn--bcher-kva.example';
  const lena = await people.register(stored);
  const found = (await ada.get(`/admin/people?part=${encodeURIComponent(address)}`)).body;
  assert.ok(found.includes(`/admin/people/${lena}`), 'found as it is typed');
  const [listed] = await server.cliJson('account', 'list', 'b\u00fccher');
  assert.equal(listed.id, lena);
  assert.equal((await server.cliJson('account', 'show', address)).id, lena);
  const send = () => ada.post('/admin/people/change', { id: lena, do: 'send-reset' });
  const page = (await ada.get(`/admin/people/${lena}`)).body;
  assert.match(page, /Send password link/);
  isDoneAt(await send(), `/admin/people/${lena}`);
  const mails = () =>
    outboxOf(server.dataDir, 'Subject: Choose a new password').filter((mail) =>
      mail.includes(`To: ${stored}`),
    );
  await within(() => mails().length === 1, 'the mail');
  const link = /\/reset\?token=[\w-]+/.exec(
    mails()[0]!
      .replaceAll(/=\r?\n/g, '')
      .replaceAll('=3D', '='),
  )![0];
  const after = (await ada.get(`/admin/people/${lena}`)).body;
  assert.ok(!after.includes('token='), 'the operator does not see it');
  const form = await server.fetch(link);
  assert.equal(form.status, 200);
  assert.match(form.body, /type="password"/);
  await people.signIn(stored);
  for (let i = 0; i < 2; i++) isDoneAt(await send(), `/admin/people/${lena}`);
  const refused = await send();
  assert.equal(refused.status, 429, 'three an hour to one address');
  await server.cliJson('account', 'disable', stored);
  assert.equal((await send()).status, 409);
  const bob = await people.signIn(member);
  const byMember = await bob.post('/admin/people/change', { id: lena, do: 'send-reset' });
  assert.equal(byMember.status, 404);
  const entries = (await audit()).filter(({ command }) => command === `account send-reset ${lena}`);
  assert.deepEqual(entries.map(({ result }) => result).sort(), [
    ...['done', 'done', 'done', 'failed', 'failed'],
  ]);
});

it('invites an address and takes it back, as the commands do', async () => {
  const address = 'guest@example.org';
  const change = (fields: Record<string, string>) => ada.post('/admin/people/change', fields);
  isDoneAt(await change({ do: 'invite', email: address, language: 'fr' }), '/admin/people');
  const mails = () => outboxOf(server.dataDir, `To: ${address}`);
  await within(() => mails().length === 1, 'the mail');
  const page = (await ada.get('/admin/people')).body;
  assert.match(page, /Open invitations/);
  assert.ok(page.includes(address) && !page.includes('token='));
  for (const email of ['', 'nobody', 'a@b\r\nBcc: c@d', '"><img src=x>@example.org']) {
    assert.equal((await change({ do: 'invite', email, language: 'en' })).status, 422, email);
  }
  const wrong = { do: 'invite', email: 'other@example.org', language: 'de' };
  assert.equal((await change(wrong)).status, 422);
  assert.equal((await change({ do: 'invite', email: member, language: 'en' })).status, 409);
  const bob = await people.signIn(member);
  const byMember = await bob.post('/admin/people/change', { do: 'invite', email: address });
  assert.equal(byMember.status, 404);
  isDoneAt(await change({ do: 'withdraw', email: address }), '/admin/people');
  assert.equal((await change({ do: 'withdraw', email: address })).status, 404);
  assert.doesNotMatch((await ada.get('/admin/people')).body, /Open invitations/);
});

it('finds reports of an address and of an account, shows hostile words as words, takes them back', async () => {
  const bob = await people.signIn(member);
  const made = await bob.post('/account/keys/create');
  const key = /<code id="shown-key">([^<]+)<\/code>/.exec(made.body)![1]!;
  const evil = '"><img src=x onerror=alert(1)>';
  const pageful = Array.from({ length: accountReportsPerPage }, (_, i) => `5.6.8.${i}`);
  for (const ip of ['5.6.7.8', '5.6.7.9', ...pageful]) {
    const send = () => server.report(ip, { key, comment: evil });
    await within(async () => (await send()).status === 200, 'the key is known');
  }
  const page = (await ada.get('/admin/reports?find=5.6.7.8')).body;
  const newest = (await ada.get('/admin/reports')).body;
  assert.ok(newest.includes(`href="/ip/${pageful.at(-1)}"`));
  const row = newest.slice(newest.indexOf(`/ip/${pageful.at(-1)}"`));
  const { abuseConfidenceScore } = (
    await (
      await fetch(`${server.baseUrl}/ip/${pageful.at(-1)}`, {
        headers: { accept: 'application/json' },
      })
    ).json()
  ).data;
  assert.match(row, new RegExp(`^[^<]+</a></th><td[^>]*><span [^>]*>${abuseConfidenceScore}<`));
  const addressesIn = (html: string) =>
    [...html.matchAll(/href="\/ip\/([\d.]+)"/g)].map(([, ip]) => ip);
  const linkIn = (html: string, name: string) =>
    new RegExp(`href="(/admin/reports[^"]*${name}=[^"]+)"`)
      .exec(html)?.[1]
      ?.replaceAll('&amp;', '&');
  const older = (await ada.get(linkIn(newest, 'after')!)).body;
  assert.deepEqual(
    [...addressesIn(newest), ...addressesIn(older)],
    ['5.6.7.8', '5.6.7.9', ...pageful].reverse(),
  );
  assert.equal(linkIn(newest, 'newer'), undefined, 'the first page');
  assert.equal(linkIn(older, 'after'), undefined, 'the last page');
  const back = (await ada.get(linkIn(older, 'newer')!)).body;
  assert.deepEqual(addressesIn(back), addressesIn(newest));
  assert.equal((await ada.get('/admin/reports?after=x')).status, 422);
  assert.ok(!newest.includes('<img src=x'));
  assert.ok(!page.includes('<img src=x') && page.includes('img src=x onerror'));
  assert.match(page, />Brute-Force</);
  assert.ok(page.includes(`>${member}<`), 'an account is named by its mail address');
  const system = (await ada.get('/admin/system')).body;
  assert.ok(system.includes('Reports per 15 minutes'));
  const said = system.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');
  assert.ok(
    / 18 Brute-Force 27 /.test(said),
    said.slice(said.indexOf('by category'), -1).slice(0, 300),
  );
  assert.ok(said.includes('by country of the address'));
  const report = /name="id" value="([\w-]{22})"/.exec(page)![1]!;
  const retracted = await ada.post('/admin/reports/change', { do: 'retract', id: report });
  isDoneAt(retracted, '/admin/reports');
  assert.deepEqual(await server.cliJson('report', 'list', '5.6.7.8'), []);
  const own = (await ada.get(`/admin/reports?find=${member}`)).body;
  assert.ok(own.includes('>5.6.8.24<') && own.includes('>5.6.8.0<') && !own.includes('>5.6.7.9<'));
  const more = /href="(\/admin\/reports\?find=[^"]+after=[^"]+)"/.exec(own)![1]!;
  const second = (await ada.get(more.replaceAll('&amp;', '&'))).body;
  assert.ok(second.includes('>5.6.7.9<') && !second.includes('5.6.8.'));
  assert.doesNotMatch(second, /after=/, 'the last page');
  const madeUp = await ada.get(`/admin/reports?find=${member}&after=x`);
  assert.equal(madeUp.status, 422);
  const account = /name="id" value="([\w-]{16})"/.exec(own)![1]!;
  const all = await ada.post('/admin/reports/change', { do: 'retract-all', id: account });
  assert.equal(all.status, 303, all.body);
  assert.deepEqual(await server.cliJson('report', 'list', '5.6.7.9'), []);
  for (const query of ['find=nonsense', 'find=nobody%40example.org']) {
    assert.match((await ada.get(`/admin/reports?${query}`)).body, /has-error/);
  }
});

it('the last operator can not delete the account, and may when there is another', async () => {
  const refused = await ada.post('/account/delete', { confirm: 'delete' });
  assert.equal(refused.status, 409);
  assert.match(refused.body, /you are the last operator who can sign in here/);
  assert.equal((await ada.get('/admin')).status, 200, 'nothing has begun');
  const third = 'third@example.org';
  await people.register(third);
  await server.cliJson('account', 'set-role', third, 'operator');
  const eve = await people.signIn(third);
  const gone = await eve.post('/account/delete', { confirm: 'delete' });
  assert.equal(gone.headers.location, '/goodbye', gone.body);
});

it('a role that is taken away is gone at the next request, in every session', async () => {
  assert.equal((await ada.get('/admin')).status, 200);
  const taken = await server.cli('account', 'set-role', operator, 'member');
  assert.match(taken.stderr, /no operator is left who can sign in/);
  const asMember = await ada.get('/admin');
  assert.equal(asMember.status, 404);
  assert.match(asMember.body, /<header class="site-header/);
  await server.cliJson('account', 'set-role', operator, 'operator');
  await within(async () => (await ada.get('/admin')).status === 200, 'the role is back');
});
