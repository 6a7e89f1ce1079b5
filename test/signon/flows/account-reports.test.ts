/** What a person reported, on a whole server: page by page, and taken back. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { forFile } from '../../support/server/for-file.ts';
import { startTestServer } from '../../support/server/server.ts';
import { doneWay } from '../../support/signon/done-way.ts';
import { openPeopleOf } from '../../support/signon/person.ts';

const path = '/account/reports';

const server = forFile(await startTestServer({ threads: 3, env: { CLIENT_LIMITS: 'off' } }));
const people = forFile(openPeopleOf(server));
for (const name of ['ada', 'bob']) await people.register(`${name}@example.org`);
const ada = await people.signIn('ada@example.org');
const bob = await people.signIn('bob@example.org');
const made = await ada.post('/account/keys/create');
const key = /<code id="shown-key">([^<]+)</.exec(made.body)![1]!;

async function report(ip: string, comment = '') {
  const answer = await server.report(ip, { key, categories: '18,22', comment });
  assert.equal(answer.status, 200, answer.body);
}

const addressesIn = (body: string) => [...body.matchAll(/href="\/ip\/([^"]+)"/g)].map((m) => m[1]!);
const idsIn = (body: string) => [...body.matchAll(/name="id" value="([^"]+)"/g)].map((m) => m[1]!);
const totalOf = async (ip: string) => {
  const answer = await server.fetch(`/api/v2/check?ipAddress=${ip}`, { headers: { Key: key } });
  return (answer.json() as { data: { totalReports: number } }).data.totalReports;
};

it('shows an account its own reports alone, newest first, page by page', async () => {
  assert.match((await ada.get(path)).body, /You haven’t reported anything yet/);
  for (let n = 1; n <= 30; n++) await report(`9.9.10.${n}`, n === 30 ? 'a <b>last</b> one' : '');
  const first = (await ada.get(path)).body;
  assert.deepEqual(
    addressesIn(first),
    Array.from({ length: 25 }, (_, i) => `9.9.10.${30 - i}`),
  );
  assert.match(first, /a &lt;b>last&lt;\/b> one/);
  assert.match(first, /Brute-Force, SSH/);
  const next = /href="(\/account\/reports\?after=[^"]+)"/.exec(first)![1]!;
  const second = (await ada.get(next)).body;
  assert.deepEqual(
    addressesIn(second),
    Array.from({ length: 5 }, (_, i) => `9.9.10.${5 - i}`),
  );
  assert.doesNotMatch(second, /\?after=/);
  assert.match((await bob.get(path)).body, /You haven’t reported anything yet/);
  assert.equal((await ada.get(`${path}?after=x`)).status, 422);
  const gone = await server.fetch(path);
  assert.equal(gone.status, 303, 'nobody without a session');
});

it('takes back what was said of an address once the person is sure, and only their own', async () => {
  const ip = '9.9.10.30';
  assert.equal(await totalOf(ip), 1);
  const [id] = idsIn((await ada.get(path)).body);
  const back = `${path}/take-back`;
  assert.equal((await bob.post(back, { id: id!, sure: 'yes' })).status, 404);
  for (const wrong of ['', 'x', 'A'.repeat(22), 'é']) {
    assert.equal((await ada.post(back, { id: wrong, sure: 'yes' })).status, 404, wrong);
  }
  const csrf = await ada.csrf();
  assert.equal((await bob.post(back, { csrf, id: id!, sure: 'yes' })).status, 403);
  const asked = await ada.post(back, { id: id! });
  assert.equal(asked.status, 200);
  assert.ok(asked.body.includes(ip));
  assert.equal(await totalOf(ip), 1, 'nothing happened yet');
  const done = await ada.post(back, { id: id!, sure: 'yes' });
  assert.equal(doneWay(done), `${path}?done=report_taken_back`, done.body);
  assert.equal(await totalOf(ip), 0);
  assert.equal(addressesIn((await ada.get(path)).body)[0], '9.9.10.29');
  assert.equal((await ada.post(back, { id: id!, sure: 'yes' })).status, 404);
});
