/**
 * The list of deleted accounts: a row in the store for each, written in the commit in which its
 * deletion begins, and a line in a file beside it. A backup knows nothing of what was deleted since; the
 * file does, so a restore can delete it anew.
 *
 * Invariant: every row has a line in each file once the server has started. Nothing of a person is in
 * either: an account's random id, which leads to nobody, and when.
 */

import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, open, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { OperatorError } from '../core/errors.ts';
import type { Log } from '../core/log/log.ts';
import { createWriter } from './codec.ts';
import { erasedKey, erasedPrefix, namespaces } from './keys.ts';
import { pagesUnder } from './pages.ts';
import { readEntry } from './rows.ts';
import type { SetRow, Store } from './store.ts';

/** In the data directory, and in the folder of backups. */
export const erasedFile = 'erased-accounts.txt';

const linePattern = /^(\d{4}-\d\d-\d\dT[\d:.]+Z) ([0-9A-Za-z_-]{1,64})$/gm;

export function erasedRow(accountId: string, atMs: number): SetRow {
  const value = createWriter(16)
    .u64(BigInt(Math.floor(atMs)))
    .finish();
  return { key: erasedKey(accountId), value };
}

/** Ids with the time of each, in order of the ids. */
async function erasedIn(store: Store): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for await (const page of pagesUnder(store, erasedPrefix())) {
    for (const { key, value } of page) found.set(idOf(key), timeOf(value));
  }
  return found;
}

/** Of a row as it lies in `entries`; undefined when it is another one. */
export function erasedOf(key: Uint8Array, row: Buffer): { id: string; at: number } | undefined {
  if (key[0] !== namespaces.erased) return undefined;
  return { id: idOf(key), at: timeOf(readEntry(key, row).value) };
}

/** The id is text, ended by a zero byte (see keys.ts). */
function idOf(key: Uint8Array): string {
  return Buffer.from(key.subarray(1, -1)).toString('utf8');
}

function timeOf(value: Uint8Array): number {
  return Number(Buffer.from(value).readBigUInt64BE());
}

/**
 * Ids of a file, with the time of each; what is no line of it, such as half of one, is left out.
 * @throws OperatorError when nothing in it is one
 */
export function readErasedFile(path: string): Map<string, number> {
  return idsIn(readFileSync(path, 'latin1'), path);
}

function idsIn(text: string, path: string): Map<string, number> {
  const ids = new Map([...text.matchAll(linePattern)].map(([, at, id]) => [id!, Date.parse(at!)]));
  if (ids.size > 0 || text.trim() === '') return ids;
  throw new OperatorError(`${path} is no list of deleted accounts`);
}

/** Adds what a file lacks, and waits until it is on disk. @throws the system's error */
export async function addToErasedFile(
  path: string,
  erased: ReadonlyMap<string, number>,
): Promise<void> {
  const known = (await isThere(path)) ? idsIn(await readFile(path, 'latin1'), path) : new Map();
  const lines = [...erased].filter(([id]) => !known.has(id)).map(([id, at]) => lineOf(id, at));
  if (lines.length > 0) await append(path, lines);
}

export interface ErasedList {
  /**
   * After the commit of `erasedRow`. Resolves when it stands in the data directory; the folder of backups
   * may be on another machine, and nothing waits for it. What fails is logged, and made up for by the
   * next start.
   */
  add(accountId: string, atMs: number): Promise<void>;
  /** Adds what the files lack: of a process that was killed, or of a folder that is new. */
  sync(): Promise<void>;
}

/** How long a start or a command waits for the folder of backups. */
const besideMsMax = 5_000;
/** Behind a folder that hangs. */
const waitingMax = 1_000;

/**
 * In the data directory, and beside the backups of the server.
 * @param inChild for a command, whose end would wait for a folder that hangs: a process of its own adds
 *   to the one beside the backups, and is left behind
 */
export function openErasedList(options: {
  store: Store;
  inChild?: boolean;
  config: { readonly dataDir: string; readonly backupFolder: string | undefined };
  log: Log;
}): ErasedList {
  const { store, config, log, inChild = false } = options;
  const own = `${config.dataDir}/${erasedFile}`;
  const beside = config.backupFolder && `${config.backupFolder}/${erasedFile}`;
  let waiting = 0;
  let last = Promise.resolve();

  function fail(file: string, error: unknown): void {
    log.error({ file, err: error }, 'deletion: not in the list for restores');
  }
  /** One after the other: a folder that hangs holds one thread of the system's file work, and no more. */
  function besideBackups(write: (file: string) => Promise<void>): Promise<void> {
    if (beside === undefined) return last;
    if (waiting >= waitingMax) {
      fail(beside, new Error('the folder does not answer'));
      return last;
    }
    waiting += 1;
    last = last
      .then(() => write(beside))
      .catch((error) => fail(beside, error))
      .finally(() => {
        waiting -= 1;
      });
    return last;
  }
  return {
    async add(id, atMs) {
      const write = (file: string) => append(file, [lineOf(id, atMs)]);
      void besideBackups(inChild ? (file) => leaveToChild(file, id, atMs) : write);
      await write(own).catch((error) => fail(own, error));
    },
    async sync() {
      const erased = await erasedIn(store);
      if (erased.size === 0) return;
      const write = (file: string) => addToErasedFile(file, erased);
      const done = besideBackups(write).then(() => 'done');
      await write(own).catch((error) => fail(own, error));
      if (beside === undefined) return;
      const isLate =
        (await Promise.race([done, sleep(besideMsMax, 'late', { ref: false })])) === 'late';
      if (isLate) fail(beside, new Error('the folder does not answer'));
    },
  };
}

/** Rejects when it fails, or takes long: then it is added when the folder answers again. */
function leaveToChild(file: string, id: string, atMs: number): Promise<void> {
  const entry = fileURLToPath(new URL('./erased.child.js', import.meta.url));
  const child = fork(entry, [file, id, String(atMs)], { detached: true, stdio: 'ignore' });
  return new Promise<void>((resolve, reject) => {
    const late = setTimeout(() => {
      if (child.connected) child.disconnect();
      child.unref();
      reject(new Error('the folder does not answer'));
    }, besideMsMax);
    child.on('error', reject);
    child.once('message', (failed) => (failed === '' ? resolve() : reject(new Error(`${failed}`))));
    child.once('exit', () => {
      clearTimeout(late);
      reject(new Error('the process that adds it ended'));
    });
  });
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}

async function append(path: string, lines: readonly string[]): Promise<void> {
  const isNew = !(await isThere(path));
  if (isNew) await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const file = await open(path, 'a', 0o600);
  try {
    // In one write, and on a line of its own also behind one that was cut short.
    await file.write(`\n${lines.join('\n')}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  if (!isNew) return;
  const folder = await open(dirname(path), 'r');
  await folder.sync().finally(() => folder.close());
}

function lineOf(accountId: string, atMs: number): string {
  return `${new Date(atMs).toISOString()} ${accountId}`;
}
