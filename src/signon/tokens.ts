/**
 * Tokens that prove something by being known: 256 random bits as base64url, stored as their
 * SHA-256 alone, so that what lies on disk opens nothing.
 */

import { sha256 } from '../core/digest.ts';
import { type Random, randomToken } from '../core/random.ts';

const tokenBytes = 32;
const tokenPattern = /^[0-9A-Za-z_-]{43}$/;

export interface Token {
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
