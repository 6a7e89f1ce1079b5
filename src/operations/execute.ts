/**
 * Runs an operation: parses its input, notes it in the audit log before and after, and answers with its
 * output. It is the same in the server, for commands and for the console, and in a command that has the
 * store to itself.
 */

import * as v from 'valibot';
import { tasksEnded } from '../app/tasks.ts';
import { dataLocation } from '../config/environment.ts';
import {
  expect,
  inputFault,
  type OperationCall,
  RefusedError,
  refuse,
  type UndoOrder,
} from '../contracts/operation.ts';
import { OperatorError } from '../core/errors.ts';
import { fail, ok, type Result } from '../core/result.ts';
import type { MemoryReading } from '../reputation/check/operations.ts';
import { claimDataDir, inheritable } from '../storage/lmdb/claim.ts';
import { hadStore, storePath } from '../storage/lmdb/presence.ts';
import { type Audit, type AuditFacts, createAudit } from './audit.ts';
import { operations, type WorkspaceOperation } from './catalog.ts';
import {
  makeDataDir,
  readSettings,
  type Workspace,
  withReading,
  withWorkspace,
} from './workspace.ts';

export interface Order extends AuditFacts {
  readonly operation: string;
  readonly input: unknown;
  readonly user: string;
  /** The output as a person reads it, or as `--json` prints it. Undefined: as it is. */
  readonly shows?: 'lines' | 'json' | undefined;
}

export interface Execution {
  /** Undefined for one that reads the store as it lies there, in a command without a server. */
  readonly workspace: Workspace | undefined;
  readonly reading: MemoryReading;
  /** Opens the audit log for a moment. */
  withAudit<T>(run: (audit: Audit) => Promise<T>): Promise<T>;
}

/** @throws OperatorError when there is no such operation */
export function findOperation(name: string): WorkspaceOperation {
  const operation = operations.get(name);
  if (operation !== undefined) return operation;
  throw new OperatorError(`there is no operation '${String(name).slice(0, 60)}'`);
}

/** Reads what an operation was given. @returns `invalid_parameter` with a sentence for what it does not take */
export function readInput(operation: WorkspaceOperation, given: unknown): Result<object> {
  const parsed = v.safeParse(operation.input as v.GenericSchema<unknown, object>, given);
  if (parsed.success) return ok(parsed.output);
  const [{ path }] = parsed.issues;
  return fail('invalid_parameter', inputFault(operation, parsed.issues), String(path?.[0]?.key));
}

/**
 * @param onUndo gets the order that takes the operation back, where there is one
 * @returns the output, of JSON's values
 * @throws OperatorError when the input is refused, or the operation can't be done
 */
export async function execute(
  execution: Execution,
  { operation: name, input: given, user, address, before, shows }: Order,
  call: OperationCall,
  onUndo?: (undo: UndoOrder) => void,
): Promise<unknown> {
  const operation = findOperation(name);
  const { audit } = operation;
  const read = readInput(operation, given);
  if (!read.ok) {
    if (audit) await execution.withAudit((log) => log.refused(operation, user, address));
    return refuse(read);
  }
  const input = read.value;
  if (audit === undefined) {
    return outputAs(operation, await run(execution, operation, input, call), input, shows);
  }
  const auditFacts = {
    address,
    before: before ?? (await factsBefore(execution, operation, input)),
  };
  const begun = await execution
    .withAudit((log) => log.begin(operation, input, user, auditFacts))
    .catch((error: Error) => {
      if (audit === 'required') throw error;
      call.note(`not in the audit log: ${error.message}`);
      return undefined;
    });
  const end = async (isDone: boolean, after?: string) =>
    begun && execution.withAudit((log) => log.end(begun, operation, input, isDone, after));
  let output: unknown;
  try {
    output = await run(execution, operation, input, call);
  } catch (error) {
    const code = error instanceof RefusedError ? error.failure.error : undefined;
    await end(false, code).catch(() => undefined);
    throw error;
  }
  const ended = end(true, operation.outcome?.(output, input));
  await (audit === 'required' ? ended : ended.catch(() => undefined));
  const undo = 'readsOnly' in operation ? undefined : operation.undo?.(output, input);
  if (undo !== undefined) onUndo?.(undo);
  return outputAs(operation, output, input, shows);
}

function run(
  { workspace, reading }: Execution,
  operation: WorkspaceOperation,
  input: object,
  call: OperationCall,
): Promise<unknown> {
  if ('readsOnly' in operation) return operation.run(reading, input, call);
  if (workspace === undefined) throw new Error(`'${operation.name}' was not given a store`);
  return operation.run(workspace, input, call);
}

async function factsBefore(
  { workspace }: Execution,
  operation: WorkspaceOperation,
  input: object,
): Promise<string> {
  if ('readsOnly' in operation || workspace === undefined) return '';
  return (await operation.before?.(workspace, input)) ?? '';
}

function outputAs(
  { lines, json }: WorkspaceOperation,
  output: unknown,
  input: object,
  shows: Order['shows'],
): unknown {
  if (shows === 'lines') return lines?.(output, input) ?? [];
  return shows === 'json' && json !== undefined ? json(output) : output;
}

// An operation in a command of its own: where no server runs, or the store is a database.

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
