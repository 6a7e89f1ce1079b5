/** An operation in a command of its own: where no server runs, or the store is a database. */

import { tasksEnded } from '../app/tasks.ts';
import { dataLocation } from '../config/environment.ts';
import { expect, type OperationCall } from '../contracts/operation.ts';
import { claimDataDir, inheritable } from '../storage/lmdb/claim.ts';
import { hadStore, storePath } from '../storage/lmdb/presence.ts';
import { createAudit } from './audit.ts';
import { type Execution, execute, findOperation, type Order, readInput } from './execute.ts';
import {
  makeDataDir,
  readSettings,
  type Workspace,
  withReading,
  withWorkspace,
} from './workspace.ts';

export interface RunOutcome {
  readonly output: unknown;
  /** The end of a shared journal that has grown meanwhile; undefined else. */
  readonly grownTo: bigint | undefined;
}

/**
 * Opens the store of the settings, runs the operation, and closes it whatever happens.
 * @throws ClaimedError when another process has the directory
 */
export async function runLocally(order: Order, call: OperationCall): Promise<RunOutcome> {
  const { isShared } = dataLocation();
  const operation = findOperation(order.operation);
  if (isShared) {
    const hasOwnPart = operation.asksNode === true;
    return withWorkspace(
      async (workspace) => {
        const { store } = workspace;
        const before = await store.lastSeq();
        const output = await execute(whole(workspace), order, call);
        const after = await store.lastSeq();
        return { output, grownTo: after > before ? after : undefined };
      },
      { hasOwnPart },
    );
  }
  return { output: await runAlone(order, call), grownTo: undefined };
}

/** Runs it on the embedded store, under a claim of the data directory. */
async function runAlone(order: Order, call: OperationCall): Promise<unknown> {
  const operation = findOperation(order.operation);
  const config = readSettings();
  const { dataDir } = config;
  // A mistyped command makes no store, and opens one for the audit log alone.
  const isLogged = operation.audit !== undefined && hadStore(dataDir, storePath(dataDir));
  if (!isLogged) expect(readInput(operation, order.input));
  makeDataDir(config);
  const claim = claimDataDir(config.dataDir, `a command (${operation.name})`);
  try {
    if (!('readsOnly' in operation)) {
      return await withWorkspace((workspace) => execute(whole(workspace), order, call));
    }
    return await withReading(inheritable(config.dataDir), (reading) =>
      execute({ workspace: undefined, reading, withAudit: auditOnce }, order, call),
    );
  } finally {
    await tasksEnded();
    claim.release();
  }
}

function whole(workspace: Workspace): Execution {
  const audit = createAudit(workspace);
  return { workspace, reading: workspace, withAudit: (run) => run(audit) };
}

/** Operations that only read run without the master key: it is read for the audit log alone. */
const auditOnce: Execution['withAudit'] = (run) =>
  withWorkspace((tools) => run(createAudit(tools)));
