/**
 * Reads what a queried name means: which zone, whose key, which address. Names are read from the
 * right, as RFC 5782 builds them: the zone, then `score` or `anon`, then a key's label, then a mark
 * of /connect, then the address as four reversed octets, 32 reversed nibbles, or 8 or 32 hex digits
 * in one label under `hex`.
 */

import { markLength } from '../../access/marks.ts';
import { lowerCase, type Question } from './message.ts';

/**
 * The list that a name belongs to: malicious addresses, all that have a score, or anonymous exits.
 */
export type Zone = 'malicious' | 'score' | 'anonymous';

/**
 * `foreign`: another zone. `apex`: the zone itself. `zone`: `score`, `anon`, or a zone below a key's label:
 * names that have others below them and say nothing of an address. `part`: the beginning of an
 * address, which has others below it too. `nothing`: no address can be spelled so.
 */
export type NameKind = 'foreign' | 'apex' | 'zone' | 'part' | 'nothing' | 'address';

/** One object, reused by every call. */
export interface Meaning {
  kind: NameKind;
  zone: Zone;
  /** Which label of the question is a key's, -1 for none. */
  keyLabel: number;
  /** Which label is a mark of /connect, -1 for none: it changes no answer. */
  markLabel: number;
  /** The family and the words of the named address; they count only if `kind` is `address`. */
  family: 4 | 6;
  readonly words: Uint32Array;
  /**
   * Four octets of one digit each are nibbles, too: the first 16 bits of IPv6 addresses, in which something
   * may stand. -1: nothing can stand below this name.
   */
  below: number;
  /** The offset in the message at which the zone's name begins. */
  zoneAt: number;
}

export const keyLabelLength = 26;
const nibbles = 32;
const octets = 4;

export interface NameReader {
  /** @returns always the same object */
  read(message: Uint8Array, question: Question): Meaning;
}

/** @param zone the zone's name: lower case, no dot at its end */
export function createNameReader(zone: string): NameReader {
  const zoneLabels = zone.split('.').map((label) => Buffer.from(label, 'latin1'));
  const scoreLabel = Buffer.from('score');
  const anonLabel = Buffer.from('anon');
  const hexLabel = Buffer.from('hex');
  const meaning: Meaning = {
    kind: 'foreign',
    zone: 'malicious',
    keyLabel: -1,
    markLabel: -1,
    family: 4,
    words: new Uint32Array(4),
    below: -1,
    zoneAt: 0,
  };
  const { words } = meaning;

  function is(message: Uint8Array, question: Question, label: number, text: Uint8Array): boolean {
    if (question.labelLength[label] !== text.length) return false;
    const at = question.labelAt[label]!;
    for (let i = 0; i < text.length; i++) {
      if (lowerCase(message[at + i]!) !== text[i]) return false;
    }
    return true;
  }

  function read(message: Uint8Array, question: Question): Meaning {
    meaning.keyLabel = -1;
    meaning.markLabel = -1;
    meaning.zone = 'malicious';
    meaning.below = -1;
    const below = question.labels - zoneLabels.length;
    meaning.kind = 'foreign';
    if (below < 0) return meaning;
    for (const [i, text] of zoneLabels.entries()) {
      if (!is(message, question, below + i, text)) return meaning;
    }
    meaning.zoneAt = question.labelAt[below]! - 1;
    let label = below - 1;
    if (label >= 0 && is(message, question, label, scoreLabel)) {
      meaning.zone = 'score';
      label--;
    } else if (label >= 0 && is(message, question, label, anonLabel)) {
      meaning.zone = 'anonymous';
      label--;
    }
    if (label >= 0 && isKeyLabel(message, question, label)) {
      meaning.keyLabel = label;
      label--;
    }
    if (label >= 0 && isMarkLabel(message, question, label)) {
      meaning.markLabel = label;
      label--;
    }
    if (label < 0) meaning.kind = below === 0 ? 'apex' : 'zone';
    else if (is(message, question, label, hexLabel))
      meaning.kind = readHex(message, question, label);
    else meaning.kind = readReversed(message, question, label);
    return meaning;
  }

  /** @param hex the label `hex`: what stands before it is the address */
  function readHex(message: Uint8Array, question: Question, hex: number): NameKind {
    if (hex === 0) return 'part';
    const length = question.labelLength[0]!;
    if (hex !== 1 || (length !== 8 && length !== nibbles)) return 'nothing';
    words.fill(0);
    for (let i = 0; i < length; i++) {
      const digit = hexDigit(message[question.labelAt[0]! + i]!);
      if (digit < 0) return 'nothing';
      words[i >> 3] = (words[i >> 3]! << 4) | digit;
    }
    return address(length === 8 ? 4 : 6);
  }

  /** @param last the label next to the zone: the address's most significant part */
  function readReversed(message: Uint8Array, question: Question, last: number): NameKind {
    const count = last + 1;
    if (count > nibbles) return 'nothing';
    words.fill(0);
    let areOctets = count <= octets;
    let areNibbles = true;
    let quad = 0;
    for (let i = 0; i < count; i++) {
      const at = question.labelAt[last - i]!;
      const length = question.labelLength[last - i]!;
      const digit = length === 1 ? hexDigit(message[at]!) : -1;
      if (digit < 0) areNibbles = false;
      const octet = areOctets ? readOctet(message, at, length) : -1;
      if (octet < 0) areOctets = false;
      if (!areOctets && !areNibbles) return 'nothing';
      quad = (quad << 8) | octet;
      words[i >> 3] = (words[i >> 3]! << 4) | (digit & 15);
    }
    if (areOctets && count === octets) {
      // `1.0.0.2` may go on to 2001::/16: who asks step by step must not get the answer that
      // nothing follows.
      if (areNibbles && mayBegin(words[0]!, 16)) meaning.below = words[0]!;
      words[0] = quad;
      return address(4);
    }
    if (count === nibbles) return address(6);
    const isBegun = areOctets || mayBegin(words[0]!, 4 * Math.min(count, 8));
    return isBegun ? 'part' : 'nothing';
  }

  /** An IPv4-mapped address is the IPv4 address, here as everywhere. */
  function address(family: 4 | 6): NameKind {
    meaning.family = family;
    if (family === 6 && words[0] === 0 && words[1] === 0 && words[2] === 0xffff) {
      meaning.family = 4;
      words[0] = words[3]!;
    }
    return 'address';
  }

  return { read };
}

/**
 * True when an address that can be listed begins with these bits: 2000::/3, and what embeds IPv4 in ::/16 and
 * 64::/16, the test address among it.
 */
function mayBegin(value: number, bits: number): boolean {
  const first = bits > 16 ? value >>> (bits - 16) : value << (16 - bits);
  if (first >>> 13 === 1) return true;
  const known = bits > 16 ? 0xffff : (0xffff << (16 - bits)) & 0xffff;
  return first === 0 || first === (0x0064 & known);
}

/** 26 characters of base32 (RFC 4648): DNS names lose case, so an API key can't stand in one. */
function isKeyLabel(message: Uint8Array, question: Question, label: number): boolean {
  if (question.labelLength[label] !== keyLabelLength) return false;
  const at = question.labelAt[label]!;
  for (let i = 0; i < keyLabelLength; i++) {
    const byte = lowerCase(message[at + i]!);
    if ((byte < 0x61 || byte > 0x7a) && (byte < 0x32 || byte > 0x37)) return false;
  }
  return true;
}

function isMarkLabel(message: Uint8Array, question: Question, label: number): boolean {
  if (question.labelLength[label] !== markLength) return false;
  const at = question.labelAt[label]!;
  for (let i = 0; i < markLength; i++) if (hexDigit(message[at + i]!) < 0) return false;
  return true;
}

/** 0 to 255 without leading zeros, or -1. */
function readOctet(message: Uint8Array, at: number, length: number): number {
  if (length > 3 || (length > 1 && message[at] === 0x30)) return -1;
  let value = 0;
  for (let i = 0; i < length; i++) {
    const digit = message[at + i]! - 0x30;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value <= 255 ? value : -1;
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
