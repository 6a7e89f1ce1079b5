/** The site in the README does what the README says, with other ports. */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { it } from 'node:test';
import { startCommand } from '../../support/server/child.ts';
import { freePort } from '../../support/server/free-port.ts';
import { startTestServer, within } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';
import { allow, createAgent, openPeople } from '../../support/signon/visitor.ts';

it('the site of the README signs a visitor in', async () => {
  await using server = await startTestServer({ threads: 1 });
  await using people = openPeople(server);
  await people.add('ada@mail.example', { givenName: 'Ada' });
  const readme = readFileSync('README.md', 'utf8');
  const source = /```js\n\/\/ site\.mjs\n(.*?)```/s.exec(readme)![1]!;
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
    const visit = (path: string) => fetch(origin + path, { redirect: 'manual' });
    await within(
      () =>
        visit('/callback').then(
          () => true,
          () => false,
        ),
      'the site',
    );
    const sent = new URL((await visit('/')).headers.get('location')!);
    const person = createAgent(server, await people.signIn('ada@mail.example'));
    const back = await allow(person, sent.pathname + sent.search, ['profile']);
    assert.equal(back.origin, origin);
    const profile = (await (await visit(back.pathname + back.search)).json()) as object;
    assert.deepEqual(Object.keys(profile).sort(), ['given_name', 'picture', 'service_id']);
    assert.equal(await (await visit(back.pathname + back.search)).text(), 'Not our sign-in.');
    // What comes in the address is shown as text, and what is no address does not end the site.
    const { searchParams } = new URL((await visit('/')).headers.get('location')!);
    const from = `&iss=${encodeURIComponent(new URL(sent).origin)}`;
    const refused = await visit(
      `/callback?error=<b>no</b>${from}&state=${searchParams.get('state')}`,
    );
    assert.equal(await refused.text(), '<b>no</b>');
    assert.match(refused.headers.get('content-type') ?? '', /^text\/plain/);
    for (const other of ['', '&iss=https://evil.example', `${from}0`]) {
      const left = new URL((await visit('/')).headers.get('location')!);
      const answer = await visit(
        `/callback?code=x${other}&state=${left.searchParams.get('state')}`,
      );
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
