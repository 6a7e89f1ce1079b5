/** The account's reports, newest first, and the question before one is taken back. */

import { button, linkButton } from '../../../web/components/button.ts';
import { actionButton, form, hidden } from '../../../web/components/form.ts';
import { emptyState } from '../../../web/components/notice.ts';
import { table } from '../../../web/components/table.ts';
import { html } from '../../../web/html.ts';
import { formatFor, namesText } from '../../../web/layout/format.ts';
import type { PageFrame } from '../../../web/layout/layout.ts';
import { narrowPage } from '../../sessions/narrow.page.ts';
import { frameText } from '../../words/words.ts';
import { type AccountView, accountPage } from './parts.page.ts';

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
    html`<a class="mono" href=${`/ip/${encodeURIComponent(address)}`}>${address}</a>`,
    format.moment(reportedAt),
    namesText(categories, view.categoryNames),
    comment === '' ? '–' : html`<span class="own-comment">${comment}</span>`,
    actionButton({
      csrf: view.csrf,
      action: '/account/reports/take-back',
      fields: { id },
      label: text.takeBack,
      kind: 'danger',
    }),
  ]);
  const titles = [
    columns.address,
    columns.at,
    columns.categories,
    columns.comment,
    columns.actions,
  ];
  const link = (label: string, href: string) => linkButton({ label, href, kind: 'secondary' });
  return accountPage(frame, view, {
    section: 'reports',
    lede: text.lede,
    body: html`${
      rows.length === 0
        ? emptyState('flag', view.isFirst ? text.none : text.noMore)
        : table({
            caption: text.caption,
            stack: true,
            columns: titles.map((title) => ({ title })),
            rows,
          })
    }
      <p class="form-actions">
        ${!view.isFirst && link(text.newest, '/account/reports')}
        ${view.next !== undefined && link(text.older, `/account/reports?after=${view.next}`)}
      </p>`,
  });
}

export function takeBackPage(
  frame: PageFrame,
  data: { readonly csrf: string; readonly id: string; readonly address: string },
): string {
  const words = frameText(frame).automation.reports;
  return narrowPage(frame, {
    title: words.sureTitle,
    body: html`<p>${words.sureText(data.address)}</p>
      ${form({
        action: '/account/reports/take-back',
        csrf: data.csrf,
        body: html`${hidden('id', data.id)}${hidden('sure', 'yes')}
          <div class="form-actions">
            ${button({ label: words.takeBack, kind: 'danger' })}
            ${linkButton({ label: words.keep, href: '/account/reports', kind: 'secondary' })}
          </div>`,
      })}`,
  });
}
