/** Keeps the counts of reports and of sign-ins over the state in memory, and feeds them. */

import { unknownCountry, unknownProvider } from '../../geo/reader.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import {
  createReportCounts,
  createReportFacts,
  type PlaceOf,
} from '../../reputation/counts/report-counts.ts';
import type { Sources } from '../../reputation/lists/sources.ts';
import type { Entries } from '../../reputation/state/entries.ts';
import { entryPages } from '../../reputation/state/entry-pages.ts';
import type { AddedReport } from '../../reputation/state/events.ts';
import { createSignInCounts } from './sign-in-counts.ts';

/** Behind the pages of accounts, however many there may be once: these pages keep their numbers. */
const countsPage = entryPages + 65_536;
/** Behind the pages of the counts of reports, with room for more of them. */
export const signInsPage = countsPage + 1_024;
const nowhere: PlaceOf = () => ({ country: unknownCountry, network: unknownProvider });

export function createCounting(options: {
  index: IpIndex;
  entries: Entries;
  sources: Sources;
  touchPage: (page: number) => void;
  placeOf: PlaceOf | undefined;
}) {
  const { index, entries, sources, touchPage, placeOf = nowhere } = options;
  const counts = createReportCounts(countsPage, touchPage);
  const { contributions } = entries;
  const factsOf = createReportFacts({ index, contributions, sources, placeOf });
  const signIns = createSignInCounts(signInsPage, touchPage);
  return {
    counts,
    signIns,
    onReport: (event: AddedReport, at: number): void => counts.add(factsOf(event, at), at),
  };
}

export type Counting = ReturnType<typeof createCounting>;
