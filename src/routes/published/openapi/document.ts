/**
 * GET /openapi.json: every JSON route of the service, from one file an area. The tests compare it
 * with the routes of a running server and with every answer that they get.
 */

import { exchangePath } from '../../problem.ts';
import { captcha } from './captcha.ts';
import { jsonFeeds } from './feeds.ts';

import type { Answer, Area, JsonObject, Operation } from './parts.ts';
import { reads } from './reads.ts';
import { service } from './service.ts';
import { signOn } from './signon.ts';
import { writes } from './writes.ts';

const areas: readonly Area[] = [reads, writes, signOn, captcha, jsonFeeds, service];

const description = `JSON routes of Portcullis. Pages for people and text feeds are not described here.

Where there is GET there is HEAD, with the same status and headers (not on /api.php, where a code
would be lost). Another method than those of a path gets 405 with \`Allow\`. Unknown paths get 404.
Every answer of 429 that can be waited for and every 503 has \`Retry-After\`.`;

/** Ranges are a matter of GET alone. */
const withoutHead: readonly string[] = ['206', '416'];

function headOf(get: Operation): Operation {
  const responses = Object.entries(get.responses)
    .filter(([status]) => !withoutHead.includes(status))
    .map(([status, { content: _, ...answer }]): [string, Answer] => [status, answer]);
  return {
    ...get,
    operationId: `${get.operationId}Head`,
    summary: 'As GET, without the body.',
    responses: Object.fromEntries(responses),
  };
}

/** With what the transport adds: HEAD where there is GET, OPTIONS where there is CORS. */
function pathsOf({ paths, cors = [] }: Area): Record<string, object> {
  const items = Object.entries(paths).map(([path, item]) => {
    const { get } = item;
    // Programs send HEAD on their own: a code must survive it.
    const head = get === undefined || path === exchangePath ? {} : { head: headOf(get) };
    const options = cors.includes(path) ? { options: preflightOf(Object.values(item)[0]!) } : {};
    return [path, { ...item, ...head, ...options }];
  });
  return Object.fromEntries(items);
}

function preflightOf({ operationId, tags, parameters = [] }: Operation): JsonObject {
  return {
    operationId: `${operationId}Preflight`,
    tags,
    summary: 'Any origin, no credentials.',
    security: [],
    parameters: parameters.filter((each) => (each as JsonObject).in === 'path'),
    responses: { 204: { description: 'What scripts of other origins may send.' } },
  };
}

/** Throws when two areas use one name: a bug, found at start. */
function merged<T>(parts: readonly Readonly<Record<string, T>>[]): Record<string, T> {
  const all: Record<string, T> = {};
  for (const part of parts) {
    for (const [name, value] of Object.entries(part)) {
      if (name in all) throw new Error(`the OpenAPI document has ${name} twice`);
      all[name] = value;
    }
  }
  return all;
}

export function openApiDocument(options: {
  version: string;
  baseUrl: string;
  secureUrl: string;
}): JsonObject {
  const { version, baseUrl, secureUrl } = options;
  const urls = [...new Set([secureUrl, baseUrl])];
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
    paths: merged(areas.map(pathsOf)),
    components: {
      schemas: merged(areas.map(({ schemas }) => schemas)),
      securitySchemes: {
        keyHeader: { type: 'apiKey', in: 'header', name: 'Key' },
        keyQuery: { type: 'apiKey', in: 'query', name: 'key' },
      },
    },
  };
  // Absent fields are left out, as in what is sent.
  return JSON.parse(JSON.stringify(document)) as JsonObject;
}
