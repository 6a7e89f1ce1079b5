/**
 * The bounds of the seam, checked before any implementation sees the data. Input from outside
 * is bounded at the edge, so going over one here is a bug and throws a RangeError.
 */

import type { Key } from './keys.ts';
import { type Commit, storeLimits } from './store.ts';

export function assertKey(key: Uint8Array): void {
  if (key.length === 0 || key.length > storeLimits.keyBytesMax) {
    throw new RangeError(`a key has 1 to ${storeLimits.keyBytesMax} bytes, not ${key.length}`);
  }
}

/** For `scan`. */
export function assertAfter(prefix: Key, after: Key): void {
  assertKey(after);
  if (Buffer.compare(prefix, after.subarray(0, prefix.length)) !== 0) {
    throw new RangeError('`after` is not under the prefix');
  }
}

export function assertLimit(limit: number, max: number): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > max) {
    throw new RangeError(`limit ${limit} is not from 1 to ${max}`);
  }
}

/** Sizes, times and versions in range, no key written twice, no event id twice. Returns the bytes. */
export function assertCommit(commit: Commit): number {
  const check = commit.check ?? [];
  const set = commit.set ?? [];
  const del = commit.del ?? [];
  const events = commit.events ?? [];
  if (check.length + set.length + del.length + events.length > storeLimits.commitRowsMax) {
    throw new RangeError(`a commit has at most ${storeLimits.commitRowsMax} rows`);
  }
  let bytes = 0;
  for (const { key, version } of check) {
    assertKey(key);
    if (version !== null && !Number.isSafeInteger(version)) throw new RangeError('bad version');
  }
  for (const row of set) {
    assertKey(row.key);
    if (row.value.length > storeLimits.valueBytesMax) {
      throw new RangeError(`a value has at most ${storeLimits.valueBytesMax} bytes`);
    }
    if (row.expiresAt !== undefined) assertTime(row.expiresAt);
    bytes += row.key.length + row.value.length;
  }
  for (const key of del) assertKey(key);
  for (const event of events) {
    assertText(event.id, storeLimits.eventIdBytesMax, 'event id');
    assertText(event.kind, storeLimits.eventKindBytesMax, 'event kind');
    if (!Number.isInteger(event.version) || event.version < 0 || event.version > 0xffff) {
      throw new RangeError(`event version ${event.version}`);
    }
    if (event.body.length > storeLimits.eventBodyBytesMax) {
      throw new RangeError(`an event body has at most ${storeLimits.eventBodyBytesMax} bytes`);
    }
    bytes += event.body.length;
  }
  if (bytes > storeLimits.commitBytesMax) {
    throw new RangeError(`a commit has at most ${storeLimits.commitBytesMax} bytes`);
  }
  assertDistinctKeys(set, del);
  if (events.length > 1 && new Set(events.map((event) => event.id)).size < events.length) {
    throw new RangeError('an event id stands twice in one commit');
  }
  return bytes;
}

/** 48 bits of milliseconds, and never 0, which stands for "does not expire" in the rows. */
function assertTime(timeMs: number): void {
  if (!Number.isInteger(timeMs) || timeMs < 1 || timeMs >= 2 ** 48) {
    throw new RangeError(`expiresAt ${timeMs} is not a time in milliseconds`);
  }
}

function assertText(value: string, bytesMax: number, name: string): void {
  const length = Buffer.byteLength(value, 'utf8');
  if (length < 1 || length > bytesMax) {
    throw new RangeError(`an ${name} has 1 to ${bytesMax} bytes, not ${length}`);
  }
}

/** Pairs of so few keys are compared faster than texts of them are made. */
const comparedKeysMax = 8;

function assertDistinctKeys(set: readonly { key: Key }[], del: readonly Key[]): void {
  const count = set.length + del.length;
  if (count < 2) return;
  const keys = [...set.map(({ key }) => key), ...del];
  const isDistinct =
    count <= comparedKeysMax
      ? keys.every((key, i) => !keys.slice(0, i).some((other) => isSame(key, other)))
      : new Set(keys.map(keyText)).size === count;
  if (!isDistinct) throw new RangeError('a key is written twice');
}

function isSame(a: Key, b: Key): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}

function keyText(key: Key): string {
  return Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1');
}
