/**
 * One server process per port, many threads inside it. The library shares its ports
 * (SO_REUSEPORT), so a second server would start silently and take half of the connections.
 * The first thread claims the port before any thread listens:
 * an abstract Unix socket, atomic and freed by the kernel with the process, keeps out another
 * Portcullis; an exclusive bind finds every other program that holds the port.
 */

import { createServer, type Server } from 'node:net';
import { OperatorError } from '../core/errors.ts';

export interface PortClaim {
  release(): Promise<void>;
}

/** Rejects with an `OperatorError` if somebody has the port. Port 0 has nothing to claim. */
export async function claimPort(host: string, port: number): Promise<PortClaim> {
  if (port === 0) return { release: async () => undefined };
  const taken = `port ${port} of ${host} is in use by another program or another Portcullis`;
  const lock = process.platform === 'linux' ? await bound({ path: lockName(host, port) }) : null;
  if (lock === undefined) throw new OperatorError(taken);
  const probe = await bound({ host, port, exclusive: true });
  if (probe === undefined) {
    if (lock !== null) await closed(lock);
    throw new OperatorError(taken);
  }
  await closed(probe);
  return { release: async () => (lock === null ? undefined : closed(lock)) };
}

function lockName(host: string, port: number): string {
  return `\0portcullis-http-${host}-${port}`;
}

/** Undefined if the address is in use; any other error is thrown for the operator. */
function bound(where: { path: string } | { host: string; port: number; exclusive: true }) {
  return new Promise<Server | undefined>((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(new OperatorError(`cannot listen: ${error.message}`));
    });
    server.listen(where, () => {
      server.unref();
      resolve(server);
    });
  });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
