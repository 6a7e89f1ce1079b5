/** Ids of feeds and of their entries for programs that tell objects apart by UUIDs: the same each time, and on each node. */

import { createHash } from 'node:crypto';

/** Drawn once: ids of this service are in it (RFC 9562, version 5). */
const space = Buffer.from('5b9f0d0e6c1c4f0f9a3de2b1a7c04d58', 'hex');

/** @param text unique for what it names; the server's address makes it unique among servers */
export function idOf(text: string): string {
  const bytes = createHash('sha1').update(space).update(text).digest().subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x50;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
