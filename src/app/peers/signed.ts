/**
 * Writes and reads what nodes say to each other over HTTP, and authenticates it: by an HMAC under a
 * key derived from the master key, over who asks whom, when, a number that comes once, and the
 * question.
 *
 *   request   POST /    body: JSON of a question about a challenge
 *   answer    200       X-Portcullis-Mac; body: a byte for the kind, then a picture, a sound or JSON
 *
 * Invariants: nothing is read of a request before its MAC is right; a request counts once, also over a restart,
 * is for one node, and for 30 s; an answer is one to that very request.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';

export const macHeader = 'x-portcullis-mac';
export const internalKeyPurpose = 'internal 1';
/** Clocks of nodes are the database's. */
const validMs = 30_000;
/** Requests of a minute that are remembered; beyond it others are refused. */
const noncesMaxDefault = 100_000;

/** Returns the MAC of a request, or of the answer to one: neither can be taken for the other. */
export function macOf(key: Uint8Array, kind: 'ask' | `answer ${string}`, body: Uint8Array): string {
  return createHmac('sha256', key).update(`${kind}\n`).update(body).digest('hex');
}

export function isMac(given: unknown, expected: string): boolean {
  if (typeof given !== 'string' || given.length !== expected.length) return false;
  // A byte for each character: in UTF-8 a strange one would have two, and be a fault of ours.
  return timingSafeEqual(Buffer.from(given, 'latin1'), Buffer.from(expected, 'latin1'));
}

export interface Envelope {
  readonly to: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly nonce: string;
}

export function createReplays(node: number, now: () => number, noncesMax = noncesMaxDefault) {
  /** Two generations: what is older than both is too old to be taken anyway. */
  let [young, old] = [new Set<string>(), new Set<string>()];
  let turnedAt = now();
  const begunAt = Math.floor(turnedAt);
  const isPresent = ({ to, at, nonce }: Envelope) =>
    to === node && at >= begunAt && Math.abs(now() - at) <= validMs && nonce.length <= 64;
  function turn(): void {
    const nowMs = now();
    if (nowMs - turnedAt <= 2 * validMs) return;
    old = young;
    young = new Set();
    turnedAt = nowMs;
  }
  return {
    /** For this node, and of this moment; what was asked before this process began may have been done. */
    isPresent,
    /** The same, and true once. */
    admit(envelope: Envelope): boolean {
      const { nonce } = envelope;
      if (!isPresent(envelope)) return false;
      turn();
      if (young.size >= noncesMax || young.has(nonce) || old.has(nonce)) return false;
      young.add(nonce);
      return true;
    },
  };
}

export type Replays = ReturnType<typeof createReplays>;
