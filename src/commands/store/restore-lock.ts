/**
 * One restore at a time in a folder. Each listens on a socket of its own in it, then looks whether
 * another listens: of two that come together neither overlooks the other. The kernel closes the socket
 * with the process: what a killed one left behind holds up nobody, and its name is never used again.
 */

import { randomBytes } from 'node:crypto';
import { type FileHandle, open, readdir, unlink } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { OperatorError } from '../../core/errors.ts';
import { isListening } from '../../store/lock.ts';

const socketName = /^restoring-[0-9a-f]{16}\.sock$/;

/** Of two that met each other both step back; this often, each after another while. */
const attemptsMax = 6;
const stepBackMs = 60;

export function isRestoreSocket(name: string): boolean {
  return socketName.test(name);
}

/** @returns its end. @throws OperatorError when another restore is under way */
export async function holdForRestore(folder: string): Promise<() => Promise<void>> {
  const directory = await open(folder, 'r');
  try {
    for (let attempt = 1; attempt <= attemptsMax; attempt++) {
      const held = await raise(folder, directory);
      if (held !== undefined) {
        return async () => {
          await closed(held);
          await directory.close();
        };
      }
      await delay(stepBackMs * attempt * Math.random());
    }
    throw new OperatorError(`another restore into DATA_DIR ${folder} is under way`);
  } catch (error) {
    await directory.close();
    throw error;
  }
}

/** Undefined: another one listens. */
async function raise(folder: string, directory: FileHandle): Promise<Server | undefined> {
  // The name of a unix socket is limited to 107 bytes; the way over the descriptor is short.
  const pathOf = (name: string): string => `/proc/self/fd/${directory.fd}/${name}`;
  const own = `restoring-${randomBytes(8).toString('hex')}.sock`;
  const server = createServer((socket) => socket.destroy()).unref();
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      reject(new OperatorError(`can't make a unix socket in ${folder}: ${error.message}`));
    });
    server.listen(pathOf(own), resolve);
  });
  for (const name of await readdir(folder)) {
    if (name === own || !isRestoreSocket(name)) continue;
    if (await isListening(pathOf(name))) {
      await closed(server);
      return undefined;
    }
    // One that is about to listen looks around afterwards, and finds this one.
    await unlink(pathOf(name)).catch(() => undefined);
  }
  // One that stepped back meanwhile may have taken this one for dead, before it listened.
  if ((await readdir(folder)).includes(own)) return server;
  await closed(server);
  return undefined;
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
