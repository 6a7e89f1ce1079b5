/**
 * The peer of the reports bench: raw lmdb puts of the rows that one report leaves behind, keys
 * and values of the same lengths and spread, with the same sync, and nothing else: no check, no
 * counter, no fold. What guards against a second report is in memory, so no row is written for it.
 */

import { open } from 'lmdb';
import type { Random } from '../src/core/random.ts';

/** Lengths of a stored report's rows; see docs/STORAGE.md. */
const bytes = {
  accountId: 16,
  address: 17,
  entryHeader: 12,
  /** Layout, account, slot, country, categories, and the length of the comment. */
  rowBesideComment: 29,
  /** Header, id and kind of the event, and its body. */
  event: 10 + 22 + 12 + 26,
} as const;

/** @returns `one` resolves when all rows are on disk */
export function openRawPeer(path: string, random: Random, comment: string) {
  const options = { encoding: 'binary', keyEncoding: 'binary' } as const;
  const root = open<Buffer, Uint8Array>({
    path,
    ...options,
    overlappingSync: false,
    eventTurnBatching: false,
    mapSize: 64 * 2 ** 30,
    maxDbs: 8,
  });
  const table = (name: string) => root.openDB<Buffer, Uint8Array>(name, options);
  const [entries, journal, ids] = ['entries', 'journal', 'event_ids'].map(table);
  const filled = (length: number) => Buffer.alloc(length, 1);
  const row = filled(bytes.entryHeader + bytes.rowBesideComment + comment.length);
  const idRow = filled(bytes.entryHeader + 1 + bytes.accountId + bytes.address);
  const accountRow = filled(bytes.entryHeader + bytes.address);
  const [event, eventIdRow] = [filled(bytes.event), filled(12)];
  const account = Buffer.alloc(bytes.accountId + 1, 0x61);
  let count = 0;

  /** A byte of namespace, and parts. */
  const key = (namespace: number, ...parts: readonly Uint8Array[]) =>
    Buffer.concat([Uint8Array.of(namespace), ...parts]);

  function counter(width: number): Buffer {
    const out = Buffer.alloc(width);
    out.writeUIntBE(count, width - 6, 6);
    return out;
  }

  return {
    async one() {
      count++;
      const at = counter(6);
      const id = Buffer.concat([at, random.bytes(10)]);
      await Promise.all([
        entries!.put(key(0x30, random.bytes(bytes.address), at, id), row),
        entries!.put(key(0x31, id), idRow),
        entries!.put(key(0x33, account, at, id), accountRow),
        journal!.put(counter(8), event),
        ids!.put(Buffer.from(id.toString('base64url')), eventIdRow),
      ]);
    },
    close: () => root.close(),
  };
}
