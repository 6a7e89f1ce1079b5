/**
 * Backups made by themselves, each a file named after its time, of which the newest are kept.
 *
 * Invariants: an older one goes only when a newer one is on disk whole. When the next is due follows from
 * the names in the folder, so a restart neither skips one nor makes one more. Nothing waits for the folder,
 * which may be on a machine that is away.
 */

import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../core/clock.ts';
import { OperatorError } from '../../core/errors.ts';
import { every } from '../../core/every.ts';
import type { Log } from '../../core/log.ts';
import { hourMs, minuteMs } from '../../core/time.ts';
import { replaceFile } from '../files.ts';
import { type BackupSummary, partSuffix } from './write.ts';

export interface BackupStats {
  readonly done: number;
  readonly failed: number;
  /** The start of the newest backup in the folder as of the last look, ms since 1970; 0 if there is none. */
  readonly newestAt: number;
  /** The size of the last backup that this process made. */
  readonly bytes: number;
  /** The folder was used before and is another one now: a disk that is not mounted. */
  readonly isVanished: boolean;
}

interface BackupScheduleOptions {
  readonly folder: string;
  /** Knows which folders were used. */
  readonly dataDir: string;
  readonly everyMs: number;
  readonly keep: number;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
  /** Resolves when the file is on disk under its name. */
  readonly make: (file: string) => Promise<BackupSummary>;
  /** Runs behind each that was made. It does not reject. */
  readonly afterEach?: () => Promise<void>;
}

/** The form of portcullis-20261231T235959.123Z.backup. */
const namePattern = /^portcullis-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)\.(\d{3})Z\.backup$/;
const leftoverPattern = /^(portcullis-[\dTZ.]+\.backup|erased-accounts\.txt)\.[\w-]+\.part$/;
/** A partial file that was not written to for an hour is left over from a process that ended. */
const leftoverMs = hourMs;
const retryMsMax = 10 * minuteMs;
const pollMsMax = 30_000;
/** A folder that hangs is waited for so long; what `make` does ends sooner. */
const stopMsMax = 500;

/** Begins at once when one is due. */
export function startBackups(options: BackupScheduleOptions) {
  const { folder, dataDir, everyMs, keep, clock, log, make } = options;
  const retryMs = Math.min(everyMs, retryMsMax);
  let done = 0;
  let failed = 0;
  let bytes = 0;
  let failedAt = Number.NEGATIVE_INFINITY;
  let stopped = false;
  let isGone = false;
  let newestAt = 0;

  function isDue(nowMs: number): boolean {
    // Either way: a clock that was ahead when it failed may be set back.
    const isResting = Math.abs(nowMs - failedAt) < retryMs;
    return !isResting && nowMs - newestAt >= everyMs;
  }

  async function run(): Promise<void> {
    const startMs = clock.now();
    const file = join(folder, nameOf(startMs));
    try {
      await claimFolder({ folder, dataDir });
      const made = await make(file);
      done += 1;
      bytes = made.bytes;
      log.info({ file, ...made, ms: clock.now() - startMs }, 'backup: made');
      newestAt = startMs;
      await options.afterEach?.();
      await tidy(folder, keep, clock.now());
    } catch (error) {
      if (stopped) return;
      failed += 1;
      failedAt = clock.now();
      log.error({ file, err: error, retryMs }, 'backup: not made, will retry');
    }
  }

  async function poll(): Promise<void> {
    newestAt = await newestIn(folder, clock.now());
    isGone = await isVanished({ folder, dataDir }).catch(() => true);
    if (stopped) return;
    if (isDue(clock.now())) await run();
  }

  const pollMs = Math.min(everyMs / 4, pollMsMax);
  const loop = every(pollMs, poll, { isImmediate: true });
  return {
    stats: (): BackupStats => ({ done, failed, bytes, newestAt, isVanished: isGone }),
    /** Waits for the one under way, which `make` may cut short. */
    async stop(): Promise<void> {
      stopped = true;
      await Promise.race([loop.stop(), sleep(stopMsMax, undefined, { ref: false })]);
    },
  };
}

function nameOf(atMs: number): string {
  return `portcullis-${new Date(atMs).toISOString().replace(/[-:]/g, '')}.backup`;
}

/**
 * Returns when the newest backup was begun, ms since 1970; 0 if there is none, or no folder. Names with a
 * time in the future, from a clock that was ahead, do not count.
 */
export async function newestIn(folder: string, nowMs: number): Promise<number> {
  const times = (await names(folder)).map((name) => timeOf(name) ?? 0);
  return Math.max(0, ...times.filter((at) => at <= nowMs));
}

function timeOf(name: string): number | undefined {
  const [, year, month, day, hour, minute, second, ms] = namePattern.exec(name) ?? [];
  if (year === undefined) return undefined;
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`);
}

/** Names of the future stay until their time has come: counted, they would push out the one just made. */
async function tidy(folder: string, keep: number, nowMs: number): Promise<void> {
  const all = await names(folder);
  const backups = all.filter((name) => (timeOf(name) ?? Infinity) <= nowMs).sort();
  const gone = backups.slice(0, -keep);
  for (const name of all.filter((one) => leftoverPattern.test(one) && one.endsWith(partSuffix))) {
    const found = await stat(join(folder, name)).catch(() => undefined);
    if (found !== undefined && nowMs - found.mtimeMs > leftoverMs) gone.push(name);
  }
  for (const name of gone) await rm(join(folder, name), { force: true });
}

function names(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

// The folder of backups is made once, marked, and then known to the data directory.
//
// Invariant: a known folder without its marker is not made again. Most likely its disk is not mounted, and backups
// would fill the disk of the store.

/** The marker's name in the folder. */
export const folderMarker = '.portcullis-backups';
const markerText = 'Backups of Portcullis are kept here. Without this file none is written.\n';
/** A file of the data directory with a line for each folder that was marked. */
export const knownFolders = 'backup-folders';

const foldersMax = 50;

export interface BackupFolder {
  readonly folder: string;
  readonly dataDir: string;
}

/** Makes and marks it at the first time. @throws OperatorError when it vanished or can't be made */
export async function claimFolder({ folder, dataDir }: BackupFolder): Promise<void> {
  const marker = join(folder, folderMarker);
  try {
    if (await isThere(marker)) return await remember({ folder, dataDir });
    if (await isVanished({ folder, dataDir })) throw vanished({ folder, dataDir });
    await makeFolders(folder);
    await replaceFile(marker, `${marker}.part`, markerText);
    await remember({ folder, dataDir });
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    throw new OperatorError(`the folder of backups ${folder} can't be made or used (${code})`);
  }
}

/** Returns true if this folder was used before and its marker is missing now: a disk that is not mounted. */
export async function isVanished({ folder, dataDir }: BackupFolder): Promise<boolean> {
  const known = await knownIn(dataDir);
  return known.includes(folder) && !(await isThere(join(folder, folderMarker)));
}

export function vanished({ folder, dataDir }: BackupFolder): OperatorError {
  return new OperatorError(
    `the folder of backups ${folder} is not the one that was used before: its ${folderMarker} is gone. Mount its disk ` +
      `again; to begin anew there, remove ${join(dataDir, knownFolders)}`,
  );
}

async function remember({ folder, dataDir }: BackupFolder): Promise<void> {
  const known = await knownIn(dataDir);
  if (known.includes(folder)) return;
  const lines = [...known, folder].slice(-foldersMax);
  const file = join(dataDir, knownFolders);
  await replaceFile(file, `${file}.part`, `${lines.join('\n')}\n`);
}

async function knownIn(dataDir: string): Promise<string[]> {
  const text = await readFile(join(dataDir, knownFolders), 'utf8').catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    },
  );
  return text.split('\n').filter((line) => line !== '');
}

/** `mkdir` with `recursive` tries for ever where nothing can be made, such as in /proc. */
async function makeFolders(folder: string): Promise<void> {
  const missing: string[] = [];
  for (let at = folder; !(await isThere(at)); at = dirname(at)) missing.unshift(at);
  for (const one of missing) {
    await mkdir(one, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
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
