/**
 * The whole server as its user starts it: the compiled command line in a process of its own, on
 * any free port, with a data directory that is removed afterwards. Nothing is inherited from the
 * environment of the tests but PATH.
 */

import assert from 'node:assert/strict';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { fileURLToPath } from 'node:url';
import type * as v from 'valibot';
import type { CheckResult } from '../../../src/reputation/check/check.route.ts';
import { documentedLogFields, logLinesOf } from '../docs/log-fields.ts';
import { value } from '../house/result.ts';
import { spawn } from '../house/spawn.ts';
import { accountsBeside } from './accounts-beside.ts';
import { type LineChild, startCommand } from './child.ts';
import { settingsOf } from './shared-store.ts';
import { makeTempDir } from './temp-dir.ts';

/** Behind a proxy nobody reads /metrics without one. */
const metricsToken = 'a-token-of-all-test-servers';
export const metricsHeaders = { Authorization: `Bearer ${metricsToken}` } as const;

export const demoEmail = 'demo@portcullis.example';
/** Reads a minute of the account behind `TestServer.key`: more than any test asks. */
export const plenty = 33_000_000;

/** Keeps the answers of the CAPTCHA for the tests. */
const answers = new URL('../captcha/answers.js', import.meta.url).href;
/** Lends its store to the test. */
const lentStore = new URL('./lent-store.js', import.meta.url).href;
const entry = fileURLToPath(new URL('../../../../bin/portcullis.js', import.meta.url));
/** As it is compiled: what is preloaded changes modules of it. */
const unbundled = fileURLToPath(new URL('../../../src/cli.js', import.meta.url));
const startMsMax = 180_000;

export type Environment = Readonly<Record<string, string>>;

export interface TestServerOptions {
  /** False for a bench: a file is written for each picture and each key of work, which is no work of the server. */
  readonly keepsAnswers?: boolean;
  /** HTTP_THREADS. Default 3. */
  readonly threads?: number;
  /** Settings besides DATA_DIR, PORT and HTTP_THREADS, or instead of them. */
  readonly env?: Environment;
  /** `serve --demo` and a key with more reads than any test needs. Default true. */
  readonly demo?: boolean;
  /** Without the demo: its account and such a key all the same. */
  readonly withKey?: boolean;
  /** A directory that is there already; it is not removed at the end. */
  readonly dataDir?: string;
  /** Arguments of node itself, such as a preloaded module. */
  readonly nodeArguments?: readonly string[];
}

export interface TestServer extends AsyncDisposable {
  readonly baseUrl: string;
  readonly port: number;
  readonly pid: number;
  readonly threads: number;
  /** Of the demo account; empty without the demo and `withKey`. */
  readonly key: string;
  readonly dataDir: string;
  readonly child: LineChild;
  stdout(): string;
  stderr(): string;
  /** Runs a command on the same data directory and settings. */
  cli(...args: string[]): Promise<CliResult>;
  /** As `cli`, but fails unless the exit status is 0; returns what `--json` printed. */
  // biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes, looked at by tests
  cliJson(...args: string[]): Promise<any>;
  fetch(path: string, options?: FetchOptions): Promise<Answer>;
  /** Reports an address as a form does, by default with `key` and for SSH. */
  report(ip: string, fields?: ReportFields): Promise<Answer>;
  /** A check with `key`; the `data` object. */
  check(address: string): Promise<CheckData>;
  /** SIGTERM, then the end. */
  stop(): Promise<Ended>;
  /** SIGKILL, then the end. */
  kill(): Promise<Ended>;
}

interface ReportFields {
  readonly key?: string;
  /** Numbers, separated by commas. */
  readonly categories?: string;
  readonly comment?: string;
  readonly timestamp?: string;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

type CheckData = v.InferOutput<typeof CheckResult>;

export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { threads = 3, demo = true, keepsAnswers = true } = options;
  const directory = options.dataDir === undefined ? makeTempDir('flow') : undefined;
  const dataDir = options.dataDir ?? directory!.path;
  const env: Environment = {
    DATA_DIR: dataDir,
    PORT: '0',
    HTTP_THREADS: String(threads),
    // A demo at the usual level keeps its log quiet; the line with the port is needed here.
    LOG_LEVEL: 'debug',
    // Rendering ahead is work of the background, and the machine runs other tests.
    CAPTCHA_THREADS: '1',
    ...(isBehindProxy(options.env) ? { METRICS_TOKEN: metricsToken } : {}),
    ...options.env,
  };
  const args = [
    ...(keepsAnswers ? ['--import', answers] : []),
    '--import',
    lentStore,
    ...(options.nodeArguments ?? []),
    options.nodeArguments === undefined ? entry : unbundled,
    'serve',
    ...(demo ? ['--demo'] : []),
  ];
  const child = startCommand(process.execPath, args, withPath(env));
  const late = setTimeout(() => child.process.kill('SIGKILL'), startMsMax);
  const port = await listeningPort(child).catch((error) => {
    clearTimeout(late);
    directory?.remove();
    throw error;
  });
  const baseUrl = `http://127.0.0.1:${port}`;
  let key = '';
  async function end(signal: NodeJS.Signals): Promise<Ended> {
    child.process.kill(signal);
    return child.ended;
  }
  const server: TestServer = {
    baseUrl,
    port,
    pid: child.process.pid!,
    threads,
    get key() {
      return key;
    },
    dataDir,
    child,
    stdout: () => child.lines.join('\n'),
    stderr: () => child.stderr(),
    cli: (...words) => runCli(words, env),
    async cliJson(...words) {
      const result = await runCli([...words, '--json'], env);
      assert.equal(result.code, 0, `portcullis ${words.join(' ')}: ${result.stderr}`);
      return JSON.parse(result.stdout);
    },
    fetch: (path, more) => fetchFrom(port, path, more),
    report(ip, { key: own = key, ...fields } = {}) {
      const headers = { Key: own, 'Content-Type': 'application/x-www-form-urlencoded' };
      const body = String(new URLSearchParams({ ip, categories: '18', ...fields }));
      return fetchFrom(port, '/api/v2/report', { method: 'POST', headers, body });
    },
    async check(address) {
      const path = `/api/v2/check?ipAddress=${encodeURIComponent(address)}`;
      const answer = await fetchFrom(port, path, { headers: { Key: key } });
      assert.equal(answer.status, 200, answer.body);
      return (answer.json() as { data: CheckData }).data;
    },
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    async [Symbol.asyncDispose]() {
      await end('SIGKILL');
      directory?.remove();
      const undeclared = /.*an error that the endpoint does not declare.*/.exec(child.stderr());
      assert.equal(undeclared?.[0], undefined);
      const fields = logLinesOf(child.stderr()).flatMap(Object.keys);
      const unknown = fields.find((name) => !documentedLogFields().has(name));
      assert.equal(unknown, undefined, 'a field of the log is not in docs/OPERATIONS.md');
    },
  };
  try {
    // The last line of the welcome, which comes when all of the demo is there.
    if (demo) await child.line((text) => text === 'Stop with Ctrl-C.');
    // What each start loads comes behind the line with the port; without a line of it nobody can wait for it.
    else if (env.LOG_LEVEL === 'debug') await child.errorLine((text) => isLoaded.test(text));
    const isNew = options.withKey === true && !demo;
    if (options.withKey || (demo && directory !== undefined))
      key = await plentifulKey(server, isNew);
    else if (demo) key = await demoKeyIn(child);
    return server;
  } catch (error) {
    await server[Symbol.asyncDispose]();
    throw error;
  } finally {
    clearTimeout(late);
  }
}

const isLoaded = /"msg":"known-good list: (not )?loaded"/;

/** Then the metrics ask for a token. */
function isBehindProxy(env: Environment | undefined): boolean {
  return env?.TRUSTED_PROXIES !== undefined || env?.SECURE_URL !== undefined;
}

/** Waits until the log says where the server listens. */
async function listeningPort(child: LineChild): Promise<number> {
  const line = await child.errorLine((text) => text.includes('"msg":"listening"'));
  return (JSON.parse(line) as { port: number }).port;
}

/** Of a directory that is there already: a second key each time would soon be one too many. */
async function demoKeyIn(child: LineChild): Promise<string> {
  const line = await child.line((text) => text.startsWith('Demo API key: '));
  return line.split(': ')[1]!;
}

/** Made in this process: a command of its own takes as long as a third of a start. */
async function plentifulKey(server: TestServer, isNewAccount: boolean): Promise<string> {
  await using beside = accountsBeside(server.dataDir);
  const { accounts, apiKeys } = beside;
  if (isNewAccount) value(await accounts.create(demoEmail, 'member'));
  const made = value(await apiKeys.create(demoEmail));
  value(await accounts.setQuotas(demoEmail, { readPerMinute: plenty }));
  const path = '/api/v2/check?ipAddress=192.0.2.1';
  await within(async () => {
    const answer = await server.fetch(path, { headers: { Key: made.text } });
    return answer.headers['x-ratelimit-limit'] === String(plenty);
  });
  return made.text;
}

/**
 * A good run never waits for so long. It is more than the minute for which a busy server may give
 * out a list once more.
 */
const patienceMs = 120_000;

/** Tries again and again until it holds; fails after `timeoutMs`. */
export async function within(
  test: () => Promise<boolean> | boolean,
  what = 'it',
  timeoutMs = patienceMs,
): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  // Slower and slower: what is asked may be limited by the minute.
  for (let pauseMs = 20; !(await test()); pauseMs = Math.min(500, pauseMs * 1.1)) {
    if (performance.now() > endMs) throw new Error(`${what} did not happen in ${timeoutMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** Who finds a server busy asks again; the first voices of a start take a while. */
export async function fetchUnhurried(server: TestServer, path: string): Promise<Answer> {
  let answer = await server.fetch(path);
  await within(async () => {
    if (answer.status === 503) answer = await server.fetch(path);
    return answer.status !== 503;
  }, path);
  return answer;
}

/**
 * Front-end threads of the flows whose promise could depend on their number. `scripts/test.mjs` spreads
 * them over two runs by `TEST_THREADS`; all other flows have three.
 */
export const threadCounts: readonly number[] = (process.env.TEST_THREADS ?? '1,3')
  .split(',')
  .map(Number);

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** One command, no server. */
export function runCli(
  args: readonly string[],
  env: Environment,
  input = '',
  nodeArguments?: readonly string[],
): Promise<CliResult> {
  return new Promise((resolve) => {
    const program = nodeArguments === undefined ? [entry] : [...nodeArguments, unbundled];
    const child = spawn(process.execPath, [...program, ...args], { env: withPath(env) });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk) => {
      stdout += String(chunk);
    });
    child.stderr.on('data', (chunk) => {
      stderr += String(chunk);
    });
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
}

/** The same command left running: to be killed, or watched. */
export function startCli(args: readonly string[], env: Environment): LineChild {
  return startCommand(process.execPath, [entry, ...args], withPath(env));
}

function withPath(env: Environment): Environment {
  return { PATH: process.env.PATH ?? '', ...settingsOf(env) };
}

export interface FetchOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly body: string;
  json(): unknown;
}

/** One request on a connection of its own, so that every front-end thread gets its share. */
export function fetchFrom(port: number, path: string, options: FetchOptions = {}): Promise<Answer> {
  const { method = 'GET', headers = {}, body } = options;
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { host: '127.0.0.1', port, path, method, headers, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('error', reject);
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('end', () => {
          const bytes = Buffer.concat(chunks);
          resolve({
            status: response.statusCode!,
            headers: response.headers,
            bytes,
            body: bytes.toString('utf8'),
            json: () => JSON.parse(bytes.toString('utf8')),
          });
        });
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

/** Values of one metric by its labels, e.g. `thread="0",route="/",status="2xx"`. */
export async function metric(server: TestServer, name: string): Promise<Map<string, number>> {
  const { status, body } = await server.fetch('/metrics', { headers: metricsHeaders });
  assert.equal(status, 200, body);
  const found = new Map<string, number>();
  for (const line of body.split('\n')) {
    const match = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (match !== null && match[1] === name) found.set(match[2] ?? '', Number(match[3]));
  }
  return found;
}

/** Answers of a route in each thread, all statuses together. */
export async function answersByThread(server: TestServer, route: string): Promise<number[]> {
  const counts = new Array<number>(server.threads).fill(0);
  for (const [labels, value] of await metric(server, 'portcullis_http_requests_total')) {
    const match = /^thread="(\d+)",route="([^"]*)"/.exec(labels);
    if (match !== null && match[2] === route) counts[Number(match[1])]! += value;
  }
  return counts;
}

/**
 * Fails unless each thread has answered this route. Asks on new connections until that is so:
 * the kernel deals them out by a hash.
 */
export async function proveEachThread(
  server: TestServer,
  route: string,
  ask: () => Promise<unknown>,
): Promise<void> {
  for (let connections = 0; connections < 200; connections++) {
    if (connections % 20 === 0) {
      if ((await answersByThread(server, route)).every((count) => count > 0)) return;
    }
    await ask();
  }
  assert.fail(`answers by thread: ${await answersByThread(server, route)}`);
}
