/**
 * A PostgreSQL of its own for a test: Debian's 15, a data folder and a unix socket in a directory under
 * /tmp, no port. It refuses to run as root, so root starts it as `postgres` or `nobody`.
 */

import { type ChildProcess, spawnSync } from 'node:child_process';
import { chownSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { atEnd, spawn } from '../house/spawn.ts';
import { makeTempDir } from './temp-dir.ts';

const bin = '/usr/lib/postgresql/15/bin';
export const postgresProgram = join(bin, 'postgres');

/** `-c` settings. What a killed process wrote is in the kernel's hands, so nothing waits for a disk. */
const settings = {
  listen_addresses: '',
  fsync: 'off',
  shared_buffers: '32MB',
  max_connections: 60,
  logging_collector: 'off',
};

export interface TestPostgres {
  /** Of an empty database, made now. */
  createDatabase(): Promise<string>;
  dropDatabase(url: string): Promise<void>;
  /** One statement, by a connection of its own. */
  ask(url: string, text: string): Promise<pg.QueryResult>;
  /** Where its socket lies. */
  readonly directory: string;
  /** Another server that follows this one and takes no writes. */
  startStandby(): Promise<TestPostgres>;
  /** As `startStandby`, and from now on a commit waits until it is on that one's disk too. */
  startSynchronousStandby(): Promise<TestPostgres>;
  /** SIGKILL to the server and all that it started. */
  kill(): Promise<void>;
  /** It keeps its connections and says nothing, until the function that comes back is called. */
  freeze(): () => void;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Whom it runs as when root starts it; its files must be theirs. */
export function databaseOwner(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (flag: string, user: string) => {
    const done = spawnSync('id', [flag, user], { encoding: 'utf8' });
    return done.status === 0 ? Number(done.stdout) : undefined;
  };
  const user = idOf('-u', 'postgres') === undefined ? 'nobody' : 'postgres';
  return { uid: idOf('-u', user)!, gid: idOf('-g', user)! };
}

interface PostgresOptions {
  /** Directory of a server to be followed. */
  readonly primary?: string;
  readonly connectionsMax?: number;
  /** A commit waits for the disk. */
  readonly isDurable?: boolean;
  /** `-c` settings besides. */
  readonly more?: Readonly<Record<string, string>>;
}

export async function startPostgres(given: PostgresOptions = {}): Promise<TestPostgres> {
  const { primary, connectionsMax = settings.max_connections, isDurable = false } = given;
  const directory = makeTempDir('pg');
  const isRemoved = atEnd({ directory: directory.path });
  const data = join(directory.path, 'data');
  const as = databaseOwner();
  if (as !== undefined) chownSync(directory.path, as.uid, as.gid);
  const options = { cwd: directory.path, ...as };
  const made =
    primary === undefined
      ? spawnSync(
          join(bin, 'initdb'),
          ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'],
          { ...options, encoding: 'utf8' },
        )
      : spawnSync(
          join(bin, 'pg_basebackup'),
          ['-D', data, '-h', primary, '-U', 'postgres', '-R', '-c', 'fast', '--no-sync'],
          { ...options, encoding: 'utf8' },
        );
  if (made.status !== 0) throw new Error(`no data folder: ${made.stderr}`);
  let server: ChildProcess | undefined;
  let databases = 0;
  const port = given.more?.port === undefined ? '' : `&port=${given.more.port}`;
  const urlOf = (name: string) => `postgres://postgres@/${name}?host=${directory.path}${port}`;

  async function ask(url: string, text: string): Promise<pg.QueryResult> {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => {});
    try {
      await client.connect();
      return await client.query(text);
    } finally {
      await client.end().catch(() => {});
    }
  }

  async function start(): Promise<void> {
    const own = {
      max_connections: connectionsMax,
      fsync: isDurable ? 'on' : settings.fsync,
      ...given.more,
    };
    const args = Object.entries({ ...settings, ...own }).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ]);
    let errors = '';
    let hasEnded = false;
    // A group of its own, so that Ctrl-C ends the test and not what its end needs.
    const child = spawn(postgresProgram, ['-D', data, '-k', directory.path, ...args], {
      ...options,
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child.stderr.on('data', (chunk) => {
      errors = (errors + String(chunk)).slice(-10_000);
    });
    // Behind its last word, which says why.
    child.once('close', () => {
      hasEnded = true;
    });
    server = child;
    for (;;) {
      if (hasEnded) {
        server = undefined;
        // A backend of a server that was killed holds it until it is gone too.
        if (!errors.includes('is still in use')) throw new Error(`postgres ended: ${errors}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
        return start();
      }
      const answer = await ask(urlOf('postgres'), 'select 1').catch(() => undefined);
      if (answer !== undefined) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const child = server;
    if (child === undefined) return;
    server = undefined;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    if (signal === 'SIGKILL') signalAll(child.pid!, signal);
    else child.kill(signal);
    await ended;
  }

  await start();
  const startStandby = () => startPostgres({ primary: directory.path });

  async function startSynchronousStandby(): Promise<TestPostgres> {
    const standby = await startStandby();
    // Behind the copy, so that the standby waits for nobody when it is promoted.
    await ask(urlOf('postgres'), "alter system set synchronous_standby_names = '*'");
    await ask(urlOf('postgres'), 'select pg_reload_conf()');
    for (;;) {
      const { rows } = await ask(
        urlOf('postgres'),
        "select 1 from pg_stat_replication where sync_state = 'sync'",
      );
      if (rows.length === 1) return standby;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  return {
    async createDatabase() {
      databases += 1;
      const name = `t${databases}`;
      await ask(urlOf('postgres'), `create database ${name}`);
      return urlOf(name);
    },
    async dropDatabase(url) {
      const name = /\/(t\d+)\?/.exec(url)![1];
      await ask(urlOf('postgres'), `drop database ${name} with (force)`);
    },
    ask,
    directory: directory.path,
    startStandby,
    startSynchronousStandby,
    kill: () => end('SIGKILL'),
    freeze() {
      const postmaster = server!.pid!;
      signalAll(postmaster, 'SIGSTOP');
      return () => signalAll(postmaster, 'SIGCONT');
    },
    start,
    async stop() {
      // SIGINT: a fast shutdown, whoever is connected.
      await end('SIGINT');
      directory.remove();
      isRemoved();
    },
  };
}

/** With its backends, each of which is a group of its own: left alone they would finish their work. */
function signalAll(postmaster: number, signal: NodeJS.Signals): void {
  const children = `/proc/${postmaster}/task/${postmaster}/children`;
  const backends = existsSync(children) ? readFileSync(children, 'utf8').trim().split(' ') : [];
  for (const pid of [postmaster, ...backends.filter(Boolean).map(Number)]) {
    try {
      process.kill(pid, signal);
    } catch {
      // It ended by itself.
    }
  }
}
