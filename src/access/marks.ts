/**
 * Marks: what a screen of /connect puts into its commands, so that their first request shows which
 * screen it came from. Nothing is stored for one: it follows from the reader's browser, the screen
 * and the hour, and is signed, so that every thread and every node knows its own:
 *
 *   hour u32 · HMAC(reader, screen, hour) 8 · HMAC(the twelve bytes before) 8      as 40 hex digits
 *
 * Hex, for a mark also stands in DNS names, which lose case. Whoever doesn't have the reader's
 * cookie can neither guess a mark nor make one. It counts in its hour and the next one; after that
 * it says nothing.
 */

import { createHmac } from 'node:crypto';
import type { Clock } from '../core/clock.ts';
import { equalBytes } from '../core/crypto.ts';
import { every } from '../core/every.ts';
import { MaxByCountSet } from '../core/fair-share.ts';
import type { Log } from '../core/log.ts';
import { hourMs } from '../core/time.ts';
import type { IpFamily } from '../ip/address.ts';
import { neighbourhoodOf } from '../ip/networks.ts';
import { type Key, sightingKey } from '../storage/keys.ts';
import type { Store } from '../storage/store.ts';

/** Whoever composes the service derives the signing key for this purpose. */
export const markKeyPurpose = 'connect mark 1';
export const markLength = 40;
/** Length of the hour and the name of a mark: the part that is passed on and stored. */
const sightingBytes = 12;
const macBytes = 8;
const shape = /^[0-9a-f]{40}$/;
/** A node's clock may be behind that of the node that made it. */
const hoursAheadMax = 1;

/** Returns whether a text has the form of a mark. It may be expired or forged. */
export function isMark(text: string): boolean {
  return shape.test(text);
}

/** Returns the time from which on nothing asks for the sighting, ms since 1970. */
export function sightingEndsAt(sighting: Uint8Array): number {
  return (Buffer.from(sighting).readUInt32BE(0) + 2) * hourMs;
}

/** Returns the sighting for a mark whose request was refused. It expires with the mark; no mark leads to it. */
function refusedSighting(sighting: Uint8Array): Uint8Array {
  return sighting.map((byte, i) => (i < 4 ? byte : byte ^ 0xff));
}

/** @param options.key 32 bytes, the same on all nodes */
export function createMarks(options: {
  readonly key: Uint8Array;
  readonly clock: Pick<Clock, 'now'>;
}) {
  const { key, clock } = options;
  const hmac = (data: string | Uint8Array) =>
    createHmac('sha256', key).update(data).digest().subarray(0, macBytes);
  const hourNow = () => Math.floor(clock.now() / hourMs);

  function make(reader: string, screen: string, hour: number): string {
    const body = Buffer.alloc(sightingBytes);
    body.writeUInt32BE(hour);
    body.set(hmac(`mark ${hour} ${screen} ${reader}`), 4);
    return Buffer.concat([body, hmac(body)]).toString('hex');
  }

  return {
    /** Returns the marks that a reader's screen may have shown: of this hour, and of the one before. */
    of: (reader: string, screen: string): readonly [string, string] => [
      make(reader, screen, hourNow()),
      make(reader, screen, hourNow() - 1),
    ],
    /** Returns the sighting of a mark; undefined for a text that is forged, expired or no mark. */
    sightingOf(text: string): Uint8Array | undefined {
      if (!isMark(text)) return undefined;
      const bytes = Buffer.from(text, 'hex');
      const age = hourNow() - bytes.readUInt32BE(0);
      if (age > 1 || age < -hoursAheadMax) return undefined;
      const body = bytes.subarray(0, sightingBytes);
      return equalBytes(bytes.subarray(sightingBytes), hmac(body)) ? body : undefined;
    },
  };
}

// The board in shared memory on which request threads leave the marks that they saw, for the main thread:
//
//   cell, 88 bytes: state i32 · sighting 12 · network 16 · note 56        state: free, held, full
//
// A thread takes a free cell and fills it; the main thread reads full ones and frees them. One network
// (IPv4 /24, IPv6 /48) has `networkCells` of them. On a full board the network with most cells gives one
// to a sender that has fewer. A sighting that finds no cell is dropped: it comes again with the next
// request.

export interface MarkMemory {
  /** 32 bytes that marks are signed with. Secret. */
  readonly key: Uint8Array;
  readonly board: SharedArrayBuffer;
}

export interface BoardEntry {
  readonly sighting: Uint8Array;
  /** The sender's, as `neighbourhoodOf` in ip/networks.ts names it; empty for a sender without an address. */
  readonly network: string;
  /**
   * Why the request got no answer, in a word, and what it is about, such as `stranger 192.0.2.1`; or as
   * `isAnswered` has it.
   */
  readonly note: string;
}

export interface MarkSender {
  /** 0: nobody knows the address. */
  readonly family: 0 | IpFamily;
  readonly words: Uint32Array;
}

/** Begins the note of a request that got its answer, before the address of its visitor. */
export const visitorNote = 'visitor';

function isAnswered(note: string): boolean {
  return note === '' || note.startsWith(`${visitorNote} `);
}

/**
 * Reports a mark that came with a request; a text that is no valid mark is ignored.
 * @param note why the request was refused, which its screen shows: ASCII; empty, or `visitorNote` and an
 *   address: it got
 *   its answer
 */
export type NoteMark = (text: string | undefined, sender: MarkSender, note?: string) => void;

export const boardCells = 64;
export const networkCells = 4;
const networkBytes = 16;
/** A word and an address. */
const noteBytes = 56;
const cellBytes = 4 + sightingBytes + networkBytes + noteBytes;
/** `held` while a thread writes or reads the cell. */
const state = { free: 0, held: 1, full: 2 } as const;
/** The requests of one site all have the same. */
const againMs = 1_000;

export function createSightingBoard(buffer = new SharedArrayBuffer(boardCells * cellBytes)) {
  const states = new Int32Array(buffer);
  const bytes = Buffer.from(buffer);
  const stateAt = (cell: number) => (cell * cellBytes) / 4;
  const rowAt = (cell: number) => cell * cellBytes + 4;
  const networkAt = (cell: number) => rowAt(cell) + sightingBytes;
  const cells = Array.from({ length: boardCells }, (_, cell) => cell);
  const isFull = (cell: number) => Atomics.load(states, stateAt(cell)) === state.full;
  const hold = (cell: number, from: number) =>
    Atomics.compareExchange(states, stateAt(cell), from, state.held) === from;

  const noteAt = (cell: number) => networkAt(cell) + networkBytes;

  function textAt(at: number, length: number): string {
    const end = bytes.subarray(at, at + length).indexOf(0);
    return bytes.toString('latin1', at, end < 0 ? at + length : at + end);
  }
  const networkOfCell = (cell: number) => textAt(networkAt(cell), networkBytes);

  function fill(cell: number, { sighting, network, note }: BoardEntry): true {
    bytes.set(sighting, rowAt(cell));
    bytes.fill(0, networkAt(cell), noteAt(cell) + noteBytes);
    bytes.write(network, networkAt(cell), networkBytes, 'latin1');
    bytes.write(note, noteAt(cell), noteBytes, 'latin1');
    Atomics.store(states, stateAt(cell), state.full);
    return true;
  }

  return {
    buffer,
    /**
     * Returns false when there is no cell. The largest holder is counted anew among the 64 cells: all threads write
     * them, so none can keep the order of core/fair-share.ts.
     */
    put(spotted: BoardEntry): boolean {
      const taken = new Map<string, number[]>();
      for (const cell of cells.filter(isFull)) {
        const network = networkOfCell(cell);
        taken.set(network, [...(taken.get(network) ?? []), cell]);
      }
      const own = taken.get(spotted.network)?.length ?? 0;
      if (own >= networkCells) return false;
      for (const cell of cells) if (hold(cell, state.free)) return fill(cell, spotted);
      const [most = []] = [...taken.values()].sort((a, b) => b.length - a.length);
      if (most.length <= own + 1) return false;
      for (const cell of most) if (hold(cell, state.full)) return fill(cell, spotted);
      return false;
    },
    take(): BoardEntry[] {
      const all: BoardEntry[] = [];
      for (const cell of cells) {
        if (!hold(cell, state.full)) continue;
        const sighting = Uint8Array.from(bytes.subarray(rowAt(cell), networkAt(cell)));
        all.push({
          sighting,
          network: networkOfCell(cell),
          note: textAt(noteAt(cell), noteBytes),
        });
        Atomics.store(states, stateAt(cell), state.free);
      }
      return all;
    },
  };
}

/** Opens the board for the calling thread. */
export function createMarkNoter(memory: MarkMemory, clock: Clock): NoteMark {
  const marks = createMarks({ key: memory.key, clock });
  const board = createSightingBoard(memory.board);
  let last = '';
  let againAtMs = 0;
  return (text, { family, words }, note = '') => {
    if (text === undefined) return;
    const nowMs = clock.monotonicMs();
    // One mark comes with all visitors of a site.
    const message = isAnswered(note) ? text : `${text} ${note}`;
    if (message === last && nowMs < againAtMs) return;
    const own = isMark(text) ? marks.sightingOf(text) : undefined;
    if (own === undefined) return;
    const sighting = isAnswered(note) ? own : refusedSighting(own);
    const network = family === 0 ? '' : neighbourhoodOf(family, words);
    if (!board.put({ sighting, network, note })) return;
    last = message;
    againAtMs = nowMs + againMs;
  };
}

// Marks that came with a request, as rows of the store: so a page that another node answers knows
// of them, too. A row ends when its mark does. What can't be written now is written when the mark
// comes again.
//
// Bounds, on each node: `networkMax` marks of a network (IPv4 /24, IPv6 /48), whose oldest is
// evicted, and `knownMax` in all, where the oldest of the network with most is evicted. The row of
// an evicted mark is deleted. When the mark comes again it is noted again.

const knownMax = 4_096;
const networkMax = 64;
const takeMs = 500;
/** A row may have been deleted by another node that evicted the mark: it is looked up again. */
const pollMs = 10_000;

interface KnownSighting {
  readonly sighting: Uint8Array;
  readonly network: string;
  note: string;
  polledAtMs: number;
}

/**
 * Returns the reason that a request was refused for, empty or `visitorNote` if it got its answer, and what that
 * is about.
 */
function readSighting(row: string): { readonly reason: string; readonly about: string } {
  const [, reason = '', about = ''] = row.split(' ');
  return { reason, about };
}

export type Sighting = ReturnType<typeof readSighting>;

export function startSightings(options: {
  readonly memory: MarkMemory;
  readonly store: Pick<Store, 'get' | 'commit'>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}) {
  const { memory, store, clock, log } = options;
  const marks = createMarks({ key: memory.key, clock });
  const board = createSightingBoard(memory.board);
  /** The keys are the sightings' texts, the oldest first. */
  const known = new Map<string, KnownSighting>();
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

  /** Returns the mark to evict before this network gets another; undefined while there is room. */
  function oldestToEvict(network: string): string | undefined {
    const own = ofNetwork.get(network);
    if (own !== undefined && own.size >= networkMax) return own.values().next().value;
    if (known.size < knownMax) return undefined;
    return most.largest()?.values().next().value;
  }

  async function isGone(text: string, found: KnownSighting): Promise<boolean> {
    const nowMs = clock.monotonicMs();
    if (nowMs - found.polledAtMs < pollMs) return false;
    found.polledAtMs = nowMs;
    return (
      (await store.get(sightingKey(found.sighting))) === undefined && known.get(text) === found
    );
  }

  async function write({ sighting, network, note }: BoardEntry): Promise<void> {
    const text = Buffer.from(sighting).toString('hex');
    const found = known.get(text);
    // The first one that got its answer stays.
    const isSame = found !== undefined && (isAnswered(note) || found.note === note);
    if (isSame && !(await isGone(text, found))) return;
    const del: Key[] = [];
    if (found === undefined) {
      if (known.size >= knownMax) forgetEnded();
      const least = oldestToEvict(network);
      if (least !== undefined) {
        del.push(sightingKey(known.get(least)!.sighting));
        forget(least);
      }
      known.set(text, { sighting, network, note, polledAtMs: clock.monotonicMs() });
      const texts = ofNetwork.get(network) ?? new Set();
      most.more(texts, texts.size);
      ofNetwork.set(network, texts.add(text));
    } else found.note = note;
    const expiresAt = sightingEndsAt(sighting);
    const set = [
      { key: sightingKey(sighting), value: Buffer.from(`${clock.now()} ${note}`), expiresAt },
    ];
    const done = await store.commit({ set, del });
    if (!done.ok) forget(text);
  }

  function takeAll(): void {
    for (const spotted of board.take()) {
      write(spotted).catch((error: unknown) =>
        log.warn({ err: error }, 'connect: first request not saved'),
      );
    }
  }

  /** @param rowOf the sighting of a mark as the row that is looked for */
  async function stored(
    [current, former]: readonly [string, string],
    rowOf: (sighting: Uint8Array) => Uint8Array,
  ): Promise<Sighting | undefined> {
    for (const mark of [current, former]) {
      const sighting = marks.sightingOf(mark);
      const row = sighting && (await store.get(sightingKey(rowOf(sighting))));
      if (row !== undefined) return readSighting(Buffer.from(row.value).toString('latin1'));
    }
    return undefined;
  }

  const loop = every(takeMs, takeAll);
  return {
    /** Returns the mark that a screen puts into its commands. */
    markOf: (reader: string, screen: string): string => marks.of(reader, screen)[0],
    /** Returns the first request with a mark of that screen that got its answer. */
    seen: (reader: string, screen: string): Promise<Sighting | undefined> =>
      stored(marks.of(reader, screen), (sighting) => sighting),
    /** Returns what is known of one that was refused: the latest reason. */
    refused: (reader: string, screen: string): Promise<Sighting | undefined> =>
      stored(marks.of(reader, screen), refusedSighting),
    table: { name: 'first_requests', used: () => known.size, limit: knownMax },
    close: loop.stop,
  };
}

export type Sightings = ReturnType<typeof startSightings>;
