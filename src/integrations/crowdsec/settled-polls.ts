/**
 * Remembers in shared memory which polls of the decision stream brought no news. The main thread, which has the
 * cursors, writes it; front ends answer the next such poll from it.
 *
 *   cells of 8 words, a poll's own by its hash; who comes to a taken cell takes it:
 *              changes so far, odd while one is under way · hash of the poll (2) · slot of the account ·
 *              version of the list (2) · position among the bans of accounts · end, monotonic seconds
 *
 * A poll is settled while list and bans are unchanged since its client got an empty answer. It expires after a short
 * time, so that the main thread still sees which clients follow and when a key was used.
 */

import type { Clock } from '../../core/clock.ts';

const cellWords = 8;
const cells = 16_384;
/** Below the minute in which a client counts as one that follows. */
const settledSeconds = 45;

/** A poll is all that its answer depends on, as it was sent. */
export interface Poll {
  readonly keyId: string;
  /** Slot of the key's account. */
  readonly slot: number;
  readonly address: string;
  readonly agent: string;
  readonly query: string;
}

/** An answer is made of the list and the bans as they are then. */
export interface ListState {
  /** Version of the list. */
  readonly version: number;
  /** Position of the last change among the bans of all accounts. */
  readonly bans: number;
}

export function createSettledMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(cells * cellWords * 4);
}

export type SettledPolls = ReturnType<typeof openSettledPolls>;

export function openSettledPolls(
  buffer: SharedArrayBuffer,
  clock: Pick<Clock, 'monotonicMs'>,
  settledFor = settledSeconds,
) {
  const words = new Uint32Array(buffer);
  const mask = words.length / cellWords - 1;
  const hash = new Uint32Array(2);
  const nowSeconds = () => Math.floor(clock.monotonicMs() / 1_000);

  function mix(text: string): void {
    let [a, b] = [hash[0]!, hash[1]!];
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      a = Math.imul(a ^ unit, 0x85eb_ca6b);
      b = Math.imul(b ^ unit, 0xc2b2_ae35);
      a ^= a >>> 13;
      b ^= b >>> 16;
    }
    // Between two texts, so that their border counts.
    hash[0] = Math.imul(a ^ text.length, 0x27d4_eb2f);
    hash[1] = Math.imul(b ^ text.length, 0x1656_67b1);
  }

  /** The place of the poll's cell; its hash is in `hash` then. */
  function cellOf({ keyId, address, agent, query }: Poll): number {
    hash.fill(0x9e37_79b9);
    mix(keyId);
    mix(address);
    mix(agent);
    mix(query);
    return ((hash[0]! ^ (hash[1]! >>> 7)) & mask) * cellWords;
  }

  return {
    /** Notes that the poll was answered with nothing new; in the main thread alone. */
    note(poll: Poll, { version, bans }: ListState): void {
      const at = cellOf(poll);
      Atomics.add(words, at, 1);
      words.set(hash, at + 1);
      words[at + 3] = poll.slot;
      words[at + 4] = version;
      words[at + 5] = version / 2 ** 32;
      words[at + 6] = bans;
      words[at + 7] = nowSeconds() + settledFor;
      Atomics.add(words, at, 1);
    },
    /** Returns true only when there is nothing new; false says that the main thread knows. */
    has(poll: Poll, { version, bans }: ListState): boolean {
      const at = cellOf(poll);
      const before = Atomics.load(words, at);
      const isSettled =
        (before & 1) === 0 &&
        words[at + 1] === hash[0] &&
        words[at + 2] === hash[1] &&
        words[at + 3] === poll.slot &&
        words[at + 4]! + words[at + 5]! * 2 ** 32 === version &&
        words[at + 6] === bans >>> 0 &&
        words[at + 7]! > nowSeconds();
      return isSettled && Atomics.load(words, at) === before;
    },
  };
}
