/**
 * GET /openapi.json: every JSON route of the service, from one file an area. The tests compare it
 * with the routes of a running server and with every answer that they get.
 */

import { captcha } from './captcha.ts';
import { jsonFeeds } from './feeds.ts';
import type { Area, JsonObject } from './parts.ts';
import { reads } from './reads.ts';
import { service } from './service.ts';
import { signOn } from './signon.ts';
import { writes } from './writes.ts';

const areas: readonly Area[] = [reads, writes, signOn, captcha, jsonFeeds, service];

const description = `JSON routes of Portcullis. Pages for people and text feeds are not described here.

Where there is GET there is HEAD, with the same status and headers (not on /api.php, where a code
would be lost). Another method than those of a path gets 405 with \`Allow\`. Unknown paths get 404.
Every answer of 429 that can be waited for and every 503 has \`Retry-After\`.`;

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
    paths: merged(areas.map(({ paths }) => paths)),
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
