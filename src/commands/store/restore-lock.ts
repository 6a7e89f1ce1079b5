/**
 * One restore at a time in a folder. The holder listens on a socket in it, which the kernel closes with
 * the process: what a killed one left behind holds up nobody.
 */

import { open, unlink } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { OperatorError } from '../../core/errors.ts';

export const restoreSocket = 'restoring.sock';

/** @returns its end. @throws OperatorError when another restore is under way */
export async function holdForRestore(folder: string): Promise<() => Promise<void>> {
  const directory = await open(folder, 'r');
  // The name of a unix socket is limited to 107 bytes; the way over the descriptor is short.
  const path = `/proc/self/fd/${directory.fd}/${restoreSocket}`;
  try {
    if (await isListening(path)) throw busy(folder);
    await unlink(path).catch(() => undefined);
    const server = createServer((socket) => socket.destroy()).unref();
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) =>
        reject(error.code === 'EADDRINUSE' ? busy(folder) : error),
      );
      server.listen(path, resolve);
    });
    return async () => {
      await new Promise((resolve) => server.close(resolve));
      await directory.close();
    };
  } catch (error) {
    await directory.close();
    throw error;
  }
}

function busy(folder: string): OperatorError {
  return new OperatorError(`another restore into DATA_DIR ${folder} is under way`);
}

function isListening(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
