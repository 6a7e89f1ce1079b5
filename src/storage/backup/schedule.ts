/**
 * Backups made by themselves, each a file named after its time, of which the newest are kept.
 *
 * Invariants: an older one goes only when a newer one is on disk whole. When the next is due follows from
 * the names in the folder, so a restart neither skips one nor makes one more. Nothing waits for the folder,
 * which may be on a machine that is away.
 */

import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../core/clock.ts';
import { every } from '../../core/every.ts';
import type { Log } from '../../core/log.ts';
import { hourMs, minuteMs } from '../../core/time.ts';
import { claimFolder, isVanished } from './folder.ts';
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
