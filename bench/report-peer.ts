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

interface RawPeer {
  /** Resolves when all rows are on disk. */
  one(): Promise<unknown>;
  close(): Promise<void>;
}

export function openRawPeer(path: string, random: Random, comment: string): RawPeer {
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
  const row = Buffer.alloc(bytes.entryHeader + bytes.rowBesideComment + comment.length, 1);
  const idRow = Buffer.alloc(bytes.entryHeader + 1 + bytes.accountId + bytes.address, 1);
  const accountRow = Buffer.alloc(bytes.entryHeader + bytes.address, 1);
  const event = Buffer.alloc(bytes.event, 1);
  const eventIdRow = Buffer.alloc(12, 1);
  let count = 0;

  /** A byte of namespace, parts, and `tail` random bytes. */
  function key(namespace: number, front: Uint8Array, tail: Uint8Array): Buffer {
    return Buffer.concat([Uint8Array.of(namespace), front, tail]);
  }

  function counter(width: number): Buffer {
    const out = Buffer.alloc(width);
    out.writeUIntBE(count, width - 6, 6);
    return out;
  }

  return {
    async one() {
      count++;
      const address = random.bytes(bytes.address);
      const id = Buffer.concat([counter(6), random.bytes(10)]);
      const account = Buffer.alloc(bytes.accountId + 1, 0x61);
      await Promise.all([
        entries!.put(key(0x30, address, Buffer.concat([counter(6), id])), row),
        entries!.put(key(0x31, id, new Uint8Array()), idRow),
        entries!.put(key(0x33, account, Buffer.concat([counter(6), id])), accountRow),
        journal!.put(counter(8), event),
        ids!.put(Buffer.from(id.toString('base64url')), eventIdRow),
      ]);
    },
    close: () => root.close(),
  };
}
