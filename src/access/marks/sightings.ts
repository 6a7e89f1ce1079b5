/**
 * Marks that came with a request, as rows of the store: so a page that another node answers knows of them,
 * too. A row ends when its mark does. What can't be written now is written when the mark comes again.
 *
 * Bounds: `knownMax` marks of two hours on each node. Beyond it no further one is noted.
 */

import type { BoundedTable } from '../../core/bounded-tables.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log/log.ts';
import { sightingKey } from '../../store/keys.ts';
import type { Store } from '../../store/store.ts';
import { createMarks, refusedSighting, sightingEndsAt } from './marks.ts';
import { createSightingBoard, type MarkMemory } from './sighting-board.ts';

export interface Sightings {
  /** What a screen puts into its commands. */
  markOf(reader: string, screen: string): string;
  /** Whether a request with a mark of that screen came. */
  isSeen(reader: string, screen: string): Promise<boolean>;
  /** Whether one came and was refused. */
  isRefused(reader: string, screen: string): Promise<boolean>;
  readonly table: BoundedTable;
  close(): void;
}

const knownMax = 4_096;
const takeMs = 500;

export function startSightings(options: {
  readonly memory: MarkMemory;
  readonly store: Pick<Store, 'get' | 'commit'>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}): Sightings {
  const { memory, store, clock, log } = options;
  const marks = createMarks({ key: memory.key, clock });
  const board = createSightingBoard(memory.board);
  /** By the sighting's text: when it ends. */
  const known = new Map<string, number>();

  function forgetEnded(): void {
    const now = clock.now();
    for (const [text, endsAt] of known) if (endsAt <= now) known.delete(text);
  }

  async function write(sighting: Uint8Array): Promise<void> {
    const text = Buffer.from(sighting).toString('hex');
    if (known.has(text)) return;
    if (known.size >= knownMax) forgetEnded();
    if (known.size >= knownMax) return;
    const expiresAt = sightingEndsAt(sighting);
    known.set(text, expiresAt);
    const set = [{ key: sightingKey(sighting), value: new Uint8Array(), expiresAt }];
    const done = await store.commit({ set });
    if (!done.ok) known.delete(text);
  }

  function takeAll(): void {
    for (const sighting of board.take()) {
      write(sighting).catch((error: unknown) =>
        log.warn({ err: error }, 'connect: a first request is not noted'),
      );
    }
  }

  /** @param rowOf the sighting of a mark as the row that is looked for */
  async function isStored(
    [current, former]: readonly [string, string],
    rowOf: (sighting: Uint8Array) => Uint8Array,
  ): Promise<boolean> {
    for (const mark of [current, former]) {
      const sighting = marks.sightingOf(mark);
      if (sighting === undefined) continue;
      if ((await store.get(sightingKey(rowOf(sighting)))) !== undefined) return true;
    }
    return false;
  }

  const timer = setInterval(takeAll, takeMs);
  timer.unref();
  return {
    markOf: (reader, screen) => marks.of(reader, screen)[0],
    isSeen: (reader, screen) => isStored(marks.of(reader, screen), (sighting) => sighting),
    isRefused: (reader, screen) => isStored(marks.of(reader, screen), refusedSighting),
    table: { name: 'first_requests', used: () => known.size, limit: knownMax },
    close: () => clearInterval(timer),
  };
}
