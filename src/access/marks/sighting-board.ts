/**
 * The board in shared memory on which request threads leave the marks that they saw, for the main thread:
 *
 *   place, 32 bytes: state i32 · sighting 12 · network 16        state: free, held, full
 *
 * A thread takes a free place and fills it; the main thread reads full ones and frees them. One network
 * (IPv4 /24, IPv6 /48) has `networkPlaces` of them. On a full board the network with most places gives one
 * to a sender that has fewer. A sighting that finds no place is dropped: it comes again with the next
 * request.
 */

import type { Clock } from '../../core/clock.ts';
import { networkOf } from '../../ip/networks.ts';
import { createMarks, isMark, refusedSighting, sightingBytes } from './marks.ts';

export interface MarkMemory {
  /** 32 bytes that marks are signed with. Secret. */
  readonly key: Uint8Array;
  readonly board: SharedArrayBuffer;
}

export interface Spotted {
  readonly sighting: Uint8Array;
  /** The sender's, as `networkOf` in ip/networks.ts names it; empty for a sender without an address. */
  readonly network: string;
}

export interface SightingBoard {
  readonly buffer: SharedArrayBuffer;
  /** Returns false when there is no place. */
  put(spotted: Spotted): boolean;
  take(): Spotted[];
}

export interface MarkSender {
  /** 0: nobody knows the address. */
  readonly family: 0 | 4 | 6;
  readonly words: Uint32Array;
}

/**
 * Reports a mark that came with a request; a text that is no valid mark is ignored.
 * @param isRefused the request was understood but got no answer, for a reason that its screen shows
 */
export type SpotMark = (text: string | undefined, sender: MarkSender, isRefused?: boolean) => void;

export const boardPlaces = 64;
export const networkPlaces = 4;
const networkBytes = 16;
const placeBytes = 4 + sightingBytes + networkBytes;
/** `held` while a thread writes or reads the place. */
const state = { free: 0, held: 1, full: 2 } as const;
/** The requests of one site all have the same. */
const againMs = 1_000;

export function createSightingBoard(
  buffer = new SharedArrayBuffer(boardPlaces * placeBytes),
): SightingBoard {
  const states = new Int32Array(buffer);
  const bytes = Buffer.from(buffer);
  const stateAt = (place: number) => (place * placeBytes) / 4;
  const rowAt = (place: number) => place * placeBytes + 4;
  const networkAt = (place: number) => rowAt(place) + sightingBytes;
  const places = Array.from({ length: boardPlaces }, (_, place) => place);
  const isFull = (place: number) => Atomics.load(states, stateAt(place)) === state.full;
  const hold = (place: number, from: number) =>
    Atomics.compareExchange(states, stateAt(place), from, state.held) === from;

  function networkOfPlace(place: number): string {
    const at = networkAt(place);
    const end = bytes.subarray(at, at + networkBytes).indexOf(0);
    return bytes.toString('latin1', at, end < 0 ? at + networkBytes : at + end);
  }

  function fill(place: number, { sighting, network }: Spotted): true {
    bytes.set(sighting, rowAt(place));
    bytes.fill(0, networkAt(place), networkAt(place) + networkBytes);
    bytes.write(network, networkAt(place), networkBytes, 'latin1');
    Atomics.store(states, stateAt(place), state.full);
    return true;
  }

  return {
    buffer,
    put(spotted) {
      const taken = new Map<string, number[]>();
      for (const place of places.filter(isFull)) {
        const network = networkOfPlace(place);
        taken.set(network, [...(taken.get(network) ?? []), place]);
      }
      const own = taken.get(spotted.network)?.length ?? 0;
      if (own >= networkPlaces) return false;
      for (const place of places) if (hold(place, state.free)) return fill(place, spotted);
      const [most = []] = [...taken.values()].sort((a, b) => b.length - a.length);
      if (most.length <= own + 1) return false;
      for (const place of most) if (hold(place, state.full)) return fill(place, spotted);
      return false;
    },
    take() {
      const all: Spotted[] = [];
      for (const place of places) {
        if (!hold(place, state.full)) continue;
        const sighting = Uint8Array.from(bytes.subarray(rowAt(place), networkAt(place)));
        all.push({ sighting, network: networkOfPlace(place) });
        Atomics.store(states, stateAt(place), state.free);
      }
      return all;
    },
  };
}

/** Opens the board for the calling thread. */
export function createMarkSpotter(memory: MarkMemory, clock: Clock): SpotMark {
  const marks = createMarks({ key: memory.key, clock });
  const board = createSightingBoard(memory.board);
  let last = '';
  let againAtMs = 0;
  return (text, { family, words }, isRefused = false) => {
    if (text === undefined) return;
    const nowMs = clock.monotonicMs();
    const told = isRefused ? `${text} refused` : text;
    if (told === last && nowMs < againAtMs) return;
    const own = isMark(text) ? marks.sightingOf(text) : undefined;
    if (own === undefined) return;
    const sighting = isRefused ? refusedSighting(own) : own;
    const network = family === 0 ? '' : networkOf(family, words);
    if (!board.put({ sighting, network })) return;
    last = told;
    againAtMs = nowMs + againMs;
  };
}
