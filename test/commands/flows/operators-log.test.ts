/**
 * What operators find afterwards: who came in, failed or was held back, and which command changed
 * what; and what a person and a command are told when there is no place for another key.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readLedger } from '../../../src/storage/ledger.ts';
import { mailedLink, webVisitor } from '../../support/browser/web-visitor.ts';
import { forFile } from '../../support/server/for-file.ts';
import { startTestServer, within } from '../../support/server/server.ts';
import { openStoreBeside } from '../../support/server/shared-store.ts';

/** What the one who registers does. */
const ofGrace = ['registered', 'verified', 'signed_in'];
const password = 'violet-harbour-72';

interface SignIn {
  readonly event: string;
  readonly address: string;
  readonly account: string;
  readonly status: number;
  readonly path: string;
}

/** As if all places were taken, until the server counts again in half a minute. */
async function fillSlots(dataDir: string): Promise<void> {
  const store = openStoreBeside(dataDir);
  const ledger = await readLedger(store, 'account_slots');
  assert.ok((await store.commit({ set: [ledger.set(65_536)] })).ok);
  await store.close();
}

const email = 'ada@portcullis.example';
const grace = 'grace@portcullis.example';
const server = forFile(await startTestServer({ env: { CLIENT_LIMITS: 'off' }, demo: false }));
const id: string = (await server.cliJson('account', 'create', email)).id;
const person = webVisitor(server);
await person.register(grace, password);
const { pathname, search } = await mailedLink(server, grace, '/verify');
await person.submit(await person.get(pathname + search), '/verify');
await person.signIn(grace, password);

describe('logs for operators', () => {
  const unknown = 'nobody-typed-this@portcullis.example';
  const signIns = (): Promise<SignIn[]> => server.cliJson('log', 'sign-ins');

  it('tells of failures, lock-outs and refusals with the address', async () => {
    for (let i = 0; i < 12; i++) await webVisitor(server).signIn(email, 'wrong wrong wrong');
    for (let i = 0; i < 3; i++) await webVisitor(server).signIn(unknown, password);
    const ofOthers = async () => (await signIns()).filter(({ event }) => !ofGrace.includes(event));
    await within(async () => (await ofOthers()).length >= 15, 'all are there');
    const all = await ofOthers();
    assert.ok(all.every(({ address }) => address === '127.0.0.1'));
    assert.ok(all.every(({ path }) => path === '/signin'));
    const failed = all.filter(({ event }) => event === 'sign_in_failed');
    assert.ok(failed.length > 0 && failed.every(({ account }) => account === id));
    const held = all.filter(({ event }) => event === 'held_back');
    assert.ok(held.some(({ account, status }) => account === id && status === 429));
    const came = (await signIns()).filter(({ event }) => event === 'signed_in');
    assert.equal(came.length, 2, 'by the link of the registration, and by the password');
    const strangers = all.filter(({ account }) => account === '');
    assert.ok(strangers.length >= 3);
    assert.ok(!JSON.stringify(all).includes('nobody'), 'nothing that was typed is kept');
    assert.ok(!JSON.stringify(all).includes('ada@'));
  });

  it('keeps each changing command with its user and result, and no mail address', async () => {
    const key = await server.cliJson('key', 'create', email);
    assert.equal((await server.cli('key', 'revoke', 'no-such-key')).code, 1);
    assert.equal((await server.cli('account', 'disable', 'not there')).code, 1);
    await server.cliJson('key', 'list');
    const audit = await server.cliJson('log', 'audit');
    const commands = audit.map((e: { command: string; result: string }) => [e.command, e.result]);
    assert.deepEqual(commands, [
      [`account create ${id}`, 'done'],
      [`key create ${id}`, 'done'],
      ['key revoke no-such-key', 'failed'],
      ['account disable (mail address)', 'failed'],
    ]);
    assert.ok(audit.every(({ user }: { user: string }) => /\(\d+\)/.test(user)));
    assert.ok(!JSON.stringify(audit).includes(key.text));
  });

  it('refuses a key for which there is no place, on the page and the command line', async () => {
    const person = webVisitor(server);
    await person.signIn(grace, password);
    const page = await person.get('/account/keys');
    await fillSlots(server.dataDir);
    const refused = await server.cli('key', 'create', grace);
    assert.equal(refused.code, 1);
    assert.equal(refused.stdout, '');
    assert.match(refused.stderr, /^portcullis: no room for another account with API keys/);
    const answer = await person.submit(page, '/account/keys/create');
    assert.equal(answer.status, 503);
    assert.match(answer.body, /The service is full/);
    assert.doesNotMatch(answer.body, /pcl_/);
    // Whoever has a key may replace it all the same.
    assert.equal((await server.cli('key', 'create', email)).code, 0);
  });

  it('leaves nothing of a person who goes but the id in the audit log', async () => {
    await server.cliJson('account', 'delete', email);
    await within(
      async () => (await signIns()).every(({ account }) => account !== id),
      'the log of sign-ins forgets them',
    );
    const audit = await server.cliJson('log', 'audit');
    assert.ok(!JSON.stringify(audit).includes('ada@'));
    assert.equal(audit.at(-1).command, `account delete ${id}`);
  });

  it('names each bounded table at /metrics', async () => {
    const { body } = await server.fetch('/metrics');
    for (const table of ['accounts', 'keys', 'entries', 'lists', 'in_flight', 'captcha_open']) {
      assert.match(String(body), new RegExp(`portcullis_table_used\\{table="${table}"\\} \\d`));
      assert.match(String(body), new RegExp(`portcullis_table_limit\\{table="${table}"\\} \\d`));
    }
  });
});
