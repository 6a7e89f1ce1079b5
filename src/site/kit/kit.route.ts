/**
 * GET /kit.zip: the integration kit, from memory; whole, in parts, or not again when it is known. GET
 * /kit/portcullis-sign-in.zip: the WordPress plugin alone, ready to upload.
 */

import { createHash } from 'node:crypto';

import { once } from '../../core/preparation.ts';
import { negotiate, negotiatedHeaders } from '../../http/answer/negotiate.ts';
import type { Header } from '../../http/request/message.ts';
import type { PlainRoute } from '../../http/router.ts';
import { publicFileEndpoint } from '../../web/guard/endpoint.ts';
import type { Guard } from '../../web/guard/guard.ts';
import type { Kit } from './open-kit.ts';

export const kitPath = '/kit.zip';
export const pluginPath = '/kit/portcullis-sign-in.zip';

/** The path stays while the content may change: an hour, then asked again by its ETag. */
const cacheControl = 'public, max-age=3600';

export const kitEndpoint = publicFileEndpoint(kitPath, {
  headers: negotiatedHeaders,
  cors: { allowHeaders: ['Range', 'If-None-Match'] },
});

export const pluginEndpoint = publicFileEndpoint(pluginPath, { headers: negotiatedHeaders });

export function kitRoutes(kit: Kit, guard: Guard): PlainRoute[] {
  const headers: readonly Header[] = [
    ['Content-Disposition', `attachment; filename="portcullis-kit-${kit.version}.zip"`],
    ['Cross-Origin-Resource-Policy', 'cross-origin'],
    ['X-Content-Type-Options', 'nosniff'],
  ];
  const resource = once(() => ({
    type: 'application/zip',
    cacheControl,
    identity: { body: kit.bytes, etag: `"${kit.sha256.slice(0, 32)}"` },
    headers,
    ranges: true,
  }));
  const plugin = once(() => {
    const body = Buffer.from(kit.plugin());
    const etag = `"${createHash('sha256').update(body).digest('hex').slice(0, 32)}"`;
    const name = pluginPath.slice(pluginPath.lastIndexOf('/') + 1);
    return {
      type: 'application/zip',
      cacheControl,
      identity: { body, etag },
      headers: [
        ['Content-Disposition', `attachment; filename="${name}"`],
        ['X-Content-Type-Options', 'nosniff'],
      ] as const,
      ranges: true,
    };
  });
  return [
    guard.open(kitEndpoint, (request) => negotiate(request, resource())),
    guard.open(pluginEndpoint, (request) => negotiate(request, plugin())),
  ];
}
