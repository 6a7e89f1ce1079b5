/**
 * Each thread's memory of keys it has seen: raw header text → account slot, without hashing.
 * A hit counts only while the key's generation in the shared table is the remembered one, so a
 * revoked key is refused from the next request on.
 *
 * Four ways per set, sets chosen by the last six characters (the checksum). Only keys that exist
 * are ever remembered: guesses take no memory and evict nothing; each costs the client a checksum
 * and the server one SHA-256. At the bound the oldest of a set is evicted.
 *
 * The text is compared with `===`, which stops at the first difference, but only after the whole
 * checksum has matched without an early exit: to time the comparison an attacker must first guess
 * 32 bits that depend on the secret, online.
 */

import { hashKey, keyChecksumLength, keyScopes, keyTextLength, parseKey } from './key-format.ts';
import { type KeyTableReader, usedWordOffset } from './key-table.ts';

const ways = 4;
/** Word 0 of a way is the fingerprint. */
const wayWords = 4;
const generationAtWord = 1;
const generationWord = 2;
/** The account's slot and, above it, what the key may be used for. */
const accountWord = 3;
const scopesShift = 24;
const slotMask = 2 ** scopesShift - 1;
const checksumAt = keyTextLength - keyChecksumLength;

/** The account slot of a text that is no living key. */
export const noKey = -1;
/** The key lives, and may be used for other things alone. */
export const wrongScope = -2;

/** `capacity` keys at most, a power of two ≥ 4; about 150 bytes each once used. */
export function createKeyCache(reader: KeyTableReader, capacity = 8_192) {
  if (capacity < ways || (capacity & (capacity - 1)) !== 0) {
    throw new RangeError('cache capacity must be a power of two ≥ 4');
  }
  const setMask = capacity / ways - 1;
  const sharedWords = reader.words;
  const texts: string[] = new Array<string>(capacity).fill('');
  /** 16 bytes a way, so that a set is one cache line. */
  const table = new Int32Array(capacity * wayWords);
  const nextVictims = new Uint8Array(capacity / ways);

  function remember(set: number, fingerprint: number, text: string): void {
    let way = set * ways;
    const end = way + ways;
    // A revoked key's way comes first: its text must not stay there along with its successor's.
    while (way < end && !isStale(way * wayWords)) way++;
    if (way === end) {
      const victim = nextVictims[set]!;
      nextVictims[set] = (victim + 1) % ways;
      way = set * ways + victim;
    }
    // A copy: the header text may be a slice that would keep the whole request alive.
    texts[way] = Buffer.from(text, 'latin1').toString('latin1');
    const at = way * wayWords;
    table[at] = fingerprint;
    table[at + generationAtWord] = reader.generationAt;
    table[at + generationWord] = reader.generation;
    table[at + accountWord] = reader.accountSlot | (reader.scopes << scopesShift);
  }

  /** Returns true also for a way that was never used: its generation is 0, and living ones are odd. */
  function isStale(at: number): boolean {
    const generation = table[at + generationWord]!;
    return generation === 0 || sharedWords[table[at + generationAtWord]!] !== generation;
  }

  /** The slot if the key is for this; notes the use then. */
  function admit(generationAt: number, packed: number, scope: number): number {
    if (((packed >> scopesShift) & scope) === 0) return wrongScope;
    const usedAt = generationAt + usedWordOffset;
    if (sharedWords[usedAt] === 0) sharedWords[usedAt] = 1;
    return packed & slotMask;
  }

  function miss(set: number, fingerprint: number, text: string, scope: number): number {
    if (!parseKey(text).ok || !reader.find(hashKey(text))) return noKey;
    remember(set, fingerprint, text);
    const packed = reader.accountSlot | (reader.scopes << scopesShift);
    return admit(reader.generationAt, packed, scope);
  }

  return {
    /**
     * Account slot of a living key, else `noKey` or `wrongScope`, both below 0. Measured: 45 ns on a hit,
     * 3 µs on a miss.
     * @param scope bits of `keyScopes`, of which the key needs one
     */
    authenticate(text: string, scope: number = keyScopes.check): number {
      if (text.length !== keyTextLength) return noKey;
      const fingerprint = fingerprintOf(text);
      const set = (fingerprint ^ (fingerprint >>> 15)) & setMask;
      for (let way = set * ways, end = way + ways; way < end; way++) {
        const at = way * wayWords;
        if (table[at] !== fingerprint || texts[way] !== text) continue;
        // A plain load is enough: each request loads it, and a store becomes visible within nanoseconds.
        const generationAt = table[at + generationAtWord]!;
        if (sharedWords[generationAt] === table[at + generationWord]) {
          return admit(generationAt, table[at + accountWord]!, scope);
        }
      }
      return miss(set, fingerprint, text, scope);
    },
  };
}

export type KeyCache = ReturnType<typeof createKeyCache>;

/** All six characters of the checksum in 32 bits; no early exit. */
function fingerprintOf(text: string): number {
  let value = 0;
  for (let i = checksumAt; i < keyTextLength; i++) {
    value = (Math.imul(value, 62) + text.charCodeAt(i)) | 0;
  }
  return value;
}
