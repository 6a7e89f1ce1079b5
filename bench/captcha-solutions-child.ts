/**
 * Somebody who floods a server with solutions, in a process of its own: `captcha-solutions-child <port> <count>
 * <client> <file>` posts the texts of the file in turn from one client address, as fast as they go, and prints
 * `begun` and then how many answers had each status and how long all took.
 */

import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';

const [port = '', count = '', client = '', file = ''] = process.argv.slice(2);
const connections = 64;
const bodies = (JSON.parse(readFileSync(file, 'utf8')) as string[]).map((work) =>
  JSON.stringify({ work, sitekey: '' }),
);
const agent = new Agent({ keepAlive: true, maxSockets: connections });
const headers = { 'Content-Type': 'application/json', 'X-Forwarded-For': client };

function post(body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const path = '/captcha/work';
    request({ host: '127.0.0.1', port, path, method: 'POST', headers, agent }, (response) => {
      response.resume();
      response.on('error', reject);
      response.on('end', () => resolve(response.statusCode!));
    })
      .on('error', reject)
      .end(body);
  });
}

const statuses: Record<number, number> = {};
let sent = 0;
async function postOn(): Promise<void> {
  while (sent < Number(count)) {
    // What the server hangs up on counts as refused too.
    const status = await post(bodies[sent++ % bodies.length]!).catch(() => 0);
    statuses[status] = (statuses[status] ?? 0) + 1;
  }
}

process.stdout.write('begun\n');
const startMs = performance.now();
await Promise.all(Array.from({ length: connections }, postOn));
process.stdout.write(`${JSON.stringify({ statuses, ms: performance.now() - startMs })}\n`);
process.exit(0);
