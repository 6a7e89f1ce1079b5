/**
 * Describes the commands of operations as plain data: the command line and the JSON schema of the input. The bundler
 * replaces this file by the data, so that a command next to a running server loads no operation.
 */

import { type JsonSchema, toJsonSchema } from '@valibot/to-json-schema';
import { optionOf, type Parameter } from '../contracts/operation.ts';
import { operations, type WorkspaceOperation } from './catalog.ts';

export interface DescribedParameter extends Omit<Parameter, 'schema' | 'kept' | 'control'> {
  readonly option: string;
}

export interface DescribedCommand {
  readonly name: string;
  readonly purpose: string;
  readonly parameters: Readonly<Record<string, DescribedParameter>>;
  readonly asksNode: boolean;
  /** The schema of the input as it is typed: its properties are texts, flags and lists of texts. */
  readonly input: JsonSchema;
}

export const operationDescriptions: readonly DescribedCommand[] = [...operations.values()].flatMap(
  (operation) => (operation.purpose === undefined ? [] : [describe(operation, operation.purpose)]),
);

function describe(
  { name, parameters, asksNode, input }: WorkspaceOperation,
  purpose: string,
): DescribedCommand {
  const rows = Object.entries(parameters).map(([key, parameter]) => {
    const { schema: _, kept: __, control: ___, ...rest } = parameter;
    return [key, { ...rest, option: optionOf(key, parameter) }];
  });
  const asTyped = { typeMode: 'input', errorMode: 'ignore' } as const;
  return {
    name,
    purpose,
    parameters: Object.fromEntries(rows),
    asksNode: asksNode === true,
    input: toJsonSchema(input, asTyped),
  };
}
