/**
 * Reports whether the process is alive, for whoever restarts it. A front end answers: it lives, and
 * it sees when the main thread last moved.
 */

import type { Reply } from '../../http/request/message.ts';
import type { PlainRoute } from '../../http/router.ts';
import { publicFileEndpoint, routeFacts } from '../../web/guard/endpoint.ts';
import { noStore, textType } from '../../web/shape.ts';

/** Longer than any pause that passes by itself. */
const silentMsMax = 10_000;

export const healthEndpoint = publicFileEndpoint('/healthz', {
  isProbe: true,
  thread: 'any',
  docs: 'text',
});

/** @param silentMs since the main thread's last turn */
export function healthRoute(silentMs: () => number): PlainRoute {
  const lives: Reply = { status: 200, headers: [textType, noStore], body: 'ok\n' };
  const stands: Reply = {
    status: 503,
    headers: [textType, noStore, ['Retry-After', '5']],
    body: 'the main thread has not moved for 10 s\n',
  };
  return {
    kind: 'plain',
    ...routeFacts(healthEndpoint),
    handle: () => (silentMs() < silentMsMax ? lives : stands),
  };
}
