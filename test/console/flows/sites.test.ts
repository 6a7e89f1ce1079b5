/** The console's sites on a whole server: who connects how often, and a domain that is blocked. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { deliveryRow } from '../../../src/signon/sites/site-news.ts';
import { forFile } from '../../support/server/for-file.ts';
import { startTestServer, within } from '../../support/server/server.ts';
import { totpOn } from '../../support/signon/factors.ts';
import { openPeopleOf } from '../../support/signon/person.ts';
import { allow, authorizePath, createAgent } from '../../support/signon/visitor.ts';

const operator = 'operator@example.org';
const server = forFile(
  await startTestServer({ threads: 1, demo: false, env: { CLIENT_LIMITS: 'off' } }),
);
const people = forFile(openPeopleOf(server));
const adaId = await people.register(operator);
await people.register('bob@example.org');
await server.cliJson('account', 'set-role', operator, 'operator');
const ada = await people.signIn(operator);
await totpOn(ada);
const { cookie } = await people.signIn('bob@example.org');
const visitor = createAgent(server, cookie.slice(cookie.indexOf('=') + 1));

const exchange = (address: URL) =>
  server.fetch(`/api.php?${new URLSearchParams({ code: address.searchParams.get('code')! })}`);
/** Words of a page, without its tags. */
const saidBy = (body: string) =>
  body
    .replaceAll('<wbr/>', '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ');
const row = /example\.com (\d+ · \d+ · \d+) (\d+ · \d+ · \d+) (.*?) (open|blocked) /;

it('a site is listed with its visitors and its last sign-in', async () => {
  assert.match((await ada.get('/admin/sites')).body, /No sites yet\./);
  assert.equal((await exchange(await allow(visitor))).status, 200);
  const shown = async () => row.exec(saidBy((await ada.get('/admin/sites')).body));
  // Visitors are counted from rows, sign-ins from the journal.
  const counted = async () => (await shown())?.slice(1, 3).join();
  await within(async () => (await counted()) === '1 · 1 · 1,1 · 1 · 1', 'the site is counted');
  const [, , , last, state] = (await shown())!;
  assert.equal(state, 'open');
  assert.notEqual(last, 'never');
  assert.match((await ada.get('/admin/sites?part=nothing')).body, /No site matches\./);
  const again = new URL((await visitor.get(authorizePath())).headers.location!);
  assert.equal((await exchange(again)).status, 200);
  const list = async () => (await server.cliJson('site', 'list', 'EXAMPLE'))[0];
  await within(async () => (await list()).signIns.month === 2, 'each sign-in, not each visitor');
  const listed = await list();
  assert.deepEqual(
    [listed.domain, listed.visitors, listed.day, listed.week, listed.blockedBy],
    ['example.com', 1, 1, 1, null],
  );
});

it('the foot of the page says how sites take their notices, those that fail first', async () => {
  assert.doesNotMatch((await ada.get('/admin/sites')).body, /Notices to sites/);
  const tell = (origin: string, outcome: string, isFailure: boolean) =>
    deliveryRow(people.store, { clientId: 'told.example', origin }, Date.now(), {
      outcome,
      isFailure,
    });
  const set = [
    await tell('https://good.told.example', 'delivered', false),
    await tell('https://bad.told.example', '503', true),
  ];
  assert.ok((await people.store.commit({ set })).ok);
  const page = saidBy((await ada.get('/admin/sites?part=told')).body);
  assert.match(
    page,
    /bad\.told\.example 0 never failing: it answered 503, 1 ×.*good\.told\.example 0 .*taken/,
  );
  const french = await ada.get('/admin/sites?part=told', { 'Accept-Language': 'fr' });
  assert.match(saidBy(french.body), /Avis aux sites.*en échec : il a répondu 503/);
});

it('a blocked domain gets no code and no exchange, and its visitors a clear page', async () => {
  const early = new URL((await visitor.get(authorizePath())).headers.location!);
  const form = { do: 'block', domain: 'example.com' };
  const done = await ada.post('/admin/sites/change', form);
  assert.match(done.headers.location!, /^\/admin\/sites\?done=/, done.body);
  const page = saidBy((await ada.get(done.headers.location!)).body);
  assert.equal(row.exec(page)![4], 'blocked');
  assert.match(page, /You blocked example\.com/);
  const refused = await exchange(early);
  assert.equal(refused.status, 400);
  assert.match(refused.body, /"error": ?"invalid_grant"/);
  const answer = await visitor.get(authorizePath());
  assert.equal(answer.status, 403);
  assert.equal(answer.headers.location, undefined);
  assert.match(answer.body, /This site is blocked here/);
  assert.doesNotMatch(answer.body, /href="https:\/\/example\.com|start again from the site/);
  const stranger = await server.fetch(authorizePath(), { headers: { 'Accept-Language': 'fr' } });
  assert.equal(stranger.status, 403);
  assert.match(stranger.body, /Ce site est bloqué ici/);
  const below = { client_id: 'a.example.com', redirect_uri: 'https://a.example.com/cb' };
  assert.equal((await visitor.get(authorizePath(below))).status, 403);
});

it('the command does the same, and the audit log has both', async () => {
  assert.equal((await server.cliJson('site', 'list'))[0].blockedBy, 'example.com');
  assert.equal((await server.cliJson('site', 'unblock', 'example.com')).domain, 'example.com');
  assert.equal((await visitor.get(authorizePath())).status, 303);
  const blocked = await server.cliJson('site', 'block', 'Shop.Example.com');
  assert.equal(blocked.domain, 'shop.example.com');
  assert.equal((await visitor.get(authorizePath())).status, 303, 'another name of the domain');
  const wrong = await server.cli('site', 'block', 'com');
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /not the domain of a site/);
  const mail = { do: 'block', domain: 'eve@mail.example' };
  assert.equal((await ada.post('/admin/sites/change', mail)).status, 400);
  const none = await ada.post('/admin/sites/change', { do: 'unblock', domain: 'example.com' });
  assert.equal(none.status, 409);
  const entries = (await server.cliJson('audit')) as Record<string, string>[];
  assert.deepEqual(
    entries
      .filter(({ command }) => command!.startsWith('site '))
      .map(({ user, command, result }) => [user === `account ${adaId}`, command, result]),
    [
      [true, 'site block example.com', 'done'],
      [false, 'site unblock example.com', 'done'],
      [false, 'site block shop.example.com', 'done'],
      [false, 'site block com', 'failed'],
      [true, 'site block (not a domain)', 'failed'],
      [true, 'site unblock example.com', 'failed'],
    ],
  );
});

it('a site is opened to a group alone: the others read why, and both ways of setting it are one', async () => {
  const bob = (await server.cliJson('account', 'show', 'bob@example.org')).id as string;
  assert.equal((await visitor.get(authorizePath())).status, 303);
  const put = (fields: Record<string, string>, id = adaId) =>
    ada.post('/admin/people/change', { id, ...fields });
  const joined = await put({ do: 'join', group: 'staff' });
  assert.match(String(joined.headers.location), new RegExp(`^/admin/people/${adaId}\\?done=`));
  const set = (groups: string, site = 'example.com') =>
    ada.post('/admin/sites/change', { do: 'access', site, groups });
  assert.equal((await set('staff')).status, 303);
  assert.match(saidBy((await ada.get('/admin/sites')).body), /staff \(1\).* open to staff/);
  const listed = await server.cli('site', 'list');
  assert.match(listed.stdout, /^example\.com .* open to staff$/m);
  const refused = await visitor.get(authorizePath());
  assert.deepEqual([refused.status, refused.headers.location], [403, undefined]);
  assert.match(refused.body, /This site is not open to you/);
  assert.doesNotMatch(refused.body, /href="https:\/\/example\.com|staff/);
  assert.match(saidBy(refused.body), /Site example\.com/);
  // Another account may do: the request goes on with whoever signs in.
  const [, other = ''] = /href="(\/signin\?[^"]*)"/.exec(refused.body) ?? [];
  const signIn = await visitor.get(other.replaceAll('&amp;', '&'));
  assert.match(signIn.body, /name="request"/);
  const silent = await visitor.get(authorizePath({ prompt: 'none' }));
  const told = new URL(String(silent.headers.location)).searchParams;
  assert.deepEqual([told.get('error'), told.get('code')], ['access_denied', null]);
  assert.equal((await put({ do: 'join', group: 'staff' }, bob)).status, 303);
  assert.match((await ada.get(`/admin/people/${bob}`)).body, /Remove from staff/);
  assert.equal((await visitor.get(authorizePath())).status, 303);
  assert.equal(
    (await server.cliJson('group', 'remove', 'staff', 'bob@example.org')).groups.length,
    0,
  );
  assert.equal((await visitor.get(authorizePath())).status, 403);
  for (const [groups, site, status] of [
    ['nobody-knows', 'example.com', 409],
    ['', 'example.com', 422],
    ['"><img>', 'example.com', 422],
    ['all,staff', 'example.com', 422],
    ['staff', 'com', 400],
    ['staff', 'a.b.c.d.e.example.com', 400],
  ] as const) {
    assert.equal((await set(groups, site)).status, status, `${groups} ${site}`);
  }
  assert.equal((await put({ do: 'join', group: '<b>' }, bob)).status, 422);
  assert.equal((await put({ do: 'leave', group: 'staff' }, bob)).status, 409);
  assert.deepEqual(await server.cliJson('group', 'list'), [
    { name: 'staff', members: [operator], sites: ['example.com'] },
  ]);
  await server.cliJson('site', 'set-access', 'example.com', 'all');
  assert.equal((await visitor.get(authorizePath())).status, 303);
  const said = (await server.cliJson('audit')) as Record<string, string>[];
  const changes = said.filter(({ command }) => /^(group|site set)/.test(command!));
  assert.deepEqual(
    changes.slice(0, 4).map(({ command, before, after }) => [command, before, after]),
    [
      [`group add staff ${adaId}`, 'none', 'staff'],
      ['site set-access example.com staff', 'all', 'staff'],
      [`group add staff ${bob}`, 'none', 'staff'],
      [`group remove staff ${bob}`, 'staff', 'none'],
    ],
  );
  // A rule is seen before anybody came.
  assert.equal((await set('staff', 'nobody-came.org')).status, 303);
  const alone = (await ada.get('/admin/sites?part=nobody-came')).body;
  assert.match(saidBy(alone), /nobody-came\.org .* open to staff/);
  await server.cliJson('group', 'remove', 'staff', operator);
  assert.deepEqual(
    await server.cliJson('group', 'list'),
    [{ name: 'staff', members: [], sites: ['nobody-came.org'] }],
    'who makes it anew opens that site',
  );
});
