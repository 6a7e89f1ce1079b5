/** What is good for one use and was used after the backup, on a server made of that backup moments later. */

import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync } from 'node:fs';
import { it } from 'node:test';
import { siteOrigin as origin } from '../../support/captcha/beside.ts';
import {
  demoEmail,
  runCli,
  startTestServer,
  type TestServer,
} from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';
import { openPeopleOf } from '../../support/signon/person.ts';
import { consentFormIn } from '../../support/signon/visitor.ts';

const settings = { threads: 1, env: { TRUSTED_PROXIES: '127.0.0.1' } };

it('a receipt, a code and mailed links that were used after the backup are not good once more', async () => {
  const directory = makeTempDir('restore-once');
  await using server = await startTestServer(settings);
  const { id: sitekey } = await server.cliJson('sitekey', 'create', demoEmail, '--pass-clean');
  async function freshReceipt(at: TestServer): Promise<string> {
    const headers = { Origin: origin, 'X-Forwarded-For': '45.60.0.1' };
    const answer = await at.fetch(`/captcha/new?sitekey=${sitekey}`, { headers });
    const { receipt } = answer.json() as { receipt: string };
    return receipt;
  }
  async function isGood(at: TestServer, receipt: string): Promise<boolean> {
    const answer = await at.fetch('/captcha/receipt', {
      method: 'POST',
      headers: { Key: server.key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ receipt, sitekey }),
    });
    return (answer.json() as { ok: boolean }).ok;
  }
  const receipt = await freshReceipt(server);

  let code: string;
  {
    await using people = openPeopleOf(server);
    await people.register('owner@example.org');
    const own = await people.signIn('owner@example.org');
    const redirect = 'http://localhost:4549/cb';
    const asked = { client_id: 'localhost', redirect_uri: redirect, response_type: 'code' };
    const query = new URLSearchParams({ ...asked, scope: 'openid', state: 's' });
    const { id, shown } = consentFormIn(await own.get(`/authorize.php?${query}`));
    const form = { id, shown, scope: 'openid', decision: 'allow' };
    const allowed = await own.post('/authorize.php/consent', form);
    code = new URL(allowed.headers.location!).searchParams.get('code')!;
  }
  await server.cliJson('account', 'send-reset', 'owner@example.org');
  await server.cliJson('account', 'invite', 'guest@example.org');
  const linkTo = async (path: string) => {
    const line = await server.child.line((text) => text.includes(`${path}?token=`));
    return line.slice(line.indexOf(path));
  };
  const links = [await linkTo('/reset'), await linkTo('/verify')];
  /** Asked for in the address, they show where to choose a password. */
  const areOpen = (at: TestServer) =>
    Promise.all(links.map(async (path) => /name="password"/.test((await at.fetch(path)).body)));
  const statusOf = async (at: TestServer) => (await at.fetch(`/api.php?code=${code}`)).status;

  const file = `${directory.path}/plain.backup`;
  await server.cliJson('backup', file);
  assert.deepEqual([await isGood(server, receipt), await statusOf(server)], [true, 200]);
  assert.deepEqual(await areOpen(server), [true, true]);
  const { dataDir } = server;
  await server.stop();

  const target = `${directory.path}/restored`;
  mkdirSync(target);
  copyFileSync(`${dataDir}/master.key`, `${target}/master.key`);
  const restored = await runCli(['restore', file], { DATA_DIR: target });
  assert.equal(restored.code, 0, restored.stderr);
  await using again = await startTestServer({ ...settings, dataDir: target });
  assert.deepEqual([await isGood(again, receipt), await statusOf(again)], [false, 400]);
  assert.deepEqual(await areOpen(again), [false, false]);
  assert.ok(await isGood(again, await freshReceipt(again)), 'a new one is');
  const verified = await again.cli('verify');
  assert.equal(verified.code, 0, verified.stdout + verified.stderr);
  directory.remove();
});
