/**
 * The backups that the server makes by itself: each in a thread of its own, so that neither reading nor
 * compressing holds up the event loop, and the store stays this process's alone.
 */

import type { MasterKey } from '../access/keys/master-key.ts';
import type { Config } from '../config.ts';
import type { OperationCall } from '../contracts/operation.ts';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import type { Metrics } from '../core/metrics.ts';
import { readSealing } from '../storage/backup/age.ts';
import { type BackupStats, startBackups } from '../storage/backup/schedule.ts';
import type { BackupSummary } from '../storage/backup/write.ts';
import { inheritable } from '../storage/lmdb/claim.ts';
import { runTask } from './tasks.ts';

const none: BackupStats = { done: 0, failed: 0, newestAt: 0, bytes: 0, isVanished: false };

/** @throws OperatorError when what seals them can't be read: the start must not go on without it */
export async function startScheduledBackups(options: {
  config: Config;
  path: string;
  masterKey: MasterKey;
  clock: Clock;
  log: Log;
  /** Writes the list of deleted accounts that lies next to them: it is never older than the newest of them. */
  writeErased: () => Promise<void>;
}) {
  const { config, path, masterKey, clock, log, writeErased } = options;
  const { backupFolder: folder } = config;
  const ending = new AbortController();
  const { recipients } = readSealing(config);
  if (recipients.length > 0) await runTask('recipients', { recipients }, unattended(ending.signal));

  function make(file: string): Promise<BackupSummary> {
    return runTask(
      'backup',
      {
        path,
        file,
        claim: inheritable(config.dataDir),
        sealing: readSealing(config),
        masterKey: Buffer.from(masterKey.secret).toString('hex'),
      },
      unattended(ending.signal),
    );
  }

  const schedule =
    folder === undefined
      ? undefined
      : startBackups({
          folder,
          dataDir: config.dataDir,
          clock,
          log,
          make,
          afterEach: writeErased,
          everyMs: config.backupEvery,
          keep: config.backupKeep,
        });
  const stats = () => schedule?.stats() ?? none;
  return {
    /** Returns when the newest backup in the folder was begun, ms since 1970; 0 if there is none. */
    newestAt: (): number => stats().newestAt,
    metrics: (metrics: Metrics): void => registerBackupMetrics(metrics, stats),
    async close(): Promise<void> {
      const stopping = schedule?.stop();
      ending.abort();
      await stopping;
    },
  };
}

export type ScheduledBackups = Awaited<ReturnType<typeof startScheduledBackups>>;

/** Nobody watches it. */
function unattended(signal: AbortSignal): OperationCall {
  async function* nothing() {
    // There is no input.
  }
  return {
    signal,
    input: nothing(),
    progress() {},
    note() {},
    async write() {},
  };
}

function registerBackupMetrics(metrics: Metrics, stats: () => BackupStats): void {
  metrics.counterBy(
    'portcullis_backups_total',
    'Backups that the server made by itself since its start, by result.',
    ['result'],
    function* () {
      const { done, failed } = stats();
      yield [{ result: 'done' }, done];
      yield [{ result: 'failed' }, failed];
    },
  );
  metrics.gauge(
    'portcullis_backup_newest_timestamp_seconds',
    'When the newest backup in BACKUP_FOLDER was begun, seconds since 1970; 0 without one.',
    () => stats().newestAt / 1_000,
  );
  metrics.gauge(
    'portcullis_backup_folder_missing',
    '1 while BACKUP_FOLDER is not the folder that was used before: its disk is not mounted.',
    () => (stats().isVanished ? 1 : 0),
  );
  metrics.gauge(
    'portcullis_backup_bytes',
    'Size of the last backup since the start.',
    () => stats().bytes,
  );
}
