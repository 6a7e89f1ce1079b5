/**
 * Remembers how far each client of a decision stream is: by key, address, program and filter, for
 * clients share keys.
 *
 * Two versions are remembered, of the last answer and of the one before it. What is sent is the net change
 * since the older one, so an answer that got lost costs nothing. Cursors belong to one process: after a
 * restart, and on another node, a client is unknown and gets the whole list with the removals of a day,
 * which is right wherever it was. Clients that go back and forth between nodes have a cursor on each.
 *
 * At the bound the cursor that was quiet longest is forgotten; a key that has `perKeyMax` loses one of
 * its own, so that names which change with each question push nobody else out.
 */

import type { BoundedTable } from '../../core/bounded-tables.ts';
import { CountsByKey } from '../../core/fair-share.ts';
import { dayMs, minuteMs } from '../../core/time.ts';

const cursorsMax = 10_000;
const perKeyMax = 1_000;
const keptMs = 7 * dayMs;
/** Some clients don't renew an element whose end is put off: it lapses, and must come back. */
const wholeListMs = dayMs;
/** A client that asked so recently is one that follows. */
const followingMs = minuteMs;

interface Cursor {
  /** Undefined: nothing is known to have arrived. */
  readonly older: number | undefined;
  readonly newer: number;
  /** The same of the account's own bans. */
  readonly olderBans: number;
  readonly newerBans: number;
  readonly wholeAtMs: number;
  readonly askedAtMs: number;
}

/** `since` undefined: the client is unknown here. `whole`: the whole list is due. */
export interface CursorPlace {
  readonly since: number | undefined;
  /** Position among the account's own bans. */
  readonly bansSince: number;
  readonly whole: boolean;
}

export interface Cursors {
  find(client: string, nowMs: number): CursorPlace;
  /** An answer as of `version` went out. @param bans the position among the account's own bans */
  move(
    client: string,
    version: number,
    how: 'started' | 'whole' | 'changes',
    nowMs: number,
    bans?: number,
  ): void;
  /** Returns whether a client asked within the last minute: the list is then built immediately. */
  isFollowed(nowMs: number): boolean;
  readonly table: BoundedTable;
}

/** The id of the key begins a client's name. */
function keyOf(client: string): string {
  return client.split(' ', 1)[0]!;
}

/** @param nowMs monotonic, everywhere */
export function createCursors(max: number = cursorsMax, maxOfKey: number = perKeyMax): Cursors {
  /** The one that was quiet longest comes first. */
  const cursors = new Map<string, Cursor>();
  /** Counts the cursors of each key, for the bound `maxOfKey`. */
  const ofKey = new CountsByKey();
  let lastMs = Number.NEGATIVE_INFINITY;

  function forget(client: string): void {
    if (cursors.delete(client)) ofKey.change(keyOf(client), -1);
  }

  function forgetQuietest(isMeant: (client: string) => boolean): void {
    for (const client of cursors.keys()) {
      if (!isMeant(client)) continue;
      forget(client);
      return;
    }
  }

  return {
    find(client, nowMs) {
      const cursor = cursors.get(client);
      if (cursor === undefined || nowMs - cursor.askedAtMs > keptMs) {
        return { since: undefined, bansSince: 0, whole: true };
      }
      const isDue = nowMs - cursor.wholeAtMs >= wholeListMs;
      const isWhole = cursor.older === undefined || isDue;
      return { since: cursor.older, bansSince: cursor.olderBans, whole: isWhole };
    },
    move(client, version, how, nowMs, bans = 0) {
      const before = cursors.get(client);
      forget(client);
      const key = keyOf(client);
      if (ofKey.of(key) >= maxOfKey) forgetQuietest((one) => keyOf(one) === key);
      if (cursors.size >= max) forgetQuietest(() => true);
      // A client that starts asks so again if the answer is lost; others don't know it was whole.
      const older = how === 'started' ? version : before?.newer;
      const olderBans = how === 'started' ? bans : (before?.newerBans ?? 0);
      const wholeAtMs = how === 'changes' ? (before?.wholeAtMs ?? nowMs) : nowMs;
      ofKey.change(key, 1);
      const lists = { older, newer: version };
      const own = { olderBans, newerBans: bans };
      cursors.set(client, { ...lists, ...own, wholeAtMs, askedAtMs: nowMs });
      lastMs = nowMs;
    },
    isFollowed: (nowMs) => nowMs - lastMs < followingMs,
    table: { name: 'bouncer_cursors', used: () => cursors.size, limit: max },
  };
}
