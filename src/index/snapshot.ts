/**
 * A snapshot of the index: an optimisation of the start, never the truth. A file that is not
 * exactly what was written is refused as a value, so that the caller rebuilds.
 *
 * Saving copies the used memory at once (about 10 ms for a million entries) and then writes at
 * leisure: updates go on meanwhile, and the file is of one moment.
 */

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

/** A copy in plain memory: `slice` of a view of shared memory would allocate shared memory. */
function copied({ name, bytes }: Section): Section {
  const copy = Buffer.allocUnsafeSlow(bytes.byteLength);
  copy.set(bytes);
  return { name, bytes: copy };
}

/**
 * Copies the state of this moment before it returns its promise, then writes it to a temporary
 * file beside `path`, syncs, and renames. A failure leaves the earlier snapshot in place.
 * One call at a time for one path.
 */
export function saveSnapshot(
  index: IpIndex,
  path: string,
  { sequence, extra }: SnapshotInput,
): Promise<Result<{ readonly bytes: number }>> {
  const added = [...(extra ?? [])].map(([name, bytes]) => ({ name, bytes }));
  for (const { name } of added) {
    if (!isSectionName(name) || name.startsWith('index.')) {
      throw new RangeError(`bad section name: ${name}`);
    }
  }
  const sections = [...sectionsOf(index), ...added].map(copied);
  if (sections.length > SECTIONS_MAX) throw new RangeError('too many sections');
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
