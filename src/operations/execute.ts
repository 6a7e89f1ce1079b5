/**
 * Runs an operation: parses its input, notes it in the audit log before and after, and answers with its
 * output. It is the same in the server, for commands and for the console, and in a command that has the
 * store to itself.
 */

import * as v from 'valibot';
import {
  inputFault,
  type OperationCall,
  RefusedError,
  refuse,
  type UndoOrder,
} from '../contracts/operation.ts';
import { OperatorError } from '../core/errors.ts';
import { fail, ok, type Result } from '../core/result.ts';
import type { MemoryReading } from '../reputation/check/operations.ts';
import type { Audit, AuditFacts } from './audit.ts';
import { operations, type WorkspaceOperation } from './catalog.ts';
import type { Workspace } from './workspace.ts';

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
