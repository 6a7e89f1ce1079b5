/**
 * Keeps the lists of the entries of each page of the projection. A page is what a checkpoint writes
 * at once: IPv4 entries by the first 16 bits of their network address, IPv6 entries by a hash of
 * the first 48 bits, so that both a dense and a scattered table make pages of a few dozen rows.
 *
 *   page 0 .. 65535        IPv4, network address >>> 16
 *   page 65536 .. 131071   IPv6, 65536 + hash16(first 48 bits)
 *
 * Members are doubly linked lists through two arrays indexed by entry number: adding and
 * removing cost a few words, whoever chose the addresses.
 */

import { type ArrayImage, bytesOf, restoreArray } from '../../core/array-image.ts';

const ipv6Base = 65_536;
/** Pages of entries; account pages are numbered from here. */
export const entryPages = 131_072;

/** Returns the page of an entry. Words are big-endian; IPv4 in the first. */
export function pageOf(family: 4 | 6, word0: number, word1: number): number {
  if (family === 4) return word0 >>> 16;
  // Fibonacci hashing (Knuth, TAOCP 6.4) of the 48 bits, folded once so that both words count.
  const mixed = Math.imul(word0 ^ Math.imul(word1 >>> 16, 0x85eb_ca6b), 0x9e37_79b1);
  return ipv6Base + ((mixed ^ (mixed >>> 15)) & 0xffff);
}

export interface PageLists {
  add(entry: number, page: number): void;
  remove(entry: number): void;
  page(entry: number): number;
  /** Calls back for each member; the callback must not add or remove. */
  visit(page: number, callback: (entry: number) => void): void;
  /** Views of the used parts of the arrays, for the start's snapshot. */
  image(): ArrayImage;
  /**
   * Loads an image into an empty state. @returns false when it does not fit: the state must be
   * thrown away then
   */
  restore(image: ArrayImage): boolean;
}

export function createPageLists(entriesMax: number): PageLists {
  const heads = new Uint32Array(entryPages);
  const next = new Uint32Array(entriesMax + 1);
  const previous = new Uint32Array(entriesMax + 1);
  const pages = new Uint32Array(entriesMax + 1);
  const members = { next, previous, pages };
  /** Largest entry number that was ever a member. */
  let entryTop = 0;
  return {
    add(entry, page) {
      const head = heads[page]!;
      pages[entry] = page;
      next[entry] = head;
      previous[entry] = 0;
      if (head !== 0) previous[head] = entry;
      heads[page] = entry;
      if (entry > entryTop) entryTop = entry;
    },
    remove(entry) {
      const before = previous[entry]!;
      const after = next[entry]!;
      if (before !== 0) next[before] = after;
      else heads[pages[entry]!] = after;
      if (after !== 0) previous[after] = before;
    },
    page: (entry) => pages[entry]!,
    visit(page, callback) {
      for (let entry = heads[page]!; entry !== 0; entry = next[entry]!) callback(entry);
    },
    image() {
      const sections = new Map<string, Uint8Array>();
      sections.set('pages.top', bytesOf(Uint32Array.of(entryTop)));
      sections.set('pages.heads', bytesOf(heads));
      for (const [name, array] of Object.entries(members)) {
        sections.set(`pages.${name}`, bytesOf(array.subarray(0, entryTop + 1)));
      }
      return sections;
    },
    restore(image) {
      const top = new Uint32Array(1);
      if (!restoreArray(image, 'pages.top', top)) return false;
      if (!restoreArray(image, 'pages.heads', heads)) return false;
      for (const [name, array] of Object.entries(members)) {
        if (!restoreArray(image, `pages.${name}`, array)) return false;
      }
      entryTop = top[0]!;
      return true;
    },
  };
}
