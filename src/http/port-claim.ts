/**
 * One server process per port, many threads inside it. The library shares its ports
 * (SO_REUSEPORT), so a second server would start silently and take half of the connections.
 * The first thread claims the port before any thread listens:
 * an abstract Unix socket, atomic and freed by the kernel with the process, keeps out another
 * Portcullis; an exclusive bind finds every other program that holds the port.
 */

import { type AddressInfo, createServer, type Server } from 'node:net';
import { OperatorError } from '../core/errors.ts';

export interface PortClaim {
  /** For every thread's `listen`. */
  readonly port: number;
  release(): Promise<void>;
}

/**
 * Rejects with an `OperatorError` if somebody has the port. Port 0 picks a free one: threads
 * can't share a port that the library itself picked.
 */
export async function claimPort(host: string, port: number): Promise<PortClaim> {
  const probe = await bound({ host, port, exclusive: true });
  if (probe === undefined) throw taken(host, port);
  const found = (probe.address() as AddressInfo).port;
  const lock = await lockOf(host, found);
  await closed(probe);
  if (lock === undefined) throw taken(host, found);
  return { port: found, release: async () => (lock === null ? undefined : closed(lock)) };
}

function taken(host: string, port: number): OperatorError {
  return new OperatorError(
    `port ${port} of ${host} is in use by another program or another Portcullis`,
  );
}

/** Undefined if another process holds it, null where there are no abstract sockets. */
async function lockOf(host: string, port: number): Promise<Server | undefined | null> {
  if (process.platform !== 'linux') return null;
  return bound({ path: `\0portcullis-http-${host}-${port}` });
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
