/**
 * Keys of the LMDB tables beside `entries` (lmdb-tables.ts). Each table has one kind of key, so they
 * need no namespace byte. Times and versions are 48-bit: enough until the year 10889.
 */

/** `journal`: seq:u64. */
export function journalRowKey(seq: number): Uint8Array {
  const key = Buffer.allocUnsafe(8);
  key.writeUInt32BE(Math.floor(seq / 0x1_0000_0000), 0);
  key.writeUInt32BE(seq >>> 0, 4);
  return key;
}

/** `event_ids`: the id as UTF-8. */
export const eventIdRowKey = (id: string): Uint8Array => Buffer.from(id, 'utf8');

/** `expiry`: expires-at:u48 version:u48. The version tells entries of one moment apart. */
export function expiryRowKey(expiresAt: number, version: number): Uint8Array {
  const key = Buffer.allocUnsafe(12);
  key.writeUIntBE(expiresAt, 0, 6);
  key.writeUIntBE(version, 6, 6);
  return key;
}

/** `meta`: a name. */
export const metaRowKey = (
  name: 'format' | 'migration' | 'counters' | 'probe' | 'identity' | 'master_key' | 'move',
): Uint8Array => Buffer.from(name, 'utf8');
