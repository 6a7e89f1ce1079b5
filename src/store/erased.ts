/**
 * The list of deleted accounts: a row in the store for each, written in the commit in which its
 * deletion begins, and a line in a file beside it. A backup knows nothing of what was deleted since; the
 * file does, so a restore can delete it anew.
 *
 * Invariant: every row has a line in each file once the server has started. Nothing of a person is in
 * either: an account's random id, which leads to nobody, and when.
 */

import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { OperatorError } from '../core/errors.ts';
import type { Log } from '../core/log/log.ts';
import { createWriter } from './codec.ts';
import { syncPath } from './files.ts';
import { erasedKey, erasedPrefix, namespaces } from './keys.ts';
import { logRows } from './log-rows.ts';
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
export async function erasedIn(store: Store): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for await (const page of logRows(store, erasedPrefix())) {
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
  const text = readFileSync(path, 'latin1');
  const ids = new Map([...text.matchAll(linePattern)].map(([, at, id]) => [id!, Date.parse(at!)]));
  if (ids.size > 0 || text.trim() === '') return ids;
  throw new OperatorError(`${path} is no list of deleted accounts`);
}

/** Adds what a file lacks, and waits until it is on disk. @throws the system's error */
export function addToErasedFile(path: string, erased: ReadonlyMap<string, number>): void {
  const isNew = !existsSync(path);
  const known = isNew ? new Map() : readErasedFile(path);
  const lines = [...erased].filter(([id]) => !known.has(id)).map(([id, at]) => lineOf(id, at));
  if (lines.length > 0) append(path, isNew, lines);
}

export interface ErasedList {
  /** After the commit of `erasedRow`. What fails is logged, and made up for by the next start. */
  add(accountId: string, atMs: number): void;
  /** Adds what the files lack: of a process that was killed, or of a folder that is new. */
  sync(): Promise<void>;
}

/** In the data directory, and beside the backups of the server. */
export function openErasedList(options: {
  store: Store;
  config: { readonly dataDir: string; readonly backupFolder: string | undefined };
  log: Log;
}): ErasedList {
  const { store, config, log } = options;
  const folders = [
    config.dataDir,
    ...(config.backupFolder === undefined ? [] : [config.backupFolder]),
  ];
  const files = folders.map((folder) => `${folder}/${erasedFile}`);
  function each(write: (file: string) => void): void {
    for (const file of files) {
      try {
        write(file);
      } catch (error) {
        log.error({ file, err: error }, 'deletion: not in the list for restores');
      }
    }
  }
  return {
    add: (id, atMs) => each((file) => append(file, !existsSync(file), [lineOf(id, atMs)])),
    async sync() {
      const erased = await erasedIn(store);
      if (erased.size > 0) each((file) => addToErasedFile(file, erased));
    },
  };
}

function append(path: string, isNew: boolean, lines: readonly string[]): void {
  if (isNew) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const file = openSync(path, 'a', 0o600);
  try {
    // In one write, and on a line of its own also behind one that was cut short.
    writeSync(file, `\n${lines.join('\n')}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  if (isNew) syncPath(dirname(path));
}

function lineOf(accountId: string, atMs: number): string {
  return `${new Date(atMs).toISOString()} ${accountId}`;
}
