/** Checks the settings of a node of a cluster (docs/CLUSTER.md). */

import type { Config } from '../config.ts';
import { OperatorError } from '../core/errors.ts';

/** Settings that matter to several servers on one database. */
export type NodeSettings = Pick<
  Config,
  'databaseUrl' | 'databaseReplicaUrl' | 'masterKeyFile' | 'smtpUrl' | 'backupFolder'
>;

/**
 * Stops the start if a setting would be this machine's alone, and so another one on each node.
 * @throws OperatorError
 */
export function checkNode(config: NodeSettings): void {
  const { databaseUrl, databaseReplicaUrl, masterKeyFile, smtpUrl, backupFolder } = config;
  if (databaseUrl === undefined) {
    if (databaseReplicaUrl === undefined) return;
    throw new OperatorError(
      'DATABASE_REPLICA_URL is for a node: set DATABASE_URL, which is written to, beside it',
    );
  }
  if (masterKeyFile === undefined) {
    throw new OperatorError(
      `MASTER_KEY_FILE must be set beside DATABASE_URL: all nodes share one master key, none is made`,
    );
  }
  if (smtpUrl === undefined) {
    throw new OperatorError(
      `SMTP_URL must be set beside DATABASE_URL: mails can not go to the outbox of one machine`,
    );
  }
  if (backupFolder !== undefined) {
    throw new OperatorError(
      'BACKUP_FOLDER is for the embedded store: back up the database of DATABASE_URL by its own means',
    );
  }
}

/** For what works on the files of the embedded store. @throws OperatorError with DATABASE_URL */
export function refuseShared({ databaseUrl }: Pick<Config, 'databaseUrl'>): void {
  if (databaseUrl === undefined) return;
  throw new OperatorError(
    'this command works on the embedded store, and DATABASE_URL is set: use the means of the database',
  );
}
