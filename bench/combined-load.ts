/**
 * All that a server does besides checks, from a process of its own: `combined-load <port> <key>
 * <reports a second> <run>` sends reports evenly, in each run of other addresses, and keeps
 * visitors waiting for CAPTCHA pictures. Prints `begun`; when its input ends, how many of each
 * there were and how long it took.
 */

import { visit } from './captcha-visit.ts';
import { openReportLoad } from './report-load.ts';

const [port = '', key = '', perSecond = '', run = ''] = process.argv.slice(2);
/** More than there are rendering threads, so that all of them have work; fewer than may wait. */
const visitors = 16;

const load = openReportLoad(Number(port), key, Number(run));
let isOver = false;
let pictures = 0;
let visits = 0;
process.stdin.on('end', () => {
  isOver = true;
});
process.stdin.resume();
process.stdout.write('begun\n');
const startMs = performance.now();
const stream = load.pace(Number(perSecond));
await Promise.all(
  Array.from({ length: visitors }, async () => {
    while (!isOver) {
      if ((await visit(port, visits++)) === 200) pictures++;
    }
  }),
);
const reports = await stream.stop();
const ms = performance.now() - startMs;
load[Symbol.dispose]();
process.stdout.write(`${JSON.stringify({ pictures, reports, ms })}\n`);
