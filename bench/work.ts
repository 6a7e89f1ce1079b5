/** What several benches do: rounds in turns, much at once, work beside what is measured, requests, processor time. */

import type { ChildProcess, ForkOptions } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type Agent, request } from 'node:http';
import { fork } from '../test/support/house/spawn.ts';
import { startChild } from '../test/support/server/child.ts';

/**
 * Takes a figure of each in turn, round by round: noise falls on all alike. Of several rounds one more comes first, which
 * warms up and is not counted. A figure that is undefined is left out.
 */
export async function inTurns<Figures extends Record<string, unknown>>(
  rounds: number,
  figures: { readonly [Name in keyof Figures]: () => Promise<Figures[Name] | undefined> },
): Promise<{ [Name in keyof Figures]: Figures[Name][] }> {
  const names: (keyof Figures)[] = Object.keys(figures);
  const found = Object.fromEntries(names.map((name) => [name, []])) as unknown as {
    [Name in keyof Figures]: Figures[Name][];
  };
  for (let round = rounds > 1 ? -1 : 0; round < rounds; round++) {
    for (const name of names) {
      const figure = await figures[name]();
      if (round >= 0 && figure !== undefined) found[name].push(figure);
    }
  }
  return found;
}

/**
 * Does `work` while a child of this name is busy: it prints `begun`, and when its input ends what it did, as JSON.
 * @returns what the work gave, and what the child did
 */
export async function besideLoad<Result, Done>(
  name: string,
  args: readonly (string | number)[],
  work: () => Promise<Result>,
): Promise<readonly [Result, Done]> {
  const child = startChild(new URL(`./${name}.js`, import.meta.url), args.map(String));
  await child.line((line) => line === 'begun');
  const result = await work();
  child.process.stdin!.end();
  const { code } = await child.ended;
  if (code !== 0) throw new Error(`${name} ended early: ${child.stderr()}`);
  return [result, JSON.parse(child.lines.at(-1)!) as Done];
}

/** Starts a server in a process of its own, which says its port, and ends when it is disconnected. */
export async function forkServer(
  name: string,
  args: readonly string[],
  options: ForkOptions = {},
): Promise<{ readonly child: ChildProcess; readonly port: number }> {
  const child = fork(new URL(`./${name}.js`, import.meta.url), args, options);
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return { child, port };
}

/** Milliseconds of a processor that the main thread of a process has used; Linux tells it in schedstat. */
export function mainThreadMs(pid: number): number {
  const text = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'latin1');
  // Nanoseconds on a processor, nanoseconds waiting for one, turns.
  return Number(text.split(' ')[0]) / 1e6;
}

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
