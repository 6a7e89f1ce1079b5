/** The transport's rules for addresses: their canonical text, and which of them are trusted proxies. */

import { type AddressRules, unixPeer } from '../http/request/client-ip.ts';
import { formatIp, parseIp } from '../ip/address.ts';
import { contains } from '../ip/prefix.ts';
import { readPrefix } from '../ip/written.ts';

/** @param trustedProxies addresses, prefixes and `unix`, checked at start */
export function addressRules(trustedProxies: readonly string[]): AddressRules {
  const words = new Uint32Array(4);
  const trustsUnix = trustedProxies.includes(unixPeer);
  const networks = trustedProxies.filter((text) => text !== unixPeer);
  const prefixes = networks.map((text) => {
    const prefix = readPrefix(text);
    if (!prefix.ok) throw new Error(`'${text}' is not a prefix`);
    return prefix.value;
  });
  return {
    hasProxies: trustedProxies.length > 0,
    isTrusted(ipText) {
      if (ipText === unixPeer) return trustsUnix;
      const family = parseIp(ipText, words);
      return family !== 0 && prefixes.some((prefix) => contains(prefix, family, words));
    },
    normalise(ipText) {
      const family = parseIp(ipText, words);
      return family === 0 ? undefined : formatIp(family, words);
    },
  };
}
