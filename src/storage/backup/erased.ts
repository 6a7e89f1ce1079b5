/**
 * The list of deleted accounts: a row in the store for each, written in the commit in which its deletion begins, and
 * a line in a file next to it (backup/erased-file.ts). A backup does not know later deletions; the file does, so a
 * restore can repeat them.
 *
 * Invariant: after the start, every row has a line in each file. Both hold only a time and the account's random id,
 * which leads to nobody. A file is always rewritten as a whole; one writing of each runs at a time, and one more
 * waits.
 */

import { fork } from 'node:child_process';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../../core/clock.ts';
import { OperatorError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { Random } from '../../core/random.ts';
import { createWriter } from '../codec.ts';
import { erasedKey, erasedPrefix, namespaces } from '../keys.ts';
import { pagesUnder, type SetRow, type Store } from '../store.ts';
import {
  type ErasedFile,
  type ErasedSeal,
  encodeErased,
  erasedFile,
  readErasedFile,
  writeErasedFile,
} from './erased-file.ts';
import { claimFolder } from './folder.ts';
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
