/**
 * Describes an act of an operator once: its name, what its input must look like, what the audit log
 * says of it, and how it is done. The command line runs operations in the server, or by itself
 * where none runs; the audit log and `--json` follow from the description.
 *
 * Invariants: input comes from outside and is parsed before anything else; output is made of JSON's
 * values alone, for it travels.
 */

import type * as v from 'valibot';
import type { Reading, Workspace } from './workspace.ts';

/** Progress of a running operation. */
export interface OperationProgress {
  /** The past participle of what is being done: "read", "written", "checked". */
  readonly verb: string;
  readonly done: number;
  /** Undefined: nobody knows how much there is. */
  readonly total?: number | undefined;
  /** The number of lines of a list that could not be parsed. */
  readonly badLines?: number | undefined;
}

/** The way back to whoever asked for an operation. */
export interface OperationCall {
  progress(at: OperationProgress): void;
  /** A line for standard error. */
  note(line: string): void;
  /** Bytes that the asker sends along, such as a list. */
  readonly input: AsyncIterable<Uint8Array>;
  /** Sends bytes of the result, such as a backup, at the asker's pace. */
  write(bytes: Uint8Array): Promise<void>;
  /** Aborted when nobody waits for the result any more. */
  readonly signal: AbortSignal;
}

/** Names what the audit log keeps of an input. Values that may hold a person's address become ids. */
export interface AuditRule {
  /** Members of the input that a command takes as arguments, in their order. */
  readonly args?: readonly string[];
  /** Members that are kept as `name=value` where they are given. */
  readonly options?: readonly string[];
  /** The argument that names an account, however it is typed. */
  readonly person?: string;
  /** The operation runs although the log can't be written: a full disk is a reason for a backup. */
  readonly isOptional?: true;
}

interface Described<Name extends string, Schema extends v.GenericSchema> {
  /** As it is typed behind `portcullis`. */
  readonly name: Name;
  readonly input: Schema;
  /** Undefined: it changes nothing, and takes nothing personal out. */
  readonly audit?: AuditRule;
}

export interface ChangingOperation<Name extends string, Schema extends v.GenericSchema, Output>
  extends Described<Name, Schema> {
  run(workspace: Workspace, input: v.InferOutput<Schema>, call: OperationCall): Promise<Output>;
}

/** An operation that reads the store as it lies there, and needs no key for it. */
export interface ReadingOperation<Name extends string, Schema extends v.GenericSchema, Output>
  extends Described<Name, Schema> {
  readonly readsOnly: true;
  run(reading: Reading, input: v.InferOutput<Schema>, call: OperationCall): Promise<Output>;
}

// biome-ignore lint/suspicious/noExplicitAny: for what works on any operation
export type AnyOperation = ChangingOperation<string, any, any> | ReadingOperation<string, any, any>;

export function defineOperation<const Name extends string, Schema extends v.GenericSchema, Output>(
  operation: ChangingOperation<Name, Schema, Output>,
): ChangingOperation<Name, Schema, Output> {
  return operation;
}

export function defineLook<const Name extends string, Schema extends v.GenericSchema, Output>(
  operation: Omit<ReadingOperation<Name, Schema, Output>, 'readsOnly'>,
): ReadingOperation<Name, Schema, Output> {
  return { ...operation, readsOnly: true };
}
