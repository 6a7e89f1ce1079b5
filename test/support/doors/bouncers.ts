/** Requests of bouncers that see each documented status. */

import type { FetchOptions } from '../server/server.ts';

export interface Tried extends FetchOptions {
  readonly path: string;
  readonly status: number;
}

export function bouncerTries(key: string): Tried[] {
  const own = { 'X-Api-Key': key, 'Content-Type': 'application/json' };
  const get = (path: string, status: number, headers = {}): Tried => ({ path, status, headers });
  const post = (status: number, body: string, headers = {}): Tried => {
    return { path: '/v1/usage-metrics', method: 'POST', status, body, headers };
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
    get('/health', 200),
  ];
}
