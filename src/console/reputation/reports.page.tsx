/** Reports of an address, or of one account with its trust, each with the button that takes it back. */

import { Card } from '../../web/components/card.tsx';
import { Link } from '../../web/components/link.tsx';
import type { Html } from '../../web/html.ts';
import { formatFor, namesText } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import {
  ActButton,
  type ConsoleView,
  consolePage,
  FindForm,
  facts,
  Listing,
  NextPageLink,
  sectionActs,
} from '../parts.page.tsx';
import { frameText } from '../words.ts';

export interface ShownReport {
  readonly id: string;
  readonly address: string;
  readonly account: string;
  readonly reportedAt: number;
  readonly categories: readonly number[];
  readonly comment: string;
}

export interface ReporterFacts {
  readonly id: string;
  readonly email: string;
  /** 0 to 100; undefined before its first key. */
  readonly trust: number | undefined;
  readonly standing: 'none' | 'member' | 'staff';
}

interface ReportsView extends ConsoleView {
  /** As they were typed. */
  readonly address: string;
  readonly reporter: string;
  readonly wrong?: 'address' | 'reporter';
  /** Undefined: nothing was asked for. */
  readonly reports?: readonly ShownReport[] | undefined;
  readonly by?: ReporterFacts;
  /** Mail addresses by account, of those that are still there. */
  readonly emails?: ReadonlyMap<string, string>;
  /** More of an address are not shown. */
  readonly limit?: number;
  /** The next page of an account's reports begins at this cursor; undefined: there is none. */
  readonly next?: string | undefined;
}

export const reportActs = sectionActs('reports', {
  retract: { act: 'report retract', about: ['id'], kind: 'danger' },
  'retract-all': {
    act: 'report retract',
    about: ['id'],
    parameters: { id: 'account' },
    kind: 'danger',
  },
});

export function reportsPage(frame: PageFrame, view: ReportsView): string {
  const all = frameText(frame).console;
  const text = all.reports;
  const { address, reporter, wrong } = view;
  const find = { action: '/admin/reports', submit: all.search };
  return consolePage(frame, view, {
    section: 'reports',
    lede: text.lede,
    body: (
      <>
        <div class="field-grid">
          <FindForm
            {...find}
            name="address"
            label={text.address}
            value={address}
            error={wrong === 'address' ? text.noAddress : undefined}
          />
          <FindForm
            {...find}
            name="reporter"
            label={text.reporter}
            value={reporter}
            error={wrong === 'reporter' ? text.noReporter : undefined}
          />
        </div>
        {view.by && reporterCard(frame, view, view.by)}
        {view.reports && found(frame, view, view.reports)}
      </>
    ),
  });
}

function reporterCard(frame: PageFrame, view: ReportsView, by: ReporterFacts): Html {
  const all = frameText(frame).console;
  const format = formatFor(frame.language);
  const trust = by.trust === undefined ? all.noTrust : format.number(by.trust);
  return (
    <Card title={by.email} icon="person">
      {facts([
        [all.reports.trust, trust],
        [all.reports.standing, all.people.standings[by.standing]],
        [
          all.reports.account,
          <Link href={`/admin/people/${by.id}`}>{all.reports.openAccount}</Link>,
        ],
      ])}
      <ActButton
        view={view}
        of={reportActs}
        does="retract-all"
        about={{ id: by.id }}
        label={all.reports.retractAll}
      />
    </Card>
  );
}

function found(frame: PageFrame, view: ReportsView, reports: readonly ShownReport[]): Html {
  const all = frameText(frame).console;
  const text = all.reports;
  const format = formatFor(frame.language);
  const { limit, next, reporter, by, emails } = view;
  // All reports of one account: its card names it.
  const withAccount = by === undefined;
  const more = next && `/admin/reports?${new URLSearchParams({ reporter, after: next })}`;
  const rows = reports.map((one) => [
    <Link class="mono whole" href={`/admin/reports?address=${one.address}`}>
      {one.address}
    </Link>,
    <>
      {format.near(one.reportedAt, view.now)}{' '}
      <span class="source-note near">{format.shortMoment(one.reportedAt)}</span>
    </>,
    ...(withAccount
      ? [
          <Link class="account-name mail" href={`/admin/people/${one.account}`}>
            {emails?.get(one.account) ?? one.account}
          </Link>,
        ]
      : []),
    <>
      {namesText(one.categories, view.categoryNames)}
      {one.comment !== '' && <span class="source-note fact-below breaks">{one.comment}</span>}
    </>,
    <ActButton
      view={view}
      of={reportActs}
      does="retract"
      about={{ id: one.id }}
      label={text.retract}
    />,
  ]);
  const columns = [
    text.address,
    { title: text.reported, plain: true },
    ...(withAccount ? [text.account] : []),
    { title: text.said, plain: true },
    text.actions,
  ];
  const isCut = limit !== undefined && reports.length >= limit;
  return (
    <>
      <Listing icon="flag" text={text} columns={columns} rows={rows} />
      {rows.length > 0 && (
        <p class="card-note">
          {isCut && text.first(format.number(limit))} {text.retractHint}
        </p>
      )}
      <NextPageLink href={more} label={all.more} />
    </>
  );
}
