/** Keeps the counts of reports and of sign-ins over the state in memory, and feeds them. */

import { dayMs } from '../core/time.ts';
import { unknownCountry, unknownProvider } from '../geo/reader.ts';
import type { IpIndex } from '../index/ip-index.ts';
import {
  createReportCounts,
  createReportFacts,
  type Geolocate,
} from '../reputation/counts/report-counts.ts';
import { createTopTable, sumOf, type TopTable } from '../reputation/counts/top-table.ts';
import type { Sources } from '../reputation/lists/sources.ts';
import type { Entries } from '../reputation/state/entries.ts';
import { entryPages } from '../reputation/state/entry-pages.ts';
import type { AddedReport } from '../reputation/state/events.ts';
import { signedIn } from '../signon/sites/codes.ts';
import type { SignInSums } from '../signon/sites/site-list.ts';
import { createReader, createWriter } from '../storage/codec.ts';
import {
  type PageSection,
  readCheckpointSeq,
  readProjectionPage,
} from '../storage/journal/projection.ts';
import { JournalPrunedError, type Store } from '../storage/store.ts';

// Sign-ins at sites, counted by site and day (UTC) as their events are applied: the same after a restart and
// on every node. A ring of 30 days, each with 1,000 sites at most: up to so many all counts are exact, beyond
// it the rarest make room and a count may be too high, never too low (top-table.ts).

const daysKept = 30;
const sitesMax = 1_000;
const pageVersion = 1;
const readEvents = 500;

/** Days of UTC, today among them. */
const spans = { today: 1, week: 7, month: daysKept } as const satisfies Record<
  keyof SignInSums,
  number
>;

interface Day {
  /** Days since 1970; 0 when it was never used. */
  number: number;
  readonly sites: TopTable;
}

/** @param touch called with the page before anything of it changes, for the checkpoint */
export function createSignInCounts(firstPage: number, touch: (page: number) => void) {
  const ring: readonly Day[] = Array.from({ length: daysKept }, () => {
    return { number: 0, sites: createTopTable(sitesMax) };
  });

  function add(site: string, at: number): void {
    const number = Math.floor(at / dayMs);
    const ringIndex = number % daysKept;
    const day = ring[ringIndex]!;
    // Its day has gone already.
    if (day.number - number === daysKept) return;
    touch(firstPage + ringIndex);
    if (day.number !== number) {
      day.number = number;
      day.sites.clear();
    }
    day.sites.add(site);
  }

  return {
    add,
    /** Returns the sums of every counted site, by its domain. */
    sums(nowMs: number): ReadonlyMap<string, SignInSums> {
      const last = Math.floor(nowMs / dayMs);
      const sums = new Map<string, Record<keyof SignInSums, number>>();
      for (const span of Object.keys(spans) as (keyof SignInSums)[]) {
        const isIn = ({ number }: Day) => number <= last && number > last - spans[span];
        for (const { name, count } of sumOf(ring.filter(isIn).map(({ sites }) => sites))) {
          const sum = sums.get(name) ?? { today: 0, week: 0, month: 0 };
          sum[span] = count;
          sums.set(name, sum);
        }
      }
      return sums;
    },
    section: {
      firstPage,
      pages: daysKept,
      encode(page) {
        const { number, sites } = ring[page - firstPage]!;
        const out = createWriter().u8(pageVersion).varint(number);
        sites.encode(out);
        return out.finish();
      },
      load(page, bytes) {
        const input = createReader(bytes);
        const day = ring[page - firstPage]!;
        if (input.u8() !== pageVersion) input.reject();
        day.number = input.varint();
        day.sites.load(input);
        return !input.failed() && input.remaining() === 0;
      },
    } satisfies PageSection,
  };
}

type SignInCounts = ReturnType<typeof createSignInCounts>;

/**
 * Reads the counts up to the end of the journal, for commands: from the last checkpoint and the events after it.
 * Undefined: the journal no longer reaches back to the checkpoint of this machine.
 */
export async function readSignInCounts(
  store: Store,
  firstPage: number,
): Promise<SignInCounts | undefined> {
  const counts = createSignInCounts(firstPage, () => {});
  const { pages, load } = counts.section;
  for (let page = firstPage; page < firstPage + pages; page++) {
    const bytes = await readProjectionPage(store, page);
    if (bytes.length > 0 && !load(page, bytes)) return undefined;
  }
  const last = await store.lastSeq();
  try {
    for (let seq = await readCheckpointSeq(store); seq < last; ) {
      const events = await store.read(seq, readEvents);
      if (events.length === 0) break;
      for (const event of events) if (event.kind === signedIn.kind) signedIn.follow(counts, event);
      seq = events.at(-1)!.seq;
    }
  } catch (error) {
    if (error instanceof JournalPrunedError) return undefined;
    throw error;
  }
  return counts;
}

/** Behind the pages of accounts, however many there may be once: these pages keep their numbers. */
const countsPage = entryPages + 65_536;
/** Behind the pages of the counts of reports, with room for more of them. */
export const signInsPage = countsPage + 1_024;
/** Behind the pages of the counts of sign-ins, with room for more of them. */
export const firstPeerPage = signInsPage + 1_024;
const nowhere: Geolocate = () => ({ country: unknownCountry, network: unknownProvider });

export function createCounting(options: {
  index: IpIndex;
  entries: Entries;
  sources: Sources;
  touchPage: (page: number) => void;
  geolocate: Geolocate | undefined;
}) {
  const { index, entries, sources, touchPage, geolocate = nowhere } = options;
  const counts = createReportCounts(countsPage, touchPage);
  const { contributions } = entries;
  const factsOf = createReportFacts({ index, contributions, sources, geolocate });
  const signIns = createSignInCounts(signInsPage, touchPage);
  return {
    counts,
    signIns,
    onReport: (event: AddedReport, at: number): void => counts.add(factsOf(event, at), at),
  };
}
