/**
 * Steps of an update that show whether a batch ran twice or not at all: the first adds one to each
 * number under `a`, the second writes a copy of each under `b`.
 */

import { scratchKey, text } from '../../src/storage/keys.ts';
import type { MigrationStep } from '../../src/storage/migrations/step.ts';

export const aKey = (name: string) => scratchKey(text('a'), text(name));
export const bKey = (name: string) => scratchKey(text('b'), text(name));
const aPrefix = scratchKey(text('a'));
const bPrefix = scratchKey(text('b'));

export const testSteps: readonly MigrationStep[] = [
  {
    name: 'add one',
    format: 2,
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
    format: 2,
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
