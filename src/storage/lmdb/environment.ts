/**
 * The LMDB environment of a store.
 *
 * Invariants of the options: `overlappingSync: false`, so what is visible is on disk;
 * `eventTurnBatching: false`, because with it a failed transaction also rejects a promise that
 * lmdb keeps to itself, which nobody can handle. No file is mapped before its directory is claimed
 * (claim.ts), and none that the binding would end the process over.
 */

import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { open } from 'lmdb';
import { OperatorError } from '../../core/errors.ts';
import { syncPath } from '../files.ts';
import { isDamage } from '../rows.ts';
import { joinClaim } from './claim.ts';
import { assertRoomOnDisk, type FileState, stateOfFile, watchFile } from './file.ts';
import { checkFormat, type DataFormat, dataFormat } from './format.ts';
import type { Table, Tables } from './tables.ts';

/** Address space, not memory and not disk: the file grows as it is written. */
const mapBytesMost = 64 * 2 ** 30;
/** With less address space than the most, the map is a part of what is left, and holds a store of some size. */
const mapBytesLeast = 2 ** 30;
const tableOptions = { encoding: 'binary', keyEncoding: 'binary' } as const;
/**
 * Free pages that LMDB looks through for room, and keeps to look through again. Each commit writes and checks all
 * that it keeps, in time that grows faster than their number: with the binding's 50,000 and 75,000, a file that
 * lists have left holes in costs up to 170 ms of CPU a commit, and with these 0.3.
 */
const freePages = { maxFreeSpaceToLoad: 500, maxFreeSpaceToRetain: 600 };

/**
 * @param canMigrate true: an older store is opened too, for its update
 * @throws OperatorError when the directory can't be used, or holds something else, newer or older
 */
export function openTables(path: string, format = dataFormat, canMigrate = false): Tables {
  try {
    return openEnvironment(path, format, canMigrate);
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    const { message } = error as Error;
    throw new OperatorError(
      isDamage(error)
        ? `the store in ${path} is damaged (${message}): restore a backup`
        : `the store in ${path} can't be opened: ${message}`,
    );
  }
}

interface Opening {
  readonly format: DataFormat;
  readonly canMigrate: boolean;
  readonly kind: FileState['kind'];
}

function openEnvironment(path: string, format: DataFormat, canMigrate: boolean): Tables {
  const claim = joinClaim(dirname(path));
  try {
    // lmdb makes its files readable to the group: the directory keeps others out.
    mkdirSync(path, { recursive: true, mode: 0o700 });
    refuseUnusable(path);
    const { kind } = stateOfUsable(`${path}/data.mdb`);
    // The binding ends the process, too, when a new file has no room for its first pages.
    if (kind !== 'whole') assertRoomOnDisk(path);
    fillLockFile(`${path}/lock.mdb`);
    const letGo = claim.holdFile(`${path}/data.mdb`);
    try {
      return withClaim(openClaimed(path, { format, canMigrate, kind }), () => {
        letGo();
        claim.release();
      });
    } catch (error) {
      letGo();
      throw error;
    }
  } catch (error) {
    claim.release();
    throw error;
  }
}

/** The directory is claimed for as long as the environment is open. */
function withClaim(tables: Tables, release: () => void): Tables {
  const { root, file } = tables;
  const close = root.close.bind(root);
  let isOpen = true;
  root.close = async () => {
    await close();
    if (isOpen) file.close();
    isOpen = false;
    release();
  };
  return tables;
}

function openClaimed(path: string, { format, canMigrate, kind }: Opening): Tables {
  const root = open<Buffer, Uint8Array>({
    path,
    ...tableOptions,
    noSubdir: false,
    overlappingSync: false,
    eventTurnBatching: false,
    mapSize: mapBytesFor(`${path}/data.mdb`),
    maxDbs: 8,
    ...freePages,
  });
  const table = (name: string): Table => root.openDB<Buffer, Uint8Array>(name, { ...tableOptions });
  const tables = {
    root,
    entries: table('entries'),
    journal: table('journal'),
    eventIds: table('event_ids'),
    expiry: table('expiry'),
    meta: table('meta'),
    file: watchFile(`${path}/data.mdb`),
  };
  try {
    checkFormat(tables, format, canMigrate);
  } catch (error) {
    tables.file.close();
    void root.close();
    throw error;
  }
  // LMDB syncs its file and leaves the names that lead to it to the file system.
  if (kind !== 'whole') for (const folder of [path, dirname(path)]) syncPath(folder);
  return tables;
}

/** The binding frees what it made twice when LMDB can't open a file, and ends the process. */
function refuseUnusable(path: string): void {
  for (const file of [path, `${path}/data.mdb`, `${path}/lock.mdb`]) {
    if (!existsSync(file)) continue;
    try {
      accessSync(file, constants.R_OK | constants.W_OK | (file === path ? constants.X_OK : 0));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new OperatorError(
        `${file} can't be read and written (${code}): give it to the user that runs this, or run it as its owner`,
      );
    }
  }
}

/** As LMDB makes it for its 126 readers. */
const lockBytes = 8_272;

/**
 * LMDB maps this file and leaves it to the first writes to find room for it: on a full disk such a write ends the
 * process (SIGBUS). So its bytes are on disk before. One that is whole is not opened: closing it would take away the
 * locks that this process has on it.
 * @throws OperatorError when there is no room
 */
function fillLockFile(file: string): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size >= lockBytes) return;
  try {
    writeFileSync(file, Buffer.alloc(lockBytes), { mode: 0o600, flush: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new OperatorError(
      `${file} can't be written (${code}): it needs ${lockBytes} bytes of room`,
    );
  }
}

/** @throws OperatorError when the address space that the process may use is too small for the store */
function mapBytesFor(file: string): number {
  const left = addressSpaceLeft();
  if (left >= 2 * mapBytesMost) return mapBytesMost;
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  const fits = Math.floor(left / 2 / mapBytesLeast) * mapBytesLeast;
  if (fits >= mapBytesLeast && fits >= 2 * size) return Math.min(fits, mapBytesMost);
  throw new OperatorError(
    `the address space of this process is limited (ulimit -v, RLIMIT_AS): ${mebibytes(left)} MiB are left, ` +
      `and the store needs ${mebibytes(2 * Math.max(mapBytesLeast, 2 * size))}. Raise the limit`,
  );
}

/** Bytes; no limit is Infinity. */
function addressSpaceLeft(): number {
  try {
    const limit = /^Max address space\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'));
    const used = /^VmSize:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'latin1'));
    return limit === null || used === null ? Infinity : Number(limit[1]) - 1_024 * Number(used[1]);
  } catch {
    return Infinity;
  }
}

const mebibytes = (bytes: number): number => Math.max(0, Math.floor(bytes / 2 ** 20));

/** The library ends the whole process when it meets a file that LMDB didn't write, or a part of one. */
function stateOfUsable(file: string): FileState {
  const state = stateOfFile(file);
  if (state.kind === 'strange') {
    throw new OperatorError(`${file} is damaged, or no store: restore a backup`);
  }
  if (state.kind === 'cut') {
    throw new OperatorError(
      `${file} is cut short: it has ${state.pages} pages of ${state.expected}. Restore a backup`,
    );
  }
  return state;
}
