/** What the service says of itself: readiness, manifest, this document, the search of the pages. */

import { manifestSchema } from '../manifest-schema.ts';
import {
  type Area,
  answer,
  boolean,
  count,
  families,
  type JsonObject,
  list,
  media,
  nullable,
  object,
  operation,
  ref,
  string,
} from './parts.ts';

const tag = 'Service';
const headers = { ETag: { required: true, schema: string } };

function fixed(id: string, summary: string, content: JsonObject) {
  return {
    get: operation({
      tag,
      id,
      family: families.api,
      summary,
      answers: {
        200: answer('The document.', content, headers),
        304: { description: 'Nothing has changed.', headers },
      },
    }),
  };
}

const anyObject = { type: 'object' };

export const service: Area = {
  schemas: {
    Readiness: object({
      ready: boolean,
      indexLoaded: boolean,
      writable: boolean,
      entries: count,
      behind: count,
      newestListAgeSeconds: nullable({ type: 'number', minimum: 0 }),
    }),
    Manifest: manifestSchema,
    SearchIndex: object({
      sections: list(object({ href: string, page: string, title: string, text: string })),
    }),
  },
  cors: ['/manifest', '/manifest.schema.json', '/openapi.json', '/docs/search.json'],
  paths: {
    '/readyz': {
      get: operation({
        tag,
        id: 'readiness',
        family: { content: { ...media({ anyOf: [ref('Readiness'), ref('Errors')] }) } },
        summary: 'Whether the service is up to date and can write; 503 when not.',
        answers: { 200: answer('Ready.', media(ref('Readiness'))) },
      }),
    },
    '/manifest': fixed('manifest', 'The service, for programs.', media(ref('Manifest'))),
    '/manifest.schema.json': fixed(
      'manifestSchema',
      'JSON Schema of the manifest.',
      media(anyObject, 'application/schema+json'),
    ),
    '/openapi.json': fixed('openapi', 'This document.', media(anyObject)),
    '/docs/search.json': fixed(
      'searchIndex',
      'All sections of the documentation as plain text.',
      media(ref('SearchIndex')),
    ),
  },
};
