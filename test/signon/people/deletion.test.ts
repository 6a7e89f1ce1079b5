/** Deletion: nothing of the person is left, in whatever moment it was cut short. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { it } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { createAccounts } from '../../../src/access/accounts/accounts.ts';
import { createApiKeys } from '../../../src/access/keys/api-keys.ts';
import { masterKeyFromBytes } from '../../../src/access/keys/master-key.ts';
import { createScheduler } from '../../../src/core/scheduling.ts';
import { parseIp } from '../../../src/ip/address.ts';
import { reportPersonalData } from '../../../src/reputation/reports/store/account-reports.ts';
import { createReportStore } from '../../../src/reputation/reports/store/report-store.ts';
import { openOutbox } from '../../../src/signon/mail/outbox.ts';
import { createDeletion, createErasures } from '../../../src/signon/people/deletion.ts';
import { signonPersonalData } from '../../../src/signon/people/personal-data.ts';
import { isErased } from '../../../src/signon/people.ts';
import { outboxMessages } from '../../../src/signon/proofs/phone.ts';
import { securityLogPrefix, storedKey } from '../../../src/storage/keys.ts';
import { compactStore } from '../../../src/storage/lmdb/compact.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import type { Store } from '../../../src/storage/store.ts';
import { createAuthenticator } from '../../support/browser/authenticator.ts';
import { errorOf, value } from '../../support/house/result.ts';
import { seededRandom } from '../../support/seeded.ts';
import { filesOf } from '../../support/server/data-files.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';
import { type Bench, openBench, password, visitor } from '../account-fixture.ts';

const origin = 'https://id.example.org';
const masterKey = masterKeyFromBytes(new Uint8Array(32).fill(7));

/** The bench's outbox, real files; mails go there too. */
function openFileBench(name: string): Bench & { outbox: ReturnType<typeof openOutbox> } {
  const bench = openBench(name);
  const { clock, log, dataDir } = bench;
  const from = 'portcullis@example.org';
  const outbox = openOutbox({
    folder: `${dataDir}/outbox`,
    from,
    clock,
    random: seededRandom(3),
    log,
    isErased: (accountId) => isErased(bench.store, accountId),
  });
  return { ...bench, outbox };
}

/** Everything that the service can know of somebody. @returns texts that must be gone later */
async function live(bench: ReturnType<typeof openFileBench>, email: string) {
  const { signon, store, clock, outbox } = bench;
  const id = await bench.person(email);
  const { token, browser } = await bench.signIn(email);
  let own = (await signon.sessions.find(token))!;
  const { secret } = value(await signon.secondFactors.begin(own));
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: clock.now() });
  const on = value(await signon.secondFactors.enable(own, code, visitor));
  own = (await signon.sessions.find(on.token))!;
  const key = createAuthenticator(seededRandom(id.length), origin);
  const asked = value(await signon.passkeys.registrationOptions(own));
  const name = `pocket of ${email}`;
  const added = value(await signon.passkeys.register(own, key.create(asked), name, visitor));
  own = (await signon.sessions.find(added.token))!;
  value(await signon.emailChange.request(own, `new-${email}`, visitor));
  value(await signon.recovery.request({ email, visitor }));
  // Begun and left: their rows wait for an answer.
  value(await signon.registration.passkeyOptions(email));
  value(await signon.passkeys.reauthenticationOptions(own));
  value(await signon.phoneCodes.send(id, '+33612345678', visitor));
  await outboxMessages(outbox).send(id, '+33612345678', 'a code');
  await outbox.mail.send({ to: email, language: 'en', subject: 'Hello', text: `Hello ${email}` });
  const beside = { store, clock, random: seededRandom(5) };
  const accounts = createAccounts(beside);
  const apiKeys = createApiKeys({ ...beside, masterKey, accounts });
  const apiKey = value(await apiKeys.create(email));
  const reports = createReportStore({ store, clock, random: seededRandom(6) });
  const words = new Uint32Array(4);
  const family = parseIp('203.0.113.9', words) as 4;
  const reported = await reports.add(
    { account: id, slot: 0, country: 'FR' },
    {
      ip: '203.0.113.9',
      family,
      words,
      categories: 1 << 18,
      comment: `seen by ${email} at home`,
      reportedAt: clock.now(),
    },
  );
  value(reported);
  const { passwordHash } = (await signon.people.byId(id))!.credentials;
  return {
    id,
    words,
    reports,
    needles: [
      email,
      passwordHash,
      '33612345678',
      apiKey.text,
      token,
      browser,
      secret,
      'at home',
      key.id,
    ],
  };
}

/** Which of the texts stand in which files. */
function holders(folder: string, needles: readonly (string | Buffer)[]): string[] {
  return filesOf(folder).flatMap(([path, bytes]) =>
    needles.filter((n) => bytes.includes(n)).map((n) => `${String(n)} in ${path}`),
  );
}

it('after deletion and compaction no byte of the person is in the data directory', async () => {
  const bench = openFileBench('deletion');
  const { signon, store, dataDir } = bench;
  for (let i = 0; i < 20; i++) await bench.person(`neighbour${i}@example.net`);
  const email = 'marie.curie@example.org';
  const { id, needles, reports, words } = await live(bench, email);
  const passkeyId = Buffer.from(needles[8]!, 'base64url');
  for (const there of [needles[0]!, needles[1]!, passkeyId]) {
    assert.ok(holders(dataDir, [there]).length > 0, 'the search finds what is there');
  }
  assert.equal(
    holders(dataDir, needles.slice(3, 7)).length,
    0,
    'secrets are not there even before',
  );
  const seq = await store.lastSeq();
  const { deletion } = openWhole(bench, store);
  value(await deletion.delete(id));
  assert.equal(errorOf(await deletion.delete(id)), 'unknown_account');
  assert.equal(await signon.people.byEmail(email), undefined);
  const kinds = (await store.read(seq, 10)).map(({ kind }) => kind);
  assert.deepEqual(kinds, ['account.disabled', 'key.revoked']);
  const [report] = await reports.list(4, words, 0, 10);
  assert.equal(report!.account, id, 'the report stays, under an id that leads to nobody');
  assert.equal(report!.comment, '');
  await bench.person(email);
  value(await deletion.delete((await signon.people.byEmail(email))!.id));
  await bench.closeStores();
  await compactStore(`${dataDir}/store`);
  assert.deepEqual(holders(dataDir, [...needles, passkeyId]), []);
  const again = openLmdbStore({ path: `${dataDir}/store`, clock: bench.clock, log: bench.log });
  assert.equal(
    (await again.get(storedKey(Buffer.from('\x11neighbour7@example.net\0'))))?.value.length,
    16,
  );
  assert.ok((await again.lastSeq()) > seq);
  await again.close();
  bench.remove();
});

/** Deletion over the bench's parts, with another store in their place. */
function openWhole(bench: ReturnType<typeof openFileBench>, store: Store) {
  const { outbox, clock } = bench;
  const tools = { store, clock, random: seededRandom(8) };
  const data = [...signonPersonalData(tools, outbox), reportPersonalData(store)];
  return { deletion: createDeletion({ ...tools, data }) };
}

it('cut short after any of its commits, it is finished by the next start', async () => {
  const bench = openFileBench('deletion-cut');
  let cuts = 0;
  for (let allowed = 0; ; allowed++) {
    const email = `cut${allowed}@example.org`;
    const { id } = await live(bench, email);
    let left = allowed;
    const dying: Store = {
      ...bench.store,
      async commit(commit) {
        if (left-- > 0) return bench.store.commit(commit);
        return { ok: false, error: 'store_unavailable', seq: 0n, detail: 'told to fail' };
      },
    };
    const outcome = await openWhole(bench, dying).deletion.delete(id);
    if (outcome.ok) break;
    cuts++;
    assert.equal(outcome.error, 'store_unavailable');
    const person = await bench.signon.people.byId(id);
    assert.equal(person?.account.disabled, allowed > 0, 'closed from the first commit on');
    const { deletion } = openWhole(bench, bench.store);
    assert.deepEqual(await deletion.unfinished(undefined, 10), allowed > 0 ? [id] : []);
    const { log } = bench;
    const erasures = createErasures({ deletion, log });
    if (allowed === 0) value(await erasures.begin(id));
    else erasures.resume();
    await erasures.idle();
    assert.equal(await bench.signon.people.byEmail(email), undefined);
    assert.deepEqual(await deletion.unfinished(undefined, 10), []);
    await erasures.close();
    bench.clock.advance(3_600_000 * 2);
  }
  assert.ok(cuts > 8, `${cuts} commits`);
  await bench.closeStores();
  await compactStore(`${bench.dataDir}/store`);
  assert.equal(holders(bench.dataDir, ['@example.org', '33612345678']).length, 0);
  bench.remove();
});

it('once it has begun, what strangers do to the account is not written down any more', async () => {
  const bench = openBench('deletion-late');
  const { signon, store } = bench;
  const email = 'person@example.org';
  const id = await bench.person(email);
  const left = async () => (await store.scan(securityLogPrefix(id), { limit: 10 })).length;
  const stranger = async () => {
    await signon.securityLog.add(id, 'sign_in_failed', visitor);
    await signon.registration.register({ email, password, visitor });
  };
  const before = await left();
  await stranger();
  assert.equal(await left(), before + 2);
  value(await signon.deletion.begin(id));
  await stranger();
  assert.equal(await left(), before + 2);
  value(await signon.deletion.erase(id, createScheduler()));
  await signon.securityLog.add(id, 'sign_in_failed', visitor);
  assert.equal(await left(), 0);
  await bench.close();
});

it('of mails to former and merely asked for addresses no file is left in the outbox', async () => {
  const directory = makeTempDir('deletion-outbox');
  // The outbox, as without SMTP_URL.
  const outbox = { mailTransport: undefined } as object;
  const bench = openBench('deletion-former', outbox, { dataDir: directory.path });
  const { signon } = bench;
  const mailed = (to: string) => holders(directory.path, [`To: ${to}`]);
  const tokenTo = async (to: string) => {
    await signon.mailer.idle();
    const files = mailed(to).map((found) => found.slice(found.indexOf(' in ') + 4));
    const texts = files.map((path) => readFileSync(path, 'utf8').replace(/=\r?\n/g, ''));
    return /token=(?:3D)?([\w-]{43})/.exec(texts.join('\n'))![1]!;
  };
  const [first, second, never] = ['first@example.org', 'second@example.org', 'never@example.org'];
  value(await signon.registration.register({ email: first, password, visitor }));
  value(await signon.registration.verify(await tokenTo(first), visitor));
  const session = async () => (await signon.sessions.find((await bench.signIn(second)).token))!;
  const own = (await signon.sessions.find((await bench.signIn(first)).token))!;
  value(await signon.emailChange.request(own, second, visitor));
  value(await signon.emailChange.confirm(own, await tokenTo(second), visitor));
  value(await signon.emailChange.request(await session(), never, visitor));
  const neighbour = 'neighbour@example.org';
  value(await signon.registration.register({ email: neighbour, password, visitor }));
  await signon.mailer.idle();
  for (const to of [first, second, never]) assert.ok(mailed(to).length > 0, to);
  value(await signon.deletion.delete(own.accountId));
  assert.deepEqual(holders(`${directory.path}/outbox`, [first, second, never]), []);
  assert.equal(mailed(neighbour).length, 1);
  await bench.close();
  directory.remove();
});

it('what is written to the outbox when the deletion has looked there already does not stay', async () => {
  const bench = openFileBench('deletion-late-mail');
  const { signon, outbox } = bench;
  const email = 'late@example.org';
  const account = await bench.person(email);
  const mail = {
    to: email,
    language: 'en' as const,
    subject: 'a subject',
    text: 'a text',
    link: `${origin}/reset`,
    account,
  };
  const folder = `${bench.dataDir}/outbox`;
  await outbox.mail.send(mail);
  assert.equal(readdirSync(folder).length, 1);
  value(await signon.deletion.begin(account));
  await outbox.mail.send(mail);
  assert.equal(readdirSync(folder).length, 1);
  value(await signon.deletion.delete(account));
  await outbox.mail.send(mail);
  await outbox.writeMessage(account, '+33612345678', 'a code');
  assert.deepEqual(readdirSync(folder), []);
  const neighbour = await bench.person('neighbour@example.org');
  await outbox.mail.send({ ...mail, to: 'neighbour@example.org', account: neighbour });
  assert.equal(readdirSync(folder).length, 1);
  await bench.close();
});

it('an account that is being deleted is not enabled any more', async () => {
  const bench = openBench('deletion-enable');
  const { signon, store, clock } = bench;
  const email = 'person@example.org';
  const id = await bench.person(email);
  const own = { store, clock, random: seededRandom(5) };
  const accounts = createAccounts(own);
  const apiKeys = createApiKeys({ ...own, masterKey, accounts });
  value(await accounts.setDisabled(email, true));
  value(await accounts.setDisabled(email, false));
  value(await signon.deletion.begin(id));
  const seq = await store.lastSeq();
  assert.equal(errorOf(await accounts.setDisabled(email, false)), 'conflict');
  value(await accounts.setDisabled(email, true));
  assert.equal((await signon.people.byId(id))?.account.disabled, true);
  assert.equal(errorOf(await apiKeys.create(email)), 'conflict');
  assert.equal(
    (await store.read(seq, 10)).filter(({ kind }) => kind !== 'account.disabled').length,
    0,
  );
  value(await signon.deletion.delete(id));
  await bench.close();
});

it('an account that was never verified is removed too, and the journal hears nothing', async () => {
  const bench = openFileBench('deletion-pending');
  const email = 'person@example.org';
  value(
    await bench.signon.registration.register({ email, password: 'violet-harbour-72', visitor }),
  );
  const seq = await bench.store.lastSeq();
  const { id } = (await bench.signon.people.byEmail(email))!;
  value(await bench.signon.deletion.delete(id));
  assert.equal(await bench.signon.people.byEmail(email), undefined);
  assert.equal(await bench.store.lastSeq(), seq);
  await bench.close();
});

it('the export holds what the person did and no secret', async () => {
  const bench = openFileBench('export');
  const { id, needles } = await live(bench, 'person@example.org');
  const text = JSON.stringify(value(await bench.signon.deletion.exportOf(id)));
  for (const shown of [
    'person@example.org',
    'pocket of',
    'at home',
    '203.0.113.9',
    'Firefox',
    'totp_enabled',
  ]) {
    assert.ok(text.includes(shown), shown);
  }
  const [, passwordHash, , apiKey, token, browser, secret] = needles;
  for (const hidden of [passwordHash, apiKey, token, browser, secret]) {
    assert.ok(!text.includes(hidden!), hidden);
  }
  assert.equal(errorOf(await bench.signon.deletion.exportOf('nobody')), 'unknown_account');
  await bench.close();
});
