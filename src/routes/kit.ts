/** GET /kit.zip: the integration kit, from memory; whole, in parts, or not again when it is known. */

import { firstHeader, type Header, type Reply, type Request } from '../http/message.ts';
import { negotiate } from '../http/negotiate.ts';
import type { PlainRoute } from '../http/router.ts';
import type { Kit } from '../kit/open.ts';
import { byteRange } from './byte-range.ts';

export const kitPath = '/kit.zip';

/** The path stays while the content may change: an hour, then asked again by its ETag. */
const cacheControl = 'public, max-age=3600';
const type = 'application/zip';

export function kitRoutes(kit: Kit): PlainRoute[] {
  const { bytes: body, sha256, version } = kit;
  const etag = `"${sha256.slice(0, 32)}"`;
  const own: readonly Header[] = [
    ['Accept-Ranges', 'bytes'],
    ['Content-Disposition', `attachment; filename="portcullis-kit-${version}.zip"`],
    ['Cross-Origin-Resource-Policy', 'cross-origin'],
    ['X-Content-Type-Options', 'nosniff'],
  ];

  function handle(request: Request): Reply {
    const whole = negotiate(request, { type, cacheControl, identity: { body, etag } });
    const headers = [...whole.headers, ...own];
    if (whole.status !== 200 || !isRangeWanted(request, etag)) return { ...whole, headers };
    const range = byteRange(request, body.length);
    if (range === undefined) return { ...whole, headers };
    if (range === 'unsatisfiable') {
      return { status: 416, headers: [['Content-Range', `bytes */${body.length}`]], body: '' };
    }
    const { first, last } = range;
    return {
      status: 206,
      headers: [...headers, ['Content-Range', `bytes ${first}-${last}/${body.length}`]],
      body: body.subarray(first, last + 1),
    };
  }

  return [
    {
      kind: 'plain',
      method: 'GET',
      path: kitPath,
      headers: ['accept-encoding', 'if-none-match', 'if-range', 'range'],
      cors: { allowHeaders: ['Range', 'If-None-Match'] },
      handle,
    },
  ];
}

/** RFC 9110, 13.1.5: a part of another kit than the one begun would be useless. */
function isRangeWanted(request: Request, etag: string): boolean {
  const condition = firstHeader(request, 'if-range');
  return request.method === 'GET' && (condition === undefined || condition === etag);
}
