/**
 * Entry numbers and the prefixes behind them. A number names one prefix from its insertion
 * until every reader has forgotten it; then it is given to another prefix.
 *
 * Free rows and free key blocks form lists through their own words, so they need no memory
 * besides. Only the writer follows these lists: a number is released after its grace period.
 */

import { wordCountOf } from '../ip/address.ts';
import type { IndexPrefix } from './prefix.ts';
import {
  clearRecord,
  KEY,
  LENGTH,
  LENGTH_4,
  LENGTH_6,
  LENGTH_FREE,
  LENGTH_MASK,
  LENGTH_UNUSED,
  PARENT,
  ROW_SHIFT,
  ROW_WORDS,
} from './records.ts';
import { KEY_ENTRY, KEY_LENGTH, KEY_WORDS } from './trie/layout.ts';
import type { IndexMemory } from './trie/memory.ts';

/** Bits in the entry's prefix, in its own family. */
export function lengthOf(rows: Int32Array, entry: number): number {
  const length = rows[(entry << ROW_SHIFT) + LENGTH]! & LENGTH_MASK;
  return length < LENGTH_6 ? length - LENGTH_4 : length - LENGTH_6;
}

/** Writes the prefix's words (one or four) to `out`. The entry must be in use. */
export function copyWords(memory: IndexMemory, entry: number, out: Uint32Array): void {
  const row = entry << ROW_SHIFT;
  const key = memory.rows[row + KEY]!;
  if ((memory.rows[row + LENGTH]! & LENGTH_MASK) < LENGTH_6) {
    out[0] = key;
    return;
  }
  for (let word = 0; word < 4; word++) out[word] = memory.keys[key * KEY_WORDS + word]!;
}

/** Returns the code in the row; `LENGTH_UNUSED` for 0 and for a number out of range. */
function lengthCode({ rows }: IndexMemory, entry: number): number {
  const word = entry > 0 ? rows[(entry << ROW_SHIFT) + LENGTH] : undefined;
  return word === undefined ? LENGTH_UNUSED : word & LENGTH_MASK;
}

/** Returns undefined for 0, for a number out of range and for one not in use. */
export function prefixOf(memory: IndexMemory, entry: number): IndexPrefix | undefined {
  const length = lengthCode(memory, entry);
  if (length === LENGTH_UNUSED || length === LENGTH_FREE) return undefined;
  const family = length < LENGTH_6 ? 4 : 6;
  const words = new Uint32Array(wordCountOf(family));
  copyWords(memory, entry, words);
  return { family, words, length: lengthOf(memory.rows, entry) };
}

/** Writes the prefix's words to `out`, for walks, and returns its length; -1 if not in use. */
export function readPrefixOfEntry(memory: IndexMemory, entry: number, out: Uint32Array): number {
  const length = lengthCode(memory, entry);
  if (length === LENGTH_UNUSED || length === LENGTH_FREE) return -1;
  copyWords(memory, entry, out);
  return lengthOf(memory.rows, entry);
}

export interface EntriesState {
  readonly topEntry: number;
  readonly freeEntry: number;
  readonly topKey: number;
  readonly freeKey: number;
}

export function createEntryTable(memory: IndexMemory, from?: EntriesState) {
  const { rows, keys, records } = memory;
  const entriesMax = rows.length / ROW_WORDS - 1;
  let topEntry = from?.topEntry ?? 0;
  let freeEntry = from?.freeEntry ?? 0;
  let topKey = from?.topKey ?? 0;
  let freeKey = from?.freeKey ?? 0;
  let reused = 0;

  function takeEntry(): number {
    if (freeEntry === 0) return ++topEntry;
    const entry = freeEntry;
    freeEntry = rows[(entry << ROW_SHIFT) + KEY]!;
    reused++;
    return entry;
  }

  function takeKey(): number {
    if (freeKey === 0) return ++topKey;
    const key = freeKey;
    freeKey = keys[key * KEY_WORDS]!;
    return key;
  }

  return {
    /** A cleared record for the prefix, or 0 when all numbers are taken. */
    allocate({ family, words, length }: IndexPrefix): number {
      if (freeEntry === 0 && topEntry === entriesMax) return 0;
      const entry = takeEntry();
      const row = entry << ROW_SHIFT;
      clearRecord(records, entry);
      rows[row + PARENT] = 0;
      if (family === 4) {
        rows[row + KEY] = words[0]!;
        rows[row + LENGTH] = LENGTH_4 + length;
        return entry;
      }
      const key = takeKey();
      const block = key * KEY_WORDS;
      for (let word = 0; word < 4; word++) keys[block + word] = words[word]!;
      keys[block + KEY_ENTRY] = entry;
      keys[block + KEY_LENGTH] = length;
      rows[row + KEY] = key;
      rows[row + LENGTH] = LENGTH_6 + length;
      return entry;
    },
    /** Frees an entry, after the grace period only. */
    release(entry: number): void {
      const row = entry << ROW_SHIFT;
      if ((rows[row + LENGTH]! & LENGTH_MASK) >= LENGTH_6) {
        const key = rows[row + KEY]!;
        keys[key * KEY_WORDS] = freeKey;
        freeKey = key;
      }
      rows[row + LENGTH] = LENGTH_FREE;
      rows[row + KEY] = freeEntry;
      freeEntry = entry;
    },
    hasRoom: (): boolean => freeEntry !== 0 || topEntry < entriesMax,
    /** Numbers handed out again after another prefix held them. */
    reused: (): number => reused,
    /** Highest number ever in use, and the highest key block. */
    topEntry: (): number => topEntry,
    topKey: (): number => topKey,
    state: (): EntriesState => ({ topEntry, freeEntry, topKey, freeKey }),
  };
}
