/** Requests of bouncers and proxies that see each documented status; addresses are the demo's. */

import type { FetchOptions } from '../server/server.ts';

export interface Tried extends FetchOptions {
  readonly path: string;
  readonly status: number;
}

const page = { Accept: 'text/html', 'X-Forwarded-Method': 'GET' };

function gate(query: string, status: number, headers: Record<string, string> = {}): Tried {
  const from = { 'X-Forwarded-For': '198.51.100.7', 'X-Forwarded-Uri': '/a' };
  return { path: `/gate/check?${query}`, status, headers: { ...from, ...headers } };
}

/** @param key of a bouncer */
export function doorTries(key: string): Tried[] {
  const own = { 'X-Api-Key': key, 'Content-Type': 'application/json' };
  const get = (path: string, status: number, headers = {}): Tried => ({ path, status, headers });
  const post = (status: number, body: string, headers = {}): Tried => {
    return { path: '/v1/usage-metrics', method: 'POST', status, body, headers };
  };
  const policy = (command: string, status: number, body: string, headers = {}): Tried => {
    return { path: `/policy/dovecot?command=${command}`, method: 'POST', status, body, headers };
  };
  return [
    get('/v1/decisions/stream?startup=true', 200, own),
    get('/v1/decisions/stream', 200, own),
    get('/v1/decisions/stream', 403),
    get('/v1/decisions?ip=8.8.8.8', 200, own),
    get('/v1/decisions?ip=198.51.100.7', 200, own),
    get('/v1/decisions?ip=x', 400, own),
    get('/v1/decisions?ip=8.8.8.8', 403),
    post(201, '{}', own),
    post(400, 'x', own),
    post(403, '{}'),
    post(413, 'x'.repeat(300_000), own),
    policy('allow', 200, '{"remote":"8.8.8.8"}', own),
    policy('allow', 200, '{"remote":"198.51.100.7"}', own),
    policy('report', 200, '{"remote":"8.8.8.8","success":true}', own),
    policy('allow', 400, '[]', own),
    policy('allow', 403, '{"remote":"8.8.8.8"}'),
    policy('allow', 413, 'x'.repeat(70_000), own),
    get('/health', 200),
    gate('', 200, { 'X-Forwarded-For': '8.8.8.8' }),
    gate('block=off', 302, page),
    gate('block=off&mode=nginx', 401, page),
    gate('block=off', 403),
    gate('', 403),
    gate('', 403, page),
    gate('block=x', 422),
  ];
}
