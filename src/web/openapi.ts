/**
 * The pieces of the OpenAPI document: schemas, answers, parameters. An endpoint describes with them
 * what only it knows; `site/openapi` makes the document of all declarations.
 */

import * as v from 'valibot';
import { type AnySchema, count, integer, type SchemasByName } from '../core/schema.ts';
import { exchangeErrors, jsonType, siteverifyErrors } from './shape.ts';

export type Json = null | boolean | number | string | readonly Json[] | JsonMembers | AnySchema;
export interface JsonMembers {
  readonly [name: string]: Json;
}
/** A JSON Schema, 2020-12. */
export type Schema = JsonMembers;

export interface DescribedAnswer {
  readonly description: string;
  readonly headers?: JsonMembers;
  /** The keys are media types. */
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

export function media(schema: Schema | AnySchema, type: string = jsonMedia): JsonMembers {
  return { [type]: { schema } };
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

export const siteverifyCodes = v.array(v.picklist(siteverifyErrors));
/** The bodies of refusals, by the names that they have in the document. */
export const errorSchemas = {
  Errors: v.strictObject({
    errors: v.pipe(
      v.array(
        v.strictObject({
          detail: v.string(),
          status: integer(400, 599),
          source: v.optional(v.strictObject({ parameter: v.string() })),
        }),
      ),
      v.minLength(1),
    ),
  }),
  Message: v.strictObject({ message: v.string() }),
  PolicyRefusal: v.strictObject({ status: v.literal(0), msg: v.string() }),
  SignOnError: v.strictObject({ error: v.picklist(exchangeErrors), error_description: v.string() }),
  CaptchaRefusal: v.strictObject({ ok: v.literal(false) }),
  SiteverifyRefusal: v.strictObject({
    success: v.literal(false),
    'error-codes': v.pipe(siteverifyCodes, v.minLength(1)),
  }),
} as const;

const wholeNumber = (description: string, required: boolean): JsonMembers => ({
  description,
  required,
  schema: count,
});

/** On every answer to a request with a valid key. */
export const quotaHeaderDocs: JsonMembers = {
  'X-RateLimit-Limit': wholeNumber('Requests a minute.', true),
  'X-RateLimit-Remaining': wholeNumber('What is left of them.', true),
  'X-RateLimit-Reset': wholeNumber('Unix time in seconds at which there is more.', true),
};
export const retryAfter: JsonMembers = { 'Retry-After': wholeNumber('Seconds to wait.', true) };

/** The endpoint's own part of its operation; the rest follows from the declaration. */
export interface EndpointDocs extends Pick<Operation, 'summary' | 'description'> {
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

export const errorsOrPage: JsonMembers = { ...media(errorSchemas.Errors), ...page };

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
