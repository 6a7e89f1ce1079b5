/**
 * A fail2ban of its own for a test: its directory, socket, database and log are private, its
 * one jail watches one file, and its one action is the Debian package's `abuseipdb.conf`, as the first
 * step of the screen /connect/fail2ban changes it: nothing but the base URL. It needs no firewall.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { openSamples, openTargets } from '../../../src/site/connect/targets.ts';
import { docsFolder } from '../../../src/site/docs/library.ts';
import { type LineChild, startCommand } from '../server/child.ts';
import { within } from '../server/server.ts';
import { makeTempDir } from '../server/temp-dir.ts';

const installed = '/etc/fail2ban';
const abuseIpDb = 'https://api.abuseipdb.com';
const jail = 'portcullis';

interface Fail2ban extends AsyncDisposable {
  /** Appends lines that sshd would write. */
  logFailures(ip: string, count: number): void;
  /** Its own log: what it banned and what its actions said. */
  log(): string;
  /** Addresses that the jail holds. */
  banned(): string;
}

export async function startFail2ban(options: {
  baseUrl: string;
  key: string;
  categories: string;
}): Promise<Fail2ban> {
  const directory = makeTempDir('fail2ban');
  const path = (name: string) => `${directory.path}/${name}`;
  const watched = path('auth.log');
  const logFile = path('fail2ban.log');
  for (const folder of ['action.d', 'filter.d']) mkdirSync(path(folder));
  for (const file of ['fail2ban.conf', 'filter.d/sshd.conf', 'filter.d/common.conf']) {
    copyFileSync(`${installed}/${file}`, path(file));
  }
  const action = readFileSync(`${installed}/action.d/abuseipdb.conf`, 'utf8');
  const command = action.split('\n').filter((line) => line.startsWith('actionban ='));
  assert.equal(command.length, 1);
  assert.ok(command[0]!.includes(`"${abuseIpDb}/api/v2/report"`), command[0]);
  copyFileSync(`${installed}/action.d/abuseipdb.conf`, path('action.d/abuseipdb.conf'));
  const [copy] = stepsOf(options.baseUrl);
  const done = spawnSync('sh', ['-eu'], {
    input: copy!.code.replaceAll(installed, directory.path),
  });
  assert.equal(done.status, 0, String(done.stderr));
  writeFileSync(watched, '');
  writeFileSync(
    path('jail.conf'),
    `[${jail}]
enabled = true
filter = sshd
backend = polling
logpath = ${watched}
maxretry = 3
findtime = 600
bantime = 600
action = portcullis[abuseipdb_apikey="${options.key}", abuseipdb_category="${options.categories}"]
`,
  );
  writeFileSync(
    path('fail2ban.local'),
    `[DEFAULT]
logtarget = ${logFile}
socket = ${path('socket')}
pidfile = ${path('pid')}
dbfile = ${path('db')}
`,
  );
  const server = startCommand('fail2ban-server', ['-f', '-x', '-c', directory.path, 'start']);
  const ask = (...words: string[]) =>
    spawnSync('fail2ban-client', ['-c', directory.path, ...words]);
  const fail2ban: Fail2ban = {
    logFailures(ip, count) {
      const time = syslogTime(new Date());
      const line = `${time} host sshd[4711]: Failed password for root from ${ip} port 40022 ssh2\n`;
      appendFileSync(watched, line.repeat(count));
    },
    log: () => readFileSync(logFile, 'utf8'),
    banned: () => String(ask('get', jail, 'banip').stdout),
    async [Symbol.asyncDispose]() {
      ask('stop');
      await endOf(server);
      directory.remove();
    },
  };
  try {
    // Asked too early it would log an error about a jail that is not there yet.
    const isStarted = () => fail2ban.log().includes(`Jail '${jail}' started`);
    await within(() => existsSync(logFile) && isStarted(), 'the start of fail2ban');
    return fail2ban;
  } catch (error) {
    await fail2ban[Symbol.asyncDispose]();
    throw new Error(`fail2ban: ${server.stderr()} ${server.lines.join(' ')}`, { cause: error });
  }
}

function stepsOf(baseUrl: string) {
  const targets = openTargets({
    baseUrl,
    secureUrl: baseUrl,
    proxied: '',
    trustsLoopback: false,
    dnsZone: undefined,
    spoe: undefined,
    dnsListen: [],
    sample: openSamples(docsFolder),
  });
  const target = targets.find(({ name }) => name === 'fail2ban')!;
  return target.steps({ score: 75, mark: undefined, key: undefined });
}

async function endOf(server: LineChild): Promise<void> {
  const late = setTimeout(() => server.process.kill('SIGKILL'), 60_000);
  await server.ended;
  clearTimeout(late);
}

/** `Nov 21 09:30:00`, local time, as syslog writes it. */
function syslogTime(date: Date): string {
  const month = date.toLocaleString('en-US', { month: 'short' });
  const day = String(date.getDate()).padStart(2, ' ');
  return `${month} ${day} ${date.toTimeString().slice(0, 8)}`;
}
