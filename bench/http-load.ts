/**
 * The outside load generator: `wrk` when it is installed, else autocannon. Keep-alive
 * connections, requests built before the first one is sent.
 */

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { makeTempDir } from '../test/support/server/temp-dir.ts';
import { forkServer } from './work.ts';

export interface LoadResult {
  readonly answers: number;
  readonly p50: number;
  readonly p99: number;
}

export interface Load extends Disposable {
  readonly generator: string;
  run(port: number, seconds: number): Promise<LoadResult>;
}

const run = promisify(execFile);

export function hasWrk(): Promise<boolean> {
  return run('wrk', ['-v']).then(
    () => true,
    (error: { code?: unknown }) => error.code !== 'ENOENT', // -v exits with 1
  );
}

/**
 * `targets` are paths with their queries; every connection walks through all of them.
 * `pauseMs`: how long a connection waits between its requests, on average; wrk alone does.
 */
export async function openLoad(
  targets: readonly string[],
  headers: Readonly<Record<string, string>>,
  { pauseMs = 0, connections = 64 }: { pauseMs?: number; connections?: number } = {},
): Promise<Load> {
  if (!(await hasWrk())) {
    const first = targets[0]!;
    return {
      generator: 'autocannon',
      run: (port, seconds) => runAutocannon(`http://127.0.0.1:${port}${first}`, headers, seconds),
      [Symbol.dispose]() {},
    };
  }
  const folder = makeTempDir('bench-load');
  const script = `${folder.path}/requests.lua`;
  writeFileSync(script, luaOf(targets, headers) + pauseOf(pauseMs));
  return {
    generator: 'wrk',
    run: async (port, seconds) => {
      const url = `http://127.0.0.1:${port}/`;
      const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency', '-s', script, url];
      return readWrk((await run('wrk', args)).stdout);
    },
    [Symbol.dispose]: folder.remove,
  };
}

/** Checks at a steady pace: each connection waits between its own, far from the most that the server can answer. */
export function openChecks(addresses: readonly string[], key: string): Promise<Load> {
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
  const errors = /Non-2xx or 3xx responses: (\d+)|Socket errors: (.*)/.exec(stdout);
  if (!(answers > 0) || errors !== null) throw new Error(`wrk failed: ${stdout}`);
  const percentile = (p: string): number => {
    const [, value, unit] = new RegExp(`${p}%\\s+([\\d.]+)(us|ms|s)`).exec(stdout) ?? [];
    return Number(value) * unitsMs[unit ?? '']!;
  };
  return { answers, p50: percentile('50'), p99: percentile('99') };
}

/** In a process of its own, so that the bench's own CPU is not what is measured. */
async function runAutocannon(
  url: string,
  headers: Readonly<Record<string, string>>,
  seconds: number,
): Promise<LoadResult> {
  const script = createRequire(import.meta.url).resolve('autocannon/autocannon.js');
  const lines = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}=${value}`]);
  const args = [script, '-c', '64', '-d', String(seconds), '-j', '-n', ...lines, url];
  const { stdout } = await run(process.execPath, args, { maxBuffer: 1 << 24 });
  const result = JSON.parse(stdout) as {
    requests: { total: number };
    non2xx: number;
    latency: { p50: number; p99: number };
  };
  if (result.requests.total === 0 || result.non2xx > 0) throw new Error('autocannon failed');
  return { answers: result.requests.total, p50: result.latency.p50, p99: result.latency.p99 };
}

// A server of `http-server.ts` in a process of its own, and the CPU time that it has used.

export interface HttpContender {
  readonly kind: string;
  readonly port: number;
  readonly socket: string | undefined;
  /** User and system, since its start. */
  cpuUs(): Promise<number>;
  /** Microseconds for each answer while `ask` asks, which says how many there were. */
  usOf(ask: () => Promise<number>): Promise<number>;
  stop(): void;
}

/** @param socket path of a Unix socket that it listens on as well */
export async function startContender(
  kind: string,
  entries: number,
  socket?: string,
): Promise<HttpContender> {
  const args = [kind, String(entries), ...(socket === undefined ? [] : [socket])];
  const { child, port } = await forkServer('http-server', args);
  async function cpuUs(): Promise<number> {
    child.send('cpu');
    const [used] = (await once(child, 'message')) as [{ cpuUs: number }];
    return used.cpuUs;
  }
  return {
    kind,
    port,
    socket,
    cpuUs,
    async usOf(ask) {
      const before = await cpuUs();
      const answers = await ask();
      return ((await cpuUs()) - before) / answers;
    },
    stop: () => child.disconnect(),
  };
}
