/**
 * Commands that derive from operations: arguments, options and help from the description, the output from the
 * operation. It hands on what was typed: the operation parses it, so that what it refuses stands in the audit log.
 */

import { Argument, Command, Option } from 'commander';
import { OperatorError } from '../core/errors.ts';
import type { Asking } from '../operations/client.ts';
import type { DescribedCommand, DescribedParameter } from '../operations/operation-descriptions.ts';
import { standardInput } from '../storage/files.ts';

/** Texts, flags and lists of texts, by the names of the parameters. */
export type TypedInput = Record<string, string | boolean | readonly string[]>;

/** Does what a command is for, and prints it. */
export type RunTyped = (input: TypedInput, isJson: boolean) => Promise<void>;

/** A property of the input's JSON schema, as far as a command line is concerned. */
interface Property {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly default?: unknown;
}

interface CommandParameter extends DescribedParameter {
  readonly key: string;
  readonly property: Property;
  readonly isRequired: boolean;
}

export function derivedCommand(
  described: DescribedCommand,
  run: RunTyped = (input, isJson) => runAndPrint(described.name, input, isJson),
): Command {
  const { properties = {}, required = [] } = described.input;
  const parameters = Object.entries(described.parameters).map(([key, parameter]) => ({
    ...parameter,
    key,
    property: (properties[key] ?? {}) as Property,
    isRequired: required.includes(key),
  }));
  const command = new Command(described.name.split(' ').at(-1)).description(described.purpose);
  for (const parameter of parameters) {
    if (parameter.isArgument) command.addArgument(argumentOf(parameter));
    else for (const option of optionsOf(parameter)) command.addOption(option);
  }
  return command.option('--json', 'print the result as JSON, no progress').action(async () => {
    const flags = command.opts<Record<string, unknown>>();
    await run(await inputOf(parameters, command.args, flags), flags.json === true);
  });
}

function argumentOf({
  key,
  value = key,
  help = '',
  isRequired,
  property,
}: CommandParameter): Argument {
  const argument = new Argument(isRequired ? `<${value}>` : `[${value}]`, help);
  if (property.enum !== undefined) argument.choices(property.enum).argParser((text) => text);
  return argument;
}

function optionsOf(parameter: CommandParameter): Option[] {
  const { key, value, help = '', flags, inputFlag, isRequired, property } = parameter;
  if (flags !== undefined) {
    return Object.entries(flags).map(([name, text]) => new Option(`--${name}`, text));
  }
  if (inputFlag !== undefined) return [new Option(`--${inputFlag}`, help)];
  if (property.type === 'boolean') return [new Option(`--${parameter.option}`, help)];
  const option = new Option(`--${parameter.option} <${value ?? key}>`, help);
  if (property.enum !== undefined) option.choices(property.enum);
  if (property.type === 'array') {
    option.argParser((text: string, texts: readonly string[] = []) => [...texts, text]);
  } else option.argParser((text: string) => text);
  const preset = property.default;
  if (typeof preset === 'string' && preset !== '') option.default(preset, preset);
  return [option.makeOptionMandatory(isRequired)];
}

async function inputOf(
  parameters: readonly CommandParameter[],
  args: readonly string[],
  flags: Readonly<Record<string, unknown>>,
): Promise<TypedInput> {
  const input: Record<string, unknown> = {};
  const rest = [...args];
  for (const parameter of parameters) {
    const { key, isArgument, inputFlag, flags: choices } = parameter;
    if (isArgument) input[key] = rest.shift();
    else if (choices !== undefined) input[key] = oneOf(Object.keys(choices), flags);
    else if (inputFlag === undefined) input[key] = flags[camelCase(parameter.option)];
    else if (flags[camelCase(inputFlag)]) input[key] = await firstLine(key);
  }
  const given = Object.entries(input).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as TypedInput;
}

function oneOf(names: readonly string[], flags: Readonly<Record<string, unknown>>): string {
  const [name, ...more] = names.filter((one) => flags[camelCase(one)] === true);
  if (name !== undefined && more.length === 0) return name;
  const [last, ...others] = names.map((one) => `--${one}`).reverse();
  throw new OperatorError(`say one of ${others.reverse().join(', ')} and ${last}`);
}

/** More than any secret, with room for a line end. */
const inputBytesMax = 4_096;

async function firstLine(name: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of standardInput()) {
    length += chunk.length;
    if (length > inputBytesMax) throw new OperatorError(`the ${name} is too long`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8').split(/\r?\n/, 1)[0] ?? '';
}

/** Prints what an operation answers: its lines, or one line of JSON. */
export async function runAndPrint(
  name: string,
  input: TypedInput,
  isJson: boolean,
  { onDone, ...asking }: Asking & { readonly onDone?: () => void } = {},
): Promise<void> {
  // Loaded here, because help and version need no connection.
  const { runForCommand } = await import('../operations/client.ts');
  const shown = await runForCommand(name, input, isJson, asking);
  onDone?.();
  const lines = isJson ? [JSON.stringify(shown)] : (shown as readonly string[]);
  if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n`);
}

function camelCase(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
