/** The five numbers of the radar, as the server knows them at this moment. */

import { formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import type { EntryBands } from '../counts/entry-bands.ts';
import type { ReportCounts } from '../counts/report-counts.ts';
import type { Sources } from '../lists/sources.ts';
import { frameText } from '../words.ts';
import type { RadarNumber } from './radar.page.tsx';

/** Counters that the server keeps. */
export interface RadarFigures {
  readonly reports: ReportCounts;
  /** Undefined in the first moments of a server. */
  entries(): EntryBands | undefined;
  /** Up to the last full minute. */
  minutes(): readonly { readonly checks: number; readonly p99: number | undefined }[];
}

/** Shown where nothing was counted yet. */
const notYet = '–';

export function radarNumbers(
  frame: PageFrame,
  facts: {
    readonly index: { size(): number };
    readonly figures: RadarFigures;
    readonly sources: Pick<Sources, 'list'>;
    readonly now: number;
    /** Entries of IPv4 when they were counted last. */
    readonly ofIpv4: number | undefined;
  },
): RadarNumber[] {
  const { index, figures, sources, now, ofIpv4 } = facts;
  const words = frameText(frame).radar.numbers;
  const { number, ago } = formatFor(frame.language);
  const bands = figures.entries()?.bands;
  const told = (value: number | undefined) => (value === undefined ? notYet : number(value));
  const size = index.size();
  const minute = figures.minutes().at(-1);
  const lists = sources.list();
  const newest = Math.max(0, ...lists.map(({ refreshedAtMs }) => refreshedAtMs));
  const v6 = ofIpv4 === undefined ? undefined : Math.max(0, size - ofIpv4);
  return [
    { value: number(size), label: words.known, note: words.knownNote(told(v6)) },
    {
      value: told(bands?.malicious),
      label: words.blocked,
      note: words.blockedNote(told(bands?.suspect)),
    },
    {
      value: number(figures.reports.sum('quarter', now).reports),
      label: words.reports,
      note: words.reportsNote(number(figures.reports.sum('hour', now).reports)),
    },
    {
      value: number(Math.round(((minute?.checks ?? 0) / 60) * 10) / 10),
      label: words.checks,
      note: words.checksNote(number(minute?.checks ?? 0)),
    },
    {
      value: number(lists.length),
      label: words.lists(lists.length),
      note: newest === 0 ? words.noneYet : words.listsNote(ago(newest, now)),
    },
  ];
}
