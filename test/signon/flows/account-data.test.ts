/** Connected sites, export and deletion of a person on a whole server. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import sharp from 'sharp';
import { systemClock } from '../../../src/core/clock.ts';
import { systemRandom } from '../../../src/core/random.ts';
import { createConsents } from '../../../src/signon/sites/consents.ts';
import { holdersOf } from '../../support/server/data-files.ts';
import { forFile } from '../../support/server/for-file.ts';
import { startTestServer, within } from '../../support/server/server.ts';
import { isShared } from '../../support/server/shared-store.ts';
import { doneWay } from '../../support/signon/done-way.ts';
import { openPeopleOf, personPassword } from '../../support/signon/person.ts';

const long = 20 * 60_000;

const server = forFile(await startTestServer({ env: { CLIENT_LIMITS: 'off' } }));
const people = forFile(openPeopleOf(server));

describe('data of a person', () => {
  async function allow(accountId: string, clientId: string): Promise<void> {
    const consents = createConsents({
      store: people.store,
      clock: systemClock(),
      random: systemRandom(),
    });
    const parties = { accountId, clientId, origin: `https://www.${clientId}` };
    const { row } = consents.afterDecision(undefined, parties, ['openid', 'email'], ['openid']);
    assert.equal((await people.store.commit({ set: [row] })).ok, true);
  }

  it('shows what sites may read, and revokes one', async () => {
    const ada = await people.register('ada@example.org');
    await people.register('bob@example.org');
    await allow(ada, 'shop.example');
    await allow(ada, 'news.example');
    const browser = await people.signIn('ada@example.org');
    const bob = await people.signIn('bob@example.org');
    const page = (await browser.get('/account/sites')).body;
    assert.match(page, /shop\.example/);
    assert.match(page, /your public id/);
    assert.doesNotMatch(page, /mail address/);
    const none = (await bob.get('/account/sites')).body;
    assert.match(none, /class="empty">.*No sites yet\..*href="\/docs\/sign-in-button"/);
    const foreign = await bob.post('/account/sites/revoke', { client_id: 'shop.example' });
    assert.equal(foreign.status, 404);
    for (const wrong of ['', 'x'.repeat(3_000), 'shop']) {
      const answer = await browser.post('/account/sites/revoke', { client_id: wrong });
      assert.equal(answer.status, 404);
    }
    const gone = await browser.post('/account/sites/revoke', { client_id: 'shop.example' });
    assert.equal(doneWay(gone), '/account/sites?done=site_revoked');
    const again = await browser.post('/account/sites/revoke', { client_id: 'shop.example' });
    assert.equal(again.status, 404);
    assert.match(again.body, /It’s no longer there.*<a [^>]*href="\/account\/sites"/s);
    const left = (await browser.get('/account/sites')).body;
    assert.doesNotMatch(left, /shop\.example/);
    assert.match(left, /news\.example/);
  });

  it('gives a copy of everything but secrets', async () => {
    const id = await people.register('carl@example.org');
    await allow(id, 'shop.example');
    const carl = await people.signIn('carl@example.org');
    await carl.post('/account/profile', { given_name: 'Carl', locality: 'Göttingen' });
    await carl.post('/account/site-keys/create', { hosts: 'shop.example' });
    const made = await carl.post('/account/keys/create');
    const key = /<code id="shown-key">([^<]+)</.exec(made.body)![1]!;
    const copy = await carl.post('/account/export');
    assert.equal(copy.status, 200);
    assert.match(
      String(copy.headers['content-disposition']),
      /^attachment; filename="account\.json"$/,
    );
    assert.equal(copy.headers['cache-control'], 'no-store');
    const data = copy.json() as Record<string, never>;
    for (const part of [
      'account',
      'profile',
      'apiKeys',
      'siteKeys',
      'connectedSites',
      'groups',
      'sessions',
      'securityLog',
      'reports',
    ]) {
      assert.ok(part in data, part);
    }
    assert.match(copy.body, /Göttingen/);
    assert.ok(!copy.body.includes(key.slice(-20)));
    assert.doesNotMatch(copy.body, /argon2/);
  });

  it('gives no copy without a fresh proof, and the page offers none', async () => {
    await people.register('clara@example.org');
    const old = await people.signIn('clara@example.org', long);
    const page = (await old.get('/account/data')).body;
    assert.doesNotMatch(page, /action="\/account\/(export|delete)"/);
    assert.match(page, /href="\/account\/confirm\?return=%2Faccount%2Fdata"/);
    const stale = await old.post('/account/export');
    assert.equal(stale.status, 303);
    assert.equal(stale.headers.location, '/account/confirm?return=%2Faccount%2Fdata');
    assert.doesNotMatch(stale.body, /clara/);
    await old.post('/account/confirm', { password: personPassword, return: '/account/data' });
    assert.equal((await old.post('/account/export')).status, 200);
  });

  it('deletes only after a fresh proof and the word, and then at once', async () => {
    const email = 'dora@example.org';
    await people.register(email);
    const old = await people.signIn(email, long);
    const stale = await old.post('/account/delete', { confirm: 'delete' });
    assert.equal(stale.headers.location, '/account/confirm?return=%2Faccount%2Fdata');
    const dora = await people.signIn(email);
    for (const word of ['', 'yes', 'x'.repeat(2_000), 'supprimer']) {
      const answer = await dora.post('/account/delete', { confirm: word });
      assert.equal(answer.status, 422);
      assert.match(answer.body, /id="confirm-error"/);
    }
    assert.equal((await dora.get('/account')).status, 200);
    const made = await dora.post('/account/keys/create');
    const key = /<code id="shown-key">([^<]+)</.exec(made.body)![1]!;
    const check = () =>
      server.fetch('/api/v2/check?ipAddress=192.0.2.1', { headers: { Key: key } });
    assert.equal((await check()).status, 200);
    const done = await dora.post('/account/delete', { confirm: ' Delete ' });
    assert.equal(done.headers.location, '/goodbye', done.body);
    assert.match(String(done.headers['set-cookie']), /session=;.*Max-Age=0/);
    for (let i = 0; i < 8; i++) assert.equal((await check()).status, 401);
    assert.equal((await old.get('/account')).status, 303);
    assert.equal((await server.fetch('/goodbye')).status, 200);
    const gone = async () => (await people.signon.people.byEmail(email)) === undefined;
    await within(gone, 'the account is gone');
  });
});

const skip = isShared && 'it looks into the files of the embedded store';

it('leaves no byte of a deleted person in the data directory', { skip }, async () => {
  const server = await startTestServer({ threads: 1, env: { CLIENT_LIMITS: 'off' } });
  const { dataDir } = server;
  try {
    const people = openPeopleOf(server);
    const words = ['zenobia', 'Quintessa', 'Palmyrene', 'Oasisgasse', 'Tadmorburg', '+33612345678'];
    const id = await people.register('zenobia@palmyra.example');
    const browser = await people.signIn('zenobia@palmyra.example');
    await browser.post('/account/profile', {
      given_name: 'Quintessa',
      family_name: 'Palmyrene',
      street_address: 'Oasisgasse 7',
      locality: 'Tadmorburg',
    });
    await browser.post('/account/phone', { phone: '+33612345678' });
    const noise = await sharp({
      create: {
        width: 300,
        height: 300,
        channels: 3,
        background: '#123456',
        noise: { type: 'gaussian', mean: 128, sigma: 60 },
      },
    })
      .png()
      .toBuffer();
    assert.equal((await browser.upload('/account/avatar', 'avatar', noise)).status, 303);
    const { avatar } = (await people.profiles.load(id))!;
    const picture = (await server.fetch(`/avatars/${avatar}`)).bytes;
    const somewhere = picture.subarray(picture.length / 2, picture.length / 2 + 24);
    const held = (text: string) => holdersOf(dataDir, text);
    const pictureHeld = () => holdersOf(dataDir, somewhere);
    for (const word of words) assert.notDeepEqual(held(word), [], word);
    assert.notDeepEqual(pictureHeld(), []);
    assert.equal((await browser.post('/account/delete', { confirm: 'delete' })).status, 303);
    const gone = async () =>
      (await people.signon.people.byEmail('zenobia@palmyra.example')) === undefined;
    await within(gone, 'the account is gone');
    assert.equal((await server.fetch(`/avatars/${avatar}`)).status, 404);
    await people[Symbol.asyncDispose]();
    await server.stop();
    const compacted = await server.cli('compact');
    assert.equal(compacted.code, 0, compacted.stderr);
    for (const word of [...words, avatar]) assert.deepEqual(held(word), [], word);
    assert.deepEqual(pictureHeld(), []);
  } finally {
    await server[Symbol.asyncDispose]();
  }
});
