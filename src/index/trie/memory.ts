/**
 * The shared memory of the index: one flat reservation for each structure, made once.
 *
 * V8 backs a SharedArrayBuffer with zero pages that cost nothing until they are touched:
 * 2 GiB take 0.1 ms and no resident memory, in workers too, and do not make the garbage
 * collector run more often (measured on Node 20). So growth is a page fault, not a copy; a
 * look-up has no segment indirection; and a reader never has to be handed a new buffer. At
 * the bound an insertion is refused. (Growable SharedArrayBuffers make views 20× slower.)
 */

import { type Records, ROW_WORDS } from '../records.ts';
import { CONTROL_WORDS } from './epochs.ts';
import { ENTRY_MASK, KEY_WORDS, OFFSET_MASK, ROOT_WORDS } from './layout.ts';

interface IndexCapacity {
  /** Greatest number of entries of both families, 1..2^26 - 2. */
  readonly entriesMax: number;
  /** Bytes reserved for nodes, at most 1 GiB. */
  readonly nodeBytesMax: number;
}

/** The message to a reader's thread: `postMessage` shares the buffers and copies nothing. */
export interface IndexBuffers {
  readonly control: SharedArrayBuffer;
  readonly root: SharedArrayBuffer;
  readonly nodes: SharedArrayBuffer;
  readonly keys: SharedArrayBuffer;
  readonly rows: SharedArrayBuffer;
  readonly listTimes: SharedArrayBuffer;
  readonly listNames: SharedArrayBuffer;
}

export interface IndexMemory {
  readonly buffers: IndexBuffers;
  readonly control: Int32Array;
  readonly root: Int32Array;
  readonly nodes: Int32Array;
  /** The rank bytes of nodes: the buffer of `nodes`, byte by byte. */
  readonly nodeBytes: Uint8Array;
  /** Key blocks of IPv6 entries. */
  readonly keys: Int32Array;
  /** Rows, for the trie's own fields: the same buffer as `records`. */
  readonly rows: Int32Array;
  readonly records: Records;
  /** The time of each list's refresh, by its number: seconds since 1970, 0 = no such list. */
  readonly listTimes: Uint32Array;
  /** The name of each list, by its number: its length, then so many bytes of ASCII. */
  readonly listNames: Uint8Array;
}

/** Numbers of lists are a byte of a row; 0 means none. */
const LISTS_MAX = 256;
/** The bytes of a list's name and of its length. */
const LIST_NAME_BYTES = 65;
const ENTRIES_MAX = ENTRY_MASK - 1;
const NODE_BYTES_MAX = (OFFSET_MASK + 1) * 4;
const NODE_BYTES_MIN = 1 << 20;
/**
 * Large buffers come from glibc's calloc, 16 bytes behind the start of a page: 48 more and
 * nodes and rows lie on cache lines. Where that does not hold, only speed suffers.
 */
const ALIGN_BYTES = 48;

/** Bytes for copies that readers hold back. Address space alone, while none does. */
const HELD_BYTES = 64 << 20;

/**
 * Node bytes that hold `entriesMax` of the costliest entries: 64 (two IPv6 prefixes in a node
 * of two lines), a link in the node above, and a quarter for fragmentation.
 */
export function nodeBytesFor(entriesMax: number): number {
  return Math.min(NODE_BYTES_MAX, HELD_BYTES + entriesMax * 88);
}

export function createMemory({ entriesMax, nodeBytesMax }: IndexCapacity): IndexMemory {
  if (!Number.isInteger(entriesMax) || entriesMax < 1 || entriesMax > ENTRIES_MAX) {
    throw new RangeError(`entriesMax must be 1..${ENTRIES_MAX}`);
  }
  if (nodeBytesMax < NODE_BYTES_MIN || nodeBytesMax > NODE_BYTES_MAX || nodeBytesMax % 16 !== 0) {
    throw new RangeError(`nodeBytesMax must be a multiple of 16 up to ${NODE_BYTES_MAX}`);
  }
  // Entry 0 and key block 0 mean "none", hence one more of each.
  return viewMemory({
    control: new SharedArrayBuffer(CONTROL_WORDS * 4),
    root: new SharedArrayBuffer(ROOT_WORDS * 4),
    nodes: new SharedArrayBuffer(ALIGN_BYTES + nodeBytesMax),
    keys: new SharedArrayBuffer((entriesMax + 1) * KEY_WORDS * 4),
    rows: new SharedArrayBuffer(ALIGN_BYTES + (entriesMax + 1) * ROW_WORDS * 4),
    listTimes: new SharedArrayBuffer(LISTS_MAX * 4),
    listNames: new SharedArrayBuffer(LISTS_MAX * LIST_NAME_BYTES),
  });
}

export function viewMemory(buffers: IndexBuffers): IndexMemory {
  return {
    buffers,
    control: new Int32Array(buffers.control),
    root: new Int32Array(buffers.root),
    nodes: new Int32Array(buffers.nodes, ALIGN_BYTES),
    nodeBytes: new Uint8Array(buffers.nodes, ALIGN_BYTES),
    keys: new Int32Array(buffers.keys),
    rows: new Int32Array(buffers.rows, ALIGN_BYTES),
    records: {
      float: new Float32Array(buffers.rows, ALIGN_BYTES),
      word: new Uint32Array(buffers.rows, ALIGN_BYTES),
    },
    listTimes: new Uint32Array(buffers.listTimes),
    listNames: new Uint8Array(buffers.listNames),
  };
}

// Names of lists in shared memory, by their numbers. A name that is being written reads as none.

/** The number of the manual entries among lists, above those of all lists (config.ts, `sources`). */
export const manualEntriesList = 255;

export function writeListName(names: Uint8Array, number: number, name: string): void {
  const at = number * LIST_NAME_BYTES;
  const bytes = Buffer.from(name.slice(0, LIST_NAME_BYTES - 1), 'latin1');
  names[at] = 0;
  names.set(bytes, at + 1);
  names[at] = bytes.length;
}

/** Returns the name of the list with this number; empty: there is none. */
export function listName(names: Uint8Array, number: number): string {
  const at = number * LIST_NAME_BYTES;
  const bytes = names.slice(at + 1, at + 1 + names[at]!);
  return Buffer.from(bytes.buffer).toString('latin1');
}
