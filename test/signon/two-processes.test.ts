/** Two processes on one store: each code has one winner among all of their callers. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import { createLog } from '../../src/core/log.ts';
import { systemRandom } from '../../src/core/random.ts';
import { createAuthorization } from '../../src/signon/authorization.ts';
import { createProfiles } from '../../src/signon/profile-store.ts';
import { openLmdbStore } from '../../src/store/lmdb.ts';
import { startChild } from '../support/child.ts';
import { makeTempDir } from '../support/temp-dir.ts';
import { ada, goodParameters, parametersOf } from './fixture.ts';

const codesInAll = 300;

test(`${codesInAll} codes, six callers each in two processes: ${codesInAll} profiles`, async () => {
  const directory = makeTempDir('redeem');
  const tools = { clock: systemClock(), random: systemRandom(), log: createLog('silent') };
  const store = openLmdbStore({ path: directory.path, ...tools });
  const profiles = createProfiles({ store, ...tools });
  const authorization = createAuthorization({
    store,
    ...tools,
    profiles,
    standing: { sessionAlive: () => true, accountEnabled: () => true },
    demo: false,
    avatarUrl: (avatar) => avatar,
  });
  const module = new URL('./redeemer.js', import.meta.url);
  const children = [1, 2].map(() => startChild(module, [directory.path]));
  try {
    await store.commit({ set: [profiles.newRow('a', 'a@mail.example', true)] });
    await profiles.update('a', (profile) => ({ ok: true, value: { ...profile, ...ada } }));
    const session = { sessionId: 's', accountId: 'a', signedInAt: 0, verified: true };
    const reading = authorization.read(parametersOf(goodParameters));
    assert.ok(reading.kind === 'request');
    const form = await authorization.transactions.begin(reading.request, 's');
    assert.ok(form.ok);
    await authorization.allow(form.value, session, ['profile']);
    const codes = await Promise.all(
      Array.from({ length: codesInAll }, async () => {
        const address = await authorization.issue(reading.request, session);
        assert.ok(address.ok);
        return new URL(address.value).searchParams.get('code')!;
      }),
    );
    await Promise.all(children.map((child) => child.line((line) => line === 'ready')));
    for (const [i, child] of children.entries()) {
      // From both ends, so that each process wins some.
      const order = i === 0 ? codes : codes.toReversed();
      child.process.stdin!.write(`${JSON.stringify(order)}\n`);
    }
    const lines = await Promise.all(
      children.map((child) => child.line((line) => line.startsWith('['))),
    );
    const won = lines.map((line) => JSON.parse(line) as string[]);
    assert.deepEqual(won.flat().sort(), codes.toSorted());
    await Promise.all(children.map((child) => child.ended));
  } finally {
    for (const child of children) child.process.kill('SIGKILL');
    await store.close();
    directory.remove();
  }
});
