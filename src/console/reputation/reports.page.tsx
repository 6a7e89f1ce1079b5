/** The newest reports, those of an address, or of one account with its trust, each with what takes it back. */

import type { Rank } from '../../access/quota/points.ts';
import { scoreBand } from '../../contracts/reputation.ts';
import { Card } from '../../web/components/card.tsx';
import { LinkButton } from '../../web/components/form.tsx';
import { Link } from '../../web/components/link.tsx';
import { Badge } from '../../web/components/table.tsx';
import type { Html } from '../../web/html.ts';
import { formatFor, namesText } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import {
  ActButton,
  Confirmed,
  type ConsoleView,
  consolePage,
  FindForm,
  facts,
  Listing,
  sectionActs,
} from '../parts.page.tsx';
import { rankBadge } from '../people/people.page.tsx';
import { frameText } from '../words.ts';

interface ShownReport {
  readonly id: string;
  readonly address: string;
  /** The score of the address at this moment. */
  readonly score: number;
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
  readonly rank: Rank;
}

/** Cursors of the pages beside one; undefined: there is none. */
export interface ReportPage {
  readonly reports: readonly ShownReport[];
  readonly older?: string | undefined;
  readonly newer?: string | undefined;
}

interface ReportsView extends ConsoleView {
  /** As it was typed; empty: the newest of all are shown. */
  readonly find: string;
  /** Undefined: it is neither an address nor an account. */
  readonly page: ReportPage | undefined;
  /** It is not the first one. */
  readonly isLater: boolean;
  readonly by?: ReporterFacts | undefined;
  /** Mail addresses by account, of those that are still there. */
  readonly emails: ReadonlyMap<string, string>;
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
  const { find, page, by } = view;
  return consolePage(frame, view, {
    section: 'reports',
    lede: text.lede,
    body: (
      <>
        <FindForm
          action="/admin/reports"
          submit={all.search}
          name="find"
          label={text.find}
          value={find}
          error={page === undefined ? text.notFound : undefined}
        />
        {by && reporterCard(frame, view, by)}
        {page && found(frame, view, page)}
      </>
    ),
  });
}

function reporterCard(frame: PageFrame, view: ReportsView, by: ReporterFacts): Html {
  const all = frameText(frame).console;
  const text = all.reports;
  const format = formatFor(frame.language);
  return (
    <Card title={by.email} icon="person">
      {facts([
        [text.trust, by.trust === undefined ? all.noTrust : format.number(by.trust)],
        [text.standing, rankBadge(frame, by.rank)],
        [text.account, <Link href={`/admin/people/${by.id}`}>{text.openAccount}</Link>],
      ])}
      <Confirmed label={text.retractAll}>
        <ActButton
          view={view}
          of={reportActs}
          does="retract-all"
          about={{ id: by.id }}
          label={text.retractSure}
        />
      </Confirmed>
    </Card>
  );
}

function found(frame: PageFrame, view: ReportsView, { reports, older, newer }: ReportPage): Html {
  const text = frameText(frame).console.reports;
  const format = formatFor(frame.language);
  const { find, by, emails, isLater } = view;
  const rows = reports.map((one) => [
    <Link class="mono whole" href={`/ip/${one.address}`}>
      {one.address}
    </Link>,
    <Badge label={String(one.score)} tone={scoreBand(one.score)} />,
    format.near(one.reportedAt, view.now),
    // All reports of one account: its card names it.
    ...(by === undefined
      ? [
          <Link class="mail account-name" href={`/admin/reports?find=${one.account}`}>
            {emails.get(one.account) ?? one.account}
          </Link>,
        ]
      : []),
    <>
      {namesText(one.categories, view.categoryNames)}
      {one.comment !== '' && <span class="source-note fact-below breaks">{one.comment}</span>}
    </>,
    <Confirmed label={text.retract}>
      <ActButton
        view={view}
        of={reportActs}
        does="retract"
        about={{ id: one.id }}
        label={text.retractSure}
      />
    </Confirmed>,
  ]);
  const columns = [
    text.address,
    ...[text.score, text.reported].map((title) => ({ title, plain: true })),
    ...(by === undefined ? [{ title: text.account, plain: true }] : []),
    { title: text.said, plain: true },
    text.actions,
  ];
  const link = (label: string, cursor: Readonly<Record<string, string>>) => (
    <LinkButton
      label={label}
      href={`/admin/reports?${new URLSearchParams({ ...(find !== '' && { find }), ...cursor })}`}
      kind="secondary"
    />
  );
  return (
    <div class="reports">
      {rows.length > 0 && <p class="card-note">{text.retractHint}</p>}
      <Listing icon="flag" text={text} columns={columns} rows={rows} />
      <nav class="acts" aria-label={text.pages}>
        {isLater && link(text.newest, {})}
        {newer !== undefined && link(text.newer, { newer })}
        {older !== undefined && link(text.older, { after: older })}
      </nav>
    </div>
  );
}
