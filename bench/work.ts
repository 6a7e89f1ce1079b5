/** What several benches do: much at once, requests of which the status counts, processor time of this process. */

import { type Agent, request } from 'node:http';

/** Does `work` so many times, `connections` at once. */
export async function inParallel(
  count: number,
  connections: number,
  work: (n: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: connections }, worker));
}

/** How often a second `work` was done, `connections` at once. */
export async function perSecond(
  count: number,
  connections: number,
  work: (n: number) => Promise<unknown>,
): Promise<number> {
  const startMs = performance.now();
  await inParallel(count, connections, work);
  return (count * 1_000) / (performance.now() - startMs);
}

/** User and system time of this process. */
export function cpuSecondsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/** The status of an answer of this machine, read to its end. */
export function statusOf(
  options: {
    readonly port: number;
    readonly path: string;
    readonly agent: Agent;
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string | number>>;
  },
  body?: string | Buffer,
): Promise<number> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', ...options }, (response) => {
      response.on('error', reject);
      response.on('end', () => resolve(response.statusCode!));
      response.resume();
    })
      .on('error', reject)
      .end(body);
  });
}
