/** The keys on the console's screen of a person: API keys by their ids, site keys as they are. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startTestServer } from '../../support/server/server.ts';
import { totpOn } from '../../support/signon/factors.ts';
import { openPeopleOf } from '../../support/signon/person.ts';

const operator = 'operator@example.org';
const member = 'member@example.org';
const sensor = 'sensor@example.org';

it('shows the keys, reports and activity of a person, never the text of a key, and revokes one', async () => {
  await using server = await startTestServer({
    threads: 1,
    demo: false,
    env: { CLIENT_LIMITS: 'off' },
  });
  await using people = openPeopleOf(server);
  await people.register(operator);
  await people.register(member);
  await server.cliJson('account', 'set-role', operator, 'operator');
  const ada = await people.signIn(operator);
  await totpOn(ada);
  const named = ['--name', 'firewall', '--scope', 'bouncer'];
  const { id: keyId, text } = await server.cliJson('key', 'create', member, ...named);
  const made = await server.cliJson('sitekey', 'create', member, '--host', 'shop.example.com');
  const foreign = await server.cliJson('sitekey', 'create', operator);
  const [{ id }] = await server.cliJson('account', 'list', 'member@');
  const page = (await ada.get(`/admin/people/${id}`)).body;
  for (const part of [keyId, 'firewall', 'bouncer', made.id, 'shop.example.com']) {
    assert.ok(page.includes(part), part);
  }
  const told = await server.cliJson('account', 'show', member);
  assert.deepEqual([told.siteKeys, told.plan, told.sessions], [[made.id], 'free', 0]);
  assert.ok(!page.includes(text) && !page.includes(foreign.id));
  const revoke = { do: 'revoke-site', id };
  assert.equal(
    (await ada.post('/admin/people/change', { ...revoke, key: foreign.id })).status,
    404,
  );
  assert.equal((await ada.post('/admin/people/change', { ...revoke, key: made.id })).status, 303);
  const left = (await server.cliJson('sitekey', 'list')) as { id: string }[];
  assert.deepEqual(
    left.map((key) => key.id),
    [foreign.id],
  );
  const { after } = ((await server.cliJson('audit')) as Record<string, string>[]).find(
    ({ command }) => command === `sitekey revoke ${made.id}`,
  )!;
  assert.equal(after, 'revoked');
  // Whoever signed out was active all the same; an account that no one used never was.
  await server.cliJson('account', 'create', sensor);
  await (await people.signIn(member)).post('/signout', {});
  const { body } = await ada.get('/admin/people');
  const activeOf = (email: string) => {
    const row = body.split('<tr').find((part) => part.includes(`>${email}<`)) ?? assert.fail(email);
    return row
      .split('<td')
      .at(-2)!
      .replace(/^[^>]*>|<.*$/gs, '');
  };
  assert.equal(activeOf(sensor), 'never');
  assert.notEqual(activeOf(member), 'never');
  // Its page counts all its reports, more than a page of them.
  const key = await server.cliJson('key', 'create', sensor);
  for (let last = 1; last <= 27; last++) {
    const ipAddress = `93.184.216.${last}`;
    const form = new URLSearchParams({ ip: ipAddress, categories: '18' });
    const sent = await server.fetch('/api/v2/report', {
      method: 'POST',
      headers: { Key: key.text, 'Content-Type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
    });
    assert.equal(sent.status, 200, sent.body);
  }
  const [{ id: sensorId }] = await server.cliJson('account', 'list', 'sensor@');
  const its = (await ada.get(`/admin/people/${sensorId}`)).body;
  assert.match(its, new RegExp(`find=${sensorId}">27<`));
});
