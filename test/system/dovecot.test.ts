/** Debian's Dovecot with the auth policy that its page shows, asked as its login processes ask. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { it } from 'node:test';
import { openSamples } from '../support/docs/doc-samples.ts';
import { spawn } from '../support/house/spawn.ts';
import { hasTool } from '../support/house/tools.ts';
import { seedVisitors, suspect } from '../support/integrations/site.ts';
import { demoEmail, startTestServer, within } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

/** Short: the paths of its sockets may have 107 characters. */
const directory = makeTempDir('dove');
const { username } = userInfo();

function configOf(policy: string): string {
  const at = directory.path;
  // Of a machine whose Dovecot runs under one account; root needs one that is not root.
  const runner = username === 'root' ? 'nobody' : username;
  const lines = [
    ...[`base_dir = ${at}/run`, `log_path = ${at}/log`, 'protocols =', 'ssl = no'],
    ...[`default_login_user = ${runner}`, `default_internal_user = ${runner}`],
    ...['default_internal_group =', 'auth_mechanisms = plain', 'auth_failure_delay = 0'],
    ...['passdb {', '  driver = passwd-file', `  args = ${at}/users`, '}'],
    ...['userdb {', '  driver = static', `  args = uid=65534 gid=65534 home=${at}`, '}'],
    ...[
      'service anvil {',
      '  unix_listener anvil-auth-penalty {',
      '    mode = 0',
      '  }',
      '}',
      policy,
    ],
  ];
  return `${lines.join('\n')}\n`;
}

it('Dovecot refuses who has a bad name, and its failed logins become a report', async (context) => {
  if (!hasTool(context, 'dovecot')) return;
  await using server = await startTestServer({ threads: 1, demo: false });
  await server.cliJson('account', 'create', demoEmail, '--standing', 'staff');
  const { text: key } = await server.cliJson('bouncer', 'add', demoEmail, 'mx-1', '--mail');
  await seedVisitors(server, directory.path);
  const shown = openSamples(['dovecot']).take('docs/DOVECOT.md, Set it up', 'dovecot');
  const policy = shown.replace('http://127.0.0.1:8080', server.baseUrl).replace('pcl_…', key);
  assert.ok(policy.includes(server.baseUrl) && policy.includes(key));
  chmodSync(directory.path, 0o755);
  mkdirSync(`${directory.path}/run`);
  writeFileSync(`${directory.path}/users`, 'ada:{PLAIN}right::::::\n');
  const config = `${directory.path}/dovecot.conf`;
  writeFileSync(config, configOf(policy));
  const dovecot = spawn('dovecot', ['-F', '-c', config], { stdio: 'inherit' });
  /** What becomes of a login from there. */
  function login(ip: string, password = 'right'): string {
    const words = ['-x', `rip=${ip}`, '-x', 'service=imap', 'ada', password];
    const { stdout, stderr } = spawnSync('doveadm', ['-c', config, 'auth', 'test', ...words], {
      encoding: 'utf8',
    });
    return stdout + stderr;
  }
  const reports = async (ip: string): Promise<object[]> => server.cliJson('report', 'list', ip);
  try {
    await within(async () => login('45.13.0.7').includes('succeeded'), 'Dovecot');
    await within(async () => /failed[\s\S]*bad name/.test(login('45.11.0.7')), 'a refusal');
    assert.match(login(suspect), /succeeded/, 'a suspect waits');
    for (let i = 0; i < 5; i++) assert.match(login('45.30.0.7', 'wrong'), /failed/);
    await within(async () => (await reports('45.30.0.7')).length === 1, 'the report');
    const before = (await server.fetch('/metrics')).body;
    assert.match(before, /portcullis_dovecot_requests_total\{outcome="delay"\} [1-9]/);
    assert.match(before, /portcullis_dovecot_requests_total\{outcome="bad_request"\} 0/);
    // A key that is gone refuses nobody.
    await server.cliJson('bouncer', 'remove', demoEmail, 'mx-1');
    await within(async () => login('45.11.0.7').includes('succeeded'), 'let in');
  } finally {
    dovecot.kill('SIGTERM');
    await once(dovecot, 'exit');
    directory.remove();
  }
});

it('the page shows both forms, and each has only what its version knows', async (context) => {
  const samples = openSamples(['dovecot', 'dovecot24']);
  const old = samples.take('docs/DOVECOT.md, Set it up', 'dovecot');
  const current = samples.take('docs/DOVECOT.md, Set it up', 'dovecot24');
  // A setting of 2.3 that is gone, its variables, and a list on one line are fatal in 2.4.
  assert.doesNotMatch(current, /timeout_msecs|%\{rip\}|%s\b|attributes =/);
  assert.match(current, /^auth_policy_request_attributes \{\n( {2}\w+ = %\{\w+\}\n)+\}$/m);
  for (const name of ['server_url', 'server_api_header', 'hash_nonce']) {
    for (const text of [old, current])
      assert.match(text, new RegExp(`^auth_policy_${name} = .`, 'm'));
  }
  if (!hasTool(context, 'doveconf')) return;
  const { stdout: version } = spawnSync('dovecot', ['--version'], { encoding: 'utf8' });
  const isOld = /^2\.3\./.test(version);
  const own = makeTempDir('dove-shown');
  context.after(() => own.remove());
  const reads = (policy: string) => {
    const path = `${own.path}/shown.conf`;
    const head = isOld ? '' : 'dovecot_config_version = 2.4.0\ndovecot_storage_version = 2.4.0\n';
    writeFileSync(path, `${head}${policy}`);
    return spawnSync('doveconf', ['-n', '-c', path], { encoding: 'utf8' }).status === 0;
  };
  assert.deepEqual([reads(old), reads(current)], [isOld, !isOld]);
});
