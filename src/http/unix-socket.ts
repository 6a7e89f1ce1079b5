/**
 * The files of Unix-domain sockets. The library removes whatever is at the path and binds with mode 700. So the path
 * is checked first, nobody but this user can connect until group and mode are set, and only the process that made a
 * file removes it.
 */

import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  lstatSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { dirname } from 'node:path';
import type { Config } from '../config.ts';
import { OperatorError } from '../core/errors.ts';

export interface UnixSocket {
  readonly path: string;
  readonly mode: number;
  /** Number of a group; undefined: that of the process. */
  readonly group: number | undefined;
}

/**
 * Resolves when a server may listen at the path: nothing is there, or only the socket of a dead server. Rejects with
 * an `OperatorError` otherwise.
 */
export async function checkSocketPath(path: string): Promise<void> {
  try {
    checkFolder(path);
    accessSync(dirname(path), constants.W_OK | constants.X_OK);
    if (!lstatSync(path).isSocket()) throw refused(path, 'it is there and is no socket');
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (code === 'ENOENT') return;
    throw refused(path, faults[code] ?? code);
  }
  const code = await answerOf(path);
  if (code === 'ECONNREFUSED' || code === 'ENOENT') return;
  if (code === 'EACCES' || code === 'EPERM') throw refused(path, 'its socket is another user’s');
  throw refused(path, 'another program or another Portcullis listens there');
}

const faults: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write to its folder',
  EDQUOT: 'this user has no room left there',
  EMFILE: 'this process has too many files open',
  ENOENT: 'its file system takes no sockets',
  ENOSPC: 'its file system is full',
  EOPNOTSUPP: 'its file system takes no sockets',
  EPERM: 'its file system takes no sockets',
  EROFS: 'its folder is read-only',
};

function refused(path: string, why: string): OperatorError {
  return new OperatorError(`cannot listen at ${path} (LISTEN_UNIX): ${why}`);
}

/** @throws OperatorError if the folder is none, or this user may not come to it */
function checkFolder(path: string): void {
  try {
    lstatSync(`${dirname(path)}/.`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isClosed = code === 'EACCES';
    throw refused(
      path,
      isClosed ? 'this user may not enter its folder' : 'its folder is not there',
    );
  }
}

/** Returns why nothing can be bound at a path, which the library does not tell. */
export function bindingFault(path: string): Promise<OperatorError> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', ({ code = '' }: NodeJS.ErrnoException) => {
      resolve(refused(path, faults[code] ?? code));
    });
    server.listen({ path }, () => {
      server.close(() => resolve(refused(path, 'it could not be bound just now')));
    });
  });
}

/** Returns the code of the error of a connection; undefined when somebody takes it. */
function answerOf(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ path }, () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code));
  });
}

/** Lets others connect to the file that this process has just bound. */
export function openSocketFile({ path, mode, group }: UnixSocket) {
  const { ino: inode } = lstatSync(path);
  try {
    if (group !== undefined) chownSync(path, -1, group);
    chmodSync(path, mode);
  } catch (error) {
    removeSocketFile({ path, inode });
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EPERM') throw error;
    throw refused(path, 'this user is no member of the group of LISTEN_UNIX_GROUP');
  }
  return { path, inode };
}

/** A socket file of this process, which tells it from one that another put in its place. */
export type SocketFile = ReturnType<typeof openSocketFile>;

export function removeSocketFile({ path, inode }: SocketFile): void {
  try {
    if (lstatSync(path).ino === inode) rmSync(path);
  } catch {
    // Somebody took it away.
  }
}

/** Returns the sockets of the settings. @throws OperatorError if one of them can't be had */
export async function unixSockets(
  config: Pick<Config, 'listenUnix' | 'listenUnixMode' | 'listenUnixGroup'>,
): Promise<UnixSocket[]> {
  const { listenUnix, listenUnixMode: mode, listenUnixGroup } = config;
  if (listenUnix.length === 0) return [];
  const group = listenUnixGroup === undefined ? undefined : groupNumber(listenUnixGroup);
  for (const path of listenUnix) await checkSocketPath(path);
  return listenUnix.map((path) => ({ path, mode, group }));
}

/** @throws OperatorError */
function groupNumber(group: string): number {
  if (/^\d+$/.test(group)) return Number(group);
  const line = readFileSync('/etc/group', 'utf8')
    .split('\n')
    .find((text) => text.startsWith(`${group}:`));
  const number = line?.split(':')[2];
  if (number !== undefined && /^\d+$/.test(number)) return Number(number);
  throw new OperatorError(`setting LISTEN_UNIX_GROUP holds '${group}', no group of /etc/group`);
}
