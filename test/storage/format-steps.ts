/**
 * A format to come, 2. Its steps show whether a batch ran twice or not at all: the first adds one to each
 * number under `a`, the second writes a copy of each under `b`.
 */

import { scratchKey, text } from '../../src/storage/keys.ts';
import type { DataFormat, MigrationStep } from '../../src/storage/lmdb/format.ts';

export const aKey = (name: string) => scratchKey(text('a'), text(name));
export const bKey = (name: string) => scratchKey(text('b'), text(name));
const aPrefix = scratchKey(text('a'));
const bPrefix = scratchKey(text('b'));

const steps: readonly MigrationStep[] = [
  {
    name: 'add one',
    plan(store, after, limit) {
      const { rows, last } = store.scan(aPrefix, after, limit);
      const set = rows.map(({ key, value, expiresAt }) => ({
        key,
        value: Uint8Array.of(value[0]! + 1),
        expiresAt,
      }));
      return { commit: { set }, next: last };
    },
  },
  {
    name: 'copy',
    plan(store, after, limit) {
      const { rows, last } = store.scan(aPrefix, after, limit);
      const set = rows.map(({ key, value }) => ({
        key: scratchKey(bPrefix.subarray(1), key.subarray(aPrefix.length)),
        value,
      }));
      return { commit: { set }, next: last };
    },
  },
];

export const format2: DataFormat = { number: 2, steps };
