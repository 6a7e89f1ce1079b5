/**
 * The pieces of the OpenAPI document, and what holds for every route: refusals of the transport,
 * which no area needs to repeat. Plain data; the same input gives the same document.
 */

import { jsonType } from '../../problem.ts';

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}
/** A JSON Schema, 2020-12. */
export type Schema = JsonObject;

export interface Answer {
  readonly description: string;
  readonly headers?: JsonObject;
  /** By media type. */
  readonly content?: JsonObject;
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly description?: string;
  readonly security?: readonly Json[];
  readonly parameters?: readonly Json[];
  readonly requestBody?: JsonObject;
  readonly responses: Readonly<Record<string, Answer>>;
}

export type Method = 'get' | 'post' | 'delete';

/** Paths of one area, with `{name}` where the router has `:name`. */
export interface Area {
  readonly paths: Readonly<Record<string, Readonly<Partial<Record<Method, Operation>>>>>;
  /** Those of `paths` that scripts of other origins may use. */
  readonly cors?: readonly string[];
  /** Named schemas, for `ref`. */
  readonly schemas: Readonly<Record<string, Schema>>;
}

export const jsonMedia = jsonType[1];

export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/** All of them required, and no others, unless told. */
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

export function media(schema: Schema, type: string = jsonMedia): JsonObject {
  return { [type]: { schema } };
}

export function answer(description: string, content: JsonObject, headers?: JsonObject): Answer {
  return { description, content, ...(headers === undefined ? {} : { headers }) };
}

const wholeNumber = (description: string, required: boolean): JsonObject => ({
  description,
  required,
  schema: { type: 'integer', minimum: 0 },
});

/** On every answer to a request with a valid key. */
export const quotaHeaders: JsonObject = {
  'X-RateLimit-Limit': wholeNumber('Requests a minute.', true),
  'X-RateLimit-Remaining': wholeNumber('What is left of them.', true),
  'X-RateLimit-Reset': wholeNumber('Unix time in seconds at which there is more.', true),
};
const retryAfter: JsonObject = { 'Retry-After': wholeNumber('Seconds to wait.', true) };

export function query(name: string, schema: Schema, description: string, required = false): Json {
  return { name, in: 'query', required, schema, description };
}

/** A flag: only its presence counts. */
export function flag(name: string, description: string): Json {
  return { name, in: 'query', required: false, allowEmptyValue: true, schema: string, description };
}

/** How the refusals of a path look. */
export interface Family {
  readonly content: JsonObject;
}

export const families = {
  api: { content: media(ref('Errors')) },
  exchange: { content: media(ref('SignOnError')) },
  captcha: { content: media(ref('CaptchaRefusal')) },
  siteverify: { content: media(ref('SiteverifyRefusal')) },
} as const satisfies Record<string, Family>;

/** Why a status is given, where the route has nothing of its own to say. */
const reasons: Readonly<Record<number, string>> = {
  400: 'The request is malformed, or path and query are too long.',
  401: 'The API key is missing, incorrect or revoked.',
  404: 'There is no such thing.',
  408: 'The body came too slowly.',
  413: 'The body is too large.',
  415: 'The body has a media type that is not understood.',
  422: 'A parameter is missing, repeated, malformed or out of range; `source.parameter` names it.',
  429: 'A limit is exceeded, or too many requests of one client are in flight.',
  503: 'Too busy, too slow, or nothing can be saved at the moment.',
};

interface Outline extends Pick<Operation, 'summary' | 'description' | 'parameters'> {
  readonly id: string;
  readonly tag: string;
  readonly family: Family;
  /** The API key that it needs: in the header or the query. */
  readonly key?: true;
  readonly body?: JsonObject;
  /** The body is read as it comes: one that comes too slowly ends in a 503. */
  readonly streams?: true;
  /** Its own successes and odd answers. */
  readonly answers: Readonly<Record<number, Answer>>;
  /** Statuses of refusals beyond those that every route has. */
  readonly refusals?: readonly number[];
}

/** Every route has 400, 429 and 503 of the transport; one that collects a body 408 and 413 too. */
export function operation(outline: Outline): Operation {
  const { id, tag, family, key, body, streams, answers, refusals = [], ...rest } = outline;
  const ofBody = body === undefined ? [] : streams ? [413] : [408, 413];
  const statuses = [400, ...ofBody, ...refusals, 429, 503];
  const responses: Record<string, Answer> = {};
  for (const status of statuses) {
    const headers = status === 503 ? { headers: retryAfter } : {};
    responses[status] = { description: reasons[status]!, content: family.content, ...headers };
  }
  for (const [status, own] of Object.entries(answers)) responses[status] = own;
  return {
    operationId: id,
    tags: [tag],
    ...rest,
    ...(key === undefined ? { security: [] } : { security: [{ keyHeader: [] }, { keyQuery: [] }] }),
    ...(body === undefined ? {} : { requestBody: body }),
    responses,
  };
}

/** The same fields as a form, a multipart form or JSON. */
export function formOrJson(schema: Schema, required = true): JsonObject {
  return {
    required,
    content: {
      'application/x-www-form-urlencoded': { schema },
      'multipart/form-data': { schema },
      [jsonMedia]: { schema },
    },
  };
}
