/** Deletions in the background: what is told, what stops them, and what takes them up again. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createAccounts } from '../../../src/access/accounts/accounts.ts';
import type { PersonalData } from '../../../src/contracts/personal-data.ts';
import { parseIp } from '../../../src/ip/address.ts';
import {
  reportPersonalData,
  reportsOfAccount,
} from '../../../src/reputation/reports/store/account-reports.ts';
import { createReportStore } from '../../../src/reputation/reports/store/report-store.ts';
import type { Mail } from '../../../src/signon/mail/mail-format.ts';
import type { Delivery } from '../../../src/signon/mail/mailer.ts';
import { createDeletion, createErasures } from '../../../src/signon/people/deletion.ts';
import { signonPersonalData } from '../../../src/signon/people/personal-data.ts';
import { createConsents } from '../../../src/signon/sites/consents.ts';
import { erasureKey, erasurePrefix, namespaces, storedKey } from '../../../src/storage/keys.ts';
import { LeaseLostError, type Maintenance } from '../../../src/storage/maintenance.ts';
import type { Store } from '../../../src/storage/store.ts';
import { errorOf, value } from '../../support/house/result.ts';
import { seededRandom } from '../../support/seeded.ts';
import { within } from '../../support/server/server.ts';
import { type Bench, openBench, password, visitor } from '../account-fixture.ts';

const email = 'person@example.org';
const neverYields = { shouldYield: () => false, yield: async () => {} };

it('the first commit is waited for, the rest follows, and a mail in their language tells', async () => {
  const bench = openBench('erasures');
  const { registration, erasures, people, deletion } = bench.signon;
  const french = { ...visitor, language: 'fr' } as const;
  value(await registration.register({ email, password, visitor: french }));
  const { accountId } = value(await registration.verify(await bench.tokenTo(email), french));
  const { token } = await bench.signIn(email);
  value(await erasures.begin(accountId));
  assert.equal((await people.byId(accountId))?.account.disabled, true);
  assert.equal(await bench.signon.sessions.find(token), undefined);
  assert.deepEqual(await deletion.unfinished(undefined, 10), [accountId]);
  value(await erasures.begin(accountId));
  await erasures.idle();
  assert.equal(await people.byEmail(email), undefined);
  assert.deepEqual(await deletion.unfinished(undefined, 10), []);
  const told = bench.mails.filter(({ subject }) => subject === 'Votre compte a été supprimé');
  assert.equal(told.length, 1);
  assert.equal(told[0]!.to, email);
  assert.match(told[0]!.text, /signalements d’adresses, sans leurs commentaires/);
  assert.equal(errorOf(await erasures.begin(accountId)), 'unknown_account');
  await bench.close();
});

it('an address that was never confirmed gets no mail', async () => {
  const bench = openBench('erasures-pending');
  value(await bench.signon.registration.register({ email, password, visitor }));
  await bench.signon.mailer.idle();
  const before = bench.mails.length;
  const { id } = (await bench.signon.people.byEmail(email))!;
  value(await bench.signon.erasures.begin(id));
  await bench.signon.erasures.idle();
  assert.equal(await bench.signon.people.byEmail(email), undefined);
  assert.equal(bench.mails.length, before);
  await bench.close();
});

/** A mailbox that takes no farewell while it is down. */
function openDownBench(name: string) {
  const sent: Mail[] = [];
  const mailbox = { down: true, tries: 0 };
  const mailTransport = {
    async send(mail: Mail) {
      const isFarewell = mail.subject.includes('deleted');
      if (isFarewell) mailbox.tries++;
      if (mailbox.down && isFarewell) throw new Error('down');
      sent.push(mail);
    },
    async close() {},
  };
  const bench = openBench(name, { mailTransport });
  const farewells = () => sent.filter(({ subject }) => subject.includes('deleted')).length;

  async function person(): Promise<string> {
    const before = sent.length;
    value(await bench.signon.registration.register({ email, password, visitor }));
    // Not until the mailer is idle: a farewell may wait there.
    await within(() => sent.length > before, 'a mail');
    const token = new URL(sent.at(-1)!.link!).searchParams.get('token')!;
    return value(await bench.signon.registration.verify(token, visitor)).accountId;
  }

  return { ...bench, mailbox, farewells, newPerson: person };
}

it('with the mail server down the address is free at once, and the mail waits alone', async () => {
  const bench = openDownBench('erasures-down');
  const { signon, other, store, mailbox } = bench;
  const id = await bench.newPerson();
  value(await signon.erasures.begin(id));
  while (mailbox.tries === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(await signon.people.byEmail(email), undefined);
  assert.equal(await signon.people.byId(id), undefined);
  assert.deepEqual(await signon.deletion.unfinished(undefined, 10), [id]);
  const row = await store.get(erasureKey(id));
  assert.ok(Buffer.from(row!.value).includes(email));
  assert.equal(row!.value.length, email.length + 3, 'nothing but the address and the language');
  bench.clock.advance(3_600_000);
  const again = await bench.newPerson();
  assert.notEqual(again, id);
  await signon.close();
  mailbox.down = false;
  other.erasures.resume();
  await other.erasures.idle();
  assert.equal(bench.farewells(), 1, 'the next start sends it');
  assert.deepEqual(await other.deletion.unfinished(undefined, 10), []);
  const over = await store.get(erasureKey(id));
  assert.equal(
    Buffer.from(over!.value).toString('latin1'),
    '\x03',
    'of the person nothing is left',
  );
  assert.equal((await other.people.byEmail(email))?.id, again, 'the new account is another one');
  await bench.close();
});

it('a mail that is given up leaves the store, and so does one that nobody sent for a day', async () => {
  const bench = openDownBench('erasures-given-up');
  const { store, clock } = bench;
  const holders = async () =>
    (await store.scan(erasurePrefix(), { limit: 10 })).filter(({ value }) =>
      Buffer.from(value).includes('@'),
    ).length;
  let how: Delivery = 'given_up';
  const farewell = async () => how;
  const deletion = createDeletion({
    store,
    clock,
    random: seededRandom(1),
    data: [],
    deletionNotice: farewell,
  });
  value(await deletion.delete(await bench.newPerson()));
  assert.equal(await holders(), 0);
  how = 'not_now';
  assert.equal(errorOf(await deletion.delete(await bench.newPerson())), 'store_unavailable');
  assert.equal(await holders(), 1);
  clock.advance(24 * 3_600_000);
  assert.equal(await holders(), 0);
  assert.deepEqual(await deletion.unfinished(undefined, 10), []);
  await bench.close();
});

it('mails that wait beyond the bound keep no account from its end', async () => {
  const bench = openBench('erasures-many');
  const { store, clock, log, signon } = bench;
  const many = 70;
  const release: (() => void)[] = [];
  let most = 0;
  let open = 0;
  const farewell = async (): Promise<Delivery> => {
    most = Math.max(most, ++open);
    await new Promise<void>((resolve) => release.push(resolve));
    open--;
    return 'sent';
  };
  const accounts = createAccounts({ store, clock, random: seededRandom(5) });
  const deletion = createDeletion({
    store,
    clock,
    random: seededRandom(1),
    data: [],
    deletionNotice: farewell,
  });
  const erasures = createErasures({ deletion, log });
  for (let i = 0; i < many; i++) {
    const { id } = value(await accounts.create(`p${i}@example.org`));
    value(await deletion.begin(id));
  }
  erasures.resume();
  await within(async () => release.length === 64, 'the first ones are on their way');
  const left = async () => {
    const all = Array.from({ length: many }, (_, i) => signon.people.byEmail(`p${i}@example.org`));
    return (await Promise.all(all)).filter((person) => person !== undefined).length;
  };
  await within(async () => (await left()) === 0, 'all addresses are free');
  assert.equal((await deletion.unfinished(undefined, 100)).length, many);
  const done = erasures.idle();
  const letting = setInterval(() => release.splice(0).forEach((resolve) => void resolve()), 5);
  await done;
  await within(async () => (await deletion.unfinished(undefined, 100)).length === 0, 'all told');
  clearInterval(letting);
  assert.equal(most, 64);
  await erasures.close();
  await bench.close();
});

it('one account that can’t be erased now does not keep the others; it is tried again', async () => {
  const bench = openBench('erasures-broken');
  const { store, clock, log } = bench;
  const ids = [
    await bench.person('a@example.org'),
    await bench.person('b@example.org'),
    await bench.person('c@example.org'),
  ].sort();
  let broken = true;
  const data: PersonalData[] = [
    {
      name: 'part',
      exportOf: async () => undefined,
      async erase(id) {
        if (broken && id === ids[0]) throw new Error('not now');
      },
    },
  ];
  const deletion = createDeletion({ store, clock, random: seededRandom(1), data });
  const erasures = createErasures({ deletion, log, retryMs: 5 });
  for (const id of ids) value(await deletion.begin(id));
  erasures.resume();
  await erasures.idle();
  assert.deepEqual(await deletion.unfinished(undefined, 10), [ids[0]]);
  broken = false;
  while ((await deletion.unfinished(undefined, 10)).length > 0) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await erasures.idle();
  await erasures.close();
  await bench.close();
});

const manyReports = 20_000;
const manyConsents = 2_000;

/** Reports by the thousand, and more rows of every kind than one page holds. */
async function liveLong(bench: Bench, id: string): Promise<void> {
  const { store, clock } = bench;
  const reports = createReportStore({ store, clock, random: seededRandom(6) });
  const reporter = { account: id, slot: 0, country: 'FR' };
  for (let done = 0; done < manyReports; done += 1_000) {
    const adds = Array.from({ length: 1_000 }, (_, i) => {
      const ip = `203.${(done + i) >> 16}.${((done + i) >> 8) & 255}.${(done + i) & 255}`;
      const words = new Uint32Array(4);
      const family = parseIp(ip, words) as 4;
      const report = { ip, family, words, categories: 1, comment: 'mine', reportedAt: clock.now() };
      return reports.add(reporter, report);
    });
    for (const added of await Promise.all(adds)) value(added);
  }
  const consents = createConsents({ store, clock, random: seededRandom(7) });
  const rows = Array.from({ length: manyConsents }, (_, i) => {
    const clientId = `site${i}.example`;
    const parties = { accountId: id, clientId, origin: `https://${clientId}` };
    return consents.afterDecision(undefined, parties, ['openid'], ['openid']).row;
  });
  for (let at = 0; at < rows.length; at += 500) {
    assert.ok((await store.commit({ set: rows.slice(at, at + 500) })).ok);
  }
}

/** Rows that are read or written between two turns of the event loop, the most at a time. */
function countingRows(store: Store) {
  let now = 0;
  let most = 0;
  let total = 0;
  let written = 0;
  let counting = true;
  const turn = () => {
    most = Math.max(most, now);
    total += now;
    now = 0;
    if (counting) setImmediate(turn);
  };
  turn();
  const counted: Store = {
    ...store,
    async commit(commit) {
      now += (commit.set?.length ?? 0) + (commit.del?.length ?? 0);
      const done = await store.commit(commit);
      written += commit.set?.length ?? 0;
      return done;
    },
    async scan(prefix, options) {
      const page = await store.scan(prefix, options);
      now += page.length;
      return page;
    },
  };
  return {
    counted,
    written: () => written,
    end() {
      counting = false;
      turn();
      return { most, total };
    },
  };
}

it('20,000 reports and 2,000 consents go in slices, and a stop in the middle loses nothing', async () => {
  const bench = openBench('erasures-long');
  const { signon, clock, log } = bench;
  const id = await bench.person(email);
  await liveLong(bench, id);
  const { counted, written, end } = countingRows(bench.store);
  const tools = { store: counted, clock, random: seededRandom(9) };
  const outbox = { forget: async () => 0 };
  const data = [...signonPersonalData(tools, outbox), reportPersonalData(counted)];
  const deletion = createDeletion({ ...tools, data });
  async function comments(): Promise<number> {
    let count = 0;
    for await (const { comment } of reportsOfAccount(bench.store, id, neverYields)) {
      if (comment !== '') count++;
    }
    return count;
  }
  value(await deletion.begin(id));
  const first = createErasures({ deletion, log });
  first.resume();
  while (written() < 2_000) await new Promise(setImmediate);
  await first.close();
  const left = await comments();
  assert.ok(left > 0 && left < manyReports, `${left} left`);
  assert.equal((await createConsents(tools).list(id)).length, 0);
  assert.deepEqual(await deletion.unfinished(undefined, 10), [id]);
  const second = createErasures({ deletion, log });
  second.resume();
  await second.idle();
  await second.close();
  assert.equal(await comments(), 0);
  assert.equal(await signon.people.byId(id), undefined);
  const { most, total } = end();
  assert.ok(total > manyReports, `${total} rows`);
  // A page of 200 and a commit, a few times over: what takes a few milliseconds.
  assert.ok(most <= 800, `${most} rows in one turn`);
  await bench.close();
});

it('a node that lost its lease erases nothing and sends no farewell, and the next one does both', async () => {
  let hasLease = true;
  const refused = () => Promise.reject(new LeaseLostError('another node erases now'));
  /** Asked while it still takes itself for the holder. */
  const fenced = {
    get: (key) => bench.store.get(key),
    scan: (prefix, options) => bench.store.scan(prefix, options),
    commit: (commit) => (hasLease ? bench.store.commit(commit) : refused()),
  } as Store;
  const maintenance: Maintenance = { isMine: () => true, isShared: true, store: fenced };
  const bench: Bench = openBench('erasures-lease', { maintenance });
  const { signon, store } = bench;
  async function rows(): Promise<string[]> {
    const prefixes = Object.values(namespaces).map((byte) => storedKey(Uint8Array.of(byte)));
    const pages = await Promise.all(prefixes.map((prefix) => store.scan(prefix, { limit: 100 })));
    return pages.flat().map(({ key }) => Buffer.from(key).toString('hex'));
  }
  const id = await bench.person(email);
  const { token } = await bench.signIn(email);
  hasLease = false;
  value(await signon.erasures.begin(id));
  const before = await rows();
  await signon.erasures.idle();
  assert.deepEqual(await rows(), before);
  assert.ok(await signon.people.byEmail(email), 'the account is there');
  hasLease = true;
  value(await createErased());
  hasLease = false;
  assert.equal(errorOf(await signon.deletion.delete(id)), 'unknown_account');
  signon.erasures.resume();
  await signon.erasures.idle();
  const farewells = () => bench.mails.filter(({ subject }) => subject.includes('deleted')).length;
  assert.equal(farewells(), 0);
  hasLease = true;
  signon.erasures.resume();
  await signon.erasures.idle();
  assert.equal(farewells(), 1);
  assert.equal(await signon.sessions.find(token), undefined);
  await bench.close();

  function createErased() {
    return createDeletion({
      store,
      clock: bench.clock,
      random: seededRandom(1),
      data: [],
      deletionNotice: async () => 'not_now',
    }).erase(id, neverYields);
  }
});
