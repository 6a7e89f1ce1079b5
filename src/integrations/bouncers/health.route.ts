/** GET /health, as bouncers and their installers ask for it. */

import type { Reply } from '../../http/request/message.ts';
import type { PlainRoute } from '../../http/router.ts';
import { endpoint, routeFacts } from '../../web/guard/endpoint.ts';
import { jsonType, noStore } from '../../web/shape.ts';
import { upDocs } from './bouncers.openapi.ts';

export const upEndpoint = endpoint({
  method: 'GET',
  path: '/health',
  who: 'anyone',
  shape: 'bouncer',
  thread: 'any',
  isProbe: true,
  errors: [],
  docs: upDocs,
});

const up: Reply = { status: 200, headers: [jsonType, noStore], body: '{"status":"up"}' };

export function upRoute(): PlainRoute {
  return { kind: 'plain', ...routeFacts(upEndpoint), handle: () => up };
}
