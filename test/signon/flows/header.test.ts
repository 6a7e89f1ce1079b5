/** The header of every page: right for whoever reads it, and never of another visitor. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forFile } from '../../support/server/for-file.ts';
import { type Answer, startTestServer } from '../../support/server/server.ts';
import { openPeopleOf } from '../../support/signon/person.ts';

const email = 'wilhelmina@example.org';
/** Pages that others may keep, or that the server keeps; and errors, of the transport too. */
const publicPages = ['/', '/captcha/', '/ip/192.0.2.1', '/docs', '/feeds', '/nowhere', '/ip/x'];
const ownPages = ['/account', '/account/keys', '/account/data', '/signin', '/register', '/goodbye'];

/** The header; of a page with one form, what stands below it. */
const headerOf = ({ body }: Answer) =>
  /<header class="site-header">.*?<\/header>|<footer class="bare-foot">.*?<\/footer>/s.exec(
    body,
  )?.[0] ?? assert.fail('no header');

const server = forFile(await startTestServer({ env: { CLIENT_LIMITS: 'off' } }));
const people = forFile(openPeopleOf(server));
await people.register(email);
const Cookie = (await people.signIn(email)).cookie;

describe('headers', () => {
  const ask = (path: string, headers: Record<string, string> = {}) =>
    server.fetch(path, { headers: { Accept: 'text/html', ...headers } });

  it('of a public page names who is signed in, and nobody else gets that page', async () => {
    const { body } = await ask('/docs');
    const docs = [...body.matchAll(/href="(\/docs\/[^"#.]+)"/g)].map((match) => match[1]!);
    assert.ok(docs.length > 3);
    for (const path of [...publicPages, ...docs.slice(0, 3)]) {
      const languages = [{ 'Accept-Language': 'en' }, { 'Accept-Language': 'fr' }];
      for (const language of languages) {
        // Twice with a session first: what is kept of it must not reach the next visitor.
        const own = [
          await ask(path, { ...language, Cookie }),
          await ask(path, { ...language, Cookie }),
        ];
        const strangers = await ask(path, language);
        for (const answer of own) {
          assert.ok(headerOf(answer).includes(email), path);
          assert.match(headerOf(answer), /action="\/signout"/, path);
          assert.equal(answer.headers['cache-control'], 'no-store', path);
          assert.equal(answer.headers.etag, undefined, path);
          const others = answer.body.slice(answer.body.indexOf('</header>'));
          assert.ok(!others.includes(email), path);
        }
        assert.ok(!strangers.body.includes(email), path);
        if (path !== '/nowhere') assert.match(strangers.headers.vary ?? '', /Cookie/, path);
        assert.match(headerOf(strangers), /href="\/account"><span>(Sign in|Se connecter)</, path);
        assert.doesNotMatch(headerOf(strangers), /signin|signout/, path);
      }
    }
  });

  it('of a page that reads the session names the person, and nobody keeps it', async () => {
    for (const path of ownPages) {
      const answer = await ask(path, { Cookie });
      if (answer.status === 303) continue;
      assert.match(headerOf(answer), /wilhelmina@example\.org/, path);
      assert.match(headerOf(answer), /action="\/signout"/, path);
      assert.doesNotMatch(headerOf(answer), /href="\/signin"/, path);
      assert.equal(answer.headers['cache-control'], 'no-store', path);
    }
  });

  it('of a path that is not there changes nothing but the page', async () => {
    const session = { Cookie };
    assert.equal((await ask('/nowhere', session)).status, 404);
    const json = await ask('/api/v2/nowhere', session);
    assert.deepEqual(json.json(), (await ask('/api/v2/nowhere')).json());
    const posted = await server.fetch('/nowhere', { method: 'POST', headers: session });
    assert.equal(posted.status, 404, 'never a 405');
    const head = await server.fetch('/nowhere', { method: 'HEAD', headers: session });
    assert.deepEqual([head.status, head.body], [404, '']);
    const ended = await ask('/nowhere', { Cookie: `session=${'A'.repeat(43)}` });
    assert.match(headerOf(ended), /href="\/account"><span>Sign in</);
  });

  it('comes with the surfaces that the person likes, and nobody else gets them', async () => {
    const look = async (path: string, headers = {}) =>
      /<body[^>]*>/.exec((await ask(path, headers)).body)?.[0] ?? '';
    const paths = [...publicPages, '/account', '/account/keys', '/register/sent'];
    const plain = await Promise.all(paths.map((path) => look(path, { Cookie })));
    const owner = await people.signIn(email);
    await owner.post('/account/profile', { given_name: 'Mina', liquid_glass: 'on' });
    for (const [i, path] of paths.entries()) {
      assert.doesNotMatch(plain[i]!, /is-glass|^$/, path);
      assert.match(await look(path, { Cookie }), /is-glass/, path);
      assert.doesNotMatch(await look(path), /is-glass/, path);
    }
  });

  it('leads to the account: in for one, by the sign-in and back for another', async () => {
    assert.equal((await ask('/account', { Cookie })).status, 200);
    const { status, headers } = await ask('/account');
    assert.equal(status, 303);
    assert.equal(headers.location, '/signin?return=%2Faccount');
  });
});
