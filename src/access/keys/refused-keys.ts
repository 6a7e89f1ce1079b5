/**
 * Remembers why the last request with a key was refused, for the page on which its owner connects something. Of a key
 * it holds the public part alone.
 *
 * Bound: `keysMax` keys, the oldest note is evicted; a note ends after an hour.
 */

import type { BoundedTable } from '../../core/bounded-tables.ts';
import type { Clock } from '../../core/clock.ts';
import { hourMs } from '../../core/time.ts';
import { parseKey } from './key-format.ts';

const keysMax = 4_096;

export function createRefusedKeys(clock: Pick<Clock, 'monotonicMs'>) {
  const notes = new Map<string, { status: number; parameter: string; atMs: number }>();
  const table: BoundedTable = { name: 'refused_keys', used: () => notes.size, limit: keysMax };
  return {
    table,
    /**
     * @param text of a key as it came; what is none is ignored
     * @param parameter the one that was wrong; empty where none was
     */
    note(text: string, status: number, parameter: string): void {
      const key = parseKey(text);
      if (!key.ok) return;
      notes.delete(key.value.id);
      const [oldest] = notes.keys();
      if (notes.size >= keysMax && oldest !== undefined) notes.delete(oldest);
      notes.set(key.value.id, { status, parameter, atMs: clock.monotonicMs() });
    },
    /** Forgets the note: the last request with the key was answered. */
    clear(text: string): void {
      if (notes.size === 0) return;
      const key = parseKey(text);
      if (key.ok) notes.delete(key.value.id);
    },
    of(keyId: string): { readonly status: number; readonly parameter: string } | undefined {
      const found = notes.get(keyId);
      if (found === undefined || clock.monotonicMs() - found.atMs > hourMs) return undefined;
      return found;
    },
  };
}

export type RefusedKeys = ReturnType<typeof createRefusedKeys>;
