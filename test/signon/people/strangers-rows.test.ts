/**
 * What somebody without an account can have written by naming addresses: links, accounts that wait
 * for their verification, decoys. Each kind has a bound, counted again after a restart.
 */

import assert from 'node:assert/strict';
import { afterEach, beforeEach, it } from 'node:test';
import { linksMax, linksPerAccountMax } from '../../../src/signon/people/links.ts';
import {
  createPendingCounter,
  pendingMax,
  pendingPerNetworkMax,
  restorePending,
} from '../../../src/signon/people/pending.ts';
import { sessionsPerPendingMax } from '../../../src/signon/sessions/sessions.ts';
import { namespaces, storedKey } from '../../../src/storage/keys.ts';
import { errorOf } from '../../support/house/result.ts';
import { type Bench, openBench, password, visitor } from '../account-fixture.ts';

let bench: Bench;
beforeEach(() => {
  bench = openBench('strangers-rows');
});
afterEach(() => bench.close());

async function rowsOf(namespace: number): Promise<number> {
  const prefix = storedKey(Uint8Array.of(namespace));
  let count = 0;
  for (let after: typeof prefix | undefined; ; ) {
    const options = after === undefined ? {} : { after };
    const page = await bench.store.scan(prefix, { ...options, limit: 1_000 });
    if (page.length === 0) return count;
    count += page.length;
    after = page.at(-1)!.key;
  }
}

/** Nobody looks into the store before all but one were refused, or a while is over. */
async function together<T>(count: number, ask: (n: number) => Promise<T>): Promise<T[]> {
  const store = bench.store as { get: Bench['store']['get'] };
  const { get } = store;
  let over = 0;
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const timer = setTimeout(open, 5_000);
  store.get = async (key) => {
    await opened;
    return get(key);
  };
  try {
    const asks = Array.from({ length: count }, async (_, n) => {
      const done = await ask(n);
      if (++over === count - 1) open();
      return done;
    });
    return await Promise.all(asks);
  } finally {
    clearTimeout(timer);
    store.get = get;
  }
}

function rowsOfKind(kind: string) {
  return bench.signon.unauthenticatedRows().find((stats) => stats.kind === kind)!;
}

async function allRows(): Promise<number> {
  const counts = await Promise.all(Object.values(namespaces).map((namespace) => rowsOf(namespace)));
  return counts.reduce((sum, count) => sum + count, 0);
}

it('asking for links to addresses without an account leaves a few rows, however many they are', async () => {
  for (let i = 0; i < 2_000; i++) {
    const done = await bench.signon.recovery.request({ email: `n${i}@example.org`, visitor });
    assert.ok(done.ok);
  }
  assert.ok((await allRows()) <= 64, `${await allRows()} rows`);
});

it('asking for links to one account leaves eight, and a ninth gets no mail', async () => {
  await bench.person('ada@example.org');
  const before = await rowsOf(namespaces.signonLink);
  for (let i = 0; i < 500; i++) {
    const done = await bench.signon.recovery.request({ email: 'ada@example.org', visitor });
    assert.ok(done.ok, 'the same answer');
  }
  const links = (await rowsOf(namespaces.signonLink)) - before;
  assert.ok(links <= linksPerAccountMax.reset + 64, `${links} links and decoys`);
  assert.deepEqual(rowsOfKind('reset_link'), {
    kind: 'reset_link',
    rows: linksPerAccountMax.reset,
    max: linksMax,
    refused: 500 - linksPerAccountMax.reset,
  });
  // The first mail's link works all the same.
  const token = await bench.tokenTo('ada@example.org');
  assert.ok((await bench.signon.recovery.reset({ token, password: `${password}x`, visitor })).ok);
  bench.clock.advance(3_600_000);
  const again = await bench.signon.recovery.request({ email: 'ada@example.org', visitor });
  assert.ok(again.ok);
  assert.equal(rowsOfKind('reset_link').rows, 1, 'those of an hour ago are over');
});

it('registering one address again and again leaves a bounded number of links', async () => {
  for (let i = 0; i < 200; i++) {
    const request = { email: 'bea@example.org', password, visitor };
    assert.ok((await bench.signon.registration.register(request)).ok);
  }
  const links = await rowsOf(namespaces.signonLink);
  assert.ok(links <= linksPerAccountMax.verify + 64, `${links} links`);
  assert.equal(rowsOfKind('pending_account').rows, 1, 'one account waits');
});

it('a network registers no more than its share, others go on, and a verification makes room', async () => {
  for (let i = 0; i < pendingPerNetworkMax; i++) {
    const request = { email: `p${i}@example.org`, password, visitor };
    assert.ok((await bench.signon.registration.register(request)).ok);
  }
  const rows = await allRows();
  const more = { email: 'more@example.org', password, visitor };
  for (let i = 0; i < 20; i++) {
    assert.equal(errorOf(await bench.signon.registration.register(more)), 'overloaded');
  }
  assert.equal(await allRows(), rows, 'a refusal writes nothing');
  const elsewhere = { ...more, visitor: { ...visitor, client: 'n2' } };
  assert.ok((await bench.signon.registration.register(elsewhere)).ok);
  const { kind, rows: waiting, max } = rowsOfKind('pending_account');
  assert.deepEqual([kind, waiting, max], ['pending_account', pendingPerNetworkMax + 1, pendingMax]);
  const token = await bench.tokenTo('p0@example.org');
  assert.ok((await bench.signon.registration.verify(token, visitor)).ok);
  assert.equal(rowsOfKind('pending_account').rows, pendingPerNetworkMax);
  assert.ok((await bench.signon.registration.register({ ...more, email: 'x@example.org' })).ok);
});

it('at the bound all addresses get the same answer, whether they have an account or not', async () => {
  const verified = 'ada@example.org';
  await bench.person(verified);
  const waiting = 'p0@example.org';
  for (let i = 0; i < pendingPerNetworkMax; i++) {
    const request = { email: `p${i}@example.org`, password, visitor };
    assert.ok((await bench.signon.registration.register(request)).ok);
  }
  const rows = await allRows();
  const ask = (email: string) => bench.signon.registration.register({ email, password, visitor });
  for (const email of [verified, waiting, 'nobody@example.org']) {
    assert.equal(errorOf(await ask(email)), 'overloaded', email);
  }
  assert.equal(await allRows(), rows);
  // With one place left, however many ask at once.
  assert.ok(
    (await bench.signon.registration.verify(await bench.tokenTo('p9@example.org'), visitor)).ok,
  );
  const known = await together(6, () => ask(verified));
  const unknown = await together(6, (i) => ask(`u${i}@example.org`));
  const answers = (all: typeof known) => all.map((done) => done.ok).filter(Boolean).length;
  assert.equal(answers(known), answers(unknown), 'as many are refused');
  assert.equal(rowsOfKind('pending_account').rows, pendingPerNetworkMax);
});

it('an account that registers anew is counted for as long as it waits, also after a restart', async () => {
  const again = { email: 'eve@example.org', password, visitor };
  const dayMs = 24 * 3_600_000;
  assert.ok((await bench.signon.registration.register(again)).ok);
  bench.clock.advance(6 * dayMs);
  assert.ok((await bench.signon.registration.register(again)).ok);
  bench.clock.advance(6 * dayMs);
  assert.ok((await bench.signon.people.byEmail(again.email)) !== undefined, 'it waits');
  assert.equal(rowsOfKind('pending_account').rows, 1);
  await bench.other.restore();
  const after = bench.other.unauthenticatedRows().find(({ kind }) => kind === 'pending_account');
  assert.equal(after?.rows, 1);
  bench.clock.advance(dayMs);
  assert.equal(rowsOfKind('pending_account').rows, 0);
});

it('an account that is not verified has four sessions at most', async () => {
  const email = 'dan@example.org';
  assert.ok((await bench.signon.registration.register({ email, password, visitor })).ok);
  for (let i = 0; i < 12; i++) await bench.signIn(email);
  assert.equal(await rowsOf(namespaces.session), sessionsPerPendingMax);
});

it('what was there before a restart is counted after it', async () => {
  for (let i = 0; i < 600; i++) {
    const from = { ...visitor, client: `n${i}` };
    const request = { email: `q${i}@example.org`, password, visitor: from };
    assert.ok((await bench.signon.registration.register(request)).ok);
  }
  await bench.other.restore();
  const rows = (all: typeof bench.other) =>
    all.unauthenticatedRows().map(({ kind, rows }) => [kind, rows]);
  assert.deepEqual(rows(bench.other), rows(bench.signon));
  assert.deepEqual(rows(bench.other), [
    ['verify_link', 600],
    ['reset_link', 0],
    ['signIn_link', 0],
    ['invite_link', 0],
    ['pending_account', 600],
  ]);
});

it('the count after a restart looks at those alone that wait', async () => {
  const ids: string[] = [];
  for (const name of ['ada', 'bob', 'cyd']) ids.push(await bench.person(`${name}@example.org`));
  const waiting = ['dan', 'eve', 'fay'].map((name) => `${name}@example.org`);
  for (const email of waiting) {
    assert.ok((await bench.signon.registration.register({ email, password, visitor })).ok);
  }
  assert.equal(await rowsOf(namespaces.pendingAccount), waiting.length);
  const gone = await bench.signon.people.byEmail(waiting[2]!);
  assert.ok((await bench.signon.deletion.delete(gone!.id)).ok);
  assert.equal(await rowsOf(namespaces.pendingAccount), 2);
  const { store, clock } = bench;
  const seen: string[] = [];
  const watched: typeof store = {
    ...store,
    get(key) {
      seen.push(Buffer.from(key).toString('latin1'));
      return store.get(key);
    },
    scan(prefix, options) {
      assert.notEqual(prefix[0], namespaces.account);
      return store.scan(prefix, options);
    },
  };
  const counter = createPendingCounter({ clock });
  await restorePending(watched, counter);
  assert.equal(counter.stats().rows, 2);
  assert.equal(seen.length, 2);
  assert.ok(!ids.some((id) => seen.some((key) => key.includes(id))));
});

it('asking for passkey challenges writes nothing', async () => {
  await bench.person('cyd@example.org');
  const before = await allRows();
  for (let i = 0; i < 500; i++) {
    assert.ok((await bench.signon.passkeys.signInOptions()).ok);
    assert.ok((await bench.signon.registration.passkeyOptions(`k${i}@example.org`)).ok);
  }
  assert.equal(await allRows(), before);
});
