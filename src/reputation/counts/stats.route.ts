/**
 * GET /api/v2/stats: the figures that anybody may see. What is asked of the server (checks, sign-ins,
 * challenges) and from whose networks reports come is not among them: that is the operator's.
 */

import * as v from 'valibot';
import { scoreBands } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import { isoSeconds } from '../../core/dates.ts';
import { count, country, dateTime } from '../../core/schema.ts';
import type { PlainRoute } from '../../http/router.ts';
import { endpoint } from '../../web/guard/endpoint.ts';
import type { Guard } from '../../web/guard/guard.ts';
import { jsonAnswer } from '../../web/openapi.ts';
import { jsonType } from '../../web/shape.ts';
import { categoryNames } from '../reports/categories.ts';
import { category } from '../reports/report.ts';
import type { EntryBands } from './entry-bands.ts';
import { type CountPeriod, countPeriods, type ReportCounts } from './report-counts.ts';

const period = v.strictObject({
  from: dateTime,
  stepSeconds: count,
  reports: count,
  series: v.array(count),
  categories: v.array(v.strictObject({ category, name: v.string(), reports: count })),
  countries: v.array(v.strictObject({ countryCode: country, reports: count })),
});
const bands = Object.fromEntries(scoreBands.map((band) => [band, count]));
const Stats = v.strictObject({
  data: v.strictObject({
    generatedAt: dateTime,
    entries: v.nullable(v.strictObject({ countedAt: dateTime, total: count, ...bands })),
    reports: v.strictObject({ total: count, since: v.nullable(dateTime) }),
    last24Hours: period,
    last7Days: period,
    last90Days: period,
  }),
});

const cacheSeconds = 10;
/** The most frequent ones, so that the answer stays small. */
const countriesMax = 50;

export const statsEndpoint = endpoint({
  method: 'GET',
  path: '/api/v2/stats',
  who: 'anyone',
  shape: 'api',
  thread: 'main',
  limits: ['feeds'],
  cors: { allowHeaders: [] },
  errors: [],
  robots: 'disallow',
  docs: {
    id: 'stats',
    tag: 'IP API',
    summary: 'Entries by band and reports over time, by category and country; without a key.',
    answers: { 200: jsonAnswer('At most ten seconds old.', Stats) },
    schemas: { Stats },
  },
});

const date = (ms: number) => isoSeconds(Math.floor(ms / 1_000));

export function statsRoute(options: {
  guard: Guard;
  counts: ReportCounts;
  /** Returns the figures of the last survey; undefined before the first. */
  entries: () => EntryBands | undefined;
  clock: Clock;
}): PlainRoute {
  const { guard, counts, clock } = options;
  let body = '';
  let madeAt = Number.NEGATIVE_INFINITY;

  function periodOf(period: CountPeriod, now: number) {
    const sum = counts.sum(period, now);
    return {
      from: date(sum.startMs),
      stepSeconds: countPeriods[period].ms / 1_000,
      reports: sum.reports,
      series: counts.series(period, now).map(({ reports }) => reports),
      categories: sum.by('category').map(({ name, count }) => ({
        category: Number(name),
        name: categoryNames[Number(name) - 1]!,
        reports: count,
      })),
      countries: sum
        .by('country')
        .slice(0, countriesMax)
        .map(({ name, count }) => ({ countryCode: name, reports: count })),
    };
  }

  function entries() {
    const found = options.entries();
    return found && { countedAt: date(found.at), total: found.entries, ...found.bands };
  }

  function make(now: number): string {
    const { reports, startMs } = counts.inAll();
    return JSON.stringify({
      data: {
        generatedAt: date(now),
        entries: entries() ?? null,
        reports: { total: reports, since: startMs === 0 ? null : date(startMs) },
        last24Hours: periodOf('quarter', now),
        last7Days: periodOf('hour', now),
        last90Days: periodOf('day', now),
      },
    });
  }

  return guard.open(statsEndpoint, () => {
    const age = clock.now() - madeAt;
    if (age < 0 || age >= cacheSeconds * 1_000) {
      madeAt = clock.now();
      body = make(madeAt);
    }
    const cached = `public, max-age=${cacheSeconds}`;
    return { status: 200, headers: [jsonType, ['Cache-Control', cached]], body };
  });
}
