/** Two processes on one store: an address and a link belong to one of them. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { manualClock } from '../../src/core/clock.ts';
import { createLog } from '../../src/core/log/log.ts';
import { seededRandom } from '../../src/core/random.ts';
import { openPeople } from '../../src/signon/people.ts';
import { openLmdbStore } from '../../src/store/lmdb.ts';
import { createAuthenticator } from '../support/browser/authenticator.ts';
import { value } from '../support/house/result.ts';
import { startChild } from '../support/server/child.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';
import { openBench, password, visitor } from './account-fixture.ts';

interface Outcome {
  readonly verified: string[];
  readonly changed: string[];
  readonly failed: number;
  readonly tokens: string[];
}

/** One process for each seed; the last plan is for all that have none of their own. */
async function race(
  directory: string,
  seeds: readonly number[],
  ...plans: readonly object[]
): Promise<Outcome[]> {
  const children = seeds.map((seed) =>
    startChild(new URL('./racer.js', import.meta.url), [directory, String(seed)]),
  );
  try {
    await Promise.all(children.map((child) => child.line((line) => line === 'ready')));
    for (const [i, child] of children.entries()) {
      child.process.stdin!.write(`${JSON.stringify(plans[i] ?? plans.at(-1))}\n`);
    }
    const lines = await Promise.all(children.map((c) => c.line((line) => line.startsWith('{'))));
    await Promise.all(children.map((child) => child.ended));
    return lines.map((line) => JSON.parse(line) as Outcome);
  } finally {
    for (const child of children) child.process.kill('SIGKILL');
  }
}

it('an address registered by two processes at once is one account, a link verifies once', async () => {
  const directory = makeTempDir('signon-processes');
  const emails = Array.from({ length: 60 }, (_, i) => `person${i}@example.org`);
  const registered = await race(directory.path, [1, 2], { emails });
  assert.deepEqual(
    registered.map(({ failed }) => failed),
    [0, 0],
  );
  const tokens = registered.flatMap((r) => r.tokens.map((line) => line.split(' ')[1]!));
  assert.equal(tokens.length, 2 * emails.length, 'each had its own link');
  const verified = (await race(directory.path, [3, 4], { tokens })).flatMap((r) => r.verified);
  assert.equal(new Set(verified).size, verified.length, 'no link twice');
  assert.equal(verified.length, emails.length, 'each address once');
  const log = createLog('silent');
  const store = openLmdbStore({
    path: `${directory.path}/store`,
    clock: manualClock(Date.now()),
    log,
  });
  const people = openPeople(store);
  for (const email of emails) assert.equal((await people.byEmail(email))!.account.pendingUntil, 0);
  assert.equal(await store.lastSeq(), BigInt(emails.length));
  await store.close();
  directory.remove();
});

it('a verification in one process and a change to its address in another: one of them wins', async () => {
  const bench = openBench('signon-change-race');
  // The processes go by the system's clock.
  bench.clock.advance(Date.now() - bench.clock.now());
  const pairs: { change: [string, string]; verify: string; wanted: string }[] = [];
  for (let i = 0; i < 40; i++) {
    const [email, wanted] = [`person${i}@example.org`, `wanted${i}@example.org`];
    await bench.person(email);
    const cookie = (await bench.signIn(email)).token;
    const session = (await bench.signon.sessions.find(cookie))!;
    value(await bench.signon.emailChange.request(session, wanted, visitor));
    const change: [string, string] = [cookie, await bench.tokenTo(wanted)];
    value(await bench.signon.registration.register({ email: wanted, password, visitor }));
    pairs.push({ change, verify: await bench.tokenTo(wanted), wanted });
  }
  // From both ends, so that each process wins some.
  const plans = [
    { changes: pairs.map(({ change }) => change) },
    { tokens: pairs.map(({ verify }) => verify).toReversed() },
  ];
  const [changer, verifier] = await race(bench.dataDir, [5, 6], ...plans);
  for (const { change, verify, wanted } of pairs) {
    const changed = changer!.changed.includes(change[1]);
    assert.notEqual(changed, verifier!.verified.includes(verify), wanted);
    const owner = (await bench.signon.people.byEmail(wanted))!;
    assert.equal(owner.account.pendingUntil, 0);
    // The change gave the session another cookie.
    const session = await bench.signon.sessions.find(change[0]);
    assert.equal(session === undefined, changed, wanted);
  }
  await bench.close();
});

it('a link with a passkey, used in two processes at once, makes one account with one passkey', async () => {
  const bench = openBench('signon-passkey-race');
  bench.clock.advance(Date.now() - bench.clock.now());
  const random = seededRandom(31);
  const { registration, people, passkeys } = bench.signon;
  const emails = Array.from({ length: 40 }, (_, i) => `person${i}@example.org`);
  const tokens: string[] = [];
  for (const email of emails) {
    const key = createAuthenticator(random, 'https://id.example.org');
    const response = key.create(value(await registration.passkeyOptions(email)));
    value(await registration.registerPasskey({ response, visitor }));
    tokens.push(await bench.tokenTo(email));
  }
  const plans = [{ tokens }, { tokens: tokens.toReversed() }];
  const won = (await race(bench.dataDir, [7, 8], ...plans)).flatMap((r) => r.verified);
  assert.deepEqual(won.sort(), tokens.toSorted());
  assert.equal(await bench.store.lastSeq(), BigInt(emails.length));
  for (const email of emails) {
    const { id } = (await people.byEmail(email))!;
    assert.equal((await passkeys.list(id)).length, 1);
  }
  await bench.close();
});
