/**
 * Somebody who floods a server with solutions, in a process of its own: `captcha-solutions-child <port> <count>
 * <client> <file>` posts the texts of the file in turn from one client address, as fast as they go, and prints
 * `begun` and then how many answers had each status and how long all took.
 */

import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { inParallel, statusOf } from './work.ts';

const [port = '', count = '', client = '', file = ''] = process.argv.slice(2);
const connections = 64;
const bodies = (JSON.parse(readFileSync(file, 'utf8')) as string[]).map((work) =>
  JSON.stringify({ work, sitekey: '' }),
);
const agent = new Agent({ keepAlive: true, maxSockets: connections });
const headers = { 'Content-Type': 'application/json', 'X-Forwarded-For': client };
const options = { port: Number(port), path: '/captcha/work', method: 'POST', headers, agent };

const statuses: Record<number, number> = {};
async function post(n: number): Promise<void> {
  // What the server hangs up on counts as refused too.
  const status = await statusOf(options, bodies[n % bodies.length]!).catch(() => 0);
  statuses[status] = (statuses[status] ?? 0) + 1;
}

process.stdout.write('begun\n');
const startMs = performance.now();
await inParallel(Number(count), connections, post);
process.stdout.write(`${JSON.stringify({ statuses, ms: performance.now() - startMs })}\n`);
process.exit(0);
