/**
 * Checks as a load balancer sends them: over connections that are kept, to a server that says it is
 * ready, and to nobody any more once it does not.
 */

import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { TestServer } from './server.ts';

const probeMs = 100;

interface BalancedLoad {
  /** Answers so far. */
  done(): number;
  /** When the balancer has seen that the server is not ready and all answers are there. */
  readonly ended: Promise<{
    readonly answers: number;
    /** Requests without a whole answer of status 200, a line each. */
    readonly failures: readonly string[];
    /** Answers given while /readyz said no. */
    readonly draining: number;
    /** Those that ended their connection. */
    readonly closing: number;
  }>;
}

export function loadUntilNotReady(
  server: Pick<TestServer, 'port' | 'key' | 'fetch'>,
  { clients }: { clients: number },
): BalancedLoad {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const failures: string[] = [];
  let answers = 0;
  let draining = 0;
  let closing = 0;
  let isReady = true;
  let isOver = false;

  function ask(n: number): Promise<void> {
    const path = `/api/v2/check?ipAddress=192.0.2.${n & 255}`;
    const place = { host: '127.0.0.1', port: server.port, path, agent };
    return new Promise((resolve) => {
      const fail = (error: Error) => {
        failures.push(`${answers}: ${(error as NodeJS.ErrnoException).code ?? error.message}`);
        resolve();
      };
      const sent = request({ ...place, headers: { Key: server.key } }, (response) => {
        response.on('error', fail);
        response.on('end', () => {
          answers += 1;
          if (!isReady) draining += 1;
          if (response.headers.connection === 'close') closing += 1;
          if (response.statusCode !== 200) failures.push(`status ${response.statusCode}`);
          resolve();
        });
        response.resume();
      });
      sent.on('error', fail);
      sent.end();
    });
  }

  async function client(first: number): Promise<void> {
    for (let n = first; !isOver; n++) await ask(n);
  }

  /** Looks twice before it turns away, as balancers do. */
  async function probe(): Promise<void> {
    for (let refusals = 0; refusals < 2; await delay(probeMs)) {
      isReady = (await server.fetch('/readyz')).status === 200;
      refusals = isReady ? 0 : refusals + 1;
    }
    isOver = true;
  }

  async function run() {
    const probing = probe().catch((error: Error) => {
      failures.push(`/readyz: ${error.message}`);
      isOver = true;
    });
    await Promise.all(Array.from({ length: clients }, (_, i) => client(i * 7)));
    await probing;
    agent.destroy();
    return { answers, failures, draining, closing };
  }
  return { done: () => answers, ended: run() };
}
