/**
 * Checks a store's file before LMDB maps it: LMDB trusts what it finds, and ends the whole process
 * (SIGSEGV, SIGBUS) or writes on when pages that its meta page promises are not there.
 *
 * Invariant: reads the file with plain reads only, so a damaged file can't end the process. Nobody writes to
 * it meanwhile but this process: LMDB writes a meta page only after all that it refers to.
 *
 * Layout, read from the sources of lmdb 3.5 (data version 2): each page begins with number u64, txn
 * u64, pad u16, flags u16, lower u16, upper u16 (or pages u32). Behind it, pages 0 and 1 hold a meta:
 * magic u32, version u32, address u64, map size u64, two trees (the free pages' first), last page
 * u64, txn u64. A tree: pad u32, flags u16, depth u16, then branch, leaf, overflow pages, entries and
 * root as u64; the pad of the first tree is the size of a page. All little-endian.
 */

import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { OperatorError } from '../../core/errors.ts';

/** `empty` is a file that LMDB would fill as a new store. */
export type FileState =
  | { readonly kind: 'missing' | 'empty' | 'whole' }
  | { readonly kind: 'strange' }
  /** `pages` in the file, `expected` by its meta page. */
  | { readonly kind: 'cut'; readonly pages: number; readonly expected: number };

const headerBytes = 24;
const fileMagic = Buffer.from('dec0efbe02000000', 'hex');
const metaBytes = headerBytes + 136;
const at = { pageSize: 24, freeRoot: 64, lastPage: 120, txn: 128 } as const;
const flag = { branch: 1, leaf: 2 } as const;
const bigData = 1;
/**
 * Free for the store on its disk and below the limit of a file's size: more than the groups of commits under
 * way add.
 */
export const reserveBytes = 64 * 2 ** 20;
/** A small disk keeps this part of itself free. */
const reservePart = 1 / 16;
const noPage = 0xffff_ffff_ffff_ffffn;
/** Deeper than LMDB's own bound for a tree. */
const depthMax = 32;
/** No transaction takes and frees so many pages; a damaged meta page promises any number. */
const promisedMax = 1 << 23;

interface Meta {
  readonly pageSize: number;
  readonly lastPage: number;
  readonly txn: bigint;
  /** The root page of the tree of free pages; undefined: the tree is empty. */
  readonly freeRoot: number | undefined;
}

/** @param file path of a `data.mdb` */
export function stateOfFile(file: string): FileState {
  if (!existsSync(file)) return { kind: 'missing' };
  const descriptor = openSync(file, 'r');
  try {
    // The order matters while LMDB makes the file: one that has a size has its meta pages, and one that grows
    // behind the look has the pages that the meta page promised before.
    if (fstatSync(descriptor).size === 0) return { kind: 'empty' };
    return stateIn(descriptor, newestMeta(descriptor), fstatSync(descriptor).size);
  } finally {
    closeSync(descriptor);
  }
}

/** @param file path of a `data.mdb` that is open already */
export function watchFile(file: string) {
  const descriptor = openSync(file, 'r');
  const limits = openLimits();
  const { dev, ino } = fstatSync(descriptor, { bigint: true });
  return {
    /**
     * Before each transaction. When LMDB itself meets a full disk its binding writes the text of the error
     * behind the end of a buffer, which may end the process.
     * @throws OperatorError when the disk, or the limit of a file's size, has too little room
     */
    assertRoom(): void {
      assertRoomOnDisk(file);
      const limit = limits.fileSize();
      const left = limit - fstatSync(descriptor).size;
      if (left < Math.min(reserveBytes, limit * reservePart)) {
        throw new OperatorError(
          `${file} may grow by ${mebibytes(Math.max(0, left))} MiB: raise the limit of a file's size (ulimit -f, LimitFSIZE)`,
        );
      }
    },
    /** Returns the number of the last transaction, as the file has it; undefined when it is no store. */
    lastTransaction: () => newestMeta(descriptor)?.txn,
    /** Returns whether its path leads to another file by now, or to none; false when nobody can tell. */
    isReplaced(): boolean {
      try {
        const found = statSync(file, { bigint: true, throwIfNoEntry: false });
        return found?.ino !== ino || found.dev !== dev;
      } catch {
        return false;
      }
    },
    /**
     * Writes so many bytes into a file next to it and syncs them, so that a disk that fails is met by no
     * transaction of LMDB.
     */
    async tryDisk(bytes: number): Promise<void> {
      const probe = `${file}.probe`;
      try {
        await writeFile(probe, Buffer.alloc(bytes), { flush: true });
      } finally {
        await rm(probe, { force: true });
      }
    },
    close(): void {
      limits.close();
      closeSync(descriptor);
    },
  };
}

const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);

/**
 * @throws OperatorError when the disk of a file or folder has too little room for a transaction, or for a new
 * store
 */
export function assertRoomOnDisk(path: string): void {
  const free = freeOnDisk(path);
  if (free === undefined || free.bytes >= Math.min(reserveBytes, free.of * reservePart)) return;
  throw new OperatorError(`the disk of ${path} has ${mebibytes(free.bytes)} MiB left: make room`);
}

/** Undefined where nobody can tell: some network file systems say 0 of 0. */
function freeOnDisk(file: string): { readonly bytes: number; readonly of: number } | undefined {
  try {
    const { bavail, bsize, blocks } = statfsSync(file);
    return blocks === 0 ? undefined : { bytes: bavail * bsize, of: blocks * bsize };
  } catch {
    return undefined;
  }
}

/** The limits of this process as the kernel has them now: they can be set from outside. */
function openLimits() {
  const text = Buffer.alloc(512);
  let descriptor: number | undefined;
  try {
    descriptor = openSync('/proc/self/limits', 'r');
  } catch {
    // Only Linux has it.
  }
  return {
    /** The greatest size of a file that this process may write, in bytes. */
    fileSize(): number {
      if (descriptor === undefined) return Infinity;
      const length = readSync(descriptor, text, 0, text.length, 0);
      const found = /^Max file size +(\d+)/m.exec(text.toString('latin1', 0, length));
      return found === null ? Infinity : Number(found[1]);
    },
    close(): void {
      if (descriptor !== undefined) closeSync(descriptor);
    },
  };
}

export type OpenFile = ReturnType<typeof watchFile>;

function stateIn(descriptor: number, meta: Meta | undefined, size: number): FileState {
  if (meta === undefined) return { kind: 'strange' };
  const pages = Math.floor(size / meta.pageSize);
  const expected = meta.lastPage + 1;
  if (pages >= expected) return { kind: 'whole' };
  if (expected - pages > promisedMax) return { kind: 'cut', pages, expected };
  // A page that was freed in the transaction that took it is promised and never written.
  const free = freePagesFrom(descriptor, meta, pages);
  const isWhole = free !== undefined && free.size === expected - pages;
  return isWhole ? { kind: 'whole' } : { kind: 'cut', pages, expected };
}

function newestMeta(descriptor: number): Meta | undefined {
  const first = metaAt(descriptor, 0);
  // LMDB reads the size of a page from the first one, so without it there is no way in.
  if (first === undefined) return undefined;
  const second = metaAt(descriptor, first.pageSize);
  return second !== undefined && second.txn > first.txn ? second : first;
}

function metaAt(descriptor: number, position: number): Meta | undefined {
  const page = Buffer.alloc(metaBytes);
  if (readSync(descriptor, page, 0, page.length, position) < page.length) return undefined;
  const meta = page.subarray(headerBytes);
  if (!meta.subarray(0, fileMagic.length).equals(fileMagic)) return undefined;
  const pageSize = meta.readUInt32LE(at.pageSize);
  const lastPage = meta.readBigUInt64LE(at.lastPage);
  const isPossible = pageSize >= 512 && pageSize <= 65_536 && (pageSize & (pageSize - 1)) === 0;
  if (!isPossible || lastPage > BigInt(Number.MAX_SAFE_INTEGER)) return undefined;
  const root = meta.readBigUInt64LE(at.freeRoot);
  return {
    pageSize,
    lastPage: Number(lastPage),
    txn: meta.readBigUInt64LE(at.txn),
    freeRoot: root === noPage ? undefined : Number(root),
  };
}

/** Free pages with this number or a higher one; undefined when the tree of them can't be read. */
function freePagesFrom(descriptor: number, meta: Meta, least: number): Set<number> | undefined {
  const free = new Set<number>();
  const seen = new Set<number>();
  if (meta.freeRoot === undefined) return free;
  const waiting: { number: number; depth: number }[] = [{ number: meta.freeRoot, depth: 1 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const page = readPages(descriptor, meta, least, { number: next.number, count: 1 });
    // In a damaged tree pages may lead back to one another.
    if (page === undefined || next.depth > depthMax || seen.has(next.number)) return undefined;
    seen.add(next.number);
    const flags = page.readUInt16LE(18);
    const isLeaf = (flags & flag.leaf) !== 0;
    if (!isLeaf && (flags & flag.branch) === 0) return undefined;
    const count = page.readUInt16LE(20) >> 1;
    for (let index = 0; index < count; index++) {
      const node = nodeAt(page, index);
      if (node === undefined) return undefined;
      if (!isLeaf) {
        waiting.push({ number: childOf(page, node), depth: next.depth + 1 });
        continue;
      }
      const list = listOf(descriptor, meta, least, { page, node });
      if (list === undefined) return undefined;
      addPages(free, list, least, meta.lastPage);
    }
  }
  return free;
}

/** Place of a node: size or page number in three u16 (the third: flags in a leaf), key size u16. */
function nodeAt(page: Buffer, index: number): number | undefined {
  const pointer = headerBytes + 2 * index;
  if (pointer + 2 > page.length) return undefined;
  const node = page.readUInt16LE(pointer) + headerBytes;
  return node + 8 <= page.length ? node : undefined;
}

function childOf(page: Buffer, node: number): number {
  return page.readUIntLE(node, 6);
}

/** The value of a leaf's node: count u64, then the pages. */
function listOf(
  descriptor: number,
  meta: Meta,
  pages: number,
  { page, node }: { page: Buffer; node: number },
): Buffer | undefined {
  const size = page.readUInt32LE(node);
  const value = node + 8 + page.readUInt16LE(node + 6);
  if ((page.readUInt16LE(node + 4) & bigData) === 0) {
    return value + size <= page.length ? page.subarray(value, value + size) : undefined;
  }
  if (value + 8 > page.length) return undefined;
  const first = Number(page.readBigUInt64LE(value));
  const count = Math.ceil((headerBytes + size) / meta.pageSize);
  const run = readPages(descriptor, meta, pages, { number: first, count });
  return run?.subarray(headerBytes, headerBytes + size);
}

/** A negative number -n says that the page behind it begins a run of n pages; 0 is a gap. */
function addPages(free: Set<number>, list: Buffer, least: number, last: number): void {
  let run = 1;
  for (let position = 8; position + 8 <= list.length; position += 8) {
    const entry = Number(list.readBigInt64LE(position));
    if (entry < 0) run = -entry;
    if (entry <= 0) continue;
    const end = Math.min(entry + run - 1, last);
    for (let page = Math.max(entry, least); page <= end; page++) free.add(page);
    run = 1;
  }
}

/** Undefined when the file, of so many pages, ends before. */
function readPages(
  descriptor: number,
  { pageSize }: Meta,
  pages: number,
  { number, count }: { number: number; count: number },
): Buffer | undefined {
  if (number + count > pages) return undefined;
  const bytes = Buffer.alloc(count * pageSize);
  const length = readSync(descriptor, bytes, 0, bytes.length, number * pageSize);
  return length === bytes.length ? bytes : undefined;
}
