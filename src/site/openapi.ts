/**
 * GET /openapi.json: every JSON endpoint of the service, made of the declarations that the guard
 * works by. The tests compare it with the routes of a running server and with every answer they get.
 */

import { toJsonSchema } from '@valibot/to-json-schema';
import * as v from 'valibot';
import { statusOf } from '../core/errors.ts';
import type { AnySchema, SchemasByName } from '../core/schema.ts';
import { type Endpoint, errorsOf } from '../web/guard/endpoint.ts';
import {
  type DescribedAnswer,
  type EndpointDocs,
  errorSchemas,
  type JsonMembers,
  media,
  type Operation,
  quotaHeaderDocs,
  ref,
  retryAfter,
  type Schema,
} from '../web/openapi.ts';
import type { ErrorShape } from '../web/shape.ts';

const description = `JSON routes of Portcullis. Pages for people and text feeds are not described here.

Where there is GET there is HEAD, with the same status and headers (not on /api.php, where a code
would be lost). Another method than those of a path gets 405 with \`Allow\`. Unknown paths get 404.
Every answer of 429 that can be waited for and every 503 has \`Retry-After\`.`;

const refusalOf: Readonly<Record<ErrorShape, JsonMembers>> = {
  api: media(errorSchemas.Errors),
  exchange: media(errorSchemas.SignOnError),
  captcha: media(errorSchemas.CaptchaRefusal),
  siteverify: media(errorSchemas.SiteverifyRefusal),
  bouncer: media(errorSchemas.Message),
  policy: media(errorSchemas.PolicyRefusal),
  text: { 'text/plain; charset=utf-8': {} },
  page: { 'text/html; charset=utf-8': {} },
};

/** Why a status is given, where the endpoint has nothing of its own to say. */
const reasons: Readonly<Record<number, string>> = {
  400: 'The request is malformed, or path and query are too long.',
  401: 'The API key is missing, incorrect or revoked.',
  402: 'The network is too large.',
  403: 'This is not allowed.',
  404: 'There is no such thing.',
  408: 'The body came too slowly.',
  409: 'This contradicts what is there.',
  411: 'The body is chunked: it needs a Content-Length.',
  413: 'The body is too large.',
  415: 'The body has a media type that is not understood.',
  422: 'A parameter is missing, repeated, malformed or out of range; `source.parameter` names it.',
  429: 'A limit is exceeded, or too many requests of one client are in flight.',
  503: 'Too busy, too slow, or nothing can be saved at the moment.',
};

/** Said once for all paths, in the description: no endpoint repeats them. */
const commonStatuses: readonly number[] = [404, 405, 500];

/** The JSON schemas of those that stand in descriptions, and of those that have a name. */
interface JsonSchemas {
  of(schema: AnySchema): JsonMembers;
  readonly named: Readonly<Record<string, Schema>>;
}

function isSchema(value: unknown): value is AnySchema {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'schema';
}

/** A JSON schema has no word for what these do with a value. */
const ignoreActions = ['check', 'raw_check', 'raw_transform', 'transform', 'trim'];

/** Throws when two descriptions give one name to different schemas: a bug, found at start. */
function jsonSchemasOf(described: readonly EndpointDocs[]): JsonSchemas {
  const all: Record<string, Schema | AnySchema> = { ...errorSchemas };
  for (const [name, schema] of described.flatMap(({ schemas = {} }) => Object.entries(schemas))) {
    if (all[name] !== undefined && all[name] !== schema) {
      throw new Error(`the OpenAPI document has two schemas ${name}`);
    }
    all[name] = schema;
  }
  const inlined = new Set<AnySchema>();
  JSON.stringify([described, refusalOf, quotaHeaderDocs, retryAfter], (_, value) => {
    if (!isSchema(value)) return value;
    inlined.add(value);
    return undefined;
  });
  const definitions = Object.fromEntries(
    Object.entries(all).filter((row): row is [string, AnySchema] => isSchema(row[1])),
  );
  const { prefixItems, $defs } = toJsonSchema(v.tuple([...inlined]), {
    target: 'draft-2020-12',
    typeMode: 'output',
    definitions,
    ignoreActions,
    overrideRef: ({ referenceId }) => ref(referenceId).$ref as string,
  });
  const json = new Map([...inlined].map((schema, i) => [schema, prefixItems![i] as JsonMembers]));
  return {
    of: (schema) => json.get(schema)!,
    named: { ...(all as Record<string, Schema>), ...($defs as Record<string, Schema>) },
  };
}

function parametersIn(
  location: 'path' | 'query',
  entries: SchemasByName,
  json: JsonSchemas,
): JsonMembers[] {
  return Object.entries(entries).map(([name, declared]) => {
    const { description, allowEmptyValue, ...schema } = json.of(declared);
    const required = declared.type !== 'optional';
    // Absent fields are left out, as in what is sent.
    const rest = { description, allowEmptyValue } as JsonMembers;
    return { name, in: location, required, schema, ...rest };
  });
}

function operationOf(declared: Endpoint, described: EndpointDocs, json: JsonSchemas): Operation {
  const { id, tag, summary, description, requestBody, answers, path = {}, query = {} } = described;
  const parameters = [...parametersIn('path', path, json), ...parametersIn('query', query, json)];
  const own = declared.errors.map(statusOf);
  const all = [...errorsOf(declared)].map(statusOf);
  const statuses = [...new Set(all)].filter((s) => !commonStatuses.includes(s) || own.includes(s));
  const content = described.refusals ?? refusalOf[declared.shape];
  const responses: Record<string, DescribedAnswer> = {};
  for (const status of statuses.sort((a, b) => a - b)) {
    const headers = status === 503 ? { headers: retryAfter } : {};
    responses[status] = { description: reasons[status]!, content, ...headers };
  }
  for (const [status, answer] of Object.entries(answers)) {
    const isPaid = declared.cost !== undefined && (status === '200' || status === '402');
    responses[status] = isPaid
      ? { ...answer, headers: { ...quotaHeaderDocs, ...answer.headers } }
      : answer;
  }
  const isKeyed = declared.who === 'api-key';
  const ofIntegration = declared.who === 'bouncer' ? [{ bouncerHeader: [] }] : [];
  const ofAgent = declared.who === 'agent' ? [{ agentToken: [] }] : ofIntegration;
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(parameters.length === 0 ? {} : { parameters }),
    security: isKeyed ? [{ keyHeader: [] }, { keyQuery: [] }] : ofAgent,
    ...(requestBody === undefined ? {} : { requestBody }),
    responses,
  };
}

/** Ranges are a matter of GET alone. */
const withoutHead: readonly string[] = ['206', '416'];

function headOf(get: Operation, own: EndpointDocs['headAnswers'] = {}): Operation {
  const responses = Object.entries(get.responses)
    .filter(([status]) => !withoutHead.includes(status))
    .map(([status, { content: _, ...answer }]): [string, DescribedAnswer] => [status, answer]);
  return {
    ...get,
    operationId: `${get.operationId}Head`,
    summary: 'As GET, without the body.',
    responses: { ...Object.fromEntries(responses), ...own },
  };
}

function preflightOf({ operationId, tags, parameters = [] }: Operation): JsonMembers {
  return {
    operationId: `${operationId}Preflight`,
    tags,
    summary: 'Any origin, no credentials.',
    security: [],
    parameters: parameters.filter((each) => (each as JsonMembers).in === 'path'),
    responses: { 204: { description: 'What scripts of other origins may send.' } },
  };
}

type Item = Record<string, Operation | JsonMembers>;

/** With what the transport adds: HEAD where there is GET, OPTIONS where there is CORS. */
function pathsOf(endpoints: readonly Endpoint[], json: JsonSchemas): Record<string, Item> {
  const paths: Record<string, Item> = {};
  for (const declared of endpoints) {
    if (typeof declared.docs === 'string') continue;
    const template = declared.path.replace(/:(\w+)/g, '{$1}');
    const operation = operationOf(declared, declared.docs, json);
    const method = declared.method.toLowerCase();
    const item = paths[template] ?? {};
    paths[template] = item;
    if (method in item) throw new Error(`${declared.method} ${template} is described twice`);
    item[method] = operation;
    // Programs send HEAD on their own: what a GET uses up must survive it.
    if (method === 'get' && declared.noHead !== true)
      item.head = headOf(operation, declared.docs.headAnswers);
    if (declared.cors !== undefined) item.options ??= preflightOf(operation);
  }
  return paths;
}

export function openApiDocument(options: {
  version: string;
  baseUrl: string;
  secureUrl: string;
  endpoints: readonly Endpoint[];
}): JsonMembers {
  const { version, baseUrl, secureUrl, endpoints } = options;
  const urls = [...new Set([secureUrl, baseUrl])];
  const json = jsonSchemasOf(
    endpoints.flatMap(({ docs }) => (typeof docs === 'string' ? [] : [docs])),
  );
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Portcullis',
      version,
      summary: 'IP reputation, blocklists, CAPTCHA and sign-on.',
      description,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: urls.map((url) => ({ url })),
    externalDocs: { url: `${baseUrl}/docs` },
    paths: pathsOf(endpoints, json),
    components: {
      schemas: json.named,
      securitySchemes: {
        keyHeader: { type: 'apiKey', in: 'header', name: 'Key' },
        bouncerHeader: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
        agentToken: { type: 'http', scheme: 'bearer' },
        keyQuery: { type: 'apiKey', in: 'query', name: 'key' },
      },
    },
  };
  // Absent fields are left out, as in what is sent.
  const inJson = (_: string, value: unknown) => (isSchema(value) ? json.of(value) : value);
  return JSON.parse(JSON.stringify(document, inJson)) as JsonMembers;
}
