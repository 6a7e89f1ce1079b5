/** Dovecot's auth policy at a whole server, by the requests that Dovecot 2.3 sends. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { it } from 'node:test';
import { forFile } from '../../support/server/for-file.ts';
import { demoEmail, startTestServer, within } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const directory = forFile(makeTempDir('dovecot-policy'));

const server = forFile(await startTestServer({ threads: 2, demo: false }));
await server.cliJson('account', 'create', demoEmail, '--standing', 'staff');
const key = (await server.cliJson('bouncer', 'add', demoEmail, 'mx-1', '--mail')).text;
for (const [row, confidence] of [
  ['45.10.0.7', '90'],
  ['45.11.0.7', '60'],
] as const) {
  const file = `${directory.path}/${confidence}.txt`;
  writeFileSync(file, `${row}\n`);
  const words = [file, '--format', 'plain', '--confidence', confidence, '--source', `s${row}`];
  await server.cliJson('seed', ...words);
}

async function ask(
  facts: object | string,
  { command = 'allow', headers = { 'X-Api-Key': key } as Record<string, string> } = {},
) {
  const sent = { device_id: '', login: 'ada', protocol: 'imap', pwhash: '0a76', session_id: '' };
  const { status, body } = await server.fetch(`/policy/dovecot?command=${command}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: typeof facts === 'string' ? facts : JSON.stringify({ ...sent, ...facts, tls: false }),
  });
  return { http: status, ...(JSON.parse(body) as { status: number; msg: string }) };
}

const letIn = { http: 200, status: 0, msg: '' };
const failed = { success: false, policy_reject: false };

it('the malicious are refused, suspects wait, all others get in', async () => {
  await within(async () => (await ask({ remote: '45.11.0.7' })).status === 3, 'the lists');
  const refused = await ask({ remote: '45.10.0.7' });
  assert.deepEqual([refused.http, refused.status], [200, -1]);
  assert.match(refused.msg, /bad name/);
  assert.equal((await ask({ remote: '::ffff:45.10.0.7' })).status, -1);
  for (const remote of ['45.13.0.7', '10.0.0.7', '', 'unix']) {
    assert.deepEqual(await ask({ remote }), letIn, remote);
  }
  const basic = `Basic ${Buffer.from(`dovecot:${key}`).toString('base64')}`;
  const headers = { Authorization: basic };
  assert.equal((await ask({ remote: '45.10.0.7' }, { headers })).status, -1);
});

it('no fault refuses anybody, and each says what it is', async () => {
  const bad = { remote: '45.10.0.7' };
  for (const [answer, http, msg] of [
    [await ask('{"remote":"45.10.0.7"'), 400, /JSON object/],
    [await ask({ rip: '45.10.0.7' }), 400, /remote=%\{rip\}/],
    [await ask(bad, { command: 'x' }), 400, /allow or report/],
    [await ask(bad, { headers: {} }), 403, /forbidden/],
    [await ask(bad, { headers: { 'X-Api-Key': `${key}x` } }), 403, /forbidden/],
    [await ask(bad, { headers: { Authorization: 'Basic Og==' } }), 403, /forbidden/],
    [await ask('x'.repeat(70_000)), 413, /./],
  ] as const) {
    assert.deepEqual([answer.http, answer.status], [http, 0], answer.msg);
    assert.match(answer.msg, msg);
  }
  const get = await server.fetch('/policy/dovecot?command=allow');
  assert.deepEqual([get.status, JSON.parse(get.body).status], [405, 0]);
});

it('five failures of an address are one report, whoever it was that tried', async () => {
  const remote = '45.30.0.7';
  const reports = async (): Promise<object[]> => server.cliJson('report', 'list', remote);
  const tell = (more: object) => ask({ remote, ...more }, { command: 'report' });
  for (let i = 0; i < 4; i++) assert.deepEqual(await tell(failed), letIn);
  assert.deepEqual(await tell({ success: true, policy_reject: false }), letIn);
  assert.deepEqual(await tell({ success: false, policy_reject: true }), letIn);
  assert.deepEqual(await reports(), []);
  assert.deepEqual(await tell(failed), letIn);
  const [report, ...more] = await reports();
  assert.ok(report !== undefined && more.length === 0, 'one report');
  assert.doesNotMatch(JSON.stringify(report), /ada|0a76/);
  const metrics = await server.fetch('/metrics');
  assert.match(metrics.body, /portcullis_dovecot_requests_total\{outcome="told"\} 7/);
});
