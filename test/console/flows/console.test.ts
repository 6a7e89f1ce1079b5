/** The operators' console on a whole server: who gets in, what it changes, and what the audit log says. */

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { systemClock } from '../../../src/core/clock.ts';
import { createRemovals } from '../../../src/reputation/requests/removals.ts';
import { endpoints } from '../../../src/server/endpoints.ts';
import { startTestServer, type TestServer, within } from '../../support/server/server.ts';
import { totpOn } from '../../support/signon/factors.ts';
import { type OwnBrowser, openPeopleOf, type People } from '../../support/signon/person.ts';

const operator = 'operator@example.org';
const member = 'member@example.org';

let server: TestServer;
let people: People;
let ada: OwnBrowser;
let adaId: string;
before(async () => {
  server = await startTestServer({ threads: 1, demo: false, env: { CLIENT_LIMITS: 'off' } });
  people = openPeopleOf(server);
  adaId = await people.register(operator);
  await people.register(member);
  await server.cliJson('account', 'set-role', operator, 'operator');
  ada = await people.signIn(operator);
});
after(async () => {
  await people?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

interface Entry {
  readonly user: string;
  readonly command: string;
  readonly result: string;
  readonly before: string;
  readonly after: string;
  readonly address: string;
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
  const missing = await ada.get('/admin');
  assert.equal(missing.status, 403);
  assert.match(missing.body, /href="\/account\/security"/);
  await totpOn(ada);
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

it('a change wants a token of our own and a recent proof', async () => {
  const forged = await ada.post('/admin/allow/change', {
    ...{ do: 'add', prefix: '203.0.113.0/24', csrf: 'x'.repeat(43) },
  });
  assert.equal(forged.status, 403);
  const known = await server.cliJson('allow', 'list');
  assert.deepEqual(known, []);
});

it('allows and forgets a range, as the command does, and the log has both', async () => {
  const reason = '<script>alert(1)</script>';
  const added = await ada.post('/admin/allow/change', {
    ...{ do: 'add', prefix: '198.51.100.0/24', reason },
  });
  assert.equal(added.headers.location, '/admin/allow?done=1', added.body);
  const [rule] = await server.cliJson('allow', 'list');
  assert.equal(rule.prefix, '198.51.100.0/24');
  const page = await ada.get('/admin/allow?done=1');
  assert.ok(
    page.body.includes('&lt;script>alert(1)') || page.body.includes('&lt;script&gt;alert(1)'),
  );
  assert.ok(!page.body.includes(reason));
  const gone = await ada.post('/admin/allow/change', { do: 'remove', prefix: '198.51.100.0/24' });
  assert.equal(gone.status, 303);
  const wrong = await ada.post('/admin/allow/change', { do: 'add', prefix: 'nonsense' });
  assert.equal(wrong.status, 400, wrong.body);
  const entries = (await audit()).filter(({ user }) => user === `account ${adaId}`);
  assert.deepEqual(
    entries.map(({ command, result, address }) => [command, result, address]),
    [
      ['allow add 198.51.100.0/24', 'done', '127.0.0.1'],
      ['allow remove 198.51.100.0/24', 'done', '127.0.0.1'],
      ['allow add nonsense', 'failed', '127.0.0.1'],
    ],
  );
  const shown = (await ada.get('/admin/audit')).body;
  assert.ok(shown.includes('allow remove 198.51.100.0/24') && shown.includes(operator));
  const csv = (await ada.get('/admin/audit.csv')).body;
  assert.match(csv, /done,account [\w-]+,127\.0\.0\.1,allow add 198\.51\.100\.0\/24,/);
  const lines = (await ada.get('/admin/audit.jsonl')).body.trim().split('\n');
  assert.ok(lines.some((line) => JSON.parse(line).command === 'allow add nonsense'));
});

it('decides about a request for removal', async () => {
  const removals = createRemovals({ store: people.store, clock: systemClock() });
  for (const address of ['8.8.4.4', '8.8.8.8']) {
    const asked = { reason: 'this one is ours by now', fromAddress: false, signedIn: true };
    assert.ok((await removals.add(address, asked)).ok);
  }
  assert.match((await ada.get('/admin/removals')).body, /this one is ours by now/);
  const accepted = await ada.post('/admin/removals/change', { do: 'allow', address: '8.8.4.4' });
  assert.equal(accepted.headers.location, '/admin/removals?done=1', accepted.body);
  const refused = await ada.post('/admin/removals/change', { do: 'refuse', address: '8.8.8.8' });
  assert.equal(refused.status, 303);
  assert.deepEqual(await server.cliJson('removals', 'list'), []);
  const again = await ada.post('/admin/removals/change', { do: 'refuse', address: '8.8.8.8' });
  assert.equal(again.status, 404);
  assert.equal((await server.cliJson('allow', 'list'))[0].prefix, '8.8.4.4/32');
});

it('a role that is taken away is gone at the next request, in every session', async () => {
  assert.equal((await ada.get('/admin')).status, 200);
  await server.cliJson('account', 'set-role', operator, 'member');
  assert.equal((await ada.get('/admin')).status, 404);
  await server.cliJson('account', 'set-role', operator, 'operator');
  await within(async () => (await ada.get('/admin')).status === 200, 'the role is back');
});
