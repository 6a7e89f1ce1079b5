/** /account/reports: what the account reported, page by page, and taking it back. */

import { fail, type Result } from '../../../core/result.ts';
import type { Reply } from '../../../http/message.ts';
import type { Params } from '../../../http/query.ts';
import type { PlainRoute } from '../../../http/router.ts';
import { deskForm, deskPage } from '../../../web/guard/desk-endpoint.ts';
import type { Language } from '../../../web/language.ts';
import type { OwnVisit, Space } from '../space.route.ts';
import { type OwnReportLine, reportsPage, takeBackPage } from './reports.page.ts';

export const reportsEndpoints = {
  show: deskPage('/account/reports', 'verified', {
    errors: ['invalid_parameter', 'overloaded', 'store_unavailable'],
  }),
  takeBack: deskForm('/account/reports/take-back', 'verified', {
    errors: ['not_found', 'quota_exceeded', 'overloaded'],
  }),
};

/** What is kept elsewhere, as this page needs it. */
export interface SpaceReports {
  /** By their numbers less one. */
  categoryNames(language: Language): readonly string[];
  /** Newest first. @param after `next` of the page before */
  page(
    account: { readonly id: string; readonly createdAt: number },
    after?: string,
  ): Promise<
    Result<{ readonly reports: readonly OwnReportLine[]; readonly next: string | undefined }>
  >;
  /** The address of an own report; `undefined` also for a report of somebody else. */
  addressOf(account: string, id: string): Promise<string | undefined>;
  /**
   * All that the account said of the report's address; it costs one write and no trust. When it resolves
   * the score that a check shows is without it. `not_found`, `quota_exceeded`.
   */
  takeBack(account: string, id: string): Promise<Result<void>>;
}

export function reportsRoutes(space: Space): PlainRoute[] {
  const { desk, ownReports } = space;

  async function show(visit: OwnVisit, query: Params): Promise<Reply> {
    const { accountId, person } = visit.session;
    const after = query.get('after');
    const { createdAt } = person.account;
    const found = await ownReports.page({ id: accountId, createdAt }, after);
    if (!found.ok) return space.refuse(visit, 'reports', found);
    const isFirst = after === undefined;
    const categoryNames = ownReports.categoryNames(visit.language);
    const shown = { ...found.value, categoryNames, isFirst };
    const view = { ...(await space.viewOf(visit, { query })), ...shown };
    return desk.show(visit, (frame) => reportsPage(frame, view));
  }

  async function takeBack(visit: OwnVisit, form: Params): Promise<Reply> {
    const { accountId } = visit.session;
    const id = form.get('id') ?? '';
    const address = await ownReports.addressOf(accountId, id);
    if (address === undefined) return space.refuse(visit, 'reports', fail('not_found'));
    if (form.get('sure') !== 'yes') {
      return desk.show(visit, (frame) => takeBackPage(frame, { csrf: visit.csrf, id, address }));
    }
    const done = await ownReports.takeBack(accountId, id);
    if (!done.ok) return space.refuse(visit, 'reports', done);
    return space.back(visit, 'reports', 'report_taken_back');
  }

  return [desk.page(reportsEndpoints.show, show), desk.form(reportsEndpoints.takeBack, takeBack)];
}
