/**
 * Counts of reports and of entries: a survey of the index by band, the figures that anybody may see, and the
 * metrics.
 */

import type { Clock } from '../../core/clock.ts';
import type { Metrics } from '../../core/metrics.ts';
import type { IndexView } from '../../index/reader.ts';
import type { Guard } from '../../web/guard/guard.ts';
import { startBandSurvey } from './entry-bands.ts';
import type { ReportCounts, ReportTrait } from './report-counts.ts';
import { statsRoute } from './stats.route.ts';

/** Labels come from short fixed sets; networks and lists have names of others and stay out. */
const labelled: readonly ReportTrait[] = ['category', 'country', 'band'];

export function openCounts(needs: {
  readonly clock: Clock;
  readonly guard: Guard;
  readonly index: Pick<IndexView, 'walk' | 'records' | 'prefixOf'>;
  /** Counts over the journal, the same on every node. */
  readonly reports: ReportCounts;
}) {
  const { clock, guard, index, reports } = needs;
  const survey = startBandSurvey({ index, clock });
  const entries = survey.latest;
  return {
    routes: [statsRoute({ guard, clock, counts: reports, entries })],
    reports,
    /** Returns the entries by band; undefined in the first moments of a server. */
    entries,
    /** Calls back at the end of each survey with the addresses that have very many reports. */
    onSurvey: survey.onEnd,
    metrics(metrics: Metrics): void {
      metrics.counterBy('portcullis_reports_total', 'Reports that were applied, ever.', [], () => [
        [{}, reports.inAll().reports],
      ]);
      metrics.counterBy(
        'portcullis_reports_late_total',
        'Reports that came too late for a period in which they happened, ever.',
        [],
        () => [[{}, reports.inAll().late]],
      );
      for (const trait of labelled) {
        metrics.counterBy(
          `portcullis_reports_by_${trait}_total`,
          `Reports that were applied, ever, by ${trait}.`,
          [trait],
          () =>
            reports
              .inAll()
              .by(trait)
              .map(({ name, count }) => [{ [trait]: name }, count]),
        );
      }
      metrics.gaugeBy(
        'portcullis_entries_by_band',
        'Addresses and networks by the band of their score, of the last survey.',
        'band',
        () => Object.entries(entries()?.bands ?? {}),
      );
    },
    close: survey.stop,
  };
}

export type CountsModule = ReturnType<typeof openCounts>;
