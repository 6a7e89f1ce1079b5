/**
 * Distinguishes a store that was lost from one that is new. LMDB makes an empty store wherever
 * there is none, so without this a server whose file was removed starts, serves nobody's data and
 * says that it is ready.
 *
 * Invariants: `DATA_DIR/store.id` names the store that lives there and is written only when that
 * store is on disk; the same name stands inside the store. While a process has the store open, its
 * path leads to the same file, which only grows.
 */

import {
  accessSync,
  constants,
  existsSync,
  readFileSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../core/errors.ts';
import { every } from '../../core/every.ts';
import type { Log } from '../../core/log.ts';
import type { Random } from '../../core/random.ts';
import { makeFileOnce } from '../files.ts';
import { metaRowKey } from '../keys.ts';
import type { Table } from './tables.ts';

export const idFile = 'store.id';
/** In the data directory: what makes a server's next start fast. */
export const snapshotFile = 'index.snapshot';
/** In the data directory: where a restore makes the store, until it is whole. */
export const restoreFolder = 'restoring';
export function storePath(dataDir: string): string {
  return `${dataDir}/store`;
}

/** Written next to the store by a server: each shows that there was one. */
const markerFiles = [idFile, snapshotFile] as const;
const idPattern = /^[0-9a-f]{32}\n$/;

/** Returns whether the directory has, or once had, a store. @param path the store's directory */
export function hadStore(dataDir: string, path: string): boolean {
  const { kind } = stateOf(path);
  return (kind !== 'missing' && kind !== 'empty') || markerIn(dataDir) !== undefined;
}

/**
 * Missing is what the system says is not there: what it keeps from this process may be whole. The file is not
 * opened: a server may be writing to it.
 * @throws OperatorError when the file can't be looked at
 */
function stateOf(path: string): { readonly kind: 'missing' | 'empty' | 'there' } {
  const file = join(path, 'data.mdb');
  try {
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat === undefined) return { kind: 'missing' };
    accessSync(file, constants.R_OK);
    return { kind: stat.size === 0 ? 'empty' : 'there' };
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'missing' };
    throw new OperatorError(
      `the store can't be read: ${file} (${code}). Nothing of it is lost by that: run this as the user that it ` +
        'belongs to, or mend the permissions of the folder and its files',
    );
  }
}

/**
 * Removes the folder of a restore that was interrupted after its last step.
 * @throws OperatorError if one was interrupted before
 */
export function refuseHalfRestored(dataDir: string, path?: string): void {
  const folder = join(dataDir, restoreFolder);
  if (!existsSync(folder)) return;
  if (path !== undefined && existsSync(join(path, 'data.mdb'))) {
    rmSync(folder, { recursive: true, force: true });
    return;
  }
  throw new OperatorError(
    `a restore into ${dataDir} was broken off: run \`portcullis restore\` again; to begin without it, remove ${folder}`,
  );
}

/** @throws OperatorError when the file is gone or empty and something shows that it was not */
export function refuseLostStore(dataDir: string, path: string): void {
  const { kind } = stateOf(path);
  if (kind !== 'missing' && kind !== 'empty') return;
  const trace = markerIn(dataDir);
  if (trace === undefined) return;
  throw new OperatorError(
    `the store is lost: ${path}/data.mdb is ${kind}, and ${trace} shows that there was one. ` +
      `Put it back or restore a backup; to begin with an empty store, remove ${trace}`,
  );
}

/**
 * Gives a store its name and keeps the name in a file next to it.
 * @throws OperatorError when the name next to it is another store's
 */
export function claimPresence(meta: Table, dataDir: string, random: Random): void {
  const id = meta.get(metaRowKey('identity')) ?? nameStore(meta, random);
  const own = `${id.toString('hex')}\n`;
  const path = join(dataDir, idFile);
  if (!existsSync(path)) makeFileOnce(path, own, random);
  const found = readFileSync(path, 'latin1');
  if (found === own) return;
  if (!idPattern.test(found)) {
    throw new OperatorError(
      `${path} is damaged, and can't say whether the store beside it is its own. If ${dataDir}/store is the one that ` +
        `was here, remove ${path}: the next start writes it anew`,
    );
  }
  throw new OperatorError(
    `${path} names another store than the one in ${dataDir}/store: put back the data.mdb that belongs there; ` +
      `to go on with this one, remove ${markerFiles.map((name) => join(dataDir, name)).join(' and ')}`,
  );
}

export interface MasterKeyClaim {
  /** Names the key and reveals nothing about it: 4 bytes. */
  readonly id: Uint8Array;
  /** Go on with another key: what the former one sealed stays unreadable. */
  readonly replaces?: boolean;
}

/**
 * The store keeps the name of the key that seals its secrets, from the first one on.
 * @throws OperatorError when the key is another one
 */
export function claimMasterKey(meta: Table, { id, replaces = false }: MasterKeyClaim): void {
  const key = metaRowKey('master_key');
  const known = meta.get(key);
  if (known !== undefined && !replaces) {
    if (known.equals(id)) return;
    const [own, other] = [known, Buffer.from(id)].map((name) => name.toString('hex'));
    throw new OperatorError(
      `the master key is another one: the store is sealed with ${own}, the key given is ${other}. Put ` +
        'the right file back, or name it in MASTER_KEY_FILE. If it is lost for good, `portcullis ' +
        'master-key replace` goes on without all that it sealed',
    );
  }
  meta.putSync(key, Buffer.from(id));
}

const pollMs = 1_000;

/**
 * Checks each second whether the path still leads to the file that is open, and whether it became
 * shorter. What is written to a file without a name is acknowledged and lost. Where the system does not let it look
 * (permissions, a network file system that fails), nothing is known to be lost: it says so once, and looks again.
 * @param onLost once, with the reason; nothing may be written next to the store any more
 */
export function watchPresence(
  path: string,
  log: Log,
  onLost: (reason: string) => void,
): { readonly isLost: () => boolean; readonly stop: () => Promise<void> } {
  const file = join(path, 'data.mdb');
  const opened = statSync(file);
  let { size } = opened;
  let reason: string | undefined;
  let isHidden = false;
  function checkFile(): void {
    let found: Stats | undefined;
    try {
      found = statSync(file, { throwIfNoEntry: false });
      isHidden = false;
    } catch (error) {
      const detail = (error as Error).message;
      if (!isHidden) log.error({ detail }, "store: its file can't be looked at, writes go on");
      isHidden = true;
      return;
    }
    if (found === undefined) reason = `${file} was removed`;
    else if (found.ino !== opened.ino || found.dev !== opened.dev) reason = `${file} was replaced`;
    else if (found.size < size) reason = `${file} was cut to ${found.size} bytes`;
    size = Math.max(size, found?.size ?? 0);
    if (reason === undefined) return;
    void loop.stop();
    onLost(reason);
  }
  const loop = every(pollMs, checkFile);
  return {
    isLost() {
      if (reason === undefined) checkFile();
      return reason !== undefined;
    },
    stop: loop.stop,
  };
}

function markerIn(dataDir: string): string | undefined {
  return markerFiles.map((name) => join(dataDir, name)).find((path) => existsSync(path));
}

/** In a transaction: two processes may meet in a new store. */
function nameStore(meta: Table, random: Random): Buffer {
  const key = metaRowKey('identity');
  return meta.transactionSync(() => {
    const there = meta.get(key);
    if (there !== undefined) return there;
    const id = Buffer.from(random.bytes(16));
    meta.putSync(key, id);
    return id;
  });
}
