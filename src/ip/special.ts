/**
 * Special-use addresses, by the IANA IPv4 and IPv6 Special-Purpose Address Registries
 * (RFC 6890, RFC 8190 and later rows), with multicast and the IPv6 space that IANA's address
 * space registries reserve. The most specific row wins. Where a registry says "N/A" for
 * globally reachable (6to4, Teredo, retired blocks), the address counts as not reachable:
 * public is only what a registry lets be public. An address of the translation prefix
 * 64:ff9b::/96 stands for an IPv4 address (RFC 6052, section 3.1 forbids special ones in it) and is
 * what that one is, unless that one is ordinary.
 */

import { type IpFamily, parseIp } from './address.ts';
import { contains, type Prefix, parsePrefix } from './prefix.ts';

export interface SpecialUse {
  /** The name that the registry gives it. */
  readonly name: string;
  readonly rfc: string;
  readonly globallyReachable: boolean;
  /** Set aside for examples and texts. */
  readonly documentation: boolean;
}

type RegistryRow = readonly [
  prefix: string,
  name: string,
  rfc: string,
  kind?: 'reachable' | 'example',
];

const rows: readonly RegistryRow[] = [
  ['0.0.0.0/8', 'This network', 'RFC 791'],
  ['0.0.0.0/32', 'This host on this network', 'RFC 1122'],
  ['10.0.0.0/8', 'Private-Use', 'RFC 1918'],
  ['100.64.0.0/10', 'Shared Address Space', 'RFC 6598'],
  ['127.0.0.0/8', 'Loopback', 'RFC 1122'],
  ['169.254.0.0/16', 'Link Local', 'RFC 3927'],
  ['172.16.0.0/12', 'Private-Use', 'RFC 1918'],
  ['192.0.0.0/24', 'IETF Protocol Assignments', 'RFC 6890'],
  ['192.0.0.0/29', 'IPv4 Service Continuity Prefix', 'RFC 7335'],
  ['192.0.0.8/32', 'IPv4 dummy address', 'RFC 7600'],
  ['192.0.0.9/32', 'Port Control Protocol Anycast', 'RFC 7723', 'reachable'],
  ['192.0.0.10/32', 'Traversal Using Relays around NAT Anycast', 'RFC 8155', 'reachable'],
  ['192.0.0.170/32', 'NAT64/DNS64 Discovery', 'RFC 8880'],
  ['192.0.0.171/32', 'NAT64/DNS64 Discovery', 'RFC 8880'],
  ['192.0.2.0/24', 'Documentation (TEST-NET-1)', 'RFC 5737', 'example'],
  ['192.31.196.0/24', 'AS112-v4', 'RFC 7535', 'reachable'],
  ['192.52.193.0/24', 'AMT', 'RFC 7450', 'reachable'],
  ['192.88.99.0/24', 'Deprecated (6to4 Relay Anycast)', 'RFC 7526'],
  ['192.88.99.2/32', '6a44-relay anycast address', 'RFC 6751'],
  ['192.168.0.0/16', 'Private-Use', 'RFC 1918'],
  ['192.175.48.0/24', 'Direct Delegation AS112 Service', 'RFC 7534', 'reachable'],
  ['198.18.0.0/15', 'Benchmarking', 'RFC 2544'],
  ['198.51.100.0/24', 'Documentation (TEST-NET-2)', 'RFC 5737', 'example'],
  ['203.0.113.0/24', 'Documentation (TEST-NET-3)', 'RFC 5737', 'example'],
  ['224.0.0.0/4', 'Multicast', 'RFC 5771'],
  ['240.0.0.0/4', 'Reserved', 'RFC 1112'],
  ['255.255.255.255/32', 'Limited Broadcast', 'RFC 919'],
  // ::ffff:0:0/96 has no row: an IPv4-mapped address is the IPv4 address by the time it is here.
  ['::/128', 'Unspecified Address', 'RFC 4291'],
  ['::1/128', 'Loopback Address', 'RFC 4291'],
  ['64:ff9b::/96', 'IPv4-IPv6 Translation', 'RFC 6052', 'reachable'],
  ['64:ff9b:1::/48', 'IPv4-IPv6 Translation', 'RFC 8215'],
  ['100::/64', 'Discard-Only Address Block', 'RFC 6666'],
  ['100:0:0:1::/64', 'Dummy IPv6 Prefix', 'RFC 9780'],
  ['2001::/23', 'IETF Protocol Assignments', 'RFC 2928'],
  ['2001::/32', 'TEREDO', 'RFC 4380'],
  ['2001:1::1/128', 'Port Control Protocol Anycast', 'RFC 7723', 'reachable'],
  ['2001:1::2/128', 'Traversal Using Relays around NAT Anycast', 'RFC 8155', 'reachable'],
  ['2001:1::3/128', 'DNS-SD Service Registration Protocol Anycast', 'RFC 9665', 'reachable'],
  ['2001:2::/48', 'Benchmarking', 'RFC 5180'],
  ['2001:3::/32', 'AMT', 'RFC 7450', 'reachable'],
  ['2001:4:112::/48', 'AS112-v6', 'RFC 7535', 'reachable'],
  ['2001:10::/28', 'Deprecated (previously ORCHID)', 'RFC 4843'],
  ['2001:20::/28', 'ORCHIDv2', 'RFC 7343', 'reachable'],
  ['2001:30::/28', 'Drone Remote ID Protocol Entity Tags (DETs)', 'RFC 9374', 'reachable'],
  ['2001:db8::/32', 'Documentation', 'RFC 3849', 'example'],
  ['2002::/16', '6to4', 'RFC 3056'],
  ['2620:4f:8000::/48', 'Direct Delegation AS112 Service', 'RFC 7534', 'reachable'],
  ['3fff::/20', 'Documentation', 'RFC 9637', 'example'],
  ['5f00::/16', 'Segment Routing (SRv6) SIDs', 'RFC 9602'],
  ['fc00::/7', 'Unique-Local', 'RFC 4193'],
  ['fe80::/10', 'Link-Local Unicast', 'RFC 4291'],
  ['fec0::/10', 'Deprecated (Site-Local)', 'RFC 3879'],
  ['ff00::/8', 'Multicast', 'RFC 4291'],
  // Everything outside 2000::/3 that no row above names.
  ['::/3', 'Reserved by IETF', 'RFC 4291'],
  ['4000::/2', 'Reserved by IETF', 'RFC 4291'],
  ['8000::/1', 'Reserved by IETF', 'RFC 4291'],
];

interface SpecialPrefix {
  readonly prefix: Prefix;
  readonly use: SpecialUse;
}

function toEntry([text, name, rfc, kind]: RegistryRow): SpecialPrefix {
  const prefix = parsePrefix(text);
  if (!prefix.ok) throw new Error(`special-use table: ${text}`);
  const use = {
    name,
    rfc,
    globallyReachable: kind === 'reachable',
    documentation: kind === 'example',
  };
  return { prefix: prefix.value, use };
}

interface FamilyTable {
  /** Longest prefix first, so that the first match is the most specific. */
  readonly entries: readonly SpecialPrefix[];
  /** 1 where some row begins with this top byte: most public addresses stop here. */
  readonly topBytes: Uint8Array;
}

function buildTable(family: IpFamily): FamilyTable {
  const entries = rows
    .map(toEntry)
    .filter((entry) => entry.prefix.family === family)
    .sort((a, b) => b.prefix.length - a.prefix.length);
  const topBytes = new Uint8Array(256);
  for (const { prefix } of entries) {
    const first = prefix.words[0]! >>> 24;
    const span = prefix.length >= 8 ? 1 : 1 << (8 - prefix.length);
    topBytes.fill(1, first, first + span);
  }
  return { entries, topBytes };
}

const table4 = buildTable(4);
const table6 = buildTable(6);

/** The registry row that covers the address, or undefined for an ordinary address. */
export function specialUse(family: IpFamily, words: Uint32Array): SpecialUse | undefined {
  const use = registered(family, words);
  const stoodFor = use && nat64Address(family, words);
  if (stoodFor === undefined) return use;
  const embedded = registered(4, stoodFor);
  return embedded?.globallyReachable === false ? embedded : use;
}

function registered(family: IpFamily, words: Uint32Array): SpecialUse | undefined {
  const table = family === 4 ? table4 : table6;
  if (table.topBytes[words[0]! >>> 24] === 0) return undefined;
  for (const entry of table.entries) {
    if (contains(entry.prefix, family, words)) return entry.use;
  }
  return undefined;
}

/** The IPv4 address that one of 64:ff9b::/96 stands for: its last four bytes. */
export function nat64Address(family: IpFamily, words: Uint32Array): Uint32Array | undefined {
  const isOne = family === 6 && words[0] === 0x0064_ff9b && words[1] === 0 && words[2] === 0;
  return isOne ? Uint32Array.of(words[3]!) : undefined;
}

/** Returns true when the address can be a peer on the public Internet. */
export function isPublic(family: IpFamily, words: Uint32Array): boolean {
  return specialUse(family, words)?.globallyReachable ?? true;
}

/** Returns true when a registry row that is not reachable holds all of the network. */
export function isSpecialUse(prefix: Prefix): boolean {
  const { entries } = prefix.family === 4 ? table4 : table6;
  return entries.some(
    ({ prefix: row, use }) =>
      row.length <= prefix.length &&
      !use.globallyReachable &&
      contains(row, prefix.family, prefix.words),
  );
}

/** True when a registry row that is neither reachable nor an example lies within the network. */
export function containsSpecialUse(prefix: Prefix): boolean {
  const { entries } = prefix.family === 4 ? table4 : table6;
  return entries.some(
    ({ prefix: { family, words, length }, use }) =>
      length >= prefix.length &&
      !use.globallyReachable &&
      !use.documentation &&
      contains(prefix, family, words),
  );
}

// Tells whether an address or a name stands for this machine alone. An address that has two meanings
// is none (address.ts), and an unknown name counts as another machine.

/** RFC 6761, section 6.3: whatever is below `localhost`, too. */
const localName = /^(?:[a-z0-9_-]{1,63}\.)*localhost\.?$/i;
const authority = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(?::\d{1,5})?$/i;

/** Returns whether the text is an address of 127.0.0.0/8 or ::1, in brackets or not. */
export function isLoopbackAddress(text: string): boolean {
  const words = new Uint32Array(4);
  const family = parseIp(text.replace(/^\[([^\]]*:[^\]]*)\]$/, '$1'), words);
  if (family === 4) return words[0]! >>> 24 === 127;
  return family === 6 && (words[0]! | words[1]! | words[2]!) === 0 && words[3] === 1;
}

/** Returns whether a host, as a URL or a setting has it, is this machine by its address or name. */
export function isLoopback(host: string): boolean {
  return localName.test(host) || isLoopbackAddress(host);
}

/** Returns the host of a `Host` header, without its port; empty when it has another form. */
export function hostOfAuthority(text: string): string {
  return authority.exec(text)?.[1] ?? '';
}
