/** A long deletion on a whole server: answered at once, killed in the middle, ended by the next start. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { systemClock } from '../../../src/core/clock.ts';
import { systemRandom } from '../../../src/core/random.ts';
import { parseIp } from '../../../src/ip/address.ts';
import { reportsOfAccount } from '../../../src/reputation/reports/store/account-reports.ts';
import { createReportStore } from '../../../src/reputation/reports/store/report-store.ts';
import { holdersOf } from '../../support/server/data-files.ts';
import { startTestServer, within } from '../../support/server/server.ts';
import { isShared } from '../../support/server/shared-store.ts';
import { openPeopleOf, type People } from '../../support/signon/person.ts';
import { type SmtpStub, startSmtp } from '../../support/signon/smtp-stub.ts';

const manyReports = 8_000;
const email = 'zenobia@palmyra.example';
const neverYields = { shouldYield: () => false, yield: async () => {} };

async function reportMuch({ store }: People, account: string): Promise<void> {
  const clock = systemClock();
  const reports = createReportStore({ store, clock, random: systemRandom() });
  for (let done = 0; done < manyReports; done += 1_000) {
    const adds = Array.from({ length: 1_000 }, (_, i) => {
      const ip = `198.18.${(done + i) >> 8}.${(done + i) & 255}`;
      const words = new Uint32Array(4);
      const family = parseIp(ip, words) as 4;
      const report = { ip, family, words, categories: 1, comment: 'Oasisgasse' };
      const reporter = { account, slot: 0, country: 'FR' };
      return reports.add(reporter, { ...report, reportedAt: clock.now() });
    });
    for (const added of await Promise.all(adds)) assert.ok(added.ok);
  }
}

async function commentsOf({ store }: People, account: string): Promise<number> {
  let count = 0;
  for await (const { comment } of reportsOfAccount(store, account, neverYields)) {
    if (comment !== '') count++;
  }
  return count;
}

/** Recipients and subjects of what the mail server was told. */
const letters = ({ said }: SmtpStub) => said.filter((line) => line === `RCPT TO:<${email}>`).length;
const subjects = ({ said }: SmtpStub) => said.filter((line) => line.startsWith('Subject: '));

it('a deletion of 8,000 reports outlives a kill, and the mail goes out', async () => {
  await using smtp = await startSmtp();
  const env = { CLIENT_LIMITS: 'off', SMTP_URL: smtp.url };
  await using server = await startTestServer({ threads: 1, env });
  let id = '';
  {
    await using people = openPeopleOf(server);
    id = await people.register(email);
    const browser = await people.signIn(email);
    await browser.post('/account/profile', { locality: 'Tadmorburg' });
    await reportMuch(people, id);
    const done = await browser.post('/account/delete', { confirm: 'delete' });
    assert.equal(done.headers.location, '/goodbye');
    const begun = async () => (await people.profiles.load(id)) === undefined;
    await within(begun, 'the first rows are gone');
    await server.kill();
    assert.equal((await people.signon.people.byId(id))?.account.disabled, true);
    assert.ok((await commentsOf(people, id)) > 0, 'killed before its end');
    assert.deepEqual(await people.signon.deletion.unfinished(undefined, 10), [id]);
    assert.equal(letters(smtp), 0);
  }
  const { dataDir } = server;
  await using again = await startTestServer({ threads: 1, env, dataDir });
  {
    await using people = openPeopleOf(again);
    const gone = async () => (await people.signon.people.byId(id)) === undefined;
    await within(gone, 'the account is gone');
    assert.equal(await commentsOf(people, id), 0);
    await within(() => subjects(smtp).length === 1, 'the mail is there');
    assert.equal(letters(smtp), 1);
    assert.deepEqual(subjects(smtp), ['Subject: Your account was deleted']);
  }
  // The rest looks into the files of the embedded store.
  if (isShared) return;
  await again.stop();
  const compacted = await again.cli('compact');
  assert.equal(compacted.code, 0, compacted.stderr);
  for (const word of ['zenobia', 'Tadmorburg', 'Oasisgasse']) {
    assert.deepEqual(holdersOf(dataDir, word), [], word);
  }
});

const skip = isShared && 'a node has a mail server, always';

it('the command tells the person too, and leaves no file when there is no mail server', {
  skip,
}, async () => {
  await using smtp = await startSmtp();
  const env = { CLIENT_LIMITS: 'off', SMTP_URL: smtp.url };
  await using server = await startTestServer({ threads: 1, env });
  assert.equal((await server.cli('account', 'create', email)).code, 0);
  assert.equal((await server.cli('account', 'delete', email)).code, 0);
  await within(() => letters(smtp) > 0, 'the mail');
  assert.equal(letters(smtp), 1);
  await server.stop();
  const unsent = { threads: 1, env: { CLIENT_LIMITS: 'off' }, dataDir: server.dataDir };
  await using without = await startTestServer(unsent);
  assert.equal((await without.cli('account', 'create', email)).code, 0);
  assert.equal((await without.cli('account', 'delete', email)).code, 0);
  assert.deepEqual(holdersOf(`${server.dataDir}/outbox`, 'zenobia'), []);
});
