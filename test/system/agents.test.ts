/**
 * Debian's agent of CrowdSec at a running server: log lines of failed log-ins become a report, and a ban
 * that Debian's custom bouncer of the same account hands to its program. The agent is unpacked beside the
 * machine, without its install script; parsers and scenario are those of its package.
 */

import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync } from 'node:child_process';
import {
  appendFileSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { it, type TestContext } from 'node:test';
import { unpackDebian, unpackingTools } from '../support/house/debian-packages.ts';
import { spawn, stopChild } from '../support/house/spawn.ts';
import { hasTool } from '../support/house/tools.ts';
import { forFile } from '../support/server/for-file.ts';
import { startTestServer, within } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const directory = forFile(makeTempDir('agents-system'));
const root = directory.path;
const email = 'owner@example.org';
const attacker = '45.50.0.7';

const server = forFile(await startTestServer({ threads: 1, demo: false }));
await server.cliJson('account', 'create', email);

/** Where the agent's files are; undefined after a skip: a tool is missing and its absence is allowed. */
function unpackAgent(context: TestContext): string | undefined {
  for (const tool of [...unpackingTools, 'crowdsec-custom-bouncer']) {
    if (!hasTool(context, tool)) return undefined;
  }
  // Kept between runs.
  return unpackDebian(resolve('test/system/node_modules/.crowdsec'), 'bookworm', ['crowdsec']);
}

function configure(deb: string, password: string): void {
  const etc = `${root}/etc`;
  const hub = `${deb}/usr/share/crowdsec/hub`;
  cpSync(`${deb}/etc/crowdsec`, etc, { recursive: true });
  const used = [
    'parsers/s00-raw/crowdsecurity/syslog-logs.yaml',
    'parsers/s01-parse/crowdsecurity/sshd-logs.yaml',
    'parsers/s02-enrich/crowdsecurity/dateparse-enrich.yaml',
    'scenarios/crowdsecurity/ssh-bf.yaml',
  ];
  for (const file of used) {
    const folder = `${etc}/${dirname(dirname(file))}`;
    mkdirSync(folder, { recursive: true });
    copyFileSync(`${hub}/${file}`, `${folder}/${basename(file)}`);
  }
  for (const name of ['data', 'notifications', 'plugins'])
    mkdirSync(`${root}/${name}`, { recursive: true });
  const config = {
    common: { daemonize: false, log_media: 'stdout', log_level: 'info', working_dir: root },
    config_paths: {
      config_dir: etc,
      data_dir: `${root}/data`,
      simulation_path: `${etc}/simulation.yaml`,
      hub_dir: hub,
      index_path: `${hub}/.index.json`,
      notification_dir: `${root}/notifications`,
      plugin_dir: `${root}/plugins`,
    },
    crowdsec_service: { acquisition_path: `${root}/acquis.yaml`, parser_routines: 1 },
    cscli: { output: 'human' },
    db_config: { type: 'sqlite', db_path: `${root}/data/crowdsec.db` },
    api: { client: { credentials_path: `${root}/credentials.yaml` }, server: { enable: false } },
    prometheus: { enabled: false },
  };
  // JSON is YAML, too.
  const write = (name: string, value: object) =>
    writeFileSync(`${root}/${name}`, JSON.stringify(value));
  write('config.yaml', config);
  write('credentials.yaml', { url: `http://127.0.0.1:${server.port}/`, login: 'm', password });
  write('acquis.yaml', { filenames: [`${root}/auth.log`], labels: { type: 'syslog' } });
  writeFileSync(`${root}/auth.log`, '');
}

function run(program: string, config: string): { child: ChildProcess; said: () => string } {
  const child = spawn(program, ['-c', config], { stdio: 'pipe' });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      said += chunk;
    });
  }
  return { child, said: () => said };
}

/** What the bouncer's program was given, in whole lines. */
function decisions(): { readonly action: string; readonly value: string }[] {
  const lines = readFileSync(`${root}/decisions`, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line));
}

/** Lines that tell of an error; the geo data that its parsers may use is not in the package. */
function errorsIn(said: string): string[] {
  return said
    .split('\n')
    .filter((line) => /level=(error|fatal|panic)/.test(line) && !/\.mmdb: no such file/.test(line));
}

it('what the agent reads in a log is reported and banned', async (context) => {
  const deb = unpackAgent(context);
  if (deb === undefined) return;
  const [agentKey, bouncerKey] = [
    (await server.cliJson('bouncer', 'add', email, 'agent-1', '--agent')).text,
    (await server.cliJson('bouncer', 'add', email, 'custom-1')).text,
  ];
  configure(deb, agentKey);
  const program = `${root}/on-decision`;
  writeFileSync(program, `#!/bin/sh\nexec cat >> ${root}/decisions\n`, { mode: 0o755 });
  writeFileSync(`${root}/decisions`, '');
  writeFileSync(
    `${root}/custom.yaml`,
    JSON.stringify({
      bin_path: program,
      feed_via_stdin: true,
      total_retries: -1,
      update_frequency: '1s',
      api_url: `http://127.0.0.1:${server.port}/`,
      api_key: bouncerKey,
      log_mode: 'stdout',
      log_level: 'info',
    }),
  );
  const bouncer = run('crowdsec-custom-bouncer', `${root}/custom.yaml`);
  const agent = run(`${deb}/usr/bin/crowdsec`, `${root}/config.yaml`);
  const said = () => `${agent.said()}\n${bouncer.said()}`;
  try {
    await within(async () => agent.said().includes('Starting processing data'), 'the agent');
    let line = 0;
    await within(async () => {
      // Again and again: what was written before the agent opened the log is not read.
      const at = new Date().toISOString();
      for (let i = 0; i < 8; i++) {
        const text = `Failed password for invalid user bob${++line} from ${attacker} port 4022 ssh2`;
        appendFileSync(`${root}/auth.log`, `${at} host sshd[12]: ${text}\n`);
      }
      return decisions().some(({ value }) => value === attacker);
    }, 'the ban');
    const row = decisions().find(({ value }) => value === attacker);
    assert.equal(row?.action, 'add', JSON.stringify(decisions()));
    assert.deepEqual(errorsIn(agent.said()), [], 'the agent has nothing to complain of');
    const key = (await server.cliJson('key', 'create', email)).text;
    const check = await server.fetch(`/api/v2/check?ipAddress=${attacker}&verbose`, {
      headers: { Key: key },
    });
    const { reports } = JSON.parse(check.body).data;
    assert.deepEqual(reports[0].categories, [18, 22], check.body);
    assert.match(reports[0].comment, /ssh-bf/);
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${said()}`, { cause: error });
  } finally {
    await stopChild(agent.child, 'SIGKILL');
    await stopChild(bouncer.child, 'SIGKILL');
  }
});

it('what cscli adds, lists, imports and takes back is so for the bouncers', async (context) => {
  const deb = unpackAgent(context);
  if (deb === undefined) return;
  const [agentKey, bouncerKey] = [
    (await server.cliJson('bouncer', 'add', email, 'agent-2', '--agent')).text,
    (await server.cliJson('bouncer', 'add', email, 'by-hand')).text,
  ];
  configure(deb, agentKey);
  const cscli = (...words: string[]) =>
    execFileSync(`${deb}/usr/bin/cscli`, ['-c', `${root}/config.yaml`, '-o', 'json', ...words], {
      encoding: 'utf8',
    });
  interface Row {
    readonly id: number;
    readonly type: string;
    readonly scope: string;
    readonly value: string;
  }
  const short = ({ type, scope, value }: Row) => `${type} ${scope} ${value}`;
  const listed = () =>
    ((JSON.parse(cscli('decisions', 'list')) as { decisions: Row[] }[] | null) ?? [])
      .flatMap(({ decisions }) => decisions.map(short))
      .filter((text) => text.includes(' 45.51.'))
      .sort();
  async function look(query: string): Promise<Row[]> {
    const answer = await server.fetch(`/v1/decisions?${query}`, {
      headers: { 'X-Api-Key': bouncerKey },
    });
    return (answer.json() as Row[] | null) ?? [];
  }
  cscli('decisions', 'add', '--ip', '45.51.0.1', '--type', 'captcha', '--duration', '10m');
  cscli('decisions', 'add', '--range', '45.51.1.0/24', '--reason', 'by hand');
  cscli('decisions', 'add', '--ip', '45.51.0.2');
  const three = ['ban Ip 45.51.0.2', 'ban Range 45.51.1.0/24', 'captcha Ip 45.51.0.1'];
  assert.deepEqual(listed(), three);
  assert.deepEqual((await look('ip=45.51.0.1')).map(short), ['captcha Ip 45.51.0.1']);
  assert.deepEqual((await look('ip=45.51.1.9')).map(short), ['ban Range 45.51.1.0/24']);
  cscli('decisions', 'delete', '--ip', '45.51.0.1');
  cscli('decisions', 'delete', '--range', '45.51.1.0/24');
  const [row] = await look('ip=45.51.0.2');
  cscli('decisions', 'delete', '--id', String(row?.id));
  assert.deepEqual(listed(), []);
  writeFileSync(
    `${root}/import.csv`,
    'duration,scope,value\n24h,Ip,45.51.0.3\n4h,Range,45.51.2.0/24\n',
  );
  cscli('decisions', 'import', '-i', `${root}/import.csv`);
  assert.deepEqual(listed(), ['ban Ip 45.51.0.3', 'ban Range 45.51.2.0/24']);
  cscli('decisions', 'delete', '--all');
  assert.deepEqual(listed(), []);
  assert.deepEqual(await look('ip=45.51.0.3'), []);
});
