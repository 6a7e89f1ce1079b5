/**
 * Replies kept in memory for a moment, so that a flood of requests for one page costs one read of
 * the store and one rendering in that time; requests that come while it is made share it.
 *
 * Bounded in number and in bytes: at a bound the oldest is evicted. A reply whose making failed is
 * not kept. Replies must be the same for everybody who may ask with the same key.
 */

import type { BoundedTable } from '../core/bounded-tables.ts';
import type { Clock } from '../core/clock.ts';
import type { Reply } from '../http/request/message.ts';

interface CachedReply {
  readonly reply: Promise<Reply>;
  readonly madeAtMs: number;
  /** The length of the body, 0 until it is made. */
  bytes: number;
}

export function createReplyCache(options: {
  clock: Clock;
  keepMs: number;
  entriesMax: number;
  bytesMax: number;
}) {
  const { clock, keepMs, entriesMax, bytesMax } = options;
  /** Oldest first: an entry is never moved. */
  const kept = new Map<string, CachedReply>();
  let bytes = 0;

  function drop(key: string, entry: CachedReply): void {
    if (kept.get(key) !== entry) return;
    kept.delete(key);
    bytes -= entry.bytes;
  }

  function makeRoom(nowMs: number): void {
    for (const [key, entry] of kept) {
      const isOver = nowMs - entry.madeAtMs >= keepMs;
      if (!isOver && kept.size <= entriesMax && bytes <= bytesMax) return;
      drop(key, entry);
    }
  }

  /** @param key all that the reply depends on */
  function get(key: string, make: () => Promise<Reply>): Promise<Reply> {
    const nowMs = clock.monotonicMs();
    const found = kept.get(key);
    if (found !== undefined && nowMs - found.madeAtMs < keepMs) return found.reply;
    if (found !== undefined) drop(key, found);
    const entry: CachedReply = { reply: make(), madeAtMs: nowMs, bytes: 0 };
    kept.set(key, entry);
    makeRoom(nowMs);
    entry.reply.then(
      ({ body = '' }) => {
        if (kept.get(key) !== entry) return;
        entry.bytes = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
        bytes += entry.bytes;
        makeRoom(clock.monotonicMs());
      },
      () => drop(key, entry),
    );
    return entry.reply;
  }

  return {
    get,
    /** Replies and their bytes. */
    tables: (name: string): BoundedTable[] => [
      { name, used: () => kept.size, limit: entriesMax },
      { name: `${name}_bytes`, used: () => bytes, limit: bytesMax },
    ],
    /** Replies held, also those whose time is over and that nobody has pushed out yet. */
    size: (): number => kept.size,
  };
}

export type ReplyCache = ReturnType<typeof createReplyCache>;
