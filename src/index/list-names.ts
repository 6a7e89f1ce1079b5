/** Names of lists in shared memory, by their numbers. A name that is being written reads as none. */

import { LIST_NAME_BYTES } from './trie/memory.ts';

/**
 * The number of the manual entries among lists, above those of all lists (config.ts, `sources`).
 */
export const ownEntriesList = 255;

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
