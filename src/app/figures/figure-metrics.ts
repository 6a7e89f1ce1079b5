/** Figures at /metrics: totals that survive a restart, and how the entries score now. */

import type { Metrics } from '../../core/metrics.ts';
import type { ReportTrait } from '../../reputation/counts/report-counts.ts';
import type { OpenFigures } from './open-figures.ts';

/** Labels come from short fixed sets; networks and lists have names of others and stay out. */
const labelled: readonly ReportTrait[] = ['category', 'country', 'band'];

export function registerFigures(metrics: Metrics, { figures }: Pick<OpenFigures, 'figures'>): void {
  const { reports, tallies } = figures;
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
    () => Object.entries(figures.entries()?.bands ?? {}),
  );

  function tally(name: string, help: string, label: string, group: string): void {
    metrics.counterBy(name, help, [label], () =>
      tallies
        .inAll()
        .all.filter((row) => row.name.startsWith(`${group}:`))
        .map((row) => [{ [label]: row.name.slice(group.length + 1) }, row.count]),
    );
  }
  tally(
    'portcullis_challenges_total',
    'Challenges of the CAPTCHA that were given, solved and failed, ever.',
    'outcome',
    'challenges',
  );
  tally(
    'portcullis_sign_on_events_total',
    'What happened to accounts, and who was refused or held back, ever.',
    'event',
    'sign_on',
  );
  tally(
    'portcullis_consents_total',
    "Answers of people to a site's request, ever.",
    'answer',
    'consents',
  );
}
