/** The outside load generator, `wrk`: keep-alive connections, requests built before the first one is sent. */

import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { makeTempDir } from '../test/support/server/temp-dir.ts';

export interface LoadResult {
  readonly answers: number;
  readonly p50: number;
  readonly p99: number;
}

export interface Load extends Disposable {
  run(port: number, seconds: number): Promise<LoadResult>;
  p99(port: number, seconds: number): Promise<number>;
}

/** One thread of wrk. @returns what it prints @throws if it is not installed, or an answer is none */
export async function runWrk(args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('wrk', ['-t1', ...args]);
  if (/Non-2xx or 3xx responses|Socket errors/.test(stdout)) throw new Error(`wrk: ${stdout}`);
  return stdout;
}

/**
 * `targets` are paths with their queries; every connection walks through all of them.
 * `pauseMs`: how long a connection waits between its requests, on average.
 */
export function openLoad(
  targets: readonly string[],
  headers: Readonly<Record<string, string>>,
  { pauseMs = 0, connections = 64 }: { pauseMs?: number; connections?: number } = {},
): Load {
  const folder = makeTempDir('bench-load');
  const script = `${folder.path}/requests.lua`;
  writeFileSync(script, luaOf(targets, headers) + pauseOf(pauseMs));
  async function run(port: number, seconds: number): Promise<LoadResult> {
    const url = `http://127.0.0.1:${port}/`;
    const args = [`-c${connections}`, `-d${seconds}s`, '--latency', '-s', script, url];
    return readWrk(await runWrk(args));
  }
  return {
    run,
    p99: async (port, seconds) => (await run(port, seconds)).p99,
    [Symbol.dispose]: folder.remove,
  };
}

/** Checks at a steady pace: each connection waits between its own, far from the most that the server can answer. */
export function openChecks(addresses: readonly string[], key: string): Load {
  return openLoad(addresses.map(checkPath), { Key: key }, { pauseMs: 30 });
}

export const checkPath = (address: string) => `/api/v2/check?ipAddress=${address}`;

function luaOf(targets: readonly string[], headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(
    ([name, value]) => `wrk.headers["${name}"] = "${value}"`,
  );
  const paths = targets.map((target) => `"${target}"`).join(',');
  return `${lines.join('\n')}
local requests = {}
local n = 0
init = function(args)
  for i, path in ipairs({${paths}}) do requests[i] = wrk.format("GET", path) end
end
request = function()
  n = n % #requests + 1
  return requests[n]
end
`;
}

/** Uneven, so that connections don't fall into step. */
function pauseOf(pauseMs: number): string {
  return pauseMs === 0 ? '' : `delay = function() return math.random(0, ${2 * pauseMs}) end\n`;
}

const unitsMs: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1_000 };

function readWrk(stdout: string): LoadResult {
  const answers = Number(/(\d+) requests in/.exec(stdout)?.[1]);
  if (!(answers > 0)) throw new Error(`wrk: ${stdout}`);
  const percentile = (p: string): number => {
    const [, value, unit] = new RegExp(`${p}%\\s+([\\d.]+)(us|ms|s)`).exec(stdout) ?? [];
    return Number(value) * unitsMs[unit ?? '']!;
  };
  return { answers, p50: percentile('50'), p99: percentile('99') };
}
