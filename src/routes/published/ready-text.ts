/**
 * Texts that are made once, at the first request, and sent many times: with an ETag of their
 * content and packed twins. Nothing in them depends on the time, so an ETag stays over a restart.
 * Rendering and packing all of them before the first check is answered would double the start.
 */

import { createHash } from 'node:crypto';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { once } from '../../core/preparation.ts';
import type { Header, Reply, Request } from '../../http/message.ts';
import { negotiate, type Representation } from '../../http/negotiate.ts';
import type { PlainRoute } from '../../http/router.ts';

/** What changes with an update of the service alone; the ETag makes asking again cheap. */
const cacheControl = 'public, max-age=300';
/** Half of what level 11 would save more takes fifty times as long, on the thread that answers. */
const brotliQuality = 5;

export const readyRequestHeaders = ['accept-encoding', 'if-none-match'] as const;

export function readyText(
  type: string,
  text: string,
  headers: readonly Header[] = [],
): Representation {
  const body = Buffer.from(text);
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 16);
  const params = { [constants.BROTLI_PARAM_QUALITY]: brotliQuality };
  return {
    type,
    cacheControl,
    headers,
    identity: { body, etag: `"${hash}"` },
    gzip: { body: gzipSync(body), etag: `"${hash}-gzip"` },
    brotli: { body: brotliCompressSync(body, { params }), etag: `"${hash}-br"` },
  };
}

/** Read by scripts of any origin. */
export function openRoute(path: string, type: string, text: () => string): PlainRoute {
  const headers: Header[] = [['Access-Control-Expose-Headers', 'ETag']];
  const ready = once(() => readyText(type, text(), headers));
  return {
    kind: 'plain',
    method: 'GET',
    path,
    headers: readyRequestHeaders,
    cors: { allowHeaders: ['If-None-Match'] },
    handle: (request: Request): Reply => negotiate(request, ready()),
  };
}
