/** The keys on the console's screen of a person: API keys by their ids, site keys as they are. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startTestServer } from '../../support/server/server.ts';
import { totpOn } from '../../support/signon/factors.ts';
import { openPeopleOf } from '../../support/signon/person.ts';

const operator = 'operator@example.org';
const member = 'member@example.org';

it('shows the API keys and site keys of a person, never a text, and revokes one', async () => {
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
});
