/** The five numbers of the radar, as the server knows them at this moment. */

import { formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.ts';
import type { BandSurvey } from '../counts/entry-bands.ts';
import type { ReportCounts } from '../counts/report-counts.ts';
import type { Sources } from '../lists/sources.ts';
import { frameText } from '../words.ts';
import type { RadarNumber } from './radar.page.ts';

/** Shown where nothing was counted yet. */
const notYet = '–';

export function radarNumbers(
  frame: PageFrame,
  facts: {
    readonly index: { size(): number };
    readonly survey: Pick<BandSurvey, 'latest'>;
    readonly counts: ReportCounts;
    readonly sources: Pick<Sources, 'list'>;
    readonly now: number;
    /** Entries of IPv4 when they were counted last. */
    readonly ofIpv4: number | undefined;
  },
): RadarNumber[] {
  const { index, survey, counts, sources, now, ofIpv4 } = facts;
  const words = frameText(frame).radar.numbers;
  const { number, day, ago } = formatFor(frame.language);
  const bands = survey.latest()?.bands;
  const told = (value: number | undefined) => (value === undefined ? notYet : number(value));
  const size = index.size();
  const ever = counts.inAll();
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
      value: number(counts.sum('quarter', now).reports),
      label: words.reports,
      note: words.reportsNote(number(counts.sum('hour', now).reports)),
    },
    {
      value: number(ever.reports),
      label: words.ever,
      note: ever.startMs === 0 ? words.noneYet : words.everNote(day(ever.startMs)),
    },
    {
      value: number(lists.length),
      label: words.lists(lists.length),
      note: newest === 0 ? words.noneYet : words.listsNote(ago(newest, now)),
    },
  ];
}
