/**
 * Requests that never end: their body comes a byte at a time, which is never all of it. They hold
 * a server at its bounds for as long as a test wants; the server answers each with 408 after a
 * while, and another takes its place. One that sent nothing would be cut off as an idle connection.
 */

import { type ClientRequest, request } from 'node:http';
import type { Answered } from './contract.ts';

const trickleMs = 2_000;
const retryMs = 1_000;

export interface StalledTarget {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Stalled extends AsyncDisposable {
  /** Resolves when each has been sent once. */
  readonly begun: Promise<void>;
}

/** `clientOf` names the client of the n-th, for X-Forwarded-For. */
export function stall(
  port: number,
  count: number,
  targets: readonly StalledTarget[],
  clientOf: (n: number) => string,
  onAnswer: (target: StalledTarget, answer: Answered) => void,
): Stalled {
  const open = new Set<ClientRequest>();
  let isClosing = false;

  function begin(n: number): Promise<void> {
    const target = targets[n % targets.length]!;
    const { method, path } = target;
    const headers = { ...target.headers, 'X-Forwarded-For': clientOf(n), 'Content-Length': '100' };
    return new Promise((resolve) => {
      const sent = request({ host: '127.0.0.1', port, method, path, headers, agent: false });
      open.add(sent);
      const trickle = setInterval(() => sent.write('x'), trickleMs);
      const end = () => {
        clearInterval(trickle);
        open.delete(sent);
        sent.destroy();
        resolve();
      };
      // Whoever has lost a place takes the next one; whoever was refused one tries again later.
      const again = (delayMs: number) =>
        setTimeout(() => (isClosing ? undefined : begin(n)), delayMs);
      sent.on('error', () => {
        end();
        again(retryMs);
      });
      sent.on('response', (response) => {
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (part) => {
          body += part;
        });
        response.on('end', () => {
          const { statusCode = 0, headers: got } = response;
          onAnswer(target, { status: statusCode, headers: got, body });
          end();
          again(statusCode === 408 ? 0 : retryMs);
        });
      });
      sent.on('socket', (socket) => socket.on('connect', resolve));
      sent.flushHeaders();
    });
  }

  return {
    begun: Promise.all(Array.from({ length: count }, (_, n) => begin(n))).then(() => undefined),
    async [Symbol.asyncDispose]() {
      isClosing = true;
      for (const each of open) each.destroy(new Error('the test is over'));
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
