/**
 * Marks that came with a request, as rows of the store: so a page that another node answers knows
 * of them, too. A row ends when its mark does. What can't be written now is written when the mark
 * comes again.
 *
 * Bounds, on each node: `networkMax` marks of a network (IPv4 /24, IPv6 /48), whose oldest is
 * evicted, and `knownMax` in all, where the oldest of the network with most is evicted. The row of
 * an evicted mark is deleted. When the mark comes again it is noted again.
 */

import type { BoundedTable } from '../core/bounded-tables.ts';
import type { Clock } from '../core/clock.ts';
import { every } from '../core/every.ts';
import { MaxByCountSet } from '../core/fair-share.ts';
import type { Log } from '../core/log.ts';
import { type Key, sightingKey } from '../storage/keys.ts';
import type { Store } from '../storage/store.ts';
import {
  createMarks,
  createSightingBoard,
  type MarkMemory,
  refusedSighting,
  type Spotted,
  sightingEndsAt,
} from './marks.ts';

export interface Sightings {
  /** Returns the mark that a screen puts into its commands. */
  markOf(reader: string, screen: string): string;
  /** Returns whether a request with a mark of that screen came. */
  isSeen(reader: string, screen: string): Promise<boolean>;
  /** Returns whether one came and was refused. */
  isRefused(reader: string, screen: string): Promise<boolean>;
  readonly table: BoundedTable;
  close(): void;
}

const knownMax = 4_096;
const networkMax = 64;
const takeMs = 500;
/** A row may have been deleted by another node that evicted the mark: it is looked up again. */
const lookAgainMs = 10_000;

/** A mark that is noted. */
interface Known {
  readonly sighting: Uint8Array;
  readonly network: string;
  lookedAtMs: number;
}

export function startSightings(options: {
  readonly memory: MarkMemory;
  readonly store: Pick<Store, 'get' | 'commit'>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}): Sightings {
  const { memory, store, clock, log } = options;
  const marks = createMarks({ key: memory.key, clock });
  const board = createSightingBoard(memory.board);
  /** By the sighting's text, the oldest first. */
  const known = new Map<string, Known>();
  /** The texts of `known` by network, the oldest first in each. */
  const ofNetwork = new Map<string, Set<string>>();
  const most = new MaxByCountSet<Set<string>>();

  function forget(text: string): void {
    const found = known.get(text);
    if (found === undefined) return;
    known.delete(text);
    const texts = ofNetwork.get(found.network);
    if (texts === undefined) return;
    most.less(texts, texts.size);
    texts.delete(text);
    if (texts.size === 0) ofNetwork.delete(found.network);
  }

  function forgetEnded(): void {
    const now = clock.now();
    for (const [text, { sighting }] of known) if (sightingEndsAt(sighting) <= now) forget(text);
  }

  /**
   * Returns the text of the mark to evict for one of this network; undefined when there is room.
   */
  function givingWay(network: string): string | undefined {
    const own = ofNetwork.get(network);
    if (own !== undefined && own.size >= networkMax) return own.values().next().value;
    if (known.size < knownMax) return undefined;
    return most.largest()?.values().next().value;
  }

  async function isGone(text: string, found: Known): Promise<boolean> {
    const nowMs = clock.monotonicMs();
    if (nowMs - found.lookedAtMs < lookAgainMs) return false;
    found.lookedAtMs = nowMs;
    return (
      (await store.get(sightingKey(found.sighting))) === undefined && known.get(text) === found
    );
  }

  async function write({ sighting, network }: Spotted): Promise<void> {
    const text = Buffer.from(sighting).toString('hex');
    const found = known.get(text);
    if (found !== undefined && !(await isGone(text, found))) return;
    const del: Key[] = [];
    if (found === undefined) {
      if (known.size >= knownMax) forgetEnded();
      const least = givingWay(network);
      if (least !== undefined) {
        del.push(sightingKey(known.get(least)!.sighting));
        forget(least);
      }
      known.set(text, { sighting, network, lookedAtMs: clock.monotonicMs() });
      const texts = ofNetwork.get(network) ?? new Set();
      most.more(texts, texts.size);
      ofNetwork.set(network, texts.add(text));
    }
    const expiresAt = sightingEndsAt(sighting);
    const set = [{ key: sightingKey(sighting), value: new Uint8Array(), expiresAt }];
    const done = await store.commit({ set, del });
    if (!done.ok) forget(text);
  }

  function takeAll(): void {
    for (const spotted of board.take()) {
      write(spotted).catch((error: unknown) =>
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

  const loop = every(takeMs, takeAll);
  return {
    markOf: (reader, screen) => marks.of(reader, screen)[0],
    isSeen: (reader, screen) => isStored(marks.of(reader, screen), (sighting) => sighting),
    isRefused: (reader, screen) => isStored(marks.of(reader, screen), refusedSighting),
    table: { name: 'first_requests', used: () => known.size, limit: knownMax },
    close: loop.stop,
  };
}
