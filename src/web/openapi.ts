/**
 * The pieces of the OpenAPI document: schemas, answers, parameters. An endpoint describes with them
 * what only it knows; `site/openapi` makes the document of all declarations.
 */

import * as v from 'valibot';
import type { AnySchema, SchemasByName } from '../core/schema.ts';
import { jsonType } from './shape.ts';

export type Json = null | boolean | number | string | readonly Json[] | JsonMembers | AnySchema;
export interface JsonMembers {
  readonly [name: string]: Json;
}
/** A JSON Schema, 2020-12. */
export type Schema = JsonMembers;

export interface DescribedAnswer {
  readonly description: string;
  readonly headers?: JsonMembers;
  /** By media type. */
  readonly content?: JsonMembers;
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly description?: string;
  readonly security?: readonly Json[];
  readonly parameters?: readonly Json[];
  readonly requestBody?: JsonMembers;
  readonly responses: Readonly<Record<string, DescribedAnswer>>;
}

export const jsonMedia = jsonType[1];

export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/** Returns the schema of an object: by default all members are required, and no others allowed. */
export function object(
  properties: Readonly<Record<string, Schema>>,
  { optional = [] }: { optional?: readonly string[] } = {},
): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required, additionalProperties: false };
}

export const string: Schema = { type: 'string' };
export const boolean: Schema = { type: 'boolean' };
export const count: Schema = { type: 'integer', minimum: 0 };
export const score: Schema = { type: 'integer', minimum: 0, maximum: 100 };
export const dateTime: Schema = { type: 'string', format: 'date-time' };
export const country: Schema = {
  type: 'string',
  pattern: '^[A-Z]{2}$',
  description: 'ISO 3166-1; ZZ: unknown',
};

export function nullable(schema: Schema): Schema {
  return { anyOf: [schema, { type: 'null' }] };
}

export function list(items: Schema): Schema {
  return { type: 'array', items };
}

export function media(schema: Schema | AnySchema, type: string = jsonMedia): JsonMembers {
  return { [type]: { schema } };
}

/** `{"data": …}`, as every answer of the API has it. */
export function data(name: string): JsonMembers {
  return media(object({ data: ref(name) }));
}

export function answer(
  description: string,
  content: JsonMembers,
  headers?: JsonMembers,
): DescribedAnswer {
  return { description, content, ...(headers === undefined ? {} : { headers }) };
}

/** Describes an answer of JSON. */
export function jsonAnswer(
  description: string,
  schema: AnySchema,
  headers?: JsonMembers,
): DescribedAnswer {
  return answer(description, media(schema), headers);
}

/** Describes an answer of the API, `{"data": …}`. */
export function dataAnswer(description: string, schema: AnySchema): DescribedAnswer {
  return jsonAnswer(description, v.strictObject({ data: schema }));
}

const page: JsonMembers = { 'text/html; charset=utf-8': { schema: v.string() } };

/** Describes what is a page for people, and an answer of the API for who asks for JSON. */
export function dataOrPage(description: string, schema: AnySchema): DescribedAnswer {
  const { content } = dataAnswer(description, schema);
  return { description, content: { ...content, ...page } };
}

export function jsonBody(schema: AnySchema): JsonMembers {
  return { required: true, content: media(schema) };
}

/** Describes the answer to If-Match or If-Unmodified-Since when the content is another by now. */
export function conditionFailed(headers: JsonMembers): DescribedAnswer {
  const content = { 'text/plain; charset=utf-8': {} };
  return answer('Not what the condition of the request asks for.', content, headers);
}

const wholeNumber = (description: string, required: boolean): JsonMembers => ({
  description,
  required,
  schema: { type: 'integer', minimum: 0 },
});

/** On every answer to a request with a valid key. */
export const quotaHeaders: JsonMembers = {
  'X-RateLimit-Limit': wholeNumber('Requests a minute.', true),
  'X-RateLimit-Remaining': wholeNumber('What is left of them.', true),
  'X-RateLimit-Reset': wholeNumber('Unix time in seconds at which there is more.', true),
};
export const retryAfter: JsonMembers = { 'Retry-After': wholeNumber('Seconds to wait.', true) };

export function query(name: string, schema: Schema, description: string, required = false): Json {
  return { name, in: 'query', required, schema, description };
}

/** A flag: only its presence counts. */
export function flag(name: string, description: string): Json {
  return { name, in: 'query', required: false, allowEmptyValue: true, schema: string, description };
}

/** The endpoint's own part of its operation; the rest follows from the declaration. */
export interface Described extends Pick<Operation, 'summary' | 'description' | 'parameters'> {
  /** `operationId`: of this method and path alone. */
  readonly id: string;
  readonly tag: string;
  /** Schemas of the parameters in path and query. */
  readonly path?: SchemasByName;
  readonly query?: SchemasByName;
  readonly requestBody?: JsonMembers;
  /** Its own successes and odd answers, by status. */
  readonly answers: Readonly<Record<number, DescribedAnswer>>;
  /** Answers to HEAD alone, by status. */
  readonly headAnswers?: Readonly<Record<number, DescribedAnswer>>;
  /** Replaces the shape's own, where refusals have more than one form. */
  readonly refusals?: JsonMembers;
  /** Schemas that have a name in the document, where each stands once. */
  readonly schemas?: Readonly<Record<string, Schema | AnySchema>>;
}

export const errorsOrPage: JsonMembers = { ...media(ref('Errors')), ...page };

/** The same fields as a form, a multipart form or JSON. */
export function formOrJson(schema: Schema | AnySchema, required = true): JsonMembers {
  return {
    required,
    content: {
      'application/x-www-form-urlencoded': { schema },
      'multipart/form-data': { schema },
      [jsonMedia]: { schema },
    },
  };
}
