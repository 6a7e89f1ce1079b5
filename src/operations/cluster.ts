/** Checks the settings of a node of a cluster (docs/CLUSTER.md). */

import type { Config } from '../config.ts';
import { OperatorError } from '../core/errors.ts';

/** Settings that matter to several servers on one database. */
export type NodeSettings = Pick<
  Config,
  'role' | 'databaseUrl' | 'masterKeyFile' | 'smtpUrl' | 'backupFolder'
>;

/**
 * What would be this machine's alone, and so another one on each node, stops the start.
 * @throws OperatorError
 */
export function checkNode(config: NodeSettings): void {
  const { role, databaseUrl, masterKeyFile, smtpUrl, backupFolder } = config;
  if (databaseUrl === undefined) return;
  const beside = role === 'edge' ? 'CORES' : 'DATABASE_URL';
  if (masterKeyFile === undefined) {
    throw new OperatorError(
      `MASTER_KEY_FILE must be set beside ${beside}: all nodes share one master key, none is made`,
    );
  }
  if (smtpUrl === undefined) {
    throw new OperatorError(
      `SMTP_URL must be set beside ${beside}: mails can not go to the outbox of one machine`,
    );
  }
  if (backupFolder !== undefined) {
    throw new OperatorError(
      'BACKUP_FOLDER is for the embedded store: back up the database of DATABASE_URL by its own means',
    );
  }
}

/** For what an edge has not. @throws OperatorError on an edge */
export function refuseEdge({ role }: Pick<Config, 'role'>): void {
  if (role !== 'edge') return;
  throw new OperatorError('this command needs the database itself: run it on a core');
}

/** For what works on the files of the embedded store. @throws OperatorError with DATABASE_URL */
export function refuseShared({ databaseUrl }: Pick<Config, 'databaseUrl'>): void {
  if (databaseUrl === undefined) return;
  throw new OperatorError(
    'this command works on the embedded store, and DATABASE_URL is set: use the means of the database',
  );
}
