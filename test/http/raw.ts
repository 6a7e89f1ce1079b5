/**
 * Raw sockets and a small server for the transport's tests. An HTTP client would repair or
 * hide exactly what is tested here.
 */

import { connect, type Socket } from 'node:net';
import { systemClock } from '../../src/core/clock.ts';
import { createLog } from '../../src/core/log.ts';
import type { HttpLimits } from '../../src/http/limits/limits.ts';
import { loadNative } from '../../src/http/native.ts';
import type { RenderProblem } from '../../src/http/request/message.ts';
import type { Route } from '../../src/http/router.ts';
import { createServer, type HttpServer, type ServerOptions } from '../../src/http/server.ts';

export interface TestServer extends AsyncDisposable {
  readonly server: HttpServer;
  readonly port: number;
  /** `path status` of every request that was let in. */
  readonly finished: string[];
}

/** Two lines, so that a test can see the code on the wire. */
export const renderProblem: RenderProblem = (problem) => ({
  status: problem.status,
  headers: [['Content-Type', 'text/plain; charset=utf-8']],
  body: `${problem.code}\n`,
});

export async function startServer(
  routes: readonly Route[],
  overrides: { limits?: Partial<HttpLimits> } & Partial<ServerOptions> = {},
): Promise<TestServer> {
  const finished: string[] = [];
  const server = createServer({
    routes,
    renderProblem,
    addresses: { hasProxies: false, isTrusted: () => false, normalise: (text) => text },
    clock: systemClock(),
    log: createLog('silent'),
    onFinished: (path, status) => finished.push(`${path} ${status}`),
    ...overrides,
  });
  const port = await server.listen('127.0.0.1', 0);
  return { server, port, finished, [Symbol.asyncDispose]: async () => server.closeNow() };
}

export interface RawConnection {
  readonly socket: Socket;
  /** Everything received so far, latin1. */
  text(): string;
  isClosed(): boolean;
  send(bytes: string | Buffer): void;
  /** Resolves when `test` holds or the connection closed; rejects after `timeoutMs`. */
  until(test: (text: string) => boolean, timeoutMs?: number): Promise<string>;
  closed(timeoutMs?: number): Promise<string>;
}

export function openConnection(port: number): RawConnection {
  const socket = connect(port, '127.0.0.1');
  socket.setNoDelay(true);
  const chunks: Buffer[] = [];
  let isClosed = false;
  const watchers = new Set<() => void>();
  const notify = () => {
    for (const watcher of [...watchers]) watcher();
  };
  socket.on('data', (chunk) => {
    chunks.push(chunk);
    notify();
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    isClosed = true;
    notify();
  });
  const text = () => Buffer.concat(chunks).toString('latin1');

  function until(test: (text: string) => boolean, timeoutMs = patienceMs): Promise<string> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        watchers.delete(check);
        reject(new Error(`timed out; received ${JSON.stringify(text().slice(0, 300))}`));
      }, timeoutMs);
      function check(): void {
        if (!isClosed && !test(text())) return;
        clearTimeout(timer);
        watchers.delete(check);
        resolve(text());
      }
      watchers.add(check);
      check();
    });
  }
  return {
    socket,
    text,
    isClosed: () => isClosed,
    send: (bytes) => {
      socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
    },
    until,
    closed: (timeoutMs) => until(() => false, timeoutMs),
  };
}

/** Status codes of the complete answers in a received text (bodies by Content-Length). */
export function statusesIn(text: string, isHead = false): number[] {
  return answersIn(text, isHead).map((answer) => answer.status);
}

export interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Complete answers in order. With `isHead` none of them has a body. */
export function answersIn(text: string, isHead = false): Answer[] {
  const answers: Answer[] = [];
  for (let at = 0; ; ) {
    const end = text.indexOf('\r\n\r\n', at);
    if (end === -1) return answers;
    const [first, ...lines] = text.slice(at, end).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first!)?.[1] ?? Number.NaN);
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(': ');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)] as const;
      }),
    );
    const length = isHead || status === 100 ? 0 : Number(headers.get('content-length') ?? 0);
    const bodyAt = end + 4;
    if (text.length < bodyAt + length) return answers;
    answers.push({ status, headers, body: text.slice(bodyAt, bodyAt + length) });
    at = bodyAt + length;
  }
}

/** False where the older of the two builds of the library runs. */
export const isNewerBuild = !loadNative().path.includes('uws-older');

/** Nothing was dispatched: unanswered, or with the one error that the newer build writes by itself. */
export function isUndispatched(text: string): boolean {
  return withoutLibraryError(text) === '';
}

/** The newer build ends a connection with it where the older says nothing, also behind an answer. */
export function withoutLibraryError(text: string): string {
  return text.replace(libraryError, '');
}

const libraryError =
  /HTTP\/1\.1 (400|431|505) [A-Za-z ]+\r\nConnection: close\r\n\r\n<h1>[^\r\n]*<\/i>$/;

/** Sends a whole text and waits for `count` answers. */
export async function ask(port: number, request: string, count = 1): Promise<Answer[]> {
  const connection = openConnection(port);
  connection.send(request);
  const isHead = request.startsWith('HEAD ');
  const text = await connection.until((sofar) => answersIn(sofar, isHead).length >= count);
  connection.socket.destroy();
  return answersIn(text, isHead);
}

export function get(path: string, ...lines: string[]): string {
  return requestText('GET', path, '', lines);
}

export function requestText(
  method: string,
  path: string,
  body = '',
  lines: readonly string[] = [],
): string {
  const length = body === '' ? [] : [`Content-Length: ${body.length}`];
  const head = [`${method} ${path} HTTP/1.1`, 'Host: test', ...length, ...lines];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

/** A good run never waits for so long. */
const patienceMs = 60_000;

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Polls until `test` holds; rejects after `timeoutMs`. */
export async function eventually(test: () => boolean, timeoutMs = patienceMs): Promise<void> {
  for (let waitedMs = 0; !test(); waitedMs += 10) {
    if (waitedMs > timeoutMs) throw new Error('it did not happen in time');
    await sleep(10);
  }
}
