/**
 * Addresses and networks that an operator writes: settings, command line, trusted proxies. They are
 * read twice, by our strict parser, which decides, and by `ipaddr.js`: a text that the two take for
 * different networks is refused. So the library can never let anything in. Not for hot paths.
 */

import ipaddr from 'ipaddr.js';
import { fail, type Result } from '../core/result.ts';
import { readIp } from './address.ts';
import { formatPrefix, type Prefix, parsePrefix } from './prefix.ts';

/** `parsePrefix`, read twice; also `invalid_prefix` for a text with two meanings. The faults say the text. */
export function parseOperatorPrefix(text: string): Result<Prefix> {
  const prefix = parsePrefix(text);
  if (!prefix.ok) return { ...prefix, detail: faultOf(text, prefix.detail) };
  // The library knows no masks: it is asked of the address alone.
  const hasMask = /\/[^/]*[.:]/.test(text);
  const plain = hasMask ? formatPrefix(prefix.value) : text;
  const [given] = text.split('/');
  const isOne = !hasMask || parseOperatorPrefix(given!).ok;
  if (!(isOne && meansTheSame(plain, prefix.value))) {
    return fail('invalid_prefix', 'The address has two meanings: write it in its usual form.');
  }
  return prefix;
}

/** A fault repeats at most so many characters of what was typed. */
const shownMax = 60;

function faultOf(text: string, detail = ''): string {
  const shown = `'${text.slice(0, shownMax).replace(/\p{C}/gu, '?')}'`;
  const [address = ''] = text.split('/');
  if (readIp(address) !== undefined) return `${shown}: ${detail}`;
  return `${shown} is neither an address nor a network such as 192.0.2.0/24`;
}

/** @throws Error for a text that was not checked before */
export function checkedPrefix(text: string): Prefix {
  const prefix = parseOperatorPrefix(text);
  if (!prefix.ok) throw new Error(`'${text}' is not a prefix`);
  return prefix.value;
}

function meansTheSame(text: string, { family, words, length }: Prefix): boolean {
  const [address, addressLength] = readByLibrary(text);
  if (address === undefined) return false;
  const bytes = address.toByteArray();
  // A mapped address or network is the IPv4 one.
  const surplus = bytes.length - (family === 4 ? 4 : 16);
  if (surplus < 0 || addressLength - 8 * surplus !== length) return false;
  return bytes.slice(surplus).every((byte, i) => byte === byteAt(words, i));
}

function byteAt(words: Uint32Array, i: number): number {
  return (words[i >> 2]! >>> (24 - 8 * (i & 3))) & 255;
}

function readByLibrary(text: string): [ipaddr.IPv4 | ipaddr.IPv6 | undefined, number] {
  try {
    if (text.includes('/')) return ipaddr.parseCIDR(text);
    const address = ipaddr.parse(text);
    return [address, 8 * address.toByteArray().length];
  } catch {
    return [undefined, 0];
  }
}
