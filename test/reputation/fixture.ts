/** The fold on an index of its own, without a store: what a test of the reputation domain needs. */

import { createIpIndex, type IpIndex } from '../../src/index/ip-index.ts';
import { type Check, openCheck } from '../../src/reputation/check.ts';
import { createEntries, type Entries } from '../../src/reputation/entries.ts';
import { createFold, type Fold } from '../../src/reputation/fold.ts';
import { createSources, type Sources } from '../../src/reputation/sources.ts';

export interface FoldFixture {
  readonly index: IpIndex;
  readonly entries: Entries;
  readonly sources: Sources;
  readonly fold: Fold;
  readonly check: Check;
  /** Pages announced as changing, in order. */
  readonly touched: number[];
}

export function openFold(
  limits: { entriesMax?: number; contributionsMax?: number; sourcesMax?: number } = {},
): FoldFixture {
  const { entriesMax = 10_000, contributionsMax = 30_000, sourcesMax = 250 } = limits;
  const touched: number[] = [];
  const index = createIpIndex({ entriesMax });
  const touchPage = (page: number) => touched.push(page);
  const entries = createEntries({ index, entriesMax, contributionsMax, touchPage });
  const sources = createSources(sourcesMax, () => {});
  const fold = createFold({ entries, sources });
  const geo = { fragment: () => '"countryCode":"ZZ","isp":"Unknown"' };
  const check = openCheck({ lookup: index, records: index.records, geo });
  return { index, entries, sources, fold, check, touched };
}
