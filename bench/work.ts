/** What several benches do: rounds in turns, much at once, work beside what is measured, requests, processor time. */

import type { ForkOptions } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs';
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
 * Does `work` while a child of this name is busy: it prints `begun`, and what it did, as JSON, when its input ends or it has
 * done all. @returns what the work gave, and what the child did
 */
export async function besideLoad<Result, Done>(
  name: string,
  args: readonly (string | number)[],
  work: (ended: Promise<unknown>) => Promise<Result>,
): Promise<readonly [Result, Done]> {
  const child = startChild(new URL(`./${name}.js`, import.meta.url), args.map(String));
  await child.line((line) => line === 'begun');
  const result = await work(child.ended);
  child.process.stdin!.end();
  const { code } = await child.ended;
  if (code !== 0) throw new Error(`${name} ended early: ${child.stderr()}`);
  return [result, JSON.parse(child.lines.at(-1)!) as Done];
}

interface Usage {
  /** User and system, since its start. */
  readonly cpuUs: number;
  readonly rssBytes: number;
}

export type Contender = Awaited<ReturnType<typeof startContender>>;

/** Starts a server of servers.ts in a process of its own. */
export async function startContender(
  kind: string,
  args: readonly (string | number)[] = [],
  options: ForkOptions = {},
) {
  const child = fork(
    new URL('./servers.js', import.meta.url),
    [kind, ...args].map(String),
    options,
  );
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  async function usage(): Promise<Usage> {
    child.send('usage');
    const [used] = (await once(child, 'message')) as [Usage];
    return used;
  }
  return {
    kind,
    child,
    port,
    usage,
    /** Microseconds for each answer while `ask` asks, which says how many there were. */
    async usOf(ask: () => Promise<number>): Promise<number> {
      const before = await usage();
      const answers = await ask();
      return ((await usage()).cpuUs - before.cpuUs) / answers;
    },
    [Symbol.dispose]: () => child.disconnect(),
  };
}

/** What Linux tells in schedstat of the main thread of a process; nothing elsewhere. */
export function openThreadClock(pid = process.pid) {
  const text = Buffer.alloc(128);
  const path = `/proc/${pid}/task/${pid}/schedstat`;
  const file = existsSync(path) ? openSync(path, 'r') : undefined;
  function ms(field: 0 | 1): number {
    if (file === undefined) return 0;
    const length = readSync(file, text, 0, text.length, 0);
    // Nanoseconds on a processor, nanoseconds waiting for one, turns.
    return Number(text.toString('latin1', 0, length).split(' ')[field]) / 1e6;
  }
  return {
    ranMs: () => ms(0),
    waitedMs: () => ms(1),
    [Symbol.dispose]: () => file !== undefined && closeSync(file),
  };
}

interface Process {
  readonly pid?: number | undefined;
}

/** User and system time: fields 14 and 15 of proc(5), counted behind the name in parentheses. */
export function cpuSeconds({ pid }: Process): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** What a process works for each answer, in microseconds, while `ask` asks, which says how many there were. */
export async function cpuUsOf(server: Process, ask: () => Promise<number>): Promise<number> {
  const before = cpuSeconds(server);
  const answers = await ask();
  return ((cpuSeconds(server) - before) * 1e6) / answers;
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

/** User and system time of this process for some work. */
export async function cpuSecondsOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  return cpuSecondsSince(before);
}

export function cpuSecondsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

export function millisecondsOf(work: () => unknown): number {
  const startMs = performance.now();
  work();
  return performance.now() - startMs;
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
