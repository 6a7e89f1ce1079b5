/** Codes that two processes redeem at once, on one store: each has one winner among all of its callers. */

import assert from 'node:assert/strict';
import { systemClock } from '../../src/core/clock.ts';
import { createLog } from '../../src/core/log.ts';
import { systemRandom } from '../../src/core/random.ts';
import { createProfiles } from '../../src/signon/people/profile/profile-store.ts';
import type { StoreFactory } from '../storage/fixture.ts';
import { startChild } from '../support/server/child.ts';
import { openAuthorization } from '../support/signon/authorization.ts';
import { ada, goodParameters, parametersOf, queryOf } from './fixture.ts';

export async function raceForCodes(
  { create, open, opener }: StoreFactory,
  codesInAll: number,
): Promise<void> {
  const place = await create();
  const tools = { clock: systemClock(), random: systemRandom(), log: createLog('silent') };
  const store = await open(place.location, tools.clock);
  const profiles = createProfiles({ store, ...tools });
  const authorization = openAuthorization({
    store,
    ...tools,
    profiles,
  });
  const module = new URL('./redeemer.js', import.meta.url);
  const children = [1, 2].map(() => startChild(module, [opener.href, place.location]));
  try {
    await store.commit({ set: [profiles.newRow('a', 'a@mail.example', true)] });
    await profiles.update('a', (profile) => ({ ok: true, value: { ...profile, ...ada } }));
    const issuer = 'https://sso.example';
    const session = { sessionId: 's', accountId: 'a', signedInAt: 0, verified: true, issuer };
    const reading = authorization.read(parametersOf(goodParameters));
    assert.ok(reading.kind === 'request');
    const form = await authorization.transactions.begin(
      { query: queryOf(goodParameters), askedAt: 0 },
      's',
    );
    assert.ok(form.ok);
    const { shown } = await authorization.asked(reading.request, session, form.value);
    await authorization.allow(form.value, session, ['profile'], shown);
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
    await place.destroy();
  }
}
