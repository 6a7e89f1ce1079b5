/** The account's reports, newest first, and the question before one is taken back. */

import { Button, LinkButton } from '../../web/components/button.tsx';
import { ActionButton, Form, Hidden } from '../../web/components/form.tsx';
import { Link } from '../../web/components/link.tsx';
import { EmptyState } from '../../web/components/notice.tsx';
import { Table } from '../../web/components/table.tsx';
import { formatFor, namesText } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { narrowPage } from '../sessions/failure.page.tsx';
import { frameText } from '../words.ts';
import { type AccountView, accountPage } from './parts.page.tsx';

export interface OwnReportLine {
  readonly id: string;
  readonly address: string;
  /** Milliseconds since 1970. */
  readonly reportedAt: number;
  /** Category numbers, from 1. */
  readonly categories: readonly number[];
  readonly comment: string;
}

export interface OwnReportsView extends AccountView {
  readonly reports: readonly OwnReportLine[];
  /** The names by category number less one. */
  readonly categoryNames: readonly string[];
  readonly next: string | undefined;
  readonly isFirst: boolean;
}

export function reportsPage(frame: PageFrame, view: OwnReportsView): string {
  const text = frameText(frame).automation.reports;
  const { columns } = text;
  const format = formatFor(frame.language);
  const rows = view.reports.map(({ id, address, reportedAt, categories, comment }) => [
    <Link class="mono" href={`/ip/${encodeURIComponent(address)}`}>
      {address}
    </Link>,
    format.moment(reportedAt),
    namesText(categories, view.categoryNames),
    comment === '' ? '–' : <span class="own-comment">{comment}</span>,
    <ActionButton
      csrf={view.csrf}
      action="/account/reports/take-back"
      fields={{ id }}
      label={text.takeBack}
      kind="danger"
    />,
  ]);
  const titles = [
    columns.address,
    columns.at,
    columns.categories,
    columns.comment,
    columns.actions,
  ];
  const link = (label: string, href: string) => (
    <LinkButton label={label} href={href} kind="secondary" />
  );
  return accountPage(frame, view, {
    section: 'reports',
    lede: text.lede,
    body: (
      <>
        {rows.length === 0 ? (
          <EmptyState icon="flag" text={view.isFirst ? text.none : text.noMore} />
        ) : (
          <Table
            caption={text.caption}
            stack
            columns={titles.map((title) => ({ title }))}
            rows={rows}
          />
        )}
        <p class="form-actions">
          {!view.isFirst && link(text.newest, '/account/reports')}
          {view.next !== undefined && link(text.older, `/account/reports?after=${view.next}`)}
        </p>
      </>
    ),
  });
}

export function takeBackPage(
  frame: PageFrame,
  data: { readonly csrf: string; readonly id: string; readonly address: string },
): string {
  const words = frameText(frame).automation.reports;
  return narrowPage(frame, {
    title: words.sureTitle,
    body: (
      <>
        <p>{words.sureText(data.address)}</p>
        <Form action="/account/reports/take-back" csrf={data.csrf}>
          <Hidden name="id" value={data.id} />
          <Hidden name="sure" value="yes" />
          <div class="form-actions">
            <Button label={words.takeBack} kind="danger" />
            <LinkButton label={words.keep} href="/account/reports" kind="secondary" />
          </div>
        </Form>
      </>
    ),
  });
}
