/** Reports and entries at /metrics: totals that the journal gives, and how the entries score now. */

import type { Metrics } from '../../core/metrics.ts';
import type { ReportTrait } from '../../reputation/counts/bucket.ts';
import type { BandSurvey } from '../../reputation/counts/entry-bands.ts';
import type { ReportCounts } from '../../reputation/counts/report-counts.ts';

/** Labels come from short fixed sets; networks and lists have names of others and stay out. */
const labelled: readonly ReportTrait[] = ['category', 'country', 'band'];

export function registerReportMetrics(
  metrics: Metrics,
  counts: ReportCounts,
  survey: Pick<BandSurvey, 'latest'>,
): void {
  metrics.counterBy('portcullis_reports_total', 'Reports that were applied, ever.', [], () => [
    [{}, counts.inAll().reports],
  ]);
  metrics.counterBy(
    'portcullis_reports_late_total',
    'Reports that came too late for a period in which they happened, ever.',
    [],
    () => [[{}, counts.inAll().late]],
  );
  for (const trait of labelled) {
    metrics.counterBy(
      `portcullis_reports_by_${trait}_total`,
      `Reports that were applied, ever, by ${trait}.`,
      [trait],
      () =>
        counts
          .inAll()
          .by(trait)
          .map(({ name, count }) => [{ [trait]: name }, count]),
    );
  }
  metrics.gaugeBy(
    'portcullis_entries_by_band',
    'Addresses and networks by the band of their score, of the last survey.',
    'band',
    () => Object.entries(survey.latest()?.bands ?? {}),
  );
}
