/** What an idle server is measured beside, where Debian's packages are installed: Redis, and the local API of CrowdSec. */

import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { spawn } from '../test/support/house/spawn.ts';
import { freePort } from '../test/support/server/free-port.ts';
import { makeTempDir } from '../test/support/server/temp-dir.ts';

interface IdlePeer {
  /** From its start until it takes a connection. */
  readonly ms: number;
  readonly port: number;
  readonly pid: number;
  stop(): void;
}

export interface IdlePeerKind {
  readonly name: string;
  /** Undefined where it is not installed. */
  start(): Promise<IdlePeer | undefined>;
}

export const idlePeers: readonly IdlePeerKind[] = [
  {
    name: 'Redis',
    start: () => startRedis(),
  },
  {
    name: 'CrowdSec, local API',
    start: () =>
      startPeer('crowdsec', ['-version'], (folder, port) => {
        writeCrowdsecSettings(folder, port);
        return ['-c', `${folder}/config.yaml`, '-no-cs'];
      }),
  },
];

/** @param more arguments beside its defaults */
export function startRedis(more: readonly string[] = []): Promise<IdlePeer | undefined> {
  return startPeer('redis-server', ['--version'], (folder, port) => [
    ...['--port', String(port), '--bind', '127.0.0.1', '--dir', folder],
    ...more,
  ]);
}

/** With its defaults but the port and a folder of its own. */
async function startPeer(
  command: string,
  versionArgs: readonly string[],
  prepare: (folder: string, port: number) => readonly string[],
): Promise<IdlePeer | undefined> {
  if (spawnSync(command, versionArgs).error !== undefined) return undefined;
  const folder = makeTempDir('idle-peer');
  const port = await freePort();
  const args = prepare(folder.path, port);
  const begun = performance.now();
  const child = spawn(command, args, { stdio: 'ignore' });
  const stop = () => {
    child.kill('SIGKILL');
    folder.remove();
  };
  while (!(await isOpen(port))) {
    if (child.exitCode !== null) {
      stop();
      throw new Error(`${command} ended with ${child.exitCode} before it listened`);
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return { ms: performance.now() - begun, port, pid: child.pid!, stop };
}

/** As the package has them; it talks to nobody else, and the agent that reads logs is left out. */
export function writeCrowdsecSettings(folder: string, port: number): void {
  for (const name of ['data', 'hub', 'notifications']) mkdirSync(`${folder}/${name}`);
  for (const name of ['acquis', 'client', 'console']) writeFileSync(`${folder}/${name}.yaml`, '');
  const profile = { name: 'ban', filters: ['true'], decisions: [{ type: 'ban', duration: '4h' }] };
  writeFileSync(`${folder}/profiles.yaml`, JSON.stringify(profile));
  writeFileSync(`${folder}/simulation.yaml`, '{}');
  writeFileSync(`${folder}/hub/.index.json`, '{}');
  const settings = {
    common: { daemonize: false, log_media: 'stdout', log_level: 'error' },
    config_paths: {
      config_dir: `${folder}/`,
      data_dir: `${folder}/data/`,
      hub_dir: `${folder}/hub/`,
      simulation_path: `${folder}/simulation.yaml`,
      index_path: `${folder}/hub/.index.json`,
      notification_dir: `${folder}/notifications/`,
      plugin_dir: `${folder}/notifications/`,
    },
    crowdsec_service: { acquisition_path: `${folder}/acquis.yaml`, parser_routines: 1 },
    db_config: { type: 'sqlite', db_path: `${folder}/data/crowdsec.db` },
    plugin_config: { user: 'nobody', group: 'nogroup' },
    cscli: { output: 'human' },
    api: {
      client: { credentials_path: `${folder}/client.yaml` },
      server: {
        listen_uri: `127.0.0.1:${port}`,
        profiles_path: `${folder}/profiles.yaml`,
        console_path: `${folder}/console.yaml`,
      },
    },
    prometheus: { enabled: false },
  };
  // JSON is YAML.
  writeFileSync(`${folder}/config.yaml`, JSON.stringify(settings));
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

export function residentMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1_024;
}

/** What no other process has mapped as well. */
export function privateMiB(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const kib = [...text.matchAll(/^Private_\w+:\s+(\d+)/gm)].map(([, count]) => Number(count));
  return kib.reduce((sum, count) => sum + count, 0) / 1_024;
}
