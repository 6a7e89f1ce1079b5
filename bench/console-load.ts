/**
 * Consoles that somebody has open, in a process of their own: `console-load <port> <cookie> <key> <consoles>
 * <ms between reloads> <run> <path>…`. Each waits for the radar's events as a browser does, and opens the paths
 * in turn; each has another client address. A report a second gives the events something to tell. Prints
 * `begun` when each console was answered once; when its input ends, what there was.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { fetchFrom } from '../test/support/server/server.ts';
import { openReportLoad } from './report-load.ts';

const [port = '', cookie = '', key = '', consoles = '', reloadMs = '', run = '', ...paths] =
  process.argv.slice(2);
/** As the page's script has it. */
const againMs = 1_000;
const reportsPerSecond = 1;

let isOver = false;
let [pages, told] = [0, 0];
process.stdin.on('end', () => {
  isOver = true;
});
process.stdin.resume();

function ask(path: string, n: number, more: Record<string, string> = {}) {
  const headers = { Cookie: cookie, 'X-Forwarded-For': `198.18.${n}.1`, ...more };
  return fetchFrom(Number(port), path, { headers });
}

async function reload(n: number, i: number): Promise<void> {
  const path = paths[i % paths.length]!;
  const { status } = await ask(path, n);
  if (status !== 200) throw new Error(`${path} was answered with ${status}`);
  pages++;
}

async function watch(n: number): Promise<void> {
  let known = '';
  while (!isOver) {
    const { status, body } = await ask(
      '/radar/events',
      n,
      known === '' ? {} : { 'Last-Event-ID': known },
    );
    if (status !== 200) throw new Error(`/radar/events was answered with ${status}`);
    const marks = [...body.matchAll(/^id: (.*)$/gm)];
    told += marks.length;
    known = marks.at(-1)?.[1] ?? known;
    await sleep(againMs);
  }
}

async function open(n: number): Promise<void> {
  for (let i = n; !isOver; i++) {
    await sleep(Number(reloadMs));
    await reload(n, i);
  }
}

const load = openReportLoad(Number(port), key, Number(run));
const stream = load.pace(reportsPerSecond);
const all = Array.from({ length: Number(consoles) }, (_, n) => n);
await Promise.all(all.map((n) => reload(n, n)));
process.stdout.write('begun\n');
const watching = all.map(watch);
await Promise.all(all.map(open));
process.stdout.write(`${JSON.stringify({ pages, told, reports: await stream.stop() })}\n`);
load[Symbol.dispose]();
// An event that is waited for comes within 15 s, and nobody waits for it.
watching.forEach((one) => void one.catch(() => {}));
process.exit(0);
