/**
 * One query in, one answer out, over shared memory alone: the same for UDP and TCP. Whatever goes wrong,
 * no answer ever lists an address that isn't: there is no code for an error in 127.255.255.0/24, which
 * clients without a filter would take for a listing.
 */

import { markLength, type NoteMark } from '../../access/marks.ts';
import type { IndexView } from '../../index/reader.ts';
import { COVERING_MAX } from '../../index/trie/layout.ts';
import { formatIp, type IpFamily, type IpWords } from '../../ip/address.ts';
import { createCounters } from '../counters.ts';
import {
  classInternet,
  createAnswerWriter,
  createQuestion,
  headerBytes,
  lowerCase,
  type Question,
  readQuestion,
  recordType,
  responseCode,
} from './message.ts';

interface RateOptions {
  /** Answers a second and network. */
  readonly perSecond: number;
  readonly burst: number;
  /** A power of two. */
  readonly buckets: number;
}

const rateDefaults: RateOptions = { perSecond: 20, burst: 50, buckets: 65_536 };

type RateVerdict = 'answer' | 'truncate' | 'drop';

/**
 * Networks whose hashes meet share a bucket: a full table limits more, never less.
 * @param seed drawn at start, so that nobody can aim at another network's bucket
 */
export function createResponseRate(seed: number, options: RateOptions = rateDefaults) {
  const { perSecond, burst, buckets } = options;
  if ((buckets & (buckets - 1)) !== 0) throw new RangeError('buckets must be a power of two');
  const tokens = new Float32Array(buckets).fill(burst);
  const seenMs = new Float64Array(buckets);
  /** 1: the last answer beyond the rate was the truncated one. */
  const truncated = new Uint8Array(buckets);

  return {
    /** @param nowMs monotonic */
    admit(family: IpFamily, words: Uint32Array, nowMs: number): RateVerdict {
      // The lower word of a /56 ends with a zero byte: no IPv4 network looks like one.
      const high = family === 4 ? words[0]! & 0xffffff00 : words[0]!;
      const low = family === 4 ? 1 : words[1]! & 0xffffff00;
      const bucket = mix(high, low, seed) & (buckets - 1);
      const left = Math.min(
        burst,
        tokens[bucket]! + ((nowMs - seenMs[bucket]!) * perSecond) / 1_000,
      );
      seenMs[bucket] = nowMs;
      if (left >= 1) {
        tokens[bucket] = left - 1;
        return 'answer';
      }
      tokens[bucket] = left;
      truncated[bucket] = truncated[bucket]! ^ 1;
      return truncated[bucket] === 1 ? 'truncate' : 'drop';
    },
  };
}

/** The finaliser of MurmurHash3 (Appleby, public domain) over two words. */
function mix(high: number, low: number, seed: number): number {
  let h = Math.imul(high ^ seed, 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 15) ^ low, 0xc2b2ae35);
  h = Math.imul(h ^ (h >>> 13), 0x85ebca6b);
  return (h ^ (h >>> 16)) >>> 0;
}

const outcomes = [
  'listed',
  'unlisted',
  'no_data',
  'refused_zone',
  'refused_client',
  'refused_key',
  'refused_quota',
  'refused_type',
  'malformed',
  'dropped',
  'truncated',
  'rate_limited',
  'failed',
] as const;

type DnsOutcome = (typeof outcomes)[number];
export type DnsCounters = ReturnType<typeof createDnsCounters>;

export const createDnsCounters = (buffer?: SharedArrayBuffer) => createCounters(outcomes, buffer);

/** The verdict on an address, a part of `Verdict` of the check. */
export interface Listing {
  /** 0..100; 0 of an allowlisted one. */
  readonly score: number;
  readonly malicious: boolean;
  readonly anonymousExit: boolean;
  readonly allowlisted: boolean;
}

interface ResponderOptions {
  /** The zone's name, lower case. */
  readonly zone: string;
  /** Its name servers; the first is the SOA's. None: the zone's own name stands there. */
  readonly nameServers: readonly string[];
  /** The URL of the service: TXT records link to the page of the address below it. */
  readonly baseUrl: string;
  judge(family: IpFamily, words: Uint32Array, nowMs: number): Listing;
  /** False of special-use addresses, such as private ones: they are never listed. */
  isListable(family: IpFamily, words: Uint32Array): boolean;
  /** True when something is known of IPv6 addresses that begin with these 16 bits. */
  hasBelow(first: number): boolean;
  /** May ask without a key, and without a limit. */
  isAllowed(family: IpFamily, words: Uint32Array): boolean;
  /** Slot of the account whose key's label this is, lower case; -1: nobody's. */
  accountOf(label: string): number;
  /** Takes one read of the account. */
  spend(slot: number): boolean;
  readonly noteMark: NoteMark;
  readonly rate: ReturnType<typeof createResponseRate>;
  readonly counters: DnsCounters;
  readonly clock: { now(): number; monotonicMs(): number };
}

export interface Peer extends IpWords {
  /** Over TCP the sender is not forged, and there is room. */
  readonly overTcp: boolean;
}

export type Responder = ReturnType<typeof createResponder>;

/** Seconds an answer may be kept. */
const ttl = { listed: 300, unlisted: 60, structure: 3_600 } as const;
/** RFC 5782, section 5: 127.0.0.2 is always listed, so that a client can see that the zone works. */
const testAddress = 0x7f000002;
/** The least that is malicious. */
const testScore = 75;

export function createResponder(options: ResponderOptions) {
  const { counters, rate, clock } = options;
  const names = createNameReader(options.zone);
  const question = createQuestion();
  const { zone, nameServers } = options;
  // Nobody transfers the zone, so its serial number only says when it began.
  const serial = Math.floor(clock.now() / 1_000);
  const writer = createAnswerWriter({ zone, nameServers, serial });

  /** @param out where the answer goes: 1,232 bytes. @returns its bytes, 0 for none */
  function respond(message: Uint8Array, peer: Peer, out: Uint8Array): number {
    // Also whatever is an answer itself: two servers must not talk to each other for ever.
    if (message.length < headerBytes || (message[2]! & 0x80) !== 0) return counted('dropped', 0);
    const isAllowed = options.isAllowed(peer.family, peer.words);
    const verdict =
      peer.overTcp || isAllowed
        ? 'answer'
        : rate.admit(peer.family, peer.words, clock.monotonicMs());
    if (verdict === 'drop') return counted('rate_limited', 0);
    writer.begin(message, out, peer.overTcp);
    if ((message[2]! & 0x78) !== 0) return counted('malformed', writer.header(responseCode.NOTIMP));
    if (!readQuestion(message, question)) {
      if (verdict === 'truncate') return counted('rate_limited', 0);
      return counted('malformed', writer.header(responseCode.FORMERR));
    }
    writer.question(question);
    if (verdict === 'truncate') return counted('truncated', writer.truncated());
    if (question.ednsVersion > 0 && question.edns) {
      return counted('malformed', writer.bare(responseCode.BADVERS));
    }
    try {
      return answer(message, peer, isAllowed);
    } catch {
      // Better no answer than a listing: the client asks again, or another server.
      return counted('failed', writer.bare(responseCode.SERVFAIL));
    }
  }

  function answer(message: Uint8Array, peer: Peer, isAllowed: boolean): number {
    const { type } = question;
    const isTransfer = type === recordType.AXFR || type === recordType.IXFR;
    if (question.class !== classInternet || isTransfer) return refuse('refused_type');
    const name = names.read(message, question);
    if (name.kind === 'foreign') return refuse('refused_zone');
    writer.zoneAt(name.zoneAt);
    let slot = -1;
    if (name.keyLabel >= 0) {
      slot = options.accountOf(labelText(message, name.keyLabel, keyLabelLength));
      if (slot < 0) return refuse('refused_key');
    } else if (!isAllowed && name.kind !== 'apex' && name.kind !== 'zone') {
      // A resolver that asks step by step meets these two before the label.
      recordMark(message, peer, name, 'client');
      return refuse('refused_client');
    }
    switch (name.kind) {
      case 'apex':
        return atApex(type);
      case 'zone':
      case 'part':
        return counted('no_data', writer.noData(ttl.structure));
      case 'nothing':
        return counted('unlisted', writer.noSuchName(ttl.unlisted));
      case 'address':
        if (slot >= 0 && !options.spend(slot)) return refuse('refused_quota');
        recordMark(message, peer, name, '');
        return ofAddress(name, type);
    }
  }

  function recordMark(message: Uint8Array, peer: Peer, { markLabel }: Meaning, note: string): void {
    if (markLabel < 0) return;
    options.noteMark(labelText(message, markLabel, markLength), peer, note);
  }

  function refuse(why: DnsOutcome): number {
    return counted(why, writer.bare(responseCode.REFUSED));
  }

  function atApex(type: number): number {
    if (type === recordType.SOA || type === recordType.ANY) {
      return counted('no_data', writer.soa(ttl.structure));
    }
    if (type === recordType.NS && options.nameServers.length > 0) {
      return counted('no_data', writer.nameServers(ttl.structure));
    }
    return counted('no_data', writer.noData(ttl.structure));
  }

  function ofAddress(name: Meaning, type: number): number {
    const last = listedAs(name);
    if (last === 0) {
      const { unlisted } = ttl;
      const hasBelow = name.below >= 0 && options.hasBelow(name.below);
      const bytes = hasBelow ? writer.noData(unlisted) : writer.noSuchName(unlisted);
      return counted('unlisted', bytes);
    }
    if (type === recordType.A || type === recordType.ANY) {
      const third = name.zone === 'score' ? 1 : 0;
      return counted('listed', writer.address(third, last, ttl.listed));
    }
    if (type === recordType.TXT) return counted('listed', writer.text(reason(name), ttl.listed));
    return counted('listed', writer.noData(ttl.unlisted));
  }

  let score = 0;
  /** The last octet of the answer, 0 when the zone doesn't list the address. */
  function listedAs({ family, words, zone }: Meaning): number {
    if (family === 4 && words[0] === testAddress) {
      score = testScore;
      return octetOf(zone, testScore, true, true);
    }
    if (!options.isListable(family, words)) return 0;
    const listing = options.judge(family, words, clock.now());
    if (listing.allowlisted) return 0;
    score = listing.score;
    return octetOf(zone, score, listing.malicious, listing.anonymousExit);
  }

  function reason({ family, words }: Meaning): string {
    const address = formatIp(family, words);
    return `score ${score} of 100, ${options.baseUrl}/ip/${address}`;
  }

  function labelText(message: Uint8Array, label: number, length: number): string {
    const at = question.labelAt[label]!;
    return Buffer.from(message.subarray(at, at + length))
      .toString('latin1')
      .toLowerCase();
  }

  function counted(outcome: DnsOutcome, bytes: number): number {
    counters.count(outcome);
    return bytes;
  }

  return { respond };
}

function octetOf(zone: Zone, score: number, malicious: boolean, anonymousExit: boolean): number {
  if (zone === 'score') return score;
  if (zone === 'anonymous') return anonymousExit ? 8 : 0;
  if (!malicious) return 0;
  if (score >= 95) return 4;
  return score >= 85 ? 3 : 2;
}

// Reads what a queried name means: which zone, whose key, which address. Names are read from the
// right, as RFC 5782 builds them: the zone, then `score` or `anon`, then a key's label, then a mark
// of /connect, then the address as four reversed octets, 32 reversed nibbles, or 8 or 32 hex digits
// in one label under `hex`.

/** The list that a name belongs to: malicious addresses, all that have a score, or anonymous exits. */
type Zone = 'malicious' | 'score' | 'anonymous';

/**
 * `foreign`: another zone. `apex`: the zone itself. `zone`: `score`, `anon`, or a zone below a key's label:
 * names that have others below them and say nothing of an address. `part`: the beginning of an
 * address, which has others below it too. `nothing`: no address can be spelled so.
 */
type NameKind = 'foreign' | 'apex' | 'zone' | 'part' | 'nothing' | 'address';

/** One object, reused by every call. */
interface Meaning {
  kind: NameKind;
  zone: Zone;
  /** Which label of the question is a key's, -1 for none. */
  keyLabel: number;
  /** Which label is a mark of /connect, -1 for none: it changes no answer. */
  markLabel: number;
  /** The family and the words of the named address; they count only if `kind` is `address`. */
  family: IpFamily;
  readonly words: Uint32Array;
  /**
   * Four octets of one digit each are nibbles, too: the first 16 bits of IPv6 addresses, in which something
   * may stand. -1: nothing can stand below this name.
   */
  below: number;
  /** The offset in the message at which the zone's name begins. */
  zoneAt: number;
}

const keyLabelLength = 26;
const nibbles = 32;
const octets = 4;

/** @param zone the zone's name: lower case, no dot at its end */
function createNameReader(zone: string) {
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

  /** @returns always the same object */
  function read(message: Uint8Array, question: Question): Meaning {
    meaning.keyLabel = -1;
    meaning.markLabel = -1;
    meaning.zone = 'malicious';
    meaning.below = -1;
    const below = question.labels - zoneLabels.length;
    meaning.kind = 'foreign';
    if (below < 0) return meaning;
    for (let i = 0; i < zoneLabels.length; i++) {
      if (!is(message, question, below + i, zoneLabels[i]!)) return meaning;
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
  function address(family: IpFamily): NameKind {
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

/** ::/16 (mapped, compatible, SIIT), 64::/16 (NAT64), 2001::/16 (Teredo), 2002::/16 (6to4). */
const embedding = new Set([0x0000, 0x0064, 0x2001, 0x2002]);
const belowBits = 16;
const entriesLookedAt = 256;

/**
 * Finds out whether a name of four digits, unlisted as an IPv4 address, has something below it as the
 * beginning of IPv6 addresses: something that is said of a part of that /16 or of a network around it, or an
 * IPv4 address in the form of a translator or tunnel. At most so many entries are checked: beyond them there
 * may be something. The index is asked within its request: see index/reader.ts.
 * @param isAccused whether a zone may list an entry: not what is known good or allowed, and no more
 */
export function createListedBelow(
  index: Pick<IndexView, 'covering6' | 'walk'>,
  isAccused: (entry: number) => boolean,
): (first: number) => boolean {
  const covering = new Int32Array(COVERING_MAX);

  return (first) => {
    if (embedding.has(first)) return true;
    const word = first * 2 ** belowBits;
    let found = false;
    // An entry over all of it covers its first address.
    const count = index.covering6(word, 0, 0, 0, covering);
    for (let i = 0; i < count; i++) found ||= isAccused(covering[i]!);
    if (found) return true;
    const rest = index.walk(
      { family: 6, words: Uint32Array.of(word, 0, 0, 0), length: belowBits },
      (entry) => {
        found ||= isAccused(entry);
      },
      { limit: entriesLookedAt },
    );
    return found || rest !== undefined;
  };
}
