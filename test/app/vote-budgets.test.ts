/** The mail about a budget of votes: once at 80 %, again after 60 %, bounded, over a restart too. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  type Budgets,
  budgetMailsMax,
  budgetsNearLimit,
  startBudgetMails,
} from '../../src/app/vote-budgets.ts';
import { localMaintenance } from '../../src/storage/maintenance.ts';
import { type Bench, openBench, password, visitor } from '../signon/account-fixture.ts';
import { value } from '../support/house/result.ts';

const limit = 30;

/** Accounts with this much open, of 30. */
function budgets(open: Map<string, number>): Budgets {
  const ids = () => [...open.keys()];
  return {
    accountsInMemory: {
      count: () => open.size,
      idOf: (slot) => ids()[slot],
      reporters: {
        rank: () => 'earned',
        budget: (slot) => ({ open: open.get(ids()[slot]!)!, limit }),
      },
    },
    policy: () => ({ isPrivate: false, isAnchored: false }),
  };
}

function open(name: string, t: { after(end: () => Promise<void>): void }) {
  const bench = openBench(name);
  const used = new Map<string, number>();
  const start = (side = bench.signon) => {
    const { people, mailer } = side;
    const { store, clock, log } = bench;
    const mails = startBudgetMails({
      state: budgets(used),
      maintenance: localMaintenance(store),
      people,
      mailer,
      clock,
      log,
    });
    t.after(() => mails.close());
    return mails;
  };
  t.after(() => bench.close());
  return { bench, used, start };
}

async function told(bench: Bench): Promise<string[]> {
  await Promise.all([bench.signon.mailer.idle(), bench.other.mailer.idle()]);
  return bench.mails.filter(({ text }) => text.includes('30 open votes')).map(({ to }) => to);
}

it('tells an account once at 80 %, and again only after it was below 60 %', async (t) => {
  const { bench, used, start } = open('budget-once', t);
  const id = await bench.person('sensor@example.org');
  const mails = start();
  const sentAt = async (share: number) => {
    used.set(id, share * limit);
    return mails.pass();
  };
  const shares = [0.79, 0.8, 1, 0.7, 0.9, 0.6, 0.8, 0.59, 0.79, 0.8, 0.9];
  const sent: number[] = [];
  for (const share of shares) sent.push(await sentAt(share));
  assert.deepEqual(sent, [0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
  assert.deepEqual(await told(bench), ['sensor@example.org', 'sensor@example.org']);
  assert.equal(budgetsNearLimit(budgets(used), bench.clock.now()), 1);
});

it('a restart, and two processes at once, tell nobody twice', async (t) => {
  const { bench, used, start } = open('budget-restart', t);
  used.set(await bench.person('sensor@example.org'), limit);
  const [first, second] = [start(), start(bench.other)];
  const sent = await Promise.all([first.pass(), second.pass()]);
  assert.equal(sent[0]! + sent[1]!, 1);
  assert.equal(await start().pass(), 0);
});

it('accounts that are gone, disabled or not verified get none, and stop nobody', async (t) => {
  const { bench, used, start } = open('budget-gone', t);
  const email = 'waits@example.org';
  value(await bench.signon.registration.register({ email, password, visitor }));
  used.set((await bench.signon.people.byEmail(email))!.id, limit);
  used.set('nobody-any-more1', limit);
  used.set(await bench.person('sensor@example.org'), limit);
  assert.equal(await start().pass(), 1);
  assert.deepEqual(await told(bench), ['sensor@example.org']);
});

it('a pass sends a bounded number, and the next one goes on', async (t) => {
  const { bench, used, start } = open('budget-bound', t);
  for (let i = 0; i < budgetMailsMax + 3; i++) {
    used.set(await bench.person(`sensor${i}@example.org`), limit);
  }
  const mails = start();
  assert.deepEqual(
    [await mails.pass(), await mails.pass(), await mails.pass()],
    [budgetMailsMax, 3, 0],
  );
  assert.equal(mails.tables[0]!.used(), budgetMailsMax + 3);
});

it('what the mail queue did not take is sent by a later pass', async (t) => {
  const { bench, used, start } = open('budget-full', t);
  const id = await bench.person('sensor@example.org');
  used.set(id, limit);
  for (let i = 0; i < 6; i++) {
    const values = { link: 'https://id.example.org/', agent: '', country: 'FR' };
    bench.signon.mailer.post('sensor@example.org', 'en', 'newSignIn', values);
  }
  const mails = start();
  assert.equal(await mails.pass(), 0, 'the address had its notices of this hour');
  bench.clock.advance(2 * 3_600_000);
  assert.equal(await mails.pass(), 1);
});

it('writes in French to whoever reads French', async (t) => {
  const { bench, used, start } = open('budget-french', t);
  const email = 'sonde@example.org';
  const french = { ...visitor, language: 'fr' } as const;
  value(await bench.signon.registration.register({ email, password, visitor: french }));
  const token = await bench.tokenTo(email);
  used.set(value(await bench.signon.registration.verify(token, french)).accountId, limit);
  await start().pass();
  await bench.signon.mailer.idle();
  assert.match(bench.mails.at(-1)!.text, /30 votes ouverts/);
});
