/** The owner's side of `forward.bench.ts`: answers at once with what a small answer of the API is. */

import { parentPort } from 'node:worker_threads';
import { createLog } from '../src/core/log.ts';
import { serveForwarded } from '../src/http/serve-forwarded.ts';

const body = JSON.stringify({ data: { ipAddress: '192.0.2.1', abuseConfidenceScore: 52 } });

serveForwarded({
  port: parentPort!,
  log: createLog('silent'),
  handle: async () => ({
    status: 200,
    headers: [
      ['Content-Type', 'application/json'],
      ['Cache-Control', 'no-store'],
      ['X-RateLimit-Limit', '1000'],
      ['X-RateLimit-Remaining', '999'],
    ],
    body,
  }),
});
