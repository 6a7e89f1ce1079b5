/**
 * Schemas of what endpoints read and answer: the rule, the type and the JSON schema of a value in one. Valibot has
 * the words; here stand those that this service says often, and the reading of a query by schemas.
 */

import * as v from 'valibot';
import { fail, ok, type Result } from './result.ts';

// biome-ignore lint/suspicious/noExplicitAny: any value
export type AnySchema = v.GenericSchema<any, any>;
export type SchemasByName = Readonly<Record<string, AnySchema>>;

/** A whole number in JSON. */
export function integer(min: number, max?: number, fault?: string) {
  const least = v.pipe(v.number(), v.integer(fault), v.minValue(min, fault));
  return max === undefined ? least : v.pipe(least, v.maxValue(max, fault));
}

export const count = integer(0);
export const score = integer(0, 100);
export const dateTime = v.pipe(v.string(), v.isoTimestamp());
export const uri = v.pipe(v.string(), v.url());
export const country = v.pipe(
  v.string(),
  v.regex(/^[A-Z]{2}$/),
  v.description('ISO 3166-1; ZZ: unknown'),
);

export function about<S extends AnySchema>(schema: S, description: string) {
  return v.pipe(schema, v.description(description));
}

export function text(description: string) {
  return about(v.string(), description);
}

/** A member or parameter that may be left out. */
export function option<S extends AnySchema>(schema: S, description: string) {
  return v.optional(about(schema, description));
}

export function optionalText(description: string) {
  return option(v.string(), description);
}

/** A parameter that may be left out, for which a value stands then. */
export function preset<S extends AnySchema>(
  schema: S,
  value: v.InferOutput<S> & (string | number),
) {
  return v.pipe(
    v.optional(schema),
    v.transform((given): v.InferOutput<S> => given ?? value),
    v.metadata({ default: value }),
  );
}

/** A parameter of a query of which the presence counts, whatever its value. */
export function flag(description: string) {
  return v.pipe(
    option(v.string(), description),
    v.transform((given) => given !== undefined),
    v.metadata({ allowEmptyValue: true }),
  );
}

/** A whole number in decimal digits, as a query has it, with what is said of any other text. */
export function digits(pattern: RegExp, fault: string, min: number, max?: number) {
  return v.pipe(
    v.string(fault),
    v.regex(pattern, fault),
    v.transform(Number),
    integer(min, max, fault),
  );
}

/** Reads a whole number from `min` to `max`, of at most nine digits. */
export function between(label: string, min: number, max: number, pattern = /^\d{1,9}$/) {
  return digits(pattern, `The ${label} must be between ${min} and ${max}.`, min, max);
}

/** One of these numbers, as a query has it. */
export function oneOf<const Numbers extends readonly number[]>(numbers: Numbers, fault: string) {
  return v.pipe(v.picklist(numbers.map(String), fault), v.transform(Number), v.picklist(numbers));
}

/** A text that a function reads. @param missing said where there is none */
export function readBy<T>(read: (text: string) => Result<T>, missing?: string) {
  return v.pipe(
    v.string(missing),
    v.rawTransform<string, T>(({ dataset, addIssue, NEVER }) => {
      const value = read(dataset.value);
      if (value.ok) return value.value;
      addIssue({ message: value.detail ?? value.error });
      return NEVER;
    }),
  );
}

/** A query that was read, by the names of its parameters. */
export type ReadQuery<E extends SchemasByName> = {
  readonly [Name in keyof E]: v.InferOutput<E[Name]>;
};

/**
 * Returns what reads the parameters of a query. A parameter that came more than once is one text with commas.
 * A failure names the first parameter that is at fault, in the order of the schemas.
 */
export function queryReader<const E extends SchemasByName>(entries: E) {
  const schema = v.object(entries);
  const names = Object.keys(entries);
  return (params: { all(name: string): readonly string[] }): Result<ReadQuery<E>> => {
    const given = names.map((name) => {
      const texts = params.all(name);
      return [name, texts.length === 0 ? undefined : texts.join(',')];
    });
    const read = v.safeParse(schema, Object.fromEntries(given), { abortEarly: true });
    if (read.success) return ok(read.output as ReadQuery<E>);
    const [issue] = read.issues;
    return fail('invalid_parameter', issue.message, String(issue.path?.[0]?.key));
  };
}
