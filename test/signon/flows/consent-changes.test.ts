/** Values that appear or change, on the whole server: two browsers of one person, every prompt. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forFile } from '../../support/server/for-file.ts';
import { startTestServer } from '../../support/server/server.ts';
import { doneWay } from '../../support/signon/done-way.ts';
import {
  allow,
  authorizePath,
  consentFormIn,
  createAgent,
  openPeople,
} from '../../support/signon/visitor.ts';

const formPath = '/authorize.php/consent';
const scope = 'openid profile address';

const server = forFile(await startTestServer({ demo: false, env: { CLIENT_LIMITS: 'off' } }));
const people = forFile(openPeople(server));
await people.add('ada@mail.example', { givenName: 'Ada' });
const first = createAgent(server, await people.signIn('ada@mail.example'));
const second = createAgent(server, await people.signIn('ada@mail.example'));

describe('changed values', () => {
  /** In the second browser, by the form of the own space. */
  async function edit(fields: Readonly<Record<string, string>>): Promise<void> {
    const page = await second.get('/account');
    const csrf = /name="csrf" value="([^"]+)"/.exec(page.body)![1]!;
    const done = await second.post('/account/profile', { csrf, ...fields });
    assert.equal(doneWay(done), '/account?done=saved', done.body.slice(0, 300));
  }

  it('a field that was empty is asked about before the site gets it', async () => {
    await allow(first, authorizePath({ scope }));
    assert.equal((await first.get(authorizePath({ scope }))).status, 303);
    await edit({ given_name: 'Ada', locality: 'Paris', country: 'FR' });
    const silent = await first.get(authorizePath({ scope, prompt: 'none' }));
    assert.equal(silent.status, 303);
    const told = new URL(silent.headers.location!).searchParams;
    assert.deepEqual([told.get('error'), told.get('code')], ['consent_required', null]);
    const page = await first.get(authorizePath({ scope }));
    assert.equal(page.status, 200);
    assert.ok(page.body.includes('There was no value before: Address.'));
    assert.match(page.body, /Paris[^<]*(<!-- -->)?\s*<strong class="value-mark">New</);
    const french = await first.get(authorizePath({ scope }), { 'Accept-Language': 'fr' });
    assert.ok(french.body.includes('Sans valeur jusqu’ici\u00a0: Adresse.'));
    await allow(first, authorizePath({ scope }));
    const code = new URL(
      (await first.get(authorizePath({ scope, prompt: 'none' }))).headers.location!,
    ).searchParams.get('code')!;
    const profile = (await server.fetch(`/api.php?code=${code}`)).json();
    assert.equal((profile as { address: { locality: string } }).address.locality, 'Paris');
  });

  it('a form is shown again when its values changed in another browser', async () => {
    const path = authorizePath({ scope, prompt: 'consent' });
    const { id, csrf, shown } = consentFormIn(await first.get(path));
    await edit({ given_name: 'Augusta', locality: 'Paris', country: 'FR' });
    const form = { id, csrf, shown, scope: ['profile'], decision: 'allow' };
    const sent = await first.post(formPath, form);
    assert.equal(sent.status, 303);
    assert.equal(sent.headers.location, `/authorize.php/continue?id=${id}&changed=1`);
    const again = await first.get(sent.headers.location!);
    assert.ok(again.body.includes('Your profile changed after this page was shown'));
    assert.ok(again.body.includes('Changed since you agreed: First name.'));
    assert.equal((await first.post(formPath, form)).headers.location, sent.headers.location);
    const fresh = consentFormIn(again);
    assert.equal(fresh.id, id);
    const done = await first.post(formPath, { ...form, shown: fresh.shown });
    assert.ok(new URL(done.headers.location!).searchParams.has('code'));
  });

  it('refusing and handing over need no values', async () => {
    const path = authorizePath({ scope, prompt: 'consent' });
    const { id, csrf } = consentFormIn(await first.get(path));
    await edit({ given_name: 'Ada', locality: 'Lyon', country: 'FR' });
    const sent = await first.post(formPath, { id, csrf, decision: 'deny' });
    assert.equal(new URL(sent.headers.location!).searchParams.get('error'), 'access_denied');
  });
});
