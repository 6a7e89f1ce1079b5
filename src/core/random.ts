/** Randomness is passed in: a CSPRNG in production, a seeded generator in tests. */

import { randomBytes, randomFillSync } from 'node:crypto';
import { sha256 } from './crypto.ts';

export interface Random {
  bytes(length: number): Uint8Array;
}

/** Bytes drawn from the system at once: a call for each id costs as much as all else of it. */
const poolBytes = 4_096;

/** No byte is given out twice, and none that was given out stays here. */
export function systemRandom(): Random {
  const pool = new Uint8Array(poolBytes);
  let at = poolBytes;
  return {
    bytes(length) {
      if (length > poolBytes / 4) return randomBytes(length);
      if (at + length > poolBytes) {
        randomFillSync(pool);
        at = 0;
      }
      const bytes = pool.slice(at, at + length);
      pool.fill(0, at, at + length);
      at += length;
      return bytes;
    },
  };
}

/** Unpadded base64url text of `byteLength` random bytes. */
export function randomToken(random: Random, byteLength: number): string {
  return Buffer.from(random.bytes(byteLength)).toString('base64url');
}

// Tokens that prove something by being known: 256 random bits as base64url, stored as their
// SHA-256 alone, so that what lies on disk opens nothing.

const tokenBytes = 32;
const tokenPattern = /^[0-9A-Za-z_-]{43}$/;

interface Token {
  readonly text: string;
  readonly hash: Uint8Array;
}

export function newToken(random: Random): Token {
  const text = randomToken(random, tokenBytes);
  return { text, hash: sha256(text) };
}

/** Returns undefined for what can't be such a token, whatever its length. */
export function hashOfToken(text: string): Uint8Array | undefined {
  return tokenPattern.test(text) ? sha256(text) : undefined;
}
