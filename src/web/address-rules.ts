/** The transport's rules for addresses: their canonical text, and which of them are trusted proxies. */

import type { AddressRules } from '../http/request/client-ip.ts';
import { formatIp, parseIp } from '../ip/address.ts';
import { contains } from '../ip/prefix.ts';
import { readPrefix } from '../ip/written.ts';

/** @param trustedProxies addresses and prefixes, checked at start */
export function addressRules(trustedProxies: readonly string[]): AddressRules {
  const words = new Uint32Array(4);
  const prefixes = trustedProxies.map((text) => {
    const prefix = readPrefix(text);
    if (!prefix.ok) throw new Error(`'${text}' is not a prefix`);
    return prefix.value;
  });
  return {
    hasProxies: prefixes.length > 0,
    isTrusted(ipText) {
      const family = parseIp(ipText, words);
      return family !== 0 && prefixes.some((prefix) => contains(prefix, family, words));
    },
    normalise(ipText) {
      const family = parseIp(ipText, words);
      return family === 0 ? undefined : formatIp(family, words);
    },
  };
}
