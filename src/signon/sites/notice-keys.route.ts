/** GET /.well-known/jwks.json: the key with which notices to sites are signed. */

import type { PlainRoute } from '../../http/router.ts';
import { type Endpoint, openFile } from '../../web/guard/endpoint.ts';
import type { Guard } from '../../web/guard/guard.ts';
import { jsonType } from '../../web/shape.ts';
import type { NoticeSigner } from './notify-sites.ts';

export const noticeKeysEndpoint: Endpoint = openFile('/.well-known/jwks.json', { docs: 'text' });

export function noticeKeysRoute(guard: Guard, { keys }: Pick<NoticeSigner, 'keys'>): PlainRoute {
  const body = JSON.stringify(keys);
  return guard.open(noticeKeysEndpoint, () => ({
    status: 200,
    headers: [jsonType, ['Cache-Control', 'public, max-age=3600']],
    body,
  }));
}
