/**
 * Describes an act of an operator once: its name, its parameters, how it runs and what the audit log says. The
 * command with `--help` and `--json`, the form on the console, the sentence of the audit log and the JSON schema of
 * the input all derive from the description.
 *
 * Invariants: input comes from outside and is parsed before anything else. Output consists of JSON values only, since
 * it is sent to other processes.
 */

import * as v from 'valibot';
import type { Config } from '../config.ts';
import type { Clock } from '../core/clock.ts';
import { OperatorError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { Random } from '../core/random.ts';
import type { Failure, Result } from '../core/result.ts';
import type { InheritedClaim } from '../storage/lmdb/claim.ts';
import type { Store } from '../storage/store.ts';

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
  /** True if it runs on the console, where an operator could lock everybody out. */
  readonly isOnConsole?: boolean;
}

interface ReadingTools {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Store;
}

/** Operations of every capability work on these; what else one needs, its capability names. */
export interface OperationTools extends ReadingTools {
  readonly log: Log;
}

/** Operations that only read work on these. */
export interface Reading extends ReadingTools {
  /** The embedded store; undefined where it is shared. */
  readonly embedded: EmbeddedStore | undefined;
  /** Resolves when the memory of a running server holds the journal up to there; at once without one. */
  catchUpTo(seq: bigint): Promise<void>;
}

interface EmbeddedStore {
  /** The store's directory inside DATA_DIR. */
  readonly path: string;
  readonly claim: InheritedClaim;
}

export interface Parameter {
  /**
   * Reads what a shell and a form bring: a text, `true` of a flag, or the texts of an option that may be given
   * again.
   */
  // biome-ignore lint/suspicious/noExplicitAny: a parameter takes its own value alone
  readonly schema: v.GenericSchema<any, any>;
  /** Says in the help what it is. */
  readonly help?: string;
  /** The help names the value by it, such as `score`; a flag has none. */
  readonly value?: string;
  /** Arguments come in the order of their declaration; the others are options. */
  readonly isArgument?: true;
  /** The name of the option, where it is not the parameter's. */
  readonly option?: string;
  /** Flags in place of an option: the values that they stand for, each with its help. */
  readonly flags?: Readonly<Record<string, string>>;
  /** In place of an option: a flag of this name, which has the value read from the first line of input. */
  readonly inputFlag?: string;
  /**
   * The audit log keeps the value: as it is, as the id of the account that it names, or as the function
   * writes it. Of a parameter without this it keeps nothing.
   */
  // biome-ignore lint/suspicious/noExplicitAny: a parameter takes its own value alone
  readonly kept?: true | 'account' | ((value: any) => string);
  /** A form asks for it by a text field like this. */
  readonly control?: FormControl;
}

interface FormControl {
  readonly type?: 'date';
  /** Counts characters. */
  readonly maxLength?: number;
  /** Set in the fixed-width font. */
  readonly mono?: true;
  readonly inputMode?: 'numeric';
  readonly autocomplete?: 'off';
}

/** Describes a parameter for the forms of the console. */
export interface FormField extends FormControl {
  readonly isRequired: boolean;
  /** The value that the form begins with. */
  readonly value?: string | undefined;
  readonly choices?: readonly string[] | undefined;
}

export type Parameters = Readonly<Record<string, Parameter>>;
type InputSchema<P extends Parameters> = v.StrictObjectSchema<
  { readonly [Name in keyof P]: P[Name]['schema'] },
  undefined
>;
type Values<P extends Parameters> = v.InferOutput<InputSchema<P>>;

interface Act<Name extends string, P extends Parameters, Values, Output> {
  /** The words that are typed behind `portcullis`. */
  readonly name: Name;
  /** Says in the help what the command is for. An act without it has no command of its own. */
  readonly purpose?: string;
  readonly parameters: P;
  /**
   * Whether it stands in the audit log, as each act that changes something or takes something personal
   * out. With `if possible` it is done although the log can't be written: a full disk is a reason for a backup.
   */
  readonly audit?: 'required' | 'if possible';
  /** It reads the memory or the disk of a node: a running node answers it, although the store is shared. */
  readonly asksNode?: true;
  /** Says in the audit log what is afterwards. */
  readonly outcome?: (output: Output, input: Values) => string;
  /** Writes the output as a person reads it in the terminal. */
  readonly lines?: (output: Output, input: Values) => readonly string[];
  /** Returns what `--json` prints; without this it is the output itself. */
  readonly json?: (output: Output) => unknown;
}

/** The order that takes an operation back, with its input as a form brings it. */
export interface UndoOrder {
  readonly operation: string;
  readonly input: Readonly<Record<string, string | boolean>>;
}

interface ChangingAct<Tools, Name extends string, P extends Parameters, Values, Output>
  extends Act<Name, P, Values, Output> {
  readonly run: (tools: Tools, input: Values, call: OperationCall) => Promise<Output>;
  /** Says in the audit log what was before. */
  readonly before?: (tools: Tools, input: Values) => Promise<string>;
  /** Returns the order that restores what was before; undefined where nothing does. */
  readonly undo?: (output: Output, input: Values) => UndoOrder | undefined;
}

/** An act that reads the store as it lies there, and needs no key for it. */
interface ReadingAct<Tools, Name extends string, P extends Parameters, Values, Output>
  extends Act<Name, P, Values, Output> {
  readonly run: (reading: Tools, input: Values, call: OperationCall) => Promise<Output>;
}

type WithInput<A, Input> = A & { readonly input: Input };
type Query<A> = A & { readonly readsOnly: true };

/** An operation that works on `Tools`, or reads with `ToolsOfQuery` alone. */
export type AnyOperation<Tools, ToolsOfQuery> =
  // biome-ignore lint/suspicious/noExplicitAny: for what works on any operation
  | WithInput<ChangingAct<Tools, string, Parameters, any, any>, any>
  // biome-ignore lint/suspicious/noExplicitAny: for what works on any operation
  | WithInput<Query<ReadingAct<ToolsOfQuery, string, Parameters, any, any>>, any>;

/** Returns what defines the operations of a capability, which work on these tools. */
export function operationsOn<Tools>() {
  return <const Name extends string, const P extends Parameters, Output>(
    act: ChangingAct<Tools, Name, P, Values<P>, Output>,
  ): WithInput<ChangingAct<Tools, Name, P, Values<P>, Output>, InputSchema<P>> => ({
    ...act,
    input: inputOf(act.parameters),
  });
}

/** The same for operations that only read. */
export function queriesOn<Tools>() {
  return <const Name extends string, const P extends Parameters, Output>(
    act: ReadingAct<Tools, Name, P, Values<P>, Output>,
  ): WithInput<Query<ReadingAct<Tools, Name, P, Values<P>, Output>>, InputSchema<P>> => ({
    ...act,
    readsOnly: true,
    input: inputOf(act.parameters),
  });
}

function inputOf<P extends Parameters>(parameters: P): InputSchema<P> {
  const schemas = Object.entries(parameters).map(([name, { schema }]) => [name, schema]);
  return v.strictObject(Object.fromEntries(schemas)) as InputSchema<P>;
}

/** Returns whether a parameter may be left out, and what stands for it then. */
function presetOf({ schema }: Parameter): { isOptional: boolean; preset: unknown } {
  const isOptional = schema.type === 'optional';
  return { isOptional, preset: isOptional ? v.getDefault(schema as never) : undefined };
}

/** The schema of a value that is there. */
function givenSchema({ schema }: Parameter): v.GenericSchema {
  return 'wrapped' in schema ? (schema.wrapped as v.GenericSchema) : schema;
}

/** Describes the parameters of an operation for forms. A field that has a value at first may not be emptied. */
export function formFieldsOf({
  parameters,
}: {
  readonly parameters: Parameters;
}): Readonly<Record<string, FormField>> {
  const rows = Object.entries(parameters).map(([name, parameter]): [string, FormField] => {
    const { isOptional, preset } = presetOf(parameter);
    const value = typeof preset === 'string' && preset !== '' ? preset : undefined;
    const given = givenSchema(parameter);
    const choices = 'options' in given ? (given.options as readonly string[]) : undefined;
    return [
      name,
      { ...parameter.control, isRequired: !isOptional || value !== undefined, value, choices },
    ];
  });
  return Object.fromEntries(rows);
}

/** Reads the parameters of an operation from a form. An empty field that may be left out is. */
export function inputFromForm(
  { parameters }: { readonly parameters: Parameters },
  fields: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | boolean>> {
  const input: Record<string, string | boolean> = {};
  for (const [name, parameter] of Object.entries(parameters)) {
    const text = fields[name]?.trim();
    if (text === undefined || (text === '' && presetOf(parameter).isOptional)) continue;
    input[name] = givenSchema(parameter).type === 'boolean' ? text === 'true' : text;
  }
  return input;
}

/** Returns one sentence of the first fault: of an argument by itself, of an option with its name. */
export function inputFault(
  { parameters }: { readonly parameters: Parameters },
  [issue]: readonly [v.BaseIssue<unknown>, ...v.BaseIssue<unknown>[]],
): string {
  const name = String(issue.path?.[0]?.key ?? '');
  const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
  if (parameter === undefined) return issue.message;
  return parameter.isArgument ? issue.message : `--${optionOf(name, parameter)}: ${issue.message}`;
}

/** `readPerMinute` is `--read-per-minute`. */
export function optionOf(name: string, { option }: Parameter): string {
  return option ?? name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** An operation that is refused: a sentence for a command, a code and its status for the console. */
export class RefusedError extends OperatorError {
  readonly failure: Failure;
  constructor(failure: Failure) {
    super(failure.detail ?? failure.error.replaceAll('_', ' '));
    this.failure = failure;
  }
}

/** @throws RefusedError */
export function refuse(failure: Failure): never {
  throw new RefusedError(failure);
}

/** Returns the value of a result. @throws RefusedError for a failure: the command ends with its one line */
export function expect<T>(result: Result<T>): T {
  return result.ok ? result.value : refuse(result);
}
