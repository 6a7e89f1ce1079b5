/** The site in docs/SIGNON.md does what that page says, with other ports. */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { it } from 'node:test';
import { startCommand } from '../../support/server/child.ts';
import { freePort } from '../../support/server/free-port.ts';
import { startTestServer, within } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';
import { allow, createAgent, openPeople } from '../../support/signon/visitor.ts';

it('the site of the documentation signs a visitor in', async () => {
  await using server = await startTestServer({ threads: 1 });
  await using people = openPeople(server);
  await people.add('ada@mail.example', { givenName: 'Ada' });
  const page = readFileSync('docs/SIGNON.md', 'utf8');
  const source = /```js\n\/\/ site\.mjs\n(.*?)```/s.exec(page)![1]!;
  const port = await freePort();
  const directory = makeTempDir('readme-site');
  const file = `${directory.path}/site.mjs`;
  assert.ok(source.includes('localhost:8080') && source.includes('listen(4000)'));
  writeFileSync(
    file,
    source
      .replaceAll('localhost:8080', `127.0.0.1:${server.port}`)
      .replaceAll('4000', String(port)),
  );
  const site = startCommand(process.execPath, [file]);
  try {
    const origin = `http://localhost:${port}`;
    const visit = (path: string, cookie = '') =>
      fetch(origin + path, { redirect: 'manual', headers: { Cookie: cookie } });
    /** What a browser is sent away with, and what it keeps. */
    const begin = async () => {
      const { headers } = await visit('/');
      const set = headers.get('set-cookie')!;
      assert.match(set, /; Path=\/callback; HttpOnly; SameSite=Lax; Max-Age=86400$/);
      return { sent: new URL(headers.get('location')!), cookie: set.split(';')[0]! };
    };
    await within(
      () =>
        visit('/callback').then(
          () => true,
          () => false,
        ),
      'the site',
    );
    const { sent, cookie } = await begin();
    const second = await begin();
    assert.equal(sent.searchParams.get('code_challenge_method'), 'S256');
    assert.match(sent.searchParams.get('code_challenge')!, /^[\w-]{43}$/);
    assert.doesNotMatch(sent.href, new RegExp(cookie.split('=')[1]!), 'the verifier stays here');
    const person = createAgent(server, await people.signIn('ada@mail.example'));
    const back = await allow(person, sent.pathname + sent.search, ['profile']);
    assert.equal(back.origin, origin);
    const path = back.pathname + back.search;
    // A link that somebody else's sign-in ends with signs nobody else in.
    for (const foreign of ['', second.cookie, 'signin_=x', 'signin_null=x', `x${cookie}`]) {
      const answer = await visit(path, foreign);
      assert.deepEqual([answer.status, await answer.text()], [400, 'Not our sign-in.'], foreign);
    }
    const kept = `theme=a=b; ${second.cookie}; ${cookie}`;
    const done = await visit(path, kept);
    const profile = (await done.json()) as object;
    assert.deepEqual(Object.keys(profile).sort(), ['given_name', 'picture', 'service_id']);
    const [name] = cookie.split('=');
    assert.match(done.headers.get('set-cookie')!, new RegExp(`^${name}=; .*; Max-Age=0$`));
    assert.match(await (await visit(path, cookie)).text(), /invalid/, 'a code counts once');
    // The code of one sign-in with the verifier of another one.
    const mixed = new URL(back);
    mixed.searchParams.set('state', second.sent.searchParams.get('state')!);
    const other = await visit(mixed.pathname + mixed.search, second.cookie);
    assert.match(await other.text(), /invalid/);
    // What comes in the address is shown as text, and what is no address does not end the site.
    const from = `&iss=${encodeURIComponent(sent.origin)}`;
    const third = await begin();
    const state = `&state=${third.sent.searchParams.get('state')}`;
    const refused = await visit(`/callback?error=<b>no</b>${from}${state}`, third.cookie);
    assert.equal(await refused.text(), '<b>no</b>');
    assert.match(refused.headers.get('content-type') ?? '', /^text\/plain/);
    for (const iss of ['', '&iss=https://evil.example', `${from}0`]) {
      const answer = await visit(`/callback?code=x${iss}${state}`, third.cookie);
      assert.equal(await answer.text(), 'The answer of another service.');
    }
    assert.equal((await visit('//')).status, 500);
    assert.equal((await visit('/')).status, 303);
  } finally {
    site.process.kill('SIGKILL');
    await site.ended;
    directory.remove();
  }
});
