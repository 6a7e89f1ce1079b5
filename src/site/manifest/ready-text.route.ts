/**
 * Texts that are made once, at the first request, and sent many times: with an ETag of their
 * content and packed twins. Nothing in them depends on the time, so an ETag stays over a restart.
 * Rendering and packing all of them before the first check is answered would double the start.
 */

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import * as v from 'valibot';
import { type Language, languages } from '../../core/language.ts';
import { once } from '../../core/preparation.ts';
import { conditionHeaders, negotiate, type Representation } from '../../http/answer/negotiate.ts';
import type { Header } from '../../http/request/message.ts';
import type { PlainRoute } from '../../http/router.ts';
import { type Endpoint, publicFileEndpoint } from '../../web/guard/endpoint.ts';
import type { Guard } from '../../web/guard/guard.ts';
import {
  answer,
  conditionFailed,
  type EndpointDocs,
  type JsonMembers,
  media,
  ref,
} from '../../web/openapi.ts';
import { manifestSchema } from './manifest.ts';

const tag = 'Service';
const headers = { ETag: { required: true, schema: v.string() } };
const anyObject = v.looseObject({});

function documentDocs(
  id: string,
  summary: string,
  content: JsonMembers,
  schemas: NonNullable<EndpointDocs['schemas']> = {},
): EndpointDocs {
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
const screen = { href: v.string(), title: v.string(), text: v.string() };
const page = { ...screen, more: v.string() };
const section = { ...page, language: v.picklist(languages), page: v.string() };
const SearchIndex = v.strictObject({
  sections: v.array(v.strictObject(section)),
  screens: v.array(v.strictObject(screen)),
  places: v.array(v.strictObject(page)),
});
export function searchDocs(language: Language): EndpointDocs {
  const [id, where] = language === 'en' ? ['searchIndex', ''] : ['searchIndexFr', ', in French'];
  return documentDocs(
    id!,
    `All sections of the documentation as plain text${where}.`,
    media(SearchIndex),
    { SearchIndex },
  );
}

/** The texts change with an update of the service alone; the ETag makes asking again cheap. */
const cacheControl = 'public, max-age=300';
/** Half of what level 11 would save more takes fifty times as long, on the thread that answers. */
const brotliQuality = 5;

export const readyRequestHeaders = ['accept-encoding', ...conditionHeaders] as const;

const [packGzip, packBrotli] = [promisify(gzip), promisify(brotliCompress)];

/** Packs in other threads. */
export async function readyText(
  type: string,
  text: string,
  headers: readonly Header[] = [],
): Promise<Representation> {
  const body = Buffer.from(text);
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 16);
  const params = { [constants.BROTLI_PARAM_QUALITY]: brotliQuality };
  const [gzipped, brotli] = await Promise.all([packGzip(body), packBrotli(body, { params })]);
  return {
    type,
    cacheControl,
    headers,
    identity: { body, etag: `"${hash}"` },
    gzip: { body: gzipped, etag: `"${hash}-gzip"` },
    brotli: { body: brotli, etag: `"${hash}-br"` },
  };
}

/** Read by scripts of any origin. */
export function readyEndpoint(path: string, docs: Endpoint['docs']): Endpoint {
  const cors = { allowHeaders: ['If-None-Match'] };
  const shape = docs === 'text' ? 'page' : 'api';
  return publicFileEndpoint(path, { shape, headers: readyRequestHeaders, cors, docs });
}

export function readyRoute(
  guard: Guard,
  declared: Endpoint,
  type: string,
  text: () => string,
): PlainRoute {
  const headers: Header[] = [['Access-Control-Expose-Headers', 'ETag']];
  const ready = once(() => readyText(type, text(), headers));
  return guard.open(declared, async (request) => negotiate(request, await ready()));
}
