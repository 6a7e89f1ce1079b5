/**
 * The IP index: prefixes of both families to entry numbers, longest match first, in memory that
 * all threads share. This is the owner's side: the only one that changes anything.
 *
 * An entry number is 1 or more and stays with its prefix until `remove`; 0 means none. The owner's
 * own look-ups need no `enter`: they never run during its changes. A number the owner keeps across
 * a `remove` of its prefix is stale, as it is for everyone.
 */

import { createEntryTable, type EntriesState, prefixOf, readPrefixOfEntry } from './entries.ts';
import { type IndexPrefix, isPrefix } from './prefix.ts';
import type { IndexView, ReaderHandle } from './reader.ts';
import { ROW_WORDS } from './records.ts';
import { type ArenaState, createArena } from './trie/arena.ts';
import { clearReader, createRetiredNodes, READERS_MAX, SIZE, writerEpoch } from './trie/epochs.ts';
import { exactEntry } from './trie/exact.ts';
import { CHANGE_WORDS_MAX, createInsert } from './trie/insert.ts';
import { KEY_WORDS, ROOT_WORDS } from './trie/layout.ts';
import { createLookup } from './trie/lookup.ts';
import { createMemory, type IndexMemory, nodeBytesFor } from './trie/memory.ts';
import { createNodes } from './trie/nodes.ts';
import { createRemove } from './trie/remove.ts';
import { walk } from './trie/walk.ts';

export interface IpIndexOptions {
  /** Entries of both families at most. Reserved address space, not memory. Default 4,194,304. */
  readonly entriesMax?: number;
  /** Bytes of nodes at most; the default suffices for the costliest set of `entriesMax`. */
  readonly nodeBytesMax?: number;
  /** Keeps what was unlinked until no reader is in it. */
  readonly retire?: typeof createRetiredNodes;
}

interface IndexStats {
  readonly size: number;
  /** Bytes in live nodes and key blocks, both roots included; no records. */
  readonly liveBytes: number;
  /** Bytes of the same structures that were ever touched: what resides in memory. */
  readonly touchedBytes: number;
  /** Bytes of touched records, 32 for each entry. */
  readonly recordBytes: number;
  /** Nodes and entries that wait until readers forget them. */
  readonly waiting: number;
  /** Node blocks given back for reuse so far; entry numbers handed out again. */
  readonly releasedNodes: number;
  readonly reusedEntries: number;
}

/** Views of the used parts of the memory (not copies), and the state that is not in it. */
interface IndexImage {
  readonly root: Uint8Array;
  readonly nodes: Uint8Array;
  readonly keys: Uint8Array;
  readonly rows: Uint8Array;
  readonly state: IndexState;
}

export interface IndexState {
  readonly size: number;
  readonly entries: EntriesState;
  readonly arena: ArenaState;
  /** Pairs (reference, words) that waited in the retired list: free, once no reader lives. */
  readonly retired: Int32Array;
}

const ENTRIES_MAX_DEFAULT = 1 << 22;
/** Insertions stop this short of the arena's end, so that removals find room for their copies. */
const RESERVED_WORDS = 1 << 16;
/**
 * A change waits so long for readers, blocking. They need microseconds, and seconds where others have the
 * processor.
 */
const WAIT_MS_MAX = 30_000;
const WAIT_STEP_MS = 1;

/** Reserves the memory that the options ask for; a snapshot is loaded into it, too. */
export function reserveMemory(options: IpIndexOptions): IndexMemory {
  const entriesMax = options.entriesMax ?? ENTRIES_MAX_DEFAULT;
  const nodeBytesMax = options.nodeBytesMax ?? nodeBytesFor(entriesMax);
  return createMemory({ entriesMax, nodeBytesMax: nodeBytesMax - (nodeBytesMax % 16) });
}

export function createIpIndex(options: IpIndexOptions = {}) {
  return openIpIndex(reserveMemory(options), options, undefined);
}

/** Opens an index over memory that is empty, or that was filled to match `state`. */
export function openIpIndex(
  memory: IndexMemory,
  options: IpIndexOptions,
  state: IndexState | undefined,
) {
  const { control, records } = memory;
  const open = new Uint8Array(READERS_MAX);
  const epoch = writerEpoch(control, (reader) => open[reader] === 1);
  const arena = createArena(memory.nodes);
  const entriesMax = memory.rows.length / ROW_WORDS - 1;
  const entries = createEntryTable(memory, state?.entries);
  let size = state?.size ?? 0;
  let releasedNodes = 0;
  let isWalking = false;

  function release(reference: number, words: number): void {
    if (words === 0) {
      entries.release(reference);
    } else {
      arena.release(reference, words);
      releasedNodes++;
    }
  }

  if (state !== undefined) {
    arena.restore(state.arena);
    for (let i = 0; i < state.retired.length; i += 2)
      release(state.retired[i]!, state.retired[i + 1]!);
  }
  control[SIZE] = size;
  const retired = (options.retire ?? createRetiredNodes)(epoch, release);
  const nodesOf = createNodes(memory, arena);
  const tools = { memory, nodesOf, retired, epoch };
  const insertIntoTrie = createInsert(tools);
  const removeFromTrie = createRemove(tools);

  function resize(by: number): void {
    size += by;
    control[SIZE] = size;
  }

  function checkChange(prefix: IndexPrefix): void {
    if (!isPrefix(prefix)) throw new RangeError('not a masked prefix');
    if (isWalking) throw new Error('a walk must not change the index');
  }

  const view: IndexView = {
    ...createLookup(memory),
    records,
    listTimes: memory.listTimes,
    listNames: memory.listNames,
    get: (prefix) => exactEntry(memory, prefix),
    prefixOf: (entry) => prefixOf(memory, entry),
    readPrefix: (entry, out) => readPrefixOfEntry(memory, entry, out),
    walk(within, visit, walkOptions) {
      isWalking = true;
      try {
        return walk(memory, within, visit, walkOptions);
      } finally {
        isWalking = false;
      }
    },
    size: () => size,
  };

  return {
    ...view,
    /**
     * Returns the prefix's entry, made if it is new, or 0 when the index is full. `fill` runs for a new
     * entry before any reader can find it; without it the record says "nothing known". It is never full because a
     * reader holds something back, which is waited for: nodes of one journal must decide alike.
     */
    insert(prefix: IndexPrefix, fill?: (entry: number) => void): number {
      checkChange(prefix);
      const existing = exactEntry(memory, prefix);
      if (existing !== 0) return existing;
      if (size >= entriesMax || !hasRoom(CHANGE_WORDS_MAX + RESERVED_WORDS)) return 0;
      if (!entries.hasRoom() && !waitFor(entries.hasRoom)) return 0;
      const entry = entries.allocate(prefix);
      fill?.(entry);
      insertIntoTrie(prefix, entry);
      resize(1);
      retired.drainSome();
      return entry;
    },
    /** Removes an entry; returns false when there was none. */
    remove(prefix: IndexPrefix): boolean {
      checkChange(prefix);
      const entry = exactEntry(memory, prefix);
      if (entry === 0) return false;
      if (!hasRoom(CHANGE_WORDS_MAX)) throw new Error('no room for the copies of a removal');
      removeFromTrie(prefix, entry);
      retired.add(entry, 0);
      resize(-1);
      retired.drainSome();
      return true;
    },
    /** Returns a handle for one more reading thread, or undefined when all 64 are taken. */
    openReader(): ReaderHandle | undefined {
      const reader = open.indexOf(0);
      if (reader === -1) return undefined;
      clearReader(control, reader);
      open[reader] = 1;
      return { buffers: memory.buffers, reader };
    },
    /** Frees the handle of a reader whose thread has ended, in whatever state it was. */
    closeReader({ reader }: ReaderHandle): void {
      clearReader(control, reader);
      open[reader] = 0;
    },
    /** Gives back all that no reader can see any more; also done along the way. */
    reclaim: () => retired.drain(),
    stats(): IndexStats {
      const keyBytes = entries.topKey() * KEY_WORDS * 4;
      const fixed = ROOT_WORDS * 4 + keyBytes;
      return {
        size,
        liveBytes: fixed + arena.liveWords() * 4,
        touchedBytes: fixed + arena.topWords() * 4,
        recordBytes: entries.topEntry() * ROW_WORDS * 4,
        waiting: retired.size(),
        releasedNodes,
        reusedEntries: entries.reused(),
      };
    },
    /** Returns live memory and the private state, for snapshot.ts. */
    image(): IndexImage {
      return {
        root: firstBytes(memory.root, ROOT_WORDS),
        nodes: firstBytes(memory.nodes, arena.topWords()),
        keys: firstBytes(memory.keys, (entries.topKey() + 1) * KEY_WORDS),
        rows: firstBytes(memory.rows, (entries.topEntry() + 1) * ROW_WORDS),
        state: { size, entries: entries.state(), arena: arena.state(), retired: retired.items() },
      };
    },
  };

  function hasRoom(words: number): boolean {
    return arena.hasRoom(words) || waitFor(() => arena.hasRoom(words));
  }

  /**
   * Waits until readers give back what is missing. A reader that the system has suspended within a request may hold
   * back much.
   * @returns false when nothing is held back and it is missing all the same
   */
  function waitFor(isThere: () => boolean): boolean {
    for (let waitedMs = 0; ; waitedMs += WAIT_STEP_MS) {
      retired.drain();
      if (isThere()) return true;
      if (retired.size() === 0) return false;
      if (waitedMs >= WAIT_MS_MAX)
        throw new Error('a reader of the index never leaves its request');
      epoch.pause(WAIT_STEP_MS);
    }
  }
}

export type IpIndex = ReturnType<typeof openIpIndex>;

function firstBytes({ buffer, byteOffset }: Int32Array, words: number): Uint8Array {
  return new Uint8Array(buffer, byteOffset, words * 4);
}
