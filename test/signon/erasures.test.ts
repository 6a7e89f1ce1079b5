/** Deletions in the background: what is told, what stops them, and what takes them up again. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { seededRandom } from '../../src/core/random.ts';
import { ok } from '../../src/core/result.ts';
import { parseIp } from '../../src/ip/address.ts';
import { reportsOfAccount } from '../../src/reputation/report-erasure.ts';
import { createReportStore } from '../../src/reputation/report-store.ts';
import { createConsents } from '../../src/signon/consents.ts';
import { createDeletion, type PersonalData } from '../../src/signon/deletion.ts';
import { createErasures } from '../../src/signon/erasures.ts';
import type { Mail } from '../../src/signon/mail/mailer.ts';
import { ownPersonalData } from '../../src/signon/personal-data.ts';
import { profilePersonalData } from '../../src/signon/profile-data.ts';
import { createProfiles } from '../../src/signon/profile-store.ts';
import type { Store } from '../../src/store/store.ts';
import { type Bench, errorOf, openBench, password, value, visitor } from './account-fixture.ts';

const email = 'person@example.org';
const noPace = { isOver: () => false, next: async () => {} };

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
  assert.deepEqual(await deletion.marked(undefined, 10), [accountId]);
  value(await erasures.begin(accountId));
  await erasures.idle();
  assert.equal(await people.byEmail(email), undefined);
  assert.deepEqual(await deletion.marked(undefined, 10), []);
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

it('stopped while the mail waits, the next start sends it; the address is free only then', async () => {
  const sent: Mail[] = [];
  let down = true;
  const mailTransport = {
    async send(mail: Mail) {
      if (down && mail.subject.includes('deleted')) throw new Error('down');
      sent.push(mail);
    },
    async close() {},
  };
  const bench = openBench('erasures-stopped', { mailTransport });
  const { signon, other } = bench;
  value(await signon.registration.register({ email, password, visitor }));
  await signon.mailer.idle();
  const link = new URL(sent.at(-1)!.link!).searchParams.get('token')!;
  const { accountId } = value(await signon.registration.verify(link, visitor));
  value(await signon.erasures.begin(accountId));
  while (signon.mailer.waiting === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  await signon.close();
  assert.deepEqual(await other.deletion.marked(undefined, 10), [accountId]);
  assert.equal((await other.people.byEmail(email))?.id, accountId);
  down = false;
  other.erasures.resume();
  await other.erasures.idle();
  assert.equal(sent.filter(({ subject }) => subject.includes('deleted')).length, 1);
  assert.equal(await other.people.byEmail(email), undefined);
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
  assert.deepEqual(await deletion.marked(undefined, 10), [ids[0]]);
  broken = false;
  while ((await deletion.marked(undefined, 10)).length > 0) {
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
    return consents.decided(undefined, parties, ['openid'], ['openid']).row;
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
  const { sessions, secondFactors, securityLog } = signon;
  const random = seededRandom(9);
  const outbox = { forget: async () => 0 };
  const siteKeys = { ofAccount: async () => [], revoke: async () => ok({} as never) };
  const store = counted;
  const beside = { profiles: createProfiles({ store, clock, random }), siteKeys };
  const consents = createConsents({ store, clock, random });
  const data = [
    ...profilePersonalData({ store, consents, ...beside }),
    ...ownPersonalData({ store, sessions, secondFactors, securityLog, outbox }),
  ];
  const deletion = createDeletion({ store, clock, random, data });
  async function comments(): Promise<number> {
    let count = 0;
    for await (const { comment } of reportsOfAccount(bench.store, id, noPace)) {
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
  assert.equal((await consents.list(id)).length, 0);
  assert.deepEqual(await deletion.marked(undefined, 10), [id]);
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
