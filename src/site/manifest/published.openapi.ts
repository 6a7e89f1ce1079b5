/** Describes the documents about the service for OpenAPI. */

import {
  answer,
  conditionFailed,
  type Described,
  type JsonMembers,
  list,
  media,
  object,
  ref,
  string,
} from '../../web/openapi.ts';
import { manifestSchema } from './manifest-schema.ts';

const tag = 'Service';
const headers = { ETag: { required: true, schema: string } };
const anyObject = { type: 'object' };

function documentDocs(
  id: string,
  summary: string,
  content: JsonMembers,
  schemas: NonNullable<Described['schemas']> = {},
): Described {
  return {
    id,
    tag,
    summary,
    answers: {
      200: answer('The document.', content, headers),
      304: { description: 'Nothing has changed.', headers },
      412: conditionFailed(headers),
    },
    schemas,
  };
}

export const manifestDocs = documentDocs(
  'manifest',
  'The service, for programs.',
  media(ref('Manifest')),
  { Manifest: manifestSchema },
);
export const manifestSchemaDocs = documentDocs(
  'manifestSchema',
  'JSON Schema of the manifest.',
  media(anyObject, 'application/schema+json'),
);
export const openapiDocs = documentDocs('openapi', 'This document.', media(anyObject));
export const searchDocs = documentDocs(
  'searchIndex',
  'All sections of the documentation as plain text.',
  media(ref('SearchIndex')),
  {
    SearchIndex: object({
      sections: list(object({ href: string, page: string, title: string, text: string })),
    }),
  },
);
