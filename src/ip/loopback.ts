/**
 * Tells whether an address or a name stands for this machine alone. An address that has two meanings
 * is none (address.ts), and an unknown name counts as another machine.
 */

import { parseIp } from './address.ts';

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
