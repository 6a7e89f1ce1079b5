/**
 * The networks that a client belongs to, as names to count by: the smallest that one subscriber has
 * (IPv4 /32, IPv6 /64) and the one that a provider gives out whole (IPv4 /24, IPv6 /48). Whoever has
 * one address of a network can have all, so a bound that counts addresses bounds nobody. The one
 * place where addresses are grouped so, for limits per client and for places of the transport.
 */

import { parseIp } from './address.ts';

export interface Networks {
  readonly client: string;
  /** The wider one; never the same text as a `client`. */
  readonly network: string;
}

const words = new Uint32Array(4);

/** `clientIp` in canonical text; what is no address stands for itself. */
export function networksOf(clientIp: string): Networks {
  const family = parseIp(clientIp, words);
  if (family === 0) return { client: clientIp, network: clientIp };
  return { client: clientOf(family, words), network: wideClientOf(family, words) };
}

/** `family` and `words` as `parseIp` gives them: IPv4 in the first word, IPv6 in four. */
export function clientOf(family: 4 | 6, words: Uint32Array): string {
  const first = words[0]!.toString(36);
  return family === 4 ? first : `${first}:${words[1]!.toString(36)}`;
}

function wideClientOf(family: 4 | 6, words: Uint32Array): string {
  const first = words[0]!;
  if (family === 4) return `${(first >>> 8).toString(36)}/24`;
  return `${first.toString(36)}:${(words[1]! >>> 16).toString(36)}/48`;
}
