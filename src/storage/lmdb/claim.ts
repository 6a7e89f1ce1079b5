/**
 * The claim of a data directory: one process has the store in it open, always.
 *
 * LMDB's binding resets the shared transaction number whenever a process opens the environment, without
 * the writer's lock (LMDB's ITS#9496): a commit that another process makes meanwhile is undone. So no file
 * of a store is mapped before its directory is claimed.
 *
 * Invariants: the claim is a kernel lock on a file next to the store, held by an open descriptor
 * for as long as the process lives, so it is free after any kill and a process that is frozen keeps
 * it. Within a process the environment is shared: threads inherit the claim of their process. The file of
 * an open store is locked as well: whoever removes the claim's file, or comes by another directory, is refused.
 */

import {
  closeSync,
  fchownSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  realpathSync,
  statSync,
  writeSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { OperatorError } from '../../core/errors.ts';

/** In the data directory. Its bytes say who holds it, for people. */
export const claimFile = 'claim.lock';

export interface Claim {
  readonly dataDir: string;
  /**
   * Locks the file of a store until what it returns is called. The file is made where there is none.
   * @throws ClaimedError when another process has it, by whichever directory
   */
  holdFile(file: string): () => void;
  /** Gives the directory back. Files of a store in it must be closed before. */
  release(): void;
}

/** A claim as a thread of the same process gets it. */
export interface InheritedClaim {
  readonly dataDir: string;
  readonly pid: number;
}

interface Holder {
  readonly pid: number;
  /** The use of the directory, such as "the server" or "restore". */
  readonly use: string;
}

/** A directory that somebody else holds. */
export class ClaimedError extends OperatorError {
  readonly holder: Holder | undefined;
  constructor(dataDir: string, holder: Holder | undefined) {
    const who = holder === undefined ? 'another process' : `${holder.use} (pid ${holder.pid})`;
    super(
      holder?.use === serverUse
        ? `another Portcullis server (pid ${holder.pid}) is running on ${dataDir}`
        : `${dataDir} is in use by ${who}`,
    );
    this.holder = holder;
  }
}

/** The use that a server's claim names. */
export const serverUse = 'the server';

/** Directories that this thread may open stores in, and by how many. */
const held = new Map<string, { descriptor: number | undefined; users: number }>();
/** Files that this process has locked, by device and number, and how many of its users have them open. */
const heldFiles = new Map<string, { readonly descriptor: number; users: number }>();
const holderBytesMax = 512;

/**
 * Claims a directory for this process alone.
 * @param use what the process does, for whoever is refused meanwhile
 * @throws ClaimedError when it is claimed, by this process too
 * @throws OperatorError when its file system has no locks, or the file can't be written
 */
export function claimDataDir(dataDir: string, use: string): Claim {
  const directory = made(dataDir);
  if (held.has(directory)) throw new ClaimedError(dataDir, { pid: process.pid, use: 'itself' });
  const descriptor = lock(directory, use);
  held.set(directory, { descriptor, users: 1 });
  return claimOf(directory);
}

/**
 * Claims a directory for as long as one of its stores is open, together with what this thread has claimed
 * of it already.
 */
export function joinClaim(dataDir: string): Claim {
  const directory = made(dataDir);
  const own = held.get(directory);
  if (own === undefined) return claimDataDir(directory, 'a command');
  own.users += 1;
  return claimOf(directory);
}

/** Returns what a thread of this process gets. The directory is claimed already. */
export function inheritable(dataDir: string): InheritedClaim {
  return { dataDir: realpathSync(dataDir), pid: process.pid };
}

/** For a thread: what its process has claimed counts in it. */
export function inheritClaim({ dataDir, pid }: InheritedClaim): void {
  if (pid !== process.pid) throw new Error('a claim of another process is no claim');
  held.set(dataDir, { descriptor: undefined, users: 1 });
}

function claimOf(directory: string): Claim {
  let isHeld = true;
  return {
    dataDir: directory,
    // A thread has the file open together with its process, which holds it.
    holdFile: (file) =>
      held.get(directory)?.descriptor === undefined ? () => {} : holdFile(directory, file),
    release() {
      const own = held.get(directory);
      if (!isHeld || own === undefined) return;
      isHeld = false;
      own.users -= 1;
      if (own.users > 0) return;
      held.delete(directory);
      if (own.descriptor !== undefined) closeSync(own.descriptor);
    },
  };
}

/** One name for a directory, whichever way leads to it. */
function made(dataDir: string): string {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    return realpathSync(dataDir);
  } catch (error) {
    throw refusal(dataDir, error as NodeJS.ErrnoException);
  }
}

function lock(directory: string, use: string): number {
  const path = join(directory, claimFile);
  let descriptor: number | undefined;
  try {
    // Not truncated: the bytes are those of whoever holds it.
    descriptor = openSync(path, 'a+', 0o600);
    closeSync(descriptor);
    descriptor = openSync(path, 'r+');
    if (!locks().tryLock(descriptor)) {
      const holder = readHolder(descriptor);
      closeSync(descriptor);
      throw new ClaimedError(directory, holder);
    }
    giveToOwner(descriptor, directory);
    writeHolder(descriptor, use);
    return descriptor;
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    if (descriptor !== undefined) closeQuietly(descriptor);
    throw refusal(directory, error as NodeJS.ErrnoException);
  }
}

function holdFile(directory: string, file: string): () => void {
  // A descriptor of a file that is locked already is closed again: the lock belongs to the other one.
  const descriptor = openSync(file, 'a+', 0o600);
  const { dev, ino } = fstatSync(descriptor, { bigint: true });
  const name = `${dev} ${ino}`;
  let own = heldFiles.get(name);
  if (own !== undefined) closeSync(descriptor);
  else {
    try {
      if (!locks().tryLock(descriptor)) throw new ClaimedError(directory, undefined);
    } catch (error) {
      closeSync(descriptor);
      if (error instanceof OperatorError) throw error;
      throw refusal(directory, error as NodeJS.ErrnoException);
    }
    own = { descriptor, users: 0 };
    heldFiles.set(name, own);
  }
  own.users += 1;
  const { descriptor: locked } = own;
  let isHeld = true;
  return () => {
    if (!isHeld) return;
    isHeld = false;
    own.users -= 1;
    if (own.users > 0) return;
    heldFiles.delete(name);
    closeSync(locked);
  };
}

function refusal(directory: string, { code = '', message }: NodeJS.ErrnoException): OperatorError {
  if (['ENOLCK', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EINVAL'].includes(code)) {
    return new OperatorError(
      `${directory} lies on a file system without locks (${code}): two processes could write the store at once. Put DATA_DIR on a local disk`,
    );
  }
  if (code === 'EROFS') {
    return new OperatorError(
      `${directory} lies on a file system that is read-only (${code}), as one is after faults of its disk: copy DATA_DIR to a disk that takes writes, and run this there`,
    );
  }
  if (code === 'EACCES' || code === 'EPERM') {
    return new OperatorError(
      `${join(directory, claimFile)} can't be written (${code}): run this as the user that DATA_DIR belongs to, who must own that file too`,
    );
  }
  return new OperatorError(`${directory} can't be claimed: ${message}`);
}

/** Hands over what root makes, which would keep the owner of the directory out. */
function giveToOwner(descriptor: number, directory: string): void {
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = statSync(directory);
  if (fstatSync(descriptor).uid === uid) return;
  try {
    fchownSync(descriptor, uid, gid);
  } catch {
    // The owner is notified.
  }
}

/** The lock is what counts: on a full disk nobody learns who holds it. */
function writeHolder(descriptor: number, use: string): void {
  try {
    ftruncateSync(descriptor, 0);
    writeSync(descriptor, `${JSON.stringify({ pid: process.pid, use })}\n`, 0);
  } catch {
    // The refused process only reads of "another process".
  }
}

function readHolder(descriptor: number): Holder | undefined {
  const bytes = Buffer.alloc(holderBytesMax);
  try {
    const length = readSync(descriptor, bytes, 0, bytes.length, 0);
    const { pid, use } = JSON.parse(bytes.toString('utf8', 0, length)) as Holder;
    return Number.isInteger(pid) && typeof use === 'string' ? { pid, use } : undefined;
  } catch {
    // The holder has just begun, or somebody wrote to the file.
    return undefined;
  }
}

function closeQuietly(descriptor: number): void {
  try {
    closeSync(descriptor);
  } catch {
    // It was closed before.
  }
}

interface Locks {
  /** Open file description locks of Linux: they belong to the descriptor, and end with it. */
  tryLock(descriptor: number): boolean;
}

let loaded: Locks | undefined;

/** Loaded at the first claim: a command that runs while a server does makes none. */
function locks(): Locks {
  loaded ??= createRequire(import.meta.url)('fs-native-extensions') as Locks;
  return loaded;
}
