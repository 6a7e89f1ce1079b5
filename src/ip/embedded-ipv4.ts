/**
 * Finds the IPv4 address behind an IPv6 one. Translators and tunnels write the IPv4 address of the
 * host that they speak for into the IPv6 address that a server sees:
 *
 *   ::ffff:0:0/96     mapped (RFC 4291); the parser has made it IPv4 already
 *   ::ffff:0:0:0/96   translated (SIIT, RFC 2765)
 *   64:ff9b::/96      NAT64 (RFC 6052)
 *   64:ff9b:1::/48    NAT64 of one network (RFC 8215): the last four bytes, and where these are 0 the
 *                     form of RFC 6052 for a prefix of 48 bits
 *   2002::/16         6to4 (RFC 3056): the gateway of the site
 *   2001::/32         Teredo (RFC 4380): the client, its bits inverted
 *   ::/96             compatible (RFC 4291, deprecated)
 *
 * Whoever is judged, reported, banned or allowed in such a form is the IPv4 address. A network's own
 * NAT64 prefix and ISATAP are not read so: what anybody can write into his own address vouches for nobody.
 * Nothing that trusts an address (proxies, clients of the DNS list) asks here.
 */

import { formatIp, type IpFamily, type IpWords, parseIp } from './address.ts';
import { maskWords, type Prefix, widthOf } from './prefix.ts';
import { containsSpecialUse, specialUse } from './special.ts';

/** Fewer bits of an IPv4 network are no network to say something of. */
const embeddedBitsMin = 8;
const scratch = new Uint32Array(4);

/** The IPv4 address that four words of IPv6 embed, as an unsigned number; -1 for none. A few ns. */
export function embeddedIpv4(words: Uint32Array): number {
  const first = words[0]!;
  if (first >>> 16 === 0x2002) return ((first << 16) | (words[1]! >>> 16)) >>> 0;
  if (first === 0x2001_0000) return ~words[3]! >>> 0;
  if (first === 0x0064_ff9b) return translatedBy(words);
  if (first !== 0 || words[1] !== 0) return -1;
  const third = words[2]!;
  if (third === 0xffff_0000 || third === 0xffff) return words[3]!;
  // `::` and `::1` are no IPv4 addresses, nor is the rest of 0.0.0.0/16.
  return third === 0 && words[3]! > 0xffff ? words[3]! : -1;
}

/** Does what `embeddedIpv4` does, for 64:ff9b::/32. */
function translatedBy(words: Uint32Array): number {
  const second = words[1]!;
  const third = words[2]!;
  if (second === 0) return third === 0 ? words[3]! : -1;
  if (second >>> 16 !== 1) return -1;
  const isSplit = words[3] === 0 && (third & 0xff00_00ff) === 0;
  return isSplit ? ((second << 16) | ((third >>> 8) & 0xffff)) >>> 0 : words[3]!;
}

/**
 * Returns the embedded IPv4 address, or -1 where there is none or it is private or otherwise special: RFC
 * 6052 forbids those, and nobody may come in with the rights of 10.0.0.1. Documentation ranges count.
 */
export function publicEmbeddedIpv4(family: IpFamily, words: Uint32Array): number {
  if (family === 4) return -1;
  const found = embeddedIpv4(words);
  if (found < 0) return -1;
  scratch[0] = found;
  const use = specialUse(4, scratch);
  return use === undefined || use.globallyReachable || use.documentation ? found : -1;
}

/**
 * Replaces an address that embeds an IPv4 address by that one.
 * @returns the family of the result
 */
export function replaceByEmbedded<F extends 0 | IpFamily>(family: F, words: Uint32Array): F | 4 {
  const found = family === 6 ? publicEmbeddedIpv4(6, words) : -1;
  if (found < 0) return family;
  words.fill(0);
  words[0] = found;
  return 4;
}

/** Reads the address that is judged: what stands behind it, or itself; undefined for anything that is no address. */
export function readJudgedIp(text: string): IpWords | undefined {
  const words = new Uint32Array(4);
  const family = replaceByEmbedded(parseIp(text, words), words);
  return family === 0 ? undefined : { family, words };
}

/** The canonical text of what stands behind an address; any other text as it is. */
export function textOfEmbedded(text: string): string {
  const ip = readJudgedIp(text);
  return ip === undefined ? text : formatIp(ip.family, ip.words);
}

/** Returns the IPv4 network whose addresses those of the prefix embed; else the prefix itself. */
export function embeddedNetwork(prefix: Prefix): Prefix {
  const { words } = prefix;
  const bits = embeddedBits(prefix);
  // A prefix that covers a large part of IPv4 stays as it is written.
  const found = bits < embeddedBitsMin ? -1 : embeddedIpv4(words);
  if (found < 0) return prefix;
  const behind = Uint32Array.of(found, 0, 0, 0);
  maskWords(4, behind, bits);
  const use = specialUse(4, behind);
  if (use !== undefined && !use.globallyReachable && !use.documentation) return prefix;
  return { family: 4, words: behind, length: bits };
}

/** Returns the number of bits of the embedded address that a prefix fixes; -1 without such an address. */
export function embeddedBits({ family, words, length }: Prefix): number {
  if (family === 4) return -1;
  const first = words[0]!;
  if (first >>> 16 === 0x2002) return length < 16 ? -1 : Math.min(32, length - 16);
  if (length < 96) return -1;
  if (first === 0x2001_0000) return length - 96;
  if (first === 0x0064_ff9b && words[1]! >>> 16 === 1) return length === 128 ? 32 : -1;
  const isTranslated = first === 0x0064_ff9b && words[2] === 0;
  const isOfIp4 = first === 0 && (words[2] === 0 || words[2] === 0xffff_0000);
  return words[1] === 0 && (isTranslated || isOfIp4) ? length - 96 : -1;
}

// Decides which addresses and networks an integration may list at all.

/** The shortest prefix of a network that is listed: nobody means a wider one. */
const lengthMin = { 4: 8, 6: 16 } as const;

/**
 * Private and other special-use addresses are never listed. Documentation ranges are: where they are in
 * the index, a demo or a test put them there. Behind a translator or tunnel it is the IPv4 address that counts.
 */
export function isListable(family: IpFamily, words: Uint32Array): boolean {
  if (publicEmbeddedIpv4(family, words) >= 0) return true;
  const use = specialUse(family, words);
  return use === undefined || use.globallyReachable || use.documentation;
}

/** The same of a network: nothing in it is special, and it is none of the widest. */
export function isListableNetwork(prefix: Prefix): boolean {
  const { family, words, length } = prefix;
  if (!isListable(family, words)) return false;
  if (length === widthOf(family)) return true;
  const bits = embeddedBits(prefix);
  if (length < lengthMin[family] || (bits >= 0 && bits < lengthMin[4])) return false;
  return !containsSpecialUse(prefix);
}
