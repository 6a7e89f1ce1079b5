/**
 * API keys: their text, and what each may be used for.
 *
 * The text is `pcl_<id>_<secret><checksum>`, 46 characters, always.
 *
 *   pcl_  9f3KzQ1x  _  27 characters, 160 bits  6 characters, CRC-32 of all before it
 *         public       secret
 *
 * The checksum distinguishes a typing mistake from a revoked key, and lets secret scanners find
 * leaked keys without asking anybody. It protects against nothing else: anyone can compute it. What
 * guards an account is the 160 random bits, stored as SHA-256 only.
 */

import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const prefix = 'pcl_';
const keyIdLength = 8;
/** 27 characters of 62 are 160.7 bits. */
const secretLength = 27;
/** Six characters of 62 hold any 32-bit number. */
export const keyChecksumLength = 6;
export const keyTextLength = prefix.length + keyIdLength + 1 + secretLength + keyChecksumLength;
const pattern = /^pcl_[0-9A-Za-z]{8}_[0-9A-Za-z]{33}$/;

/** A key whose form and checksum are right; says nothing about whether it exists. */
interface KeyText {
  /** Public: shown in lists and logs, names the key to the operator. */
  readonly id: string;
  /** The whole key. Secret. */
  readonly text: string;
}

/** Returns the public part of the text of a key whose form is right. */
export function keyIdOf(keyText: string): string {
  return keyText.slice(prefix.length, prefix.length + keyIdLength);
}

export function makeKey(random: Random): KeyText {
  const id = randomText(random, keyIdLength);
  const body = `${prefix}${id}_${randomText(random, secretLength)}`;
  return { id, text: body + checksum(body) };
}

/** One refusal for every fault: a caller must not learn how close a guess came. */
export function parseKey(text: string): Result<KeyText> {
  if (text.length !== keyTextLength || !pattern.test(text)) return fail('unauthenticated');
  const bodyLength = keyTextLength - keyChecksumLength;
  // The checksum is no secret, so an ordinary comparison gives nothing away.
  if (checksum(text.slice(0, bodyLength)) !== text.slice(bodyLength)) {
    return fail('unauthenticated');
  }
  return ok({ id: text.slice(prefix.length, prefix.length + keyIdLength), text });
}

/**
 * SHA-256 of the whole key, 32 bytes. A plain hash is enough: 160 random bits leave nothing to
 * guess, so stretching would cost every miss and gain nothing. Look-ups by it need no
 * constant-time compare either: how far a wrong hash matches can't be steered.
 */
export function hashKey(text: string): Uint8Array {
  return createHash('sha256').update(text, 'latin1').digest();
}

function checksum(body: string): string {
  let rest = crc32(body);
  let out = '';
  for (let i = 0; i < keyChecksumLength; i++) {
    out = alphabet.charAt(rest % 62) + out;
    rest = Math.floor(rest / 62);
  }
  return out;
}

/** Uniform: bytes from 248 (4 · 62) up are thrown away, as their remainder would favour `0`–`7`. */
function randomText(random: Random, length: number): string {
  let out = '';
  // Each round keeps 97% of its bytes; a source that runs 100 rounds dry is broken.
  for (let round = 0; round < 100 && out.length < length; round++) {
    for (const byte of random.bytes(length - out.length)) {
      if (byte < 248) out += alphabet.charAt(byte % 62);
    }
  }
  if (out.length < length) throw new Error('the random source gives no usable bytes');
  return out;
}

// The scopes of API keys as bits, and the scopes that each integration and its commands ask for.

export const keyScopes = {
  check: 1,
  report: 2,
  bouncer: 4,
  agent: 8,
  mail: 16,
  manage: 32,
} as const;
export type KeyScope = keyof typeof keyScopes;

/** The scopes of a key without a name, and of every key made before there were names. */
export const plainScopes: number = keyScopes.check | keyScopes.report;
export const allScopes: number = Object.values(keyScopes).reduce<number>(
  (all, bit) => all | bit,
  0,
);

export function keyScopeNames(bits: number): KeyScope[] {
  return (Object.keys(keyScopes) as KeyScope[]).filter((name) => (bits & keyScopes[name]) !== 0);
}

export function keyScopeBits(names: readonly KeyScope[]): number {
  return names.reduce((bits, name) => bits | keyScopes[name], 0);
}

/** The scopes by use, of which a key needs one. A key that fetches decisions may not report. */
export const keyUses = {
  /** /api/v2 and the receipts of the CAPTCHA. */
  read: ['check'],
  write: ['report'],
  /** /v1: look-up, stream, usage metrics, and the rest of what bouncers ask. */
  decisions: ['bouncer'],
  /** /v1: log-in, heartbeat, alerts, and the rest of what agents ask. */
  agent: ['agent', 'manage'],
  /** /v1: manual entries, the allowlist. */
  manage: ['manage'],
  /** /policy/dovecot by its command. */
  mailAllow: ['bouncer', 'mail'],
  mailReport: ['mail'],
} as const satisfies Record<string, readonly KeyScope[]>;
type KeyUse = keyof typeof keyUses;

const useBits = new Map(
  Object.entries(keyUses).map(([use, scopes]) => [use, keyScopeBits(scopes)] as const),
);

/** Bits of which a key needs one for this. */
export function scopeBitsFor(use: KeyUse): number {
  return useBits.get(use)!;
}
