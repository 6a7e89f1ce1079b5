/**
 * Where threads that answer requests leave the marks that they saw, in shared memory, for the main thread:
 *
 *   place, 16 bytes: state i32 · sighting 12        state: free, being written, full
 *
 * A thread takes a free place and fills it; the main thread reads full ones and frees them. A sighting that
 * finds no place is dropped: it comes again with the next request.
 */

import type { Clock } from '../../core/clock.ts';
import { createMarks, isMark, refusedSighting, sightingBytes } from './marks.ts';

export interface MarkMemory {
  /** 32 bytes that marks are signed with. Secret. */
  readonly key: Uint8Array;
  readonly board: SharedArrayBuffer;
}

export interface SightingBoard {
  readonly buffer: SharedArrayBuffer;
  /** False: there is no place. */
  put(sighting: Uint8Array): boolean;
  take(): Uint8Array[];
}

/**
 * Tells of a mark that came with a request; what is none that counts is passed over.
 * @param isRefused the request was understood but got no answer, for a reason that its screen shows
 */
export type SpotMark = (text: string | undefined, isRefused?: boolean) => void;

export const boardPlaces = 64;
const placeBytes = 4 + sightingBytes;
const state = { free: 0, written: 1, full: 2 } as const;
/** The requests of one site all have the same. */
const againMs = 1_000;

export function createSightingBoard(
  buffer = new SharedArrayBuffer(boardPlaces * placeBytes),
): SightingBoard {
  const states = new Int32Array(buffer);
  const bytes = new Uint8Array(buffer);
  const stateAt = (place: number) => (place * placeBytes) / 4;
  const rowAt = (place: number) => place * placeBytes + 4;
  return {
    buffer,
    put(sighting) {
      for (let place = 0; place < boardPlaces; place++) {
        const at = stateAt(place);
        if (Atomics.compareExchange(states, at, state.free, state.written) !== state.free) continue;
        bytes.set(sighting, rowAt(place));
        Atomics.store(states, at, state.full);
        return true;
      }
      return false;
    },
    take() {
      const taken: Uint8Array[] = [];
      for (let place = 0; place < boardPlaces; place++) {
        const at = stateAt(place);
        if (Atomics.load(states, at) !== state.full) continue;
        taken.push(bytes.slice(rowAt(place), rowAt(place) + sightingBytes));
        Atomics.store(states, at, state.free);
      }
      return taken;
    },
  };
}

/** For one thread. */
export function createMarkSpotter(memory: MarkMemory, clock: Clock): SpotMark {
  const marks = createMarks({ key: memory.key, clock });
  const board = createSightingBoard(memory.board);
  let last = '';
  let againAtMs = 0;
  return (text, isRefused = false) => {
    if (text === undefined) return;
    const nowMs = clock.monotonicMs();
    const told = isRefused ? `${text} refused` : text;
    if (told === last && nowMs < againAtMs) return;
    const sighting = isMark(text) ? marks.sightingOf(text) : undefined;
    if (sighting === undefined) return;
    if (!board.put(isRefused ? refusedSighting(sighting) : sighting)) return;
    last = told;
    againAtMs = nowMs + againMs;
  };
}
