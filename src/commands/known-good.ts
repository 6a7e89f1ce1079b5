/**
 * The known-good lists that a server brings along at each start: the bundled one and what the
 * setting KNOWN_GOOD names. More of them come by `portcullis seed --known-good`; all are lists of the
 * journal (kind `good`), so they are replaced and end as any other list does.
 */

import { fileURLToPath } from 'node:url';
import type { Config } from '../config.ts';
import { expect } from '../contracts/operation.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/random.ts';
import { collectRows } from '../reputation/lists/import/collect.ts';
import { openList } from '../reputation/lists/import/open-list.ts';
import { parseList } from '../reputation/lists/import/parse.ts';
import type { ServiceName } from '../reputation/lists/known-services.ts';
import { loadList } from '../reputation/lists/load-list.ts';
import type { RowBatch } from '../reputation/state/events.ts';
import type { Store } from '../storage/store.ts';

/** Checked from the compiled file: dist/src/cli/. */
const bundled = fileURLToPath(new URL('../../../data/seed/known-good.txt', import.meta.url));
const holdDays = 3_650;

export interface KnownGoodTools {
  /** Names of the lists of this kind that are loaded. */
  readonly loaded: readonly string[];
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly config: Config;
}

export async function loadKnownGood(tools: KnownGoodTools): Promise<void> {
  const { chunks, label } = await openList(bundled);
  await put(tools, 'bundled', await rowsOf(chunks, label, 'names'));
  const { knownGood } = tools.config;
  const text = Buffer.from(knownGood.join('\n'));
  if (knownGood.length === 0 && !tools.loaded.includes('setting')) return;
  // Without any it replaces what an earlier start has loaded.
  const rows = knownGood.length === 0 ? [] : await rowsOf(one(text), 'KNOWN_GOOD');
  await put(tools, 'setting', rows);
}

async function* one(bytes: Uint8Array) {
  yield bytes;
}

async function rowsOf(chunks: AsyncIterable<Uint8Array>, label: string, service?: ServiceName) {
  const more = { allowDocumentation: true, label, service };
  const rules = { format: 'plain', confidence: 0, ...more } as const;
  return (await collectRows(parseList(chunks, rules), { label })).batches;
}

async function put(
  tools: KnownGoodTools,
  source: string,
  batches: readonly RowBatch[],
): Promise<void> {
  const { store, clock, random } = tools;
  const what = { list: 'good', source, holdDays, batches } as const;
  expect(await loadList({ store, clock, random, ...what, onRows: () => {} }));
}
