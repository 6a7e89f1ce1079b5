/**
 * `STORE=postgres node scripts/test.mjs …`: each server that a test starts works on PostgreSQL. The runner
 * starts one, and a mail server that writes what comes into the `outbox` of the server that sent it, where
 * the embedded store has it. Each data directory has a database of its own.
 */

import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after } from 'node:test';
import { loadMasterKey } from '../../../src/access/keys/master-key.ts';
import { type Clock, systemClock } from '../../../src/core/clock.ts';
import { createLog } from '../../../src/core/log.ts';
import { systemRandom } from '../../../src/core/random.ts';
import { storePath } from '../../../src/storage/lmdb/presence.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import { openPostgresStore } from '../../../src/storage/postgres/store.ts';
import type { Store } from '../../../src/storage/store.ts';
import { borrowStore } from './lent-store.ts';
import { startPostgres } from './postgres.ts';

type Settings = Readonly<Record<string, string>>;

/** Of the runner: where the database's socket lies, and the port of the mail server. */
const [socket, mailPort] = (process.env.TEST_POSTGRES ?? '').split(' ');
/** Servers of this run are nodes. */
export const isShared = socket !== '' && mailPort !== undefined;
/** A test may start more servers at once than one service ever has. */
const connectionsMax = 400;

/** For the runner. `value` is for TEST_POSTGRES. */
export async function startSharedStore() {
  const mails = await startMailServer();
  const database = await startPostgres({ connectionsMax });
  return {
    value: `${database.directory} ${mails.port}`,
    async stop() {
      mails.stop();
      await database.stop();
    },
  };
}

const databaseName = (dataDir: string) =>
  `d${createHash('sha256').update(dataDir).digest('hex').slice(0, 20)}`;
const urlOf = (dataDir: string) =>
  `postgres://postgres@/${databaseName(dataDir)}?host=${encodeURIComponent(socket!)}`;
const made = new Set<string>();

/** What a server or a command on this data directory needs besides. */
export function settingsOf(env: Settings): Settings {
  const dataDir = env.DATA_DIR;
  if (!isShared || dataDir === undefined || env.DATABASE_URL !== undefined) return env;
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  if (env.MASTER_KEY_FILE === undefined) {
    loadMasterKey({ dataDir, strict: false, random: systemRandom() });
  }
  makeDatabase(dataDir);
  return {
    DATABASE_URL: urlOf(dataDir),
    MASTER_KEY_FILE: join(dataDir, 'master.key'),
    // The mail server learns from the user's name whose mail it is.
    SMTP_URL: `smtp://${encodeURIComponent(dataDir)}:x@127.0.0.1:${mailPort}`,
    ...env,
  };
}

/** Another process, such as the test before, may have made it. */
function makeDatabase(dataDir: string): void {
  const name = databaseName(dataDir);
  if (made.has(name)) return;
  made.add(name);
  const args = ['-h', socket!, '-U', 'postgres', name];
  const done = spawnSync('/usr/lib/postgresql/15/bin/createdb', args, { encoding: 'utf8' });
  if (done.status !== 0 && !done.stderr.includes('already exists')) throw new Error(done.stderr);
}

/** The store of a server that runs, or will, in the process of the test. */
export function openStoreBeside(dataDir: string, clock: Clock = systemClock()): Store {
  const log = createLog('silent');
  if (!isShared) {
    return borrowStore(dataDir, () => openLmdbStore({ path: storePath(dataDir), clock, log }));
  }
  settingsOf({ DATA_DIR: dataDir });
  return onceOpen(openPostgresStore({ url: urlOf(dataDir), clock, log }));
}

const open = new Set<Store>();
// A connection that a test left open, as one that fails does, keeps its process for ever.
if (isShared) after(() => Promise.allSettled([...open].map((store) => store.close())));

/** Tests open a store without waiting. */
function onceOpen(opening: Promise<Store>): Store {
  // Whoever asks for something hears of it.
  opening.catch(() => {});
  const store: Store = {
    commit: async (commit) => (await opening).commit(commit),
    get: async (key) => (await opening).get(key),
    scan: async (prefix, options) => (await opening).scan(prefix, options),
    read: async (after, limit) => (await opening).read(after, limit),
    lastSeq: async () => (await opening).lastSeq(),
    pruneEvents: async (through) => (await opening).pruneEvents(through),
    sweep: async (limit) => (await opening).sweep(limit),
    async close() {
      open.delete(store);
      await (await opening).close();
    },
    onJournalGrowth: () => () => {},
    onWriteState: () => () => {},
    writeState: () => ({ available: true, fatal: false, detail: '' }),
    tables: [],
  };
  open.add(store);
  return store;
}

/** As much SMTP as nodemailer needs to sign in and to hand over a mail. */
async function startMailServer(): Promise<{ readonly port: number; stop(): void }> {
  const server = createServer((connection) => {
    let [dataDir, pending] = ['', ''];
    let mail: string[] | undefined;
    const answers: [RegExp, string][] = [
      [/^EHLO/i, '250-test\r\n250 AUTH PLAIN'],
      [/^AUTH/i, '235 ok'],
      [/^DATA/i, '354 go'],
      [/^QUIT/i, '221 bye'],
    ];
    connection.on('error', () => {});
    connection.write('220 test\r\n');
    connection.on('data', (chunk) => {
      const lines = (pending + chunk.toString('latin1')).split('\r\n');
      pending = lines.pop() ?? '';
      for (const line of lines) {
        if (mail !== undefined && line !== '.') {
          mail.push(line.replace(/^\./, ''));
          continue;
        }
        if (mail !== undefined) keep(dataDir, mail);
        mail = /^DATA/i.test(line) ? [] : undefined;
        const login = /^AUTH PLAIN (\S+)/i.exec(line)?.[1];
        if (login !== undefined) dataDir = Buffer.from(login, 'base64').toString().split('\0')[1]!;
        connection.write(`${answers.find(([of]) => of.test(line))?.[1] ?? '250 ok'}\r\n`);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  server.unref();
  return { port: (server.address() as { port: number }).port, stop: () => void server.close() };
}

/** As the outbox has it: the head of the mail, and its text alone. */
function keep(dataDir: string, lines: readonly string[]): void {
  const mail = lines.join('\r\n');
  const head = mail
    .slice(0, mail.indexOf('\r\n\r\n'))
    .replace(/\r\nContent-Type:.*?(?=\r\n\S|$)/is, '');
  const text = /^Content-Type: text\/plain.*?(?=\r\n--)/ms.exec(mail)?.[0];
  const folder = join(dataDir, 'outbox');
  const time = new Date().toISOString().replace(/[:.]/g, '-');
  const name = `${randomBytes(8).toString('hex')}-${time}-${randomBytes(2).toString('hex')}.eml`;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, name), `${head}\r\n${text ?? ''}`, 'latin1');
  } catch {
    // The test is over, and its directory gone.
  }
}
