/**
 * A snapshot of the index: an optimisation of the start, never the truth. A file that is not
 * exactly what was written is refused as a value, so that the caller rebuilds.
 *
 * Saving copies the used memory at once (about 10 ms for a million entries: the one part that
 * blocks) and writes at leisure: updates go on meanwhile, and the file is of one moment.
 */

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { fail, ok, type Result } from '../core/result.ts';
import type { EntriesState } from './entries.ts';
import {
  type IndexState,
  type IpIndex,
  type IpIndexOptions,
  openIpIndex,
  reserveMemory,
} from './ip-index.ts';
import { type ArenaState, BIN_COUNT, GRANULE_SHIFT, tagWordsOf } from './trie/arena.ts';
import type { IndexMemory } from './trie/memory.ts';

const OWN: readonly string[] = ['index.root', 'index.nodes', 'index.keys', 'index.rows'];
const STATE = ['index.state', 'index.bins', 'index.tags', 'index.limbo'] as const;
const ownNames: ReadonlySet<string> = new Set([...OWN, ...STATE]);

/** Filled per turn while the pool is prepared: about a millisecond. */
const PREPARE_BYTES = 1 << 20;
const POOL_SPARE_BYTES = 1 << 16;
const SECTIONS_MAX = 64;
const EXTRA_MAX = SECTIONS_MAX - ownNames.size;

interface SnapshotInput {
  /** The journal position up to which the index is complete. Unsigned 64 bits. */
  readonly sequence: bigint;
  /** Blobs to keep along with the index. Names: 1 to 32 of a-z 0-9 . - ; not "index.…". */
  readonly extra?: ReadonlyMap<string, Uint8Array>;
}

interface LoadedSnapshot {
  readonly index: IpIndex;
  readonly sequence: bigint;
  readonly extra: ReadonlyMap<string, Uint8Array>;
}

function bytesOf(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

function sectionsOf(index: IpIndex): Section[] {
  const { root, nodes, keys, rows, state } = index.image();
  const { topEntry, freeEntry, topKey, freeKey } = state.entries;
  const numbers = Int32Array.of(state.size, topEntry, freeEntry, topKey, freeKey, 0, 0, 0);
  const own = [root, nodes, keys, rows].map((bytes, i) => ({ name: OWN[i]!, bytes }));
  const private_ = [numbers, state.arena.bins, state.arena.tags, state.retired];
  return [...own, ...private_.map((view, i) => ({ name: STATE[i]!, bytes: bytesOf(view) }))];
}

/**
 * Plain memory whose pages are there already: copying into fresh pages takes several times as
 * long as copying, and the copy is what blocks. (A `slice` of a view of shared memory would be
 * shared and fresh.)
 */
async function preparePool(bytes: number): Promise<Buffer> {
  const pool = Buffer.allocUnsafeSlow(bytes);
  for (let at = 0; at < bytes; at += PREPARE_BYTES) {
    pool.fill(0, at, Math.min(bytes, at + PREPARE_BYTES));
    await setImmediate();
  }
  return pool;
}

/** Copies one after the other into the pool; what it has no room for into memory of its own. */
function copyInto(pool: Buffer, sections: readonly Section[]): Section[] {
  let used = 0;
  return sections.map(({ name, bytes }) => {
    const length = bytes.byteLength;
    const fits = used + length <= pool.byteLength;
    const copy = fits ? pool.subarray(used, used + length) : Buffer.allocUnsafeSlow(length);
    if (fits) used += length;
    copy.set(bytes);
    return { name, bytes: copy };
  });
}

function checkNames(extra: ReadonlyMap<string, Uint8Array>): void {
  for (const name of extra.keys()) {
    if (!isSectionName(name) || name.startsWith('index.')) {
      throw new RangeError(`bad section name: ${name}`);
    }
  }
  if (extra.size > EXTRA_MAX) throw new RangeError('too many sections');
}

/**
 * Writes the index as it is when `capture` is called: once, soon, and in the same turn as the
 * copy. The file goes to a temporary place, is synced, and renamed; a failure leaves the
 * earlier snapshot. One call at a time for one path.
 */
export async function saveSnapshot(
  index: IpIndex,
  path: string,
  capture: () => SnapshotInput,
  extraBytesExpected = 0,
): Promise<Result<{ readonly bytes: number }>> {
  const expected = sectionsOf(index).reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
  // A little more: the index may grow before the pool is ready.
  const pool = await preparePool(
    Math.ceil(expected * 1.02) + extraBytesExpected + POOL_SPARE_BYTES,
  );
  const { sequence, extra = new Map<string, Uint8Array>() } = capture();
  checkNames(extra);
  const added = [...extra].map(([name, bytes]) => ({ name, bytes }));
  const sections = copyInto(pool, [...sectionsOf(index), ...added]);
  return writeSections(path, sequence, sections);
}

/**
 * Reads a snapshot into a new index; at start, so it blocks (35–50 ms for a million entries).
 * Fails with `snapshot_unusable` for a missing, damaged, foreign or oversized file; never
 * throws for what a file holds.
 */
export function loadSnapshot(path: string, options: IpIndexOptions = {}): Result<LoadedSnapshot> {
  const memory = reserveMemory(options);
  const file = readSections(path, (name, length) => targetOf(memory, name, length));
  if (!file.ok) return file;
  const { sequence, sections } = file.value;
  const state = stateOf(sections, memory);
  if (state === undefined) return fail('snapshot_unusable', 'incomplete');
  const extra = new Map([...sections].filter(([name]) => !ownNames.has(name)));
  return ok({ index: openIpIndex(memory, options, state), sequence, extra });
}

/** Returns the memory for a section's bytes: the index's own, or a new buffer. */
function targetOf(memory: IndexMemory, name: string, length: number): Uint8Array | undefined {
  const { root, nodes, keys, rows } = memory;
  const own = [root, nodes, keys, rows][OWN.indexOf(name)];
  if (own === undefined) return new Uint8Array(length);
  return length <= own.byteLength ? bytesOf(own).subarray(0, length) : undefined;
}

/** Returns undefined when a section is missing or its length does not fit the others. */
function stateOf(
  found: ReadonlyMap<string, Uint8Array>,
  memory: IndexMemory,
): IndexState | undefined {
  const [numbers, bins, tags, retired] = STATE.map((name) => found.get(name));
  const [root, nodes, keys, rows] = OWN.map((name) => found.get(name)?.byteLength);
  if (numbers?.byteLength !== 32 || bins?.byteLength !== (BIN_COUNT + 2) * 4) return undefined;
  if (tags === undefined || retired === undefined || retired.byteLength % 8 !== 0) return undefined;
  const [size, topEntry, freeEntry, topKey, freeKey] = new Int32Array(numbers.buffer);
  const entries: EntriesState = {
    topEntry: topEntry!,
    freeEntry: freeEntry!,
    topKey: topKey!,
    freeKey: freeKey!,
  };
  const binWords = new Int32Array(bins.buffer);
  const top = binWords[0]!;
  const fits =
    root === memory.root.byteLength &&
    nodes === (top << GRANULE_SHIFT) * 4 &&
    keys === (entries.topKey + 1) * 24 &&
    rows === (entries.topEntry + 1) * 32 &&
    tags.byteLength === tagWordsOf(top) * 4;
  if (!fits) return undefined;
  const arena: ArenaState = { bins: binWords, tags: new Uint32Array(tags.buffer) };
  return { size: size!, entries, arena, retired: new Int32Array(retired.buffer) };
}

const MAGIC = Buffer.from('PCLINDEX', 'latin1');
/** Raised with every change of layout.ts, records.ts, of the flags in a record or of this format. */
const VERSION = 4;
const BYTE_ORDER = 0x0102_0304;
const HEAD_BYTES = 32;
const SECTION_HEAD_BYTES = 48;
const NAME_BYTES = 32;
/** Bytes per write and per checksum call: below a millisecond of the event loop. */
const SLICE_BYTES = 1 << 20;

/**
 * The container of a snapshot is a file of named sections that is complete or refused: every byte
 * is under a checksum. It is written next to its place and renamed into it, so a crash leaves the
 * earlier file.
 *
 *     +0   magic "PCLINDEX"
 *     +8   version u32 | byte order mark 0x01020304 u32   (in the machine's order)
 *     +16  sequence u64                                    the caller's
 *     +24  sections u32 | crc u32 of the head before and after this word
 *     +32  per section: name, 32 bytes of ASCII padded with zeros; length u64; crc u32; 0 u32
 *     ...  the sections' bytes, one after the other, to the end of the file
 */
interface Section {
  /** 1 to 32 characters of a-z 0-9 . - */
  readonly name: string;
  readonly bytes: Uint8Array;
}

interface SectionFile {
  readonly sequence: bigint;
  readonly sections: ReadonlyMap<string, Uint8Array>;
}

interface SectionHead {
  readonly name: string;
  readonly length: number;
  readonly crc: number;
}

function isSectionName(name: string): boolean {
  return /^[a-z0-9.-]{1,32}$/.test(name);
}

/** The bytes must not change until the promise resolves. One call at a time for one path. */
async function writeSections(
  path: string,
  sequence: bigint,
  sections: readonly Section[],
): Promise<Result<{ readonly bytes: number }>> {
  const temporary = `${path}.tmp`;
  try {
    const file = await open(temporary, 'w', 0o600);
    let position = HEAD_BYTES + sections.length * SECTION_HEAD_BYTES;
    try {
      const heads: SectionHead[] = [];
      for (const { name, bytes } of sections) {
        let crc = 0;
        for (let at = 0; at < bytes.byteLength; at += SLICE_BYTES) {
          const slice = bytes.subarray(at, at + SLICE_BYTES);
          crc = crc32(slice, crc);
          position += await writeAll(file, slice, position);
        }
        heads.push({ name, length: bytes.byteLength, crc });
      }
      await writeAll(file, encodeHead(sequence, heads), 0);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    await syncDirectory(dirname(path));
    return ok({ bytes: position });
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    return fail('snapshot_not_written', String(error));
  }
}

type File = Awaited<ReturnType<typeof open>>;

async function writeAll(file: File, bytes: Uint8Array, position: number): Promise<number> {
  for (let done = 0; done < bytes.byteLength; ) {
    const { bytesWritten } = await file.write(
      bytes,
      done,
      bytes.byteLength - done,
      position + done,
    );
    done += bytesWritten;
  }
  return bytes.byteLength;
}

/** Makes the rename itself durable. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

function encodeHead(sequence: bigint, sections: SectionHead[]): Buffer {
  const head = Buffer.alloc(HEAD_BYTES + sections.length * SECTION_HEAD_BYTES);
  MAGIC.copy(head);
  new Uint32Array(head.buffer, head.byteOffset + 8, 2).set([VERSION, BYTE_ORDER]);
  head.writeBigUInt64LE(sequence, 16);
  head.writeUInt32LE(sections.length, 24);
  sections.forEach(({ name, length, crc }, i) => {
    const at = HEAD_BYTES + i * SECTION_HEAD_BYTES;
    head.write(name, at, NAME_BYTES, 'latin1');
    head.writeBigUInt64LE(BigInt(length), at + NAME_BYTES);
    head.writeUInt32LE(crc, at + NAME_BYTES + 8);
  });
  head.writeUInt32LE(headCrc(head), 28);
  return head;
}

function headCrc(head: Buffer): number {
  return crc32(head.subarray(HEAD_BYTES), crc32(head.subarray(0, 28)));
}

/**
 * Reads and checks a whole file, blocking. `memoryFor` gives each section its memory (the right
 * length, or undefined for a section that has no room). What was read into it is to be thrown
 * away on failure. Never throws for what a file holds.
 */
function readSections(
  path: string,
  memoryFor: (name: string, length: number) => Uint8Array | undefined,
): Result<SectionFile> {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'r');
  } catch (error) {
    return fail('snapshot_unusable', String(error));
  }
  try {
    return read(descriptor, memoryFor);
  } catch (error) {
    // Reading failed (EIO, a directory, …): what the bytes say never throws.
    return fail('snapshot_unusable', String(error));
  } finally {
    closeSync(descriptor);
  }
}

function read(
  descriptor: number,
  memoryFor: (name: string, length: number) => Uint8Array | undefined,
): Result<SectionFile> {
  const fileBytes = fstatSync(descriptor).size;
  const start = Buffer.alloc(HEAD_BYTES);
  if (!readAll(descriptor, start, 0)) return fail('snapshot_unusable', 'too short');
  const [version, order] = new Uint32Array(start.buffer, start.byteOffset + 8, 2);
  if (!start.subarray(0, 8).equals(MAGIC)) return fail('snapshot_unusable', 'not a snapshot');
  if (version !== VERSION || order !== BYTE_ORDER)
    return fail('snapshot_unusable', 'other version');
  const count = start.readUInt32LE(24);
  if (count > SECTIONS_MAX) return fail('snapshot_unusable', 'too many sections');
  const head = Buffer.alloc(HEAD_BYTES + count * SECTION_HEAD_BYTES);
  if (!readAll(descriptor, head, 0)) return fail('snapshot_unusable', 'too short');
  if (headCrc(head) !== head.readUInt32LE(28)) return fail('snapshot_unusable', 'damaged head');
  const heads = decodeHeads(head, count);
  const total = heads.reduce((sum, { length }) => sum + length, head.byteLength);
  if (total !== fileBytes) return fail('snapshot_unusable', 'wrong length');

  const found = new Map<string, Uint8Array>();
  let position = head.byteLength;
  for (const { name, length, crc } of heads) {
    const target = memoryFor(name, length);
    if (target === undefined) return fail('snapshot_unusable', `no room for ${name}`);
    if (found.has(name)) return fail('snapshot_unusable', `twice: ${name}`);
    if (readChecked(descriptor, target, position) !== crc) {
      return fail('snapshot_unusable', `damaged: ${name}`);
    }
    found.set(name, target);
    position += length;
  }
  return ok({ sequence: head.readBigUInt64LE(16), sections: found });
}

function decodeHeads(head: Buffer, count: number): SectionHead[] {
  return Array.from({ length: count }, (_, i) => {
    const at = HEAD_BYTES + i * SECTION_HEAD_BYTES;
    const name = head.toString('latin1', at, at + NAME_BYTES).replace(/\0+$/, '');
    const length = Number(head.readBigUInt64LE(at + NAME_BYTES));
    return { name, length, crc: head.readUInt32LE(at + NAME_BYTES + 8) };
  });
}

function readAll(descriptor: number, target: Uint8Array, position: number): boolean {
  for (let done = 0; done < target.byteLength; ) {
    const bytes = readSync(descriptor, target, done, target.byteLength - done, position + done);
    if (bytes === 0) return false;
    done += bytes;
  }
  return true;
}

/** The checksum of what was read, slice by slice while it is in the cache; -1 at the file's end. */
function readChecked(descriptor: number, target: Uint8Array, position: number): number {
  let crc = 0;
  for (let at = 0; at < target.byteLength; at += SLICE_BYTES) {
    const slice = target.subarray(at, at + SLICE_BYTES);
    if (!readAll(descriptor, slice, position + at)) return -1;
    crc = crc32(slice, crc);
  }
  return crc;
}
