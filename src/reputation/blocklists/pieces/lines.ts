/**
 * Renders the list as lines for firewalls, with the text around each prefix, and before and after them all.
 * Every line is read by the tool it is made for; test/reputation/blocklists/builder/ and the system tests see to it.
 * Comments are whole lines: an inline one is fatal to HAProxy.
 */

import type { IpFamily } from '../../../ip/address.ts';
import {
  writeGroup,
  writeIp4,
  writeIp6,
  writeNumber,
  zeroRun,
} from '../../../ip/address-writer.ts';
import { FEED_ROW, familyOf, lengthOfRow, type Rows } from '../builder/rows.ts';

const dot = 0x2e;
const z = 0x7a;

/**
 * Writes a prefix as the name of a response policy (draft-vixie-dnsop-dns-rpz, section 4.1.1): its
 * length, then the address from its end, octets for IPv4, groups for IPv6 with `zz` for the run that
 * `::` stands for, such as `24.0.113.0.203` and `128.7.zz.db8.2001`.
 * @returns the offset behind the text
 */
function writePolicyName(view: DataView, at: number, rows: Rows, row: number): number {
  at = writeNumber(view, at, lengthOfRow(rows, row));
  if (familyOf(rows, row) === 4) {
    for (let shift = 0; shift < 32; shift += 8) {
      view.setUint8(at, dot);
      at = writeNumber(view, at + 1, (rows[row]! >>> shift) & 255);
    }
    return at;
  }
  const { start, length } = zeroRun(rows, row);
  for (let group = 7; group >= 0; group--) {
    view.setUint8(at++, dot);
    if (group === start + length - 1 && length > 1) {
      view.setUint8(at++, z);
      view.setUint8(at++, z);
      group = start;
      continue;
    }
    const word = rows[row + (group >>> 1)]!;
    at = writeGroup(view, at, (group & 1) === 1 ? word & 0xffff : word >>> 16);
  }
  return at;
}

/** The form of a line. Formats with the same lines share their memory. */
export type LineStyle = 'plain' | 'ipset' | 'nft' | 'nginx' | 'geo' | 'mikrotik' | 'rpz';

/** Sets of firewalls, so named that those of several feeds stand side by side. */
export interface SetNames {
  readonly ipset: string;
  readonly nft: string;
  readonly mikrotik: string;
}

const blocklistSets: SetNames = {
  ipset: 'portcullis',
  nft: 'blocklist',
  mikrotik: 'portcullis',
};

const lineAffixes: Readonly<
  Record<LineStyle, (family: IpFamily, sets: SetNames) => readonly [string, string]>
> = {
  plain: () => ['', '\n'],
  ipset: (family, { ipset }) => [`add ${ipset}${family}-next `, '\n'],
  nft: () => ['', ',\n'],
  nginx: () => ['deny ', ';\n'],
  geo: () => ['', ' 1;\n'],
  mikrotik: (_, { mikrotik }) => [`add list=${mikrotik} address=`, '\n'],
  // No such name: the policy that a resolver follows for answers with such an address.
  rpz: () => ['', '.rpz-ip CNAME .\n'],
};

/** Longest line: an IPv6 prefix and what stands around it. */
const lineBytesMax = 128;

/** The texts before and behind each prefix. */
type LineTexts = readonly FixedText[];

export function lineTexts(style: LineStyle, family: IpFamily, sets = blocklistSets): LineTexts {
  return lineAffixes[style](family, sets).map(fixedText);
}

/** @param rows of one family */
export function renderLines(
  rows: Rows,
  style: LineStyle,
  [before, behind]: LineTexts,
  sink: TextSink,
): void {
  const write = style === 'rpz' ? writePolicyName : writePrefix;
  let view = sink.reserve(lineBytesMax);
  let at = sink.length;
  for (let row = 0; row < rows.length; row += FEED_ROW) {
    if (at + lineBytesMax > view.byteLength) {
      sink.length = at;
      view = sink.reserve(lineBytesMax);
    }
    at = writeFixed(view, at, before!);
    at = write(view, at, rows, row);
    at = writeFixed(view, at, behind!);
  }
  sink.length = at;
}

/** The operator's texts in all feeds. */
export interface OperatorTexts {
  readonly homeUrl: string;
  /** Terms under which the list may be used; one line. */
  readonly licence: string;
}

export interface FrameFacts extends OperatorTexts {
  /** The feed's content in a few words. */
  readonly title: string;
  /** ISO 8601. */
  readonly changedAt: string;
  /** Undefined when the feed has none. */
  readonly version: number | undefined;
  readonly families: readonly IpFamily[];
  /** Lines of each family. */
  readonly counts: Readonly<Record<IpFamily, number>>;
  readonly scoreMin: number | undefined;
  readonly aggregated: boolean;
  /** Absent: those of the blocklist. */
  readonly sets?: SetNames;
}

/** Before the lines of a family, and behind them. */
export interface Frame {
  readonly head: string;
  readonly before: (family: IpFamily) => string;
  readonly behind: (family: IpFamily) => string;
  readonly foot: string;
}

const none = () => '';

function commentHead(facts: FrameFacts): string {
  const { counts, families, version, scoreMin } = facts;
  const total = families.reduce((sum, family) => sum + counts[family], 0);
  const parts = families.map((family) => `IPv${family}: ${counts[family]}`).join(', ');
  return [
    `# Name: ${facts.title}`,
    `# Last change: ${facts.changedAt}`,
    ...(version === undefined ? [] : [`# Version: ${version}`]),
    `# Entries: ${total} (${parts})`,
    ...(scoreMin === undefined ? [] : [`# Minimum score: ${scoreMin}`]),
    ...(facts.aggregated ? ['# Aggregated: yes'] : []),
    `# Licence: ${facts.licence}`,
    `# Home page: ${facts.homeUrl}`,
    '',
  ].join('\n');
}

export type FrameName = 'text' | 'ipset' | 'nft' | 'mikrotik' | 'rbldnsd' | 'rpz';

export const frames: Readonly<Record<FrameName, (facts: FrameFacts) => Frame>> = {
  text: (facts) => ({ head: commentHead(facts), before: none, behind: none, foot: '' }),
  ipset: ipsetFrame,
  nft: nftFrame,
  mikrotik: mikrotikFrame,
  rbldnsd: rbldnsdFrame,
  rpz: policyFrame,
};

/**
 * Entries that a set may hold: more than a feed ever has, and the same for every list. `create
 * -exist` fails on a set with another bound, so one that grew with the list would be the last to
 * load. It costs nothing: ipset takes memory for what is in a set.
 */
const setEntriesMax = 2 ** 21;

/** Fills sets of other names and swaps them with the live ones: no packet meets half a list. */
function ipsetFrame(facts: FrameFacts): Frame {
  const { ipset } = facts.sets ?? blocklistSets;
  return {
    head: commentHead(facts),
    before(family) {
      const name = `${ipset}${family}`;
      const type = `hash:net family ${family === 4 ? 'inet' : 'inet6'} maxelem ${setEntriesMax}`;
      return [
        `create ${name} ${type} -exist`,
        `create ${name}-next ${type} -exist`,
        `flush ${name}-next`,
        '',
      ].join('\n');
    },
    behind: (family) =>
      `swap ${ipset}${family} ${ipset}${family}-next\ndestroy ${ipset}${family}-next\n`,
    foot: '',
  };
}

/** One file is one transaction for nft. Entries may lie in one another: auto-merge allows it. */
function nftFrame(facts: FrameFacts): Frame {
  const { nft } = facts.sets ?? blocklistSets;
  return {
    head: `${commentHead(facts)}add table inet portcullis\n`,
    before(family) {
      const name = `inet portcullis ${nft}${family}`;
      const set = `add set ${name} { type ipv${family}_addr; flags interval; auto-merge; }\nflush set ${name}\n`;
      // An empty list of elements is an error of syntax.
      return facts.counts[family] === 0 ? set : `${set}add element ${name} {\n`;
    },
    behind: (family) => (facts.counts[family] === 0 ? '' : '}\n'),
    foot: '',
  };
}

function mikrotikFrame(facts: FrameFacts): Frame {
  const { mikrotik } = facts.sets ?? blocklistSets;
  return {
    head: commentHead(facts),
    before: (family) =>
      `/ip${family === 4 ? '' : 'v6'} firewall address-list\nremove [find list=${mikrotik}]\n`,
    behind: none,
    foot: '',
  };
}

/**
 * ip4set, ip4trie and ip6trie read the same lines; `$` in the text becomes the address. The test
 * point of RFC 5782, section 5, is always listed: clients ask for it to see whether a zone works.
 */
function rbldnsdFrame(facts: FrameFacts): Frame {
  const link = facts.homeUrl.replace(/\/feeds$/, '/ip/$');
  return {
    head: `${commentHead(facts)}$TTL 300\n:127.0.0.2:Listed, see ${link}\n`,
    before: (family) => (family === 4 ? '127.0.0.2\n' : '::ffff:7f00:2\n'),
    behind: none,
    foot: '',
  };
}

/**
 * A response policy zone, as a master file (RFC 1035). Nobody transfers it: the serial number is the
 * second of the last change, so that a resolver that compares takes the newer one.
 */
function policyFrame(facts: FrameFacts): Frame {
  const serial = Math.floor(Date.parse(facts.changedAt) / 1_000);
  return {
    head: [
      commentHead(facts).replaceAll(/^#/gm, ';'),
      '$TTL 300\n',
      `@ SOA localhost. hostmaster.localhost. ${serial} 900 300 604800 300\n`,
      '@ NS localhost.\n',
    ].join(''),
    before: none,
    behind: none,
    foot: '',
  };
}

// Text written as bytes into one growing array: a row costs some 20 ns instead of a string and its
// encoding. Writers take a view and an offset and return the offset behind; they store whole words
// (see ip/address-writer.ts), so a row needs `slackBytes` more room than its text.

const slackBytes = 8;
const startBytes = 1 << 16;

export class TextSink {
  view = new DataView(new ArrayBuffer(startBytes));
  /** Bytes written: to be set by whoever writes through `view`. */
  length = 0;

  /** The view to go on with, with room for `more` bytes at `length`. */
  reserve(more: number): DataView {
    const needed = this.length + more + slackBytes;
    if (needed > this.view.byteLength) {
      const larger = new Uint8Array(Math.max(2 * this.view.byteLength, needed));
      larger.set(new Uint8Array(this.view.buffer, 0, this.length));
      this.view = new DataView(larger.buffer);
    }
    return this.view;
  }

  /** Returns the text in memory that is written over from now on, and empties the sink. */
  take(): Uint8Array {
    const text = new Uint8Array(this.view.buffer, 0, this.length);
    this.length = 0;
    return text;
  }

  /** Returns the text in memory of its own that threads share, and empties the sink. */
  takeShared(): Uint8Array {
    return sharedCopy(this.take());
  }

  /** Gives back a large array, so that one large list is not held for ever. */
  release(): void {
    this.view = new DataView(new ArrayBuffer(startBytes));
    this.length = 0;
  }
}

/** Returns a copy in memory that threads share. */
export function sharedCopy(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}

/** Text that is written many times over. */
export interface FixedText {
  /** Four bytes each, the last one filled up. */
  readonly words: Int32Array;
  readonly bytes: number;
}

export function fixedText(text: string): FixedText {
  const bytes = Buffer.from(text);
  const words = new Int32Array(Math.ceil(bytes.length / 4));
  new Uint8Array(words.buffer).set(bytes);
  // The words are stored as they lie: what a little-endian view writes must be the same bytes.
  const view = new DataView(words.buffer);
  for (let i = 0; i < words.length; i++) words[i] = view.getInt32(4 * i, true);
  return { words, bytes: bytes.length };
}

export function writeFixed(view: DataView, at: number, { words, bytes }: FixedText): number {
  for (let i = 0, to = at; i < words.length; i++, to += 4) view.setInt32(to, words[i]!, true);
  return at + bytes;
}

/** `1.2.3.4`, `1.2.3.0/24`, the same for IPv6: no length where it is the whole address. */
export function writePrefix(view: DataView, at: number, rows: Rows, row: number): number {
  const length = lengthOfRow(rows, row);
  if (familyOf(rows, row) === 4) {
    at = writeIp4(view, at, rows[row]!);
    if (length === 32) return at;
  } else {
    at = writeIp6(view, at, rows, row);
    if (length === 128) return at;
  }
  view.setUint8(at, 0x2f);
  return writeNumber(view, at + 1, length);
}
