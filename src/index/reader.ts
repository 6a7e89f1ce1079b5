/**
 * The index as other threads read it: the same look-ups over the same memory, within a request.
 *
 * `enter()` begins a request and `leave()` ends it; nothing found is kept beyond, and neither
 * call may be separated from its look-ups by an `await`. A look-up outside a request throws:
 * the writer could hand its memory to another prefix halfway through. A handler that throws
 * before `leave()` does no harm but to hold memory back until the thread's next `enter()`.
 */

import { prefixOf, readPrefixOfEntry } from './entries.ts';
import type { IndexPrefix } from './prefix.ts';
import type { Records } from './records.ts';
import { type ReaderEpoch, readerEpoch, SIZE } from './trie/epochs.ts';
import { exactEntry } from './trie/exact.ts';
import { createLookup, type Lookup } from './trie/lookup.ts';
import { type IndexBuffers, viewMemory } from './trie/memory.ts';
import { type WalkOptions, type WalkPosition, walk } from './trie/walk.ts';

/** A handle for one thread, made by `IpIndex.openReader`, to be sent by `postMessage` or `workerData`. */
export interface ReaderHandle {
  readonly buffers: IndexBuffers;
  readonly reader: number;
}

export interface IndexView extends Lookup {
  /** Fields of entries; only read elsewhere than on the writer's thread. */
  readonly records: Records;
  /** The time of each list's refresh, by its number: seconds since 1970; written by the owner. */
  readonly listTimes: Uint32Array;
  /** See `IndexMemory`. */
  readonly listNames: Uint8Array;
  /** The entry of exactly this prefix; 0 = none. */
  get(prefix: IndexPrefix): number;
  /** Returns the prefix of an entry; undefined for a number not in use. */
  prefixOf(entry: number): IndexPrefix | undefined;
  /** Writes the prefix's one or four words to `out` and returns its length; -1 if not in use. */
  readPrefix(entry: number, out: Uint32Array): number;
  /** Visits the entries in `within`, itself included, in address order; see walk.ts. */
  walk(within: IndexPrefix, visit: (entry: number) => void, options?: WalkOptions): WalkPosition;
  size(): number;
}

export type IpIndexReader = IndexView & ReaderEpoch;

export function openIpIndexReader({ buffers, reader }: ReaderHandle): IpIndexReader {
  const memory = viewMemory(buffers);
  const epoch = readerEpoch(memory.control, reader);
  const lookup = createLookup(memory);

  function check(): void {
    if (!epoch.isActive()) throw new Error('a look-up outside enter() and leave()');
  }

  return {
    ...epoch,
    records: memory.records,
    listTimes: memory.listTimes,
    listNames: memory.listNames,
    find4(address) {
      check();
      return lookup.find4(address);
    },
    find6(w0, w1, w2, w3) {
      check();
      return lookup.find6(w0, w1, w2, w3);
    },
    find(family, words) {
      check();
      return lookup.find(family, words);
    },
    covering4(address, out) {
      check();
      return lookup.covering4(address, out);
    },
    covering6(w0, w1, w2, w3, out) {
      check();
      return lookup.covering6(w0, w1, w2, w3, out);
    },
    sole4(addresses, count, out) {
      check();
      lookup.sole4(addresses, count, out);
    },
    covering(family, words, out) {
      check();
      return lookup.covering(family, words, out);
    },
    get(prefix) {
      check();
      return exactEntry(memory, prefix);
    },
    prefixOf(entry) {
      check();
      return prefixOf(memory, entry);
    },
    readPrefix(entry, out) {
      check();
      return readPrefixOfEntry(memory, entry, out);
    },
    walk(within, visit, options) {
      check();
      return walk(memory, within, visit, options);
    },
    size: () => memory.control[SIZE]!,
  };
}

/** Runs work while the index may be read; for reads in a later turn than that of their request. */
export type IndexRead = <T>(work: () => T) => T;

/**
 * A piece of work is the time in which the index may be read. It ends with the turn of the event loop,
 * not with each piece: under load one announcement serves many.
 */
export function createIndexRead(reader: IpIndexReader): IndexRead {
  let leaves = false;
  function leave(): void {
    leaves = false;
    reader.leave();
  }
  return (work) => {
    reader.enter();
    if (!leaves) {
      leaves = true;
      setImmediate(leave);
    }
    return work();
  };
}
