/**
 * One server process per port, many threads inside it. The library shares its ports
 * (SO_REUSEPORT), so a second server would start silently and take half of the connections.
 * The first thread claims the port before any thread listens:
 * an abstract Unix socket, atomic and freed by the kernel with the process, keeps out another
 * Portcullis; an exclusive bind finds every other program that holds the port. Anybody may take the
 * socket's name: one that another user of the machine holds is passed over, for the kernel shares a
 * port among the processes of one user alone.
 */

import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { OperatorError } from '../core/errors.ts';

export interface PortClaim {
  /** Every thread's `listen` takes it. */
  readonly port: number;
  release(): Promise<void>;
}

/** One that another Portcullis has claimed, and not bound yet, may be found as free. */
const freeTriesMax = 50;

/**
 * Rejects with an `OperatorError` if somebody has the port. Port 0 picks a free one: threads
 * can't share a port that the library itself picked.
 */
export async function claimPort(host: string, port: number): Promise<PortClaim> {
  if (port !== 0) return claimNamed(host, port);
  for (let tries = 1; tries <= freeTriesMax; tries++) {
    const probe = await bound({ host, port, exclusive: true });
    if (probe === undefined) break;
    const found = (probe.address() as AddressInfo).port;
    const lock = await lockOf(host, found);
    await closed(probe);
    if (lock !== undefined) return claimOf(found, lock);
  }
  throw new OperatorError(`no port of ${host} is free`);
}

/** The name is claimed first, so that the bind never hits a process that holds the name and does not listen yet. */
async function claimNamed(host: string, port: number): Promise<PortClaim> {
  const lock = await lockOf(host, port);
  if (lock === undefined) throw taken(host, port);
  const claim = claimOf(port, lock);
  try {
    const probe = await bound({ host, port, exclusive: true });
    if (probe === undefined) throw taken(host, port);
    await closed(probe);
    return claim;
  } catch (error) {
    await claim.release();
    throw error;
  }
}

function claimOf(port: number, lock: Server | null): PortClaim {
  return { port, release: async () => (lock === null ? undefined : closed(lock)) };
}

function taken(host: string, port: number): OperatorError {
  return new OperatorError(
    `port ${port} of ${host} is in use by another program or another Portcullis: set PORT=${port === 65_535 ? 8_081 : port + 1}`,
  );
}

/** Returns undefined if another process holds it, null where there are no abstract sockets. */
async function lockOf(host: string, port: number): Promise<Server | undefined | null> {
  if (process.platform !== 'linux') return null;
  const name = `portcullis-http-${host}-${port}`;
  return (await bound({ path: `\0${name}` })) ?? (isHeldByOwnUser(name) ? undefined : null);
}

/** Returns whether a process of this user holds the name. A user can always see its own processes. */
function isHeldByOwnUser(name: string): boolean {
  // Some versions of Node fill the name up with zero bytes, which stand there as @.
  const line = readFileSync('/proc/net/unix', 'latin1')
    .split('\n')
    .find((one) => one.split(' ').at(-1)?.replace(/@+$/, '') === `@${name}`);
  const target = `socket:[${line?.trim().split(/ +/)[6]}]`;
  return readdirSync('/proc').some((pid) => /^\d+$/.test(pid) && holds(pid, target));
}

function holds(pid: string, target: string): boolean {
  try {
    if (statSync(`/proc/${pid}`).uid !== process.geteuid?.()) return false;
    return readdirSync(`/proc/${pid}/fd`).some((fd) => linkOf(`/proc/${pid}/fd/${fd}`) === target);
  } catch {
    return false; // it ended, or is not ours to look at
  }
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

/** Returns undefined if the address is in use; any other error is thrown for the operator. */
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
