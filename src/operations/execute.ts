/**
 * Runs an operation: parses its input, notes it in the audit log before and after, and answers with its
 * output. It is the same in the server and in a command that has the store to itself.
 */

import * as v from 'valibot';
import { OperatorError } from '../core/errors.ts';
import type { Audit } from './audit.ts';
import { operations } from './catalog.ts';
import type { AnyOperation, OperationCall } from './operation.ts';
import type { Reading, Workspace } from './workspace.ts';

export interface Order {
  readonly operation: string;
  readonly input: unknown;
  /** For the audit log. */
  readonly user: string;
}

export interface Execution {
  /** Undefined for one that reads the store as it lies there, in a command without a server. */
  readonly workspace: Workspace | undefined;
  readonly reading: Reading;
  /** Opens the audit log for a moment. */
  withAudit<T>(run: (audit: Audit) => Promise<T>): Promise<T>;
}

/** @throws OperatorError when there is no such operation */
export function findOperation(name: string): AnyOperation {
  const operation = operations.get(name);
  if (operation !== undefined) return operation;
  throw new OperatorError(`there is no operation '${String(name).slice(0, 60)}'`);
}

/**
 * @returns the output, of JSON's values
 * @throws OperatorError when the input is refused, or the operation can't be done
 */
export async function execute(
  execution: Execution,
  { operation: name, input: given, user }: Order,
  call: OperationCall,
): Promise<unknown> {
  const operation = findOperation(name);
  const { audit } = operation;
  const parsed = v.safeParse(operation.input as v.GenericSchema, given);
  if (!parsed.success) {
    if (audit !== undefined) await execution.withAudit((log) => log.refused(operation, user));
    throw new OperatorError(inputFault(parsed.issues));
  }
  const input = parsed.output;
  if (audit === undefined) return run(execution, operation, input, call);
  const begun = await execution
    .withAudit((log) => log.begin(operation, input, user))
    .catch((error: Error) => {
      if (audit.isOptional !== true) throw error;
      call.note(`not in the audit log: ${error.message}`);
      return undefined;
    });
  const end = async (ok: boolean) =>
    begun && execution.withAudit((log) => log.end(begun, operation, input, ok));
  let output: unknown;
  try {
    output = await run(execution, operation, input, call);
  } catch (error) {
    await end(false).catch(() => undefined);
    throw error;
  }
  const ended = end(true);
  await (audit.isOptional === true ? ended.catch(() => undefined) : ended);
  return output;
}

function run(
  { workspace, reading }: Execution,
  operation: AnyOperation,
  input: unknown,
  call: OperationCall,
): Promise<unknown> {
  if ('readsOnly' in operation) return operation.run(reading, input, call);
  if (workspace === undefined) throw new Error(`'${operation.name}' was not given a store`);
  return operation.run(workspace, input, call);
}

/** One sentence of the first fault. */
function inputFault([issue]: readonly [v.BaseIssue<unknown>, ...v.BaseIssue<unknown>[]]): string {
  const path = v.getDotPath(issue);
  return path === null ? issue.message : `${path}: ${issue.message}`;
}
