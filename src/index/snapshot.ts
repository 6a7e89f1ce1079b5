/**
 * A snapshot of the index: an optimisation of the start, never the truth. A file that is not
 * exactly what was written is refused as a value, so that the caller rebuilds.
 *
 * Saving copies the used memory at once (about 10 ms for a million entries: the one part that
 * blocks) and writes at leisure: updates go on meanwhile, and the file is of one moment.
 */

import { setImmediate } from 'node:timers/promises';
import { fail, ok, type Result } from '../core/result.ts';
import { type ArenaState, BIN_COUNT, GRANULE_SHIFT, tagWordsOf } from './arena.ts';
import type { EntriesState } from './entries.ts';
import {
  type IndexState,
  type IpIndex,
  type IpIndexOptions,
  openIpIndex,
  reserveMemory,
} from './ip-index.ts';
import type { IndexMemory } from './memory.ts';
import {
  isSectionName,
  readSections,
  SECTIONS_MAX,
  type Section,
  writeSections,
} from './section-file.ts';

const OWN: readonly string[] = ['index.root', 'index.nodes', 'index.keys', 'index.rows'];
const STATE = ['index.state', 'index.bins', 'index.tags', 'index.limbo'] as const;
const ownNames: ReadonlySet<string> = new Set([...OWN, ...STATE]);

/** Filled per turn while the pool is prepared: about a millisecond. */
const PREPARE_BYTES = 1 << 20;
const POOL_SPARE_BYTES = 1 << 16;
const EXTRA_MAX = SECTIONS_MAX - ownNames.size;

export interface SnapshotInput {
  /** What the index adds up to: the caller's journal position. Unsigned 64 bits. */
  readonly sequence: bigint;
  /** Blobs to keep beside the index. Names: 1 to 32 of a-z 0-9 . - ; not "index.…". */
  readonly extra?: ReadonlyMap<string, Uint8Array>;
}

export interface LoadedSnapshot {
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
  const private_ = [numbers, state.arena.bins, state.arena.tags, state.limbo];
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

/** Where a section's bytes go: into the index's memory, or into a buffer of their own. */
function targetOf(memory: IndexMemory, name: string, length: number): Uint8Array | undefined {
  const { root, nodes, keys, rows } = memory;
  const own = [root, nodes, keys, rows][OWN.indexOf(name)];
  if (own === undefined) return new Uint8Array(length);
  return length <= own.byteLength ? bytesOf(own).subarray(0, length) : undefined;
}

/** Undefined when a section is missing or its length does not fit the others. */
function stateOf(
  found: ReadonlyMap<string, Uint8Array>,
  memory: IndexMemory,
): IndexState | undefined {
  const [numbers, bins, tags, limbo] = STATE.map((name) => found.get(name));
  const [root, nodes, keys, rows] = OWN.map((name) => found.get(name)?.byteLength);
  if (numbers?.byteLength !== 32 || bins?.byteLength !== (BIN_COUNT + 2) * 4) return undefined;
  if (tags === undefined || limbo === undefined || limbo.byteLength % 8 !== 0) return undefined;
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
  return { size: size!, entries, arena, limbo: new Int32Array(limbo.buffer) };
}
