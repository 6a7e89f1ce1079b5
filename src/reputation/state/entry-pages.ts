/**
 * The pages of the projection: which entries are in each, and the bytes of an entry in one. A page is what a
 * checkpoint writes at once: IPv4 entries by the first 16 bits of their network address, IPv6 entries by a hash
 * of the first 48 bits, so that both a dense and a scattered table make pages of a few dozen rows.
 *
 *   page 0 .. 65535        IPv4, network address >>> 16
 *   page 65536 .. 131071   IPv6, 65536 + hash16(first 48 bits)
 *
 * Members are doubly linked lists through two arrays indexed by entry number: adding and
 * removing cost a few words, whoever chose the addresses.
 *
 * Entries are written and read a million at a time at a checkpoint and at a start, so both are flat: no object
 * a field, one buffer used again.
 *
 *   prefix        u8 (0..32 IPv4 length, 64 + IPv6 length), then 4 or 16 address bytes
 *   reports       varint; if not 0: strength f32, reporters u16, first and last report u32,
 *                 ceiling that is held u8
 *   contributions varint; each: tag u32, x u32, y u32, z varint; vote u32, of reports and peers alone
 *
 * Before a row without reports stands 0xf0 and the ceiling that is held, u8, if there is one.
 *
 * The bytes of a page begin with 0xff, which no prefix does. Integers are big-endian. The page is under a checksum
 * (storage/journal/projection.ts), so a row that does not fit is not damage but a mistake: reading stops and says so,
 * nothing worse.
 */

import type { IndexPrefix } from '../../index/prefix.ts';
import type { IpFamily } from '../../ip/address.ts';
import { widthOf } from '../../ip/prefix.ts';
import { type ArrayImage, bytesOf, restoreArray } from '../../storage/journal/projection.ts';
import { contributionKinds, kindOf, reserved } from './contributions.ts';

const ipv6Base = 65_536;
/** Pages of entries; account pages are numbered from here. */
export const entryPages = 131_072;

/** Returns the page of an entry. Words are big-endian; IPv4 in the first. */
export function pageOf(family: IpFamily, word0: number, word1: number): number {
  if (family === 4) return word0 >>> 16;
  // Fibonacci hashing (Knuth, TAOCP 6.4) of the 48 bits, folded once so that both words count.
  const mixed = Math.imul(word0 ^ Math.imul(word1 >>> 16, 0x85eb_ca6b), 0x9e37_79b1);
  return ipv6Base + ((mixed ^ (mixed >>> 15)) & 0xffff);
}

export function createPageLists(entriesMax: number) {
  const heads = new Uint32Array(entryPages);
  const next = reserved(entriesMax + 1);
  const previous = reserved(entriesMax + 1);
  const pages = reserved(entriesMax + 1);
  const members = { next, previous, pages };
  /** Largest entry number that was ever a member. */
  let entryTop = 0;
  return {
    add(entry: number, page: number): void {
      const head = heads[page]!;
      pages[entry] = page;
      next[entry] = head;
      previous[entry] = 0;
      if (head !== 0) previous[head] = entry;
      heads[page] = entry;
      if (entry > entryTop) entryTop = entry;
    },
    remove(entry: number): void {
      const before = previous[entry]!;
      const after = next[entry]!;
      if (before !== 0) next[before] = after;
      else heads[pages[entry]!] = after;
      if (after !== 0) previous[after] = before;
    },
    page: (entry: number): number => pages[entry]!,
    /** Calls back for each member; the callback must not add or remove. */
    visit(page: number, callback: (entry: number) => void): void {
      for (let entry = heads[page]!; entry !== 0; entry = next[entry]!) callback(entry);
    },
    /** Views of the used parts of the arrays, for the start's snapshot. */
    image(): ArrayImage {
      const sections = new Map<string, Uint8Array>();
      sections.set('pages.top', bytesOf(Uint32Array.of(entryTop)));
      sections.set('pages.heads', bytesOf(heads));
      for (const [name, array] of Object.entries(members)) {
        sections.set(`pages.${name}`, bytesOf(array.subarray(0, entryTop + 1)));
      }
      return sections;
    },
    /** Loads an image into an empty state. @returns false when it does not fit: the state must be thrown away then */
    restore(image: ArrayImage): boolean {
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

export type PageLists = ReturnType<typeof createPageLists>;

/** First byte of a page in the present layout. */
export const pageTag = 0xff;

/** The fields of the row read last. One object, used again for each row. */
interface EntryRow {
  family: IpFamily;
  readonly words: Uint32Array;
  length: number;
  reports: number;
  strength: number;
  reporters: number;
  firstReportedAt: number;
  lastReportedAt: number;
  heldCeiling: number;
  contributions: number;
  /** Five words each: tag, x, y, z, vote. May be longer than what it holds. */
  contributionWords: Uint32Array;
}

/** Least size of one contribution, bytes. */
const contributionBytesMin = 13;
/** First byte before a row that holds a ceiling without reports; no prefix begins so. */
const heldTag = 0xf0;

/** Returns true for contributions that carry a vote. */
export function hasVote(tag: number): boolean {
  const kind = kindOf(tag);
  return kind === contributionKinds.reports || kind === contributionKinds.peer;
}

export function createEntryRow(): EntryRow {
  return {
    family: 4,
    words: new Uint32Array(4),
    length: 0,
    reports: 0,
    strength: Number.NEGATIVE_INFINITY,
    reporters: 0,
    firstReportedAt: 0,
    lastReportedAt: 0,
    heldCeiling: 0,
    contributions: 0,
    contributionWords: new Uint32Array(80),
  };
}

/** Big-endian; bytes beyond the end read as 0. */
function u32At(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0
  );
}

const floatBits = new Uint32Array(1);
const float = new Float32Array(floatBits.buffer);

function f32At(bytes: Uint8Array, at: number): number {
  floatBits[0] = u32At(bytes, at);
  return float[0]!;
}

/** End of the varint read last. */
let varintEnd = 0;

/** Below 2^53 as written; −1 for what no writer makes. */
function varintAt(bytes: Uint8Array, at: number): number {
  const first = bytes[at]!;
  if (first < 0x80) {
    varintEnd = at + 1;
    return first;
  }
  let value = 0;
  let scale = 1;
  for (let i = 0; i < 8 && at + i < bytes.length; i++) {
    const byte = bytes[at + i]!;
    value += (byte & 0x7f) * scale;
    scale *= 0x80;
    varintEnd = at + i + 1;
    if (byte < 0x80) return value;
  }
  return -1;
}

/** Reads the row that begins at `at`. @returns where the next begins, −1: it is not such a row */
export function readEntryRow(bytes: Uint8Array, at: number, row: EntryRow): number {
  row.heldCeiling = 0;
  if (bytes[at] === heldTag) {
    row.heldCeiling = bytes[at + 1]!;
    at += 2;
  }
  const first = bytes[at]!;
  const family = first < 64 ? 4 : 6;
  row.family = family;
  row.length = family === 4 ? first : first - 64;
  if (row.length > widthOf(family)) return -1;
  at++;
  row.words[0] = u32At(bytes, at);
  at += 4;
  if (family === 6) {
    for (let word = 1; word < 4; word++, at += 4) row.words[word] = u32At(bytes, at);
  }
  row.reports = varintAt(bytes, at);
  at = varintEnd;
  if (row.reports > 0) {
    row.strength = f32At(bytes, at);
    row.reporters = (bytes[at + 4]! << 8) | bytes[at + 5]!;
    row.firstReportedAt = u32At(bytes, at + 6);
    row.lastReportedAt = u32At(bytes, at + 10);
    row.heldCeiling = bytes[at + 14]!;
    at += 15;
  }
  if (row.reports < 0 || at >= bytes.length) return -1;
  row.contributions = varintAt(bytes, at);
  return row.contributions < 0 ? -1 : readContributions(bytes, varintEnd, row);
}

function readContributions(bytes: Uint8Array, at: number, row: EntryRow): number {
  const count = row.contributions;
  if (count > (bytes.length - at) / contributionBytesMin) return -1;
  if (5 * count > row.contributionWords.length) row.contributionWords = new Uint32Array(10 * count);
  const words = row.contributionWords;
  for (let word = 0; word < 5 * count; word += 5) {
    words[word] = u32At(bytes, at);
    words[word + 1] = u32At(bytes, at + 4);
    words[word + 2] = u32At(bytes, at + 8);
    const z = varintAt(bytes, at + 12);
    if (z < 0 || z > 0xffff_ffff) return -1;
    at = varintEnd;
    const votes = hasVote(words[word]!);
    words[word + 3] = z;
    words[word + 4] = votes ? u32At(bytes, at) : 0;
    if (votes) at += 4;
  }
  return at > bytes.length ? -1 : at;
}

/** Most pages are empty. */
const nothing = new Uint8Array(0);

export function createPageWriter() {
  let bytes = new Uint8Array(4_096);
  let length = 0;

  /** Makes room for one field of at most 18 bytes. */
  function reserve(): void {
    if (length + 18 <= bytes.length) return;
    const larger = new Uint8Array(2 * bytes.length);
    larger.set(bytes);
    bytes = larger;
  }

  function put32(value: number): void {
    bytes[length] = value >>> 24;
    bytes[length + 1] = value >>> 16;
    bytes[length + 2] = value >>> 8;
    bytes[length + 3] = value;
    length += 4;
  }

  function u32(value: number): void {
    reserve();
    put32(value);
  }

  return {
    /** Begins a page; it is empty until something is written. */
    clear(): void {
      length = 0;
    },
    /** @param held ceiling that is held without reports, 0 for none */
    prefix({ family, words, length: bits }: IndexPrefix, held: number): void {
      reserve();
      if (length === 0) bytes[length++] = pageTag;
      if (held !== 0) {
        bytes[length++] = heldTag;
        bytes[length++] = held;
        reserve();
      }
      bytes[length++] = family === 4 ? bits : 64 + bits;
      put32(words[0]!);
      if (family === 6) for (let word = 1; word < 4; word++) put32(words[word]!);
    },
    /** 0 to 2^53 − 1. */
    varint(value: number): void {
      reserve();
      let rest = value;
      while (rest >= 0x80) {
        bytes[length++] = (rest % 0x80) | 0x80;
        rest = Math.floor(rest / 0x80);
      }
      bytes[length++] = rest;
    },
    u8(value: number): void {
      reserve();
      bytes[length++] = value;
    },
    u16(value: number): void {
      reserve();
      bytes[length++] = value >>> 8;
      bytes[length++] = value;
    },
    u32,
    f32(value: number): void {
      float[0] = value;
      u32(floatBits[0]!);
    },
    /** Returns a copy of the bytes written since `clear`. */
    copy: () => (length === 0 ? nothing : bytes.slice(0, length)),
  };
}
