/**
 * The list of deleted accounts: a row in the store for each, written in the commit in which its deletion begins, and
 * a line in a file next to it. A backup does not know later deletions; the file does, so a
 * restore can repeat them.
 *
 * Invariant: after the start, every row has a line in each file. Both hold only a time and the account's random id,
 * which leads to nobody. A file is always rewritten as a whole; one writing of each runs at a time, and one more
 * waits.
 */

import { fork } from 'node:child_process';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../../core/clock.ts';
import { OperatorError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { type Random, randomToken } from '../../core/random.ts';
import { createWriter } from '../codec.ts';
import { replaceFile } from '../files.ts';
import { erasedKey, erasedPrefix, namespaces } from '../keys.ts';
import { pagesUnder, type SetRow, type Store } from '../store.ts';
import { claimFolder } from './schedule.ts';
import { partSuffix } from './write.ts';

export function erasedRow(accountId: string, atMs: number): SetRow {
  const value = createWriter(16)
    .u64(BigInt(Math.floor(atMs)))
    .finish();
  return { key: erasedKey(accountId), value };
}

/** Ids with the time of each, in order of the ids. */
async function erasedIn(store: Pick<Store, 'scan'>): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for await (const page of pagesUnder(store, erasedPrefix(), { limit: 1_000 })) {
    for (const { key, value } of page) found.set(idOf(key), timeOf(value));
  }
  return found;
}

/** Returns the account and time of an entry; undefined if it is of another kind. */
export function erasedOf(key: Uint8Array, value: Buffer): { id: string; at: number } | undefined {
  if (key[0] !== namespaces.erased) return undefined;
  return { id: idOf(key), at: timeOf(value) };
}

/** The id is text, ended by a zero byte (see keys.ts). */
function idOf(key: Uint8Array): string {
  return Buffer.from(key.subarray(1, -1)).toString('utf8');
}

function timeOf(value: Uint8Array): number {
  return Number(Buffer.from(value).readBigUInt64BE());
}

/** Everything that writing a list needs, as plain values that can be sent to another process. */
export interface ErasedWriting {
  readonly file: string;
  readonly ids: ReadonlyMap<string, number>;
  readonly seal: ErasedSeal;
  readonly nowMs: number;
  readonly dataDir: string;
  /** In the data directory, where nobody else writes: what is not sealed there is taken over. */
  readonly isOwn: boolean;
}

/**
 * Rewrites a list with its lines and `ids`, sealed, and waits until it is on disk. An existing list that is not taken
 * over and has more lines gets another name: it may be another server's.
 * @returns what the list holds now. @throws the system's error
 */
export async function refreshErasedFile(
  { file, ids, seal, nowMs, dataDir, isOwn }: ErasedWriting,
  random: Random,
): Promise<ReadonlyMap<string, number>> {
  if (isOwn) await mkdir(dataDir, { recursive: true, mode: 0o700 });
  else await claimFolder({ folder: dirname(file), dataDir });
  const there = await readErasedFile(file, seal).catch((error: unknown) => {
    if (error instanceof OperatorError) return strange;
    throw error;
  });
  const isTaken = there?.state === 'sealed' || (isOwn && there?.state === 'unsealed');
  const isMore = there === strange || [...(there?.ids.keys() ?? [])].some((id) => !ids.has(id));
  if (there !== undefined && !isTaken && isMore) await rename(file, `${file}.${nowMs}.replaced`);
  const all = new Map([...(isTaken ? (there?.ids ?? []) : []), ...ids]);
  const writtenAt = Math.max(nowMs, there?.state === 'sealed' ? (there.writtenAt ?? 0) : 0);
  await writeErasedFile(file, encodeErased(all, seal, writtenAt), random);
  return all;
}

const strange: ErasedFile = {
  ids: new Map(),
  writtenAt: undefined,
  masterKeyId: undefined,
  state: 'unchecked',
};

/** Time that a start or a command waits for the folder of backups, milliseconds. */
const copyMsMax = 5_000;

/**
 * Opens the lists in the data directory and next to the backups of the server.
 * @param inChild for a command, whose end would wait for a folder that hangs: a process of its own
 *   writes the one next to the backups, and is left behind
 */
export function openErasedList(options: {
  store: Pick<Store, 'scan'>;
  seal: ErasedSeal;
  inChild?: boolean;
  config: { readonly dataDir: string; readonly backupFolder: string | undefined };
  clock: Pick<Clock, 'now'>;
  random: Random;
  log: Log;
}) {
  const { store, seal, config, clock, random, log, inChild = false } = options;
  const { dataDir } = config;
  const own = `${dataDir}/${erasedFile}`;
  const copy = config.backupFolder && `${config.backupFolder}/${erasedFile}`;
  /** Deletions of this process that are not in the file yet. */
  let added = new Map<string, number>();
  let known: ReadonlyMap<string, number> = new Map();

  function fail(file: string, error: unknown): void {
    log.error({ file, err: error }, 'deletion: not in the list for restores');
  }
  const writeOwn = oneAtATime(async () => {
    const more = added;
    added = new Map();
    const nowMs = clock.now();
    const ids = new Map([...(await erasedIn(store)), ...more]);
    known = ids;
    known = await refreshErasedFile({ file: own, ids, seal, nowMs, dataDir, isOwn: true }, random);
  });
  const writeCopy = oneAtATime(async () => {
    if (copy === undefined) return;
    const nowMs = clock.now();
    const writing = { file: copy, ids: known, seal, nowMs, dataDir, isOwn: false };
    const late = sleep(copyMsMax, undefined, { ref: false }).then(() => {
      if (!isDone && !inChild) fail(copy, new Error('the folder does not answer'));
    });
    let isDone = false;
    const written = inChild ? leaveToChild(writing) : refreshErasedFile(writing, random);
    await written.catch((error) => fail(copy, error)).finally(() => (isDone = true));
    void late;
  });
  return {
    /**
     * After the commit of `erasedRow`. Resolves when it stands in the data directory; the folder of backups
     * may be on another machine, and nothing waits for it. What fails is logged, and made up for by the
     * next start.
     */
    async add(id: string, atMs: number): Promise<void> {
      added.set(id, atMs);
      await writeOwn().catch((error) => fail(own, error));
      void writeCopy();
    },
    /**
     * Rewrites both files: a killed process may have left lines out, a folder may be new, and their age shows that
     * they are current.
     */
    async sync(): Promise<void> {
      await removeLeftovers(dataDir);
      await writeOwn().catch((error) => fail(own, error));
      await Promise.race([writeCopy(), sleep(copyMsMax, undefined, { ref: false })]);
    },
  };
}

export type ErasedList = ReturnType<typeof openErasedList>;

/** Runs one at a time; calls during a run share the next one. */
function oneAtATime(run: () => Promise<void>): () => Promise<void> {
  let last = Promise.resolve();
  let next: Promise<void> | undefined;
  return () => {
    next ??= last.then(() => {
      next = undefined;
      return run();
    });
    last = next.catch(() => undefined);
    return next;
  };
}

/** Removes partial files that a killed process left. */
async function removeLeftovers(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    if (!name.startsWith(`${erasedFile}.`) || !name.endsWith(partSuffix)) continue;
    await rm(`${folder}/${name}`, { force: true }).catch(() => undefined);
  }
}

/** Rejects when it fails, or takes long: then it is written when the folder answers again. */
function leaveToChild(writing: ErasedWriting): Promise<void> {
  const entry = fileURLToPath(new URL('./erased.child.js', import.meta.url));
  const child = fork(entry, [], {
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
  });
  child.send(writing);
  return new Promise<void>((resolve, reject) => {
    const late = setTimeout(() => {
      if (child.connected) child.disconnect();
      child.unref();
      reject(new Error('the folder does not answer'));
    }, copyMsMax);
    child.on('error', reject);
    child.once('message', (failed) => (failed === '' ? resolve() : reject(new Error(`${failed}`))));
    child.once('exit', () => {
      clearTimeout(late);
      reject(new Error('the process that writes it ended'));
    });
  });
}

// The list of deleted accounts as a file: a first line that says when it was written and under
// which master key it is sealed, a line of each account, and the seal of all lines before it.
//
// portcullis deleted accounts, written 2026-12-31T23:59:59.123Z, master key 0a1b2c3d
// 2026-12-30T10:11:12.000Z AbCdEfGhIjKlMnOp
// seal <HMAC-SHA-256>
//
// Invariants: the file has its name only when all of it is on disk. Whoever lacks the key can
// neither add an account, nor take one out, nor put the list of another server in its place. An
// older list of the same server opens, and its first line says how old it is.

/** The file's name in the data directory, and in the folder of backups. */
export const erasedFile = 'erased-accounts.txt';

/** The key of the seal, and the name of the master key that it is derived from. */
export interface ErasedSeal {
  /** 8 hex digits. */
  readonly masterKeyId: string;
  /** 32 bytes. Secret. */
  readonly key: Uint8Array;
}

export interface ErasedFile {
  /** Account ids, and when each was deleted, in milliseconds since 1970. */
  readonly ids: ReadonlyMap<string, number>;
  /** Milliseconds since 1970; undefined: the list is not sealed. */
  readonly writtenAt: number | undefined;
  /** The name of the key that it is sealed under; undefined: the list is not sealed. */
  readonly masterKeyId: string | undefined;
  /** `unchecked`: it is sealed, and there is no key or another one. */
  readonly state: 'sealed' | 'unsealed' | 'unchecked' | 'changed';
}

const head =
  /^portcullis deleted accounts, written (\d{4}-\d\d-\d\dT[\d:.]+Z), master key ([0-9a-f]{8})\n/;
const line = /^(\d{4}-\d\d-\d\dT[\d:.]+Z) ([0-9A-Za-z_-]{1,64})$/gm;
const sealLine = /\nseal ([0-9A-Za-z_-]{43})\n$/;

export function encodeErased(
  ids: ReadonlyMap<string, number>,
  seal: ErasedSeal,
  nowMs: number,
): string {
  const lines = [...ids]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([id, at]) => `${isoText(at)} ${id}\n`);
  const first = `portcullis deleted accounts, written ${isoText(nowMs)}, master key ${seal.masterKeyId}\n`;
  const sealed = first + lines.join('');
  return `${sealed}seal ${macOf(sealed, seal.key).toString('base64url')}\n`;
}

/**
 * Reads a list. In a list that is not sealed, broken lines, such as a half one, are skipped.
 * @throws OperatorError when it is no list
 */
export function decodeErased(text: string, path: string, seal: ErasedSeal | undefined): ErasedFile {
  const ids = new Map<string, number>();
  for (const [, at = '', id = ''] of text.matchAll(line)) {
    const atMs = Date.parse(at);
    if (!Number.isNaN(atMs)) ids.set(id, atMs);
  }
  const [, written, masterKeyId] = head.exec(text) ?? [];
  if (written === undefined) {
    if (ids.size === 0 && text.trim() !== '') {
      throw new OperatorError(`${path} is no list of deleted accounts`);
    }
    return { ids, writtenAt: undefined, masterKeyId: undefined, state: 'unsealed' };
  }
  const writtenAt = Date.parse(written);
  const found = { ids, writtenAt, masterKeyId };
  if (Number.isNaN(writtenAt)) return { ...found, state: 'changed' };
  if (seal === undefined || seal.masterKeyId !== masterKeyId) {
    return { ...found, state: 'unchecked' };
  }
  return { ...found, state: isSealed(text, seal.key) ? 'sealed' : 'changed' };
}

function isSealed(text: string, key: Uint8Array): boolean {
  const found = sealLine.exec(text);
  if (found === null) return false;
  const given = Buffer.from(found[1]!, 'base64url');
  const right = macOf(text.slice(0, found.index + 1), key);
  return given.length === right.length && timingSafeEqual(given, right);
}

function macOf(text: string, key: Uint8Array): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/** Undefined when there is none. @throws OperatorError when it is no list, and the system's error */
export async function readErasedFile(
  path: string,
  seal: ErasedSeal | undefined,
): Promise<ErasedFile | undefined> {
  try {
    return decodeErased(await readFile(path, 'latin1'), path, seal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Resolves when the list is on disk under its name. @throws the system's error */
export function writeErasedFile(path: string, text: string, random: Random): Promise<void> {
  return replaceFile(path, `${path}.${randomToken(random, 6)}${partSuffix}`, text);
}
function isoText(atMs: number): string {
  return new Date(atMs).toISOString();
}
