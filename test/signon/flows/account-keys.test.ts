/** API keys and site keys of a person on a whole server. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forFile } from '../../support/server/for-file.ts';
import { proveEachThread, startTestServer, within } from '../../support/server/server.ts';
import { doneWay } from '../../support/signon/done-way.ts';
import { locationOf, type OwnBrowser, openPeopleOf } from '../../support/signon/person.ts';

const long = 20 * 60_000;

const server = forFile(await startTestServer({ env: { CLIENT_LIMITS: 'off' } }));
const people = forFile(openPeopleOf(server));
await people.register('ada@example.org');
await people.register('bob@example.org');
const ada = await people.signIn('ada@example.org');
const bob = await people.signIn('bob@example.org');

describe('keys of a person', () => {
  const check = async (key: string) =>
    (await server.fetch('/api/v2/check?ipAddress=192.0.2.1', { headers: { Key: key } })).status;
  const shownKey = (body: string) => /<code id="shown-key">([^<]+)<\/code>/.exec(body)?.[1];
  const ids = (body: string) => [...body.matchAll(/name="id" value="([^"]+)"/g)].map((m) => m[1]!);

  const glance = async (who: OwnBrowser) => {
    const { body } = await who.get('/account');
    return /At a glance<\/span><\/h2>[\s\S]*?<\/section>/.exec(body)?.[0] ?? '';
  };
  const keysIn = (part: string) =>
    /href="\/account\/keys">API keys<\/a><\/dt>\s*<dd>(\d+|None)/.exec(part)?.[1];

  it('is told on the landing page what the account has, and what to do next', async () => {
    const eve = await people
      .register('eve@example.org')
      .then(() => people.signIn('eve@example.org'));
    const first = await glance(eve);
    assert.equal(keysIn(first), 'None', first);
    assert.doesNotMatch(first, / 0 checks/);
    assert.match(first, /No passkey, no second factor, 1 open session\./);
    assert.match(first, /Add a passkey or a second factor/);
    assert.match(first, /Create an API key to check/);

    const made = (await eve.post('/account/keys/create')).body;
    const key = shownKey(made)!;
    assert.ok(made.includes(`<span class="mono">${key.slice(0, 'pcl_'.length + 8)}…</span>`));
    assert.match(await glance(eve), /Not used in the last 24 hours/);
    for (let i = 0; i < 3; i++) assert.equal(await check(key), 200);
    const then = await glance(eve);
    assert.equal(keysIn(then), '1', then);
    assert.match(then, /3 checks, 0 reports/);
    assert.doesNotMatch(then, /Create an API key to check/);
  });

  it('asks for a fresh proof before a key is made, shown or revoked', async () => {
    const old = await people.signIn('ada@example.org', long);
    const { body } = await old.get('/account/keys');
    assert.doesNotMatch(body, /account\/keys\/(create|reveal)/);
    assert.match(body, /start with your first API key/, 'quotas');
    for (const path of ['create', 'reveal', 'revoke']) {
      const answer = await old.post(`/account/keys/${path}`, { id: 'x' });
      assert.equal(answer.headers.location, '/account/confirm?return=%2Faccount%2Fkeys', path);
    }
  });

  it('makes, shows, replaces and revokes a key; a revoked one fails at the next check', async () => {
    const made = await ada.post('/account/keys/create');
    assert.equal(made.status, 200, made.body);
    assert.equal(made.headers['cache-control'], 'no-store');
    const first = shownKey(made.body)!;
    assert.match(first, /^pcl_/);
    assert.equal(await check(first), 200);
    // Shown when it is asked for, and not on the page itself.
    const page = await ada.get('/account/keys');
    assert.equal(shownKey(page.body), undefined);
    assert.ok(!page.body.includes(first));
    const [id] = ids(page.body);
    const shown = await ada.post('/account/keys/reveal', { id: id! });
    assert.equal(shownKey(shown.body), first);

    const second = shownKey((await ada.post('/account/keys/create')).body)!;
    assert.notEqual(second, first);
    assert.equal(await check(first), 200);
    assert.equal(await check(second), 200);
    const third = await ada.post('/account/keys/create');
    assert.equal(third.status, 409);
    assert.equal(shownKey(third.body), undefined);

    await proveEachThread(server, '/api/v2/check', () => check(first));
    const asked = await ada.post('/account/keys/revoke', { id: id! });
    assert.equal(asked.status, 200);
    assert.ok(asked.body.includes(`The key ${id} stops working at once`));
    assert.equal(await check(first), 200, 'nothing happened yet');
    const gone = await ada.post('/account/keys/revoke', { id: id!, sure: 'yes' });
    assert.equal(doneWay(gone), '/account/keys?done=key_revoked', gone.body);
    for (let i = 0; i < 12; i++) assert.equal(await check(first), 401);
    assert.equal(await check(second), 200);
    const twice = await ada.post('/account/keys/revoke', { id: id!, sure: 'yes' });
    assert.equal(twice.status, 404);
    assert.match(twice.body, /It’s no longer there.*<a [^>]*href="\/account\/keys"/s);
    assert.equal((await ada.post('/account/keys/reveal', { id: id! })).status, 404);
  });

  it('shows trust, quotas and what was used', async () => {
    const body = (await ada.get('/account/keys')).body;
    assert.match(body, /1,000/);
    assert.match(body, /0 of 100/);
    assert.doesNotMatch(body, /From its reports alone/);
    assert.equal((await server.cli('account', 'vouch', 'ada@example.org', '--member')).code, 0);
    await within(
      async () => /From its reports alone/.test((await ada.get('/account/keys')).body),
      'a trusted account reads what its trust is of',
    );
    assert.match(body, /\d+ address(?:es)? checked in the last 24 hours/);
    assert.match(body, /<svg class="chart-bars"/);
    const quiet = (await bob.get('/account/keys')).body;
    assert.doesNotMatch(quiet, /chart-bars/);
  });

  it('leaves keys of another account alone', async () => {
    const [id] = ids((await ada.get('/account/keys')).body);
    for (const wrong of [id!, '', 'x'.repeat(5_000), '../x', 'é']) {
      assert.equal((await bob.post('/account/keys/reveal', { id: wrong })).status, 404);
      assert.equal((await bob.post('/account/keys/revoke', { id: wrong })).status, 404);
    }
    const again = await ada.post('/account/keys/reveal', { id: id! });
    assert.equal(await check(shownKey(again.body)!), 200);
    const csrf = await ada.csrf();
    const twice = await ada.post('/account/keys/reveal', `csrf=${csrf}&id=${id}&id=${id}`);
    assert.equal(twice.status, 400);
    const stolen = await bob.post('/account/keys/reveal', { csrf, id: id! });
    assert.equal(stolen.status, 403);
  });

  it('makes keys with a name, each for what it is for, and says when each was used', async () => {
    const eve = await people
      .register('named@example.org')
      .then(() => people.signIn('named@example.org'));
    const old = await people.signIn('named@example.org', long);
    const named = '/account/keys/named';
    const wanted = { name: 'sensor', report: 'on' };
    const stale = await old.post(`${named}/create`, wanted);
    assert.equal(locationOf(stale), '/account/confirm?return=%2Faccount%2Fkeys');
    const made = await eve.post(`${named}/create`, wanted);
    const sensor = shownKey(made.body)!;
    assert.match(made.body, /Copy it now; you won’t see it again\./);
    const script = shownKey(
      (await eve.post(`${named}/create`, { name: 'script', check: 'on' })).body,
    )!;
    assert.equal(await check(script), 200);
    assert.equal(await check(sensor), 403);
    const report = (key: string, ip: string) => server.report(ip, { key });
    assert.equal((await report(sensor, '9.9.8.3')).status, 200);
    const refused = await report(script, '9.9.7.3');
    assert.equal(refused.status, 403);
    assert.match(refused.body, /lacks the scope 'report'/);

    for (const [fields, status, id] of [
      [wanted, 409, 'key-name-error'],
      [{ name: '-x', check: 'on' }, 422, 'key-name-error'],
      [{ name: 'none' }, 422, 'Choose at least one'],
      [{ name: 'agent', agent: 'on' }, 422, 'Choose at least one'],
    ] as const) {
      const again = await eve.post(`${named}/create`, { ...fields });
      assert.equal(again.status, status, again.body);
      assert.ok(again.body.includes(id), id);
      assert.equal(shownKey(again.body), undefined);
    }

    await eve.post(`${named}/create`, { name: 'unused', bouncer: 'on' });
    const rowOf = (body: string, name: string) =>
      body.split('<tr').find((row) => row.includes(`>${name}<`)) ?? '';
    // The use of a key is noted a few seconds apart.
    await within(
      async () => !rowOf((await eve.get('/account/keys')).body, 'script').includes('Never'),
    );
    const page = (await eve.get('/account/keys')).body;
    assert.match(rowOf(page, 'unused'), /Never/);
    assert.ok(!page.includes(sensor) && !page.includes(script), 'never shown again');
    assert.equal(keysIn(await glance(eve)), '3');

    const id = sensor.split('_')[1]!;
    assert.match((await eve.post(`${named}/rename`, { id })).body, /id="new-name"/);
    const taken = await eve.post(`${named}/rename`, { id, name: 'script' });
    assert.equal(taken.status, 409);
    const renamed = await eve.post(`${named}/rename`, { id, name: 'sensor-2' });
    assert.equal(doneWay(renamed), '/account/keys?done=key_renamed');
    assert.notEqual(rowOf((await eve.get('/account/keys')).body, 'sensor-2'), '');
    assert.equal(await check(sensor), 403, 'it lives on');
    for (const what of ['rename', 'remove']) {
      const others = await bob.post(`${named}/${what}`, { id, name: 'mine', sure: 'yes' });
      assert.equal(others.status, 404, what);
    }
    assert.equal((await eve.post(`${named}/remove`, { id })).status, 200);
    assert.equal(await check(sensor), 403, 'nothing happened yet');
    await eve.post(`${named}/remove`, { id, sure: 'yes' });
    assert.equal(await check(sensor), 401);
    assert.equal(await check(script), 200);
    const exported = (await eve.post('/account/export')).json() as { apiKeys?: unknown };
    assert.ok(JSON.stringify(exported).includes('"script"'));
  });

  it('tells who has as many keys of a kind as there may be, in another tab too', async () => {
    const email = 'full@example.org';
    await people.register(email);
    const full = await people.signIn(email);
    const names = Array.from({ length: 50 }, (_, n) => `k${n}`);
    // By hand an account makes 30 in an hour.
    for (const name of names) {
      await server.cliJson('key', 'create', email, '--name', name, '--scope', 'check');
    }
    const answer = await full.post('/account/keys/named/create', { name: 'k50', check: 'on' });
    assert.equal(answer.status, 409);
    assert.match(answer.body, /role="alert"[\s\S]*You have reached the maximum of named keys/);
    assert.doesNotMatch(answer.body, /service is full/);
    const makeSiteKey = () => full.post('/account/site-keys/create', { hosts: '' });
    for (let n = 0; n < 100; n++) assert.equal((await makeSiteKey()).status, 303);
    const beyond = await makeSiteKey();
    assert.equal(beyond.status, 409);
    assert.match(beyond.body, /role="alert"[\s\S]*You have reached the maximum of site keys/);
  });

  it('counts no form with a slip among the changes of an hour', async () => {
    const email = 'slips@example.org';
    await people.register(email);
    const person = await people.signIn(email);
    const named = (name: string) =>
      person.post('/account/keys/named/create', { name, check: 'on' });
    const hook = { url: 'no address', watches: '192.0.2.1', threshold: '75' };
    for (let n = 0; n < 16; n++) {
      assert.equal((await named('two words')).status, 422);
      assert.equal((await person.post('/account/webhooks/create', hook)).status, 422);
    }
    for (let n = 0; n < 30; n++) assert.equal((await named(`k${n}`)).status, 200);
    assert.equal((await named('k30')).status, 429);
  });

  it('counts each form whose host was looked up', async () => {
    const email = 'hosts@example.org';
    await people.register(email);
    const person = await people.signIn(email);
    const hook = { url: 'https://127.0.0.1/', watches: '192.0.2.1', threshold: '75' };
    const make = async (change = {}) =>
      (await person.post('/account/webhooks/create', { ...hook, ...change })).status;
    for (let n = 0; n < 30; n++) assert.equal(await make(), 422);
    assert.equal(await make(), 429);
  });

  it('makes and revokes site keys with host names', async () => {
    const wrong = await ada.post('/account/site-keys/create', {
      hosts: 'shop.example http://x/',
    });
    assert.equal(wrong.status, 422);
    assert.match(wrong.body, /id="hosts-error"/);
    assert.match(wrong.body, /value="shop.example http:\/\/x\/"/);
    const many = Array.from({ length: 21 }, (_, i) => `h${i}.example`).join(' ');
    assert.equal((await ada.post('/account/site-keys/create', { hosts: many })).status, 422);
    const endless = await ada.post('/account/site-keys/create', { hosts: 'a'.repeat(20_000) });
    assert.equal(endless.status, 422);
    const made = await ada.post('/account/site-keys/create', {
      hosts: 'shop.example, BLOG.example',
    });
    assert.equal(doneWay(made), '/account/keys?done=site_key_made');
    const page = (await ada.get('/account/keys')).body;
    assert.match(
      page.replaceAll('<wbr/>', ''),
      /<span class="host">shop\.example<\/span><\/span><span[^>]*><span class="host">blog\.example</,
    );
    const id = /pcs_[\w-]{22}/.exec(page)![0];
    assert.match(page, /<td[^>]*>Silent, in the background/);
    const level = (visitor: typeof ada, fields: Record<string, string>) =>
      visitor.post('/account/site-keys/level', { id, ...fields });
    assert.equal((await bob.post('/account/site-keys/level', { id, level: 'hard' })).status, 404);
    for (const wrong of ['', 'none', 'HARD', '__proto__', 'x'.repeat(5_000)]) {
      assert.equal((await level(ada, { level: wrong })).status, 422, wrong);
    }
    const changed = await level(ada, { level: 'hard' });
    assert.equal(doneWay(changed), '/account/keys?done=site_key_changed');
    assert.match((await ada.get('/account/keys')).body, /<td[^>]*>A hard picture/);
    assert.equal((await bob.post('/account/site-keys/revoke', { id, sure: 'yes' })).status, 404);
    assert.ok((await ada.get('/account/keys')).body.includes(id));
    assert.equal((await ada.post('/account/site-keys/revoke', { id, sure: 'yes' })).status, 303);
    assert.ok(!(await ada.get('/account/keys')).body.includes(id));
    assert.equal((await ada.post('/account/site-keys/revoke', { id, sure: 'yes' })).status, 404);
  });
});
