/** A server of `http-server.ts` in a process of its own, and the CPU time that it has used. */

import { once } from 'node:events';
import { fork } from '../test/support/house/spawn.ts';

export interface HttpContender {
  readonly kind: string;
  readonly port: number;
  /** User and system, since its start. */
  cpuUs(): Promise<number>;
  stop(): void;
}

export async function startContender(kind: string, entries: number): Promise<HttpContender> {
  const child = fork(new URL('./http-server.js', import.meta.url), [kind, String(entries)]);
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return {
    kind,
    port,
    async cpuUs() {
      child.send('cpu');
      const [{ cpuUs }] = (await once(child, 'message')) as [{ cpuUs: number }];
      return cpuUs;
    },
    stop: () => child.disconnect(),
  };
}
