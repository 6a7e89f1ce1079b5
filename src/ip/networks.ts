/**
 * The networks that a client belongs to, as names to count by: the smallest that one subscriber has
 * (IPv4 /32, IPv6 /64) and the one that a provider gives out whole (IPv4 /24, IPv6 /48). Whoever
 * has one address of a network can have all, so a bound that counts addresses bounds nobody. Behind
 * a translator or tunnel (embedded-ipv4.ts) a client is its IPv4 address: one /64 of NAT64 has all of
 * IPv4, and who has one IPv4 address has a whole /48 of 6to4. The one place where addresses are
 * grouped so, for limits per client and for request slots of the transport.
 */

import { type IpFamily, parseIp } from './address.ts';
import { embeddedIpv4 } from './embedded-ipv4.ts';

export interface Networks {
  /** An IPv4 address or an IPv6 /64. */
  readonly client: string;
  /** The IPv4 /24 or IPv6 /48 around it; never the same text as a `client`. */
  readonly neighbourhood: string;
}

const words = new Uint32Array(4);

/** `clientIp` in canonical text; what is no address stands for itself. */
export function networksOf(clientIp: string): Networks {
  const family = parseIp(clientIp, words);
  if (family === 0) return { client: clientIp, neighbourhood: clientIp };
  return { client: clientOf(family, words), neighbourhood: neighbourhoodOf(family, words) };
}

/** `family` and `words` as `parseIp` gives them: IPv4 in the first word, IPv6 in four. */
export function clientOf(family: IpFamily, words: Uint32Array): string {
  const quad = quadOf(family, words);
  return quad >= 0 ? quad.toString(36) : `${words[0]!.toString(36)}:${words[1]!.toString(36)}`;
}

/** The wider network as `networksOf` names it, at most 15 characters. */
export function neighbourhoodOf(family: IpFamily, words: Uint32Array): string {
  const quad = quadOf(family, words);
  if (quad >= 0) return `${(quad >>> 8).toString(36)}/24`;
  return `${words[0]!.toString(36)}:${(words[1]! >>> 16).toString(36)}/48`;
}

/** A private one counts too: these are names, and nobody is trusted by them. */
function quadOf(family: IpFamily, words: Uint32Array): number {
  return family === 4 ? words[0]! : embeddedIpv4(words);
}
