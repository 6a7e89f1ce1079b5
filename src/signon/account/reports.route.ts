/** /account/reports: what the account reported, page by page, and taking it back. */

import { fail } from '../../core/result.ts';
import type { Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { sessionForm, sessionPage } from '../../web/guard/session-endpoint.ts';
import type { AccountArea, AccountRequest } from './account-area.route.ts';
import { reportsPage, takeBackPage } from './pages/reports.page.tsx';

export const reportsEndpoints = {
  show: sessionPage('/account/reports', 'verified', {
    errors: ['invalid_parameter', 'overloaded', 'store_unavailable'],
  }),
  takeBack: sessionForm('/account/reports/take-back', 'verified', {
    errors: ['not_found', 'quota_exceeded', 'overloaded'],
  }),
};

export function reportsRoutes(area: AccountArea): PlainRoute[] {
  const { pageBuilder, ownReports } = area;

  async function show(context: AccountRequest, query: Params): Promise<Reply> {
    const { accountId, person } = context.session;
    const after = query.get('after');
    const { createdAt } = person.account;
    const found = await ownReports.page({ id: accountId, createdAt }, after);
    if (!found.ok) return area.refuse(context, 'reports', found);
    const isFirst = after === undefined;
    const categoryNames = ownReports.categoryNames(context.language);
    const shown = { ...found.value, categoryNames, isFirst };
    const view = { ...(await area.viewOf(context, { query })), ...shown };
    return pageBuilder.show(context, (frame) => reportsPage(frame, view));
  }

  async function takeBack(context: AccountRequest, form: Params): Promise<Reply> {
    const { accountId } = context.session;
    const id = form.get('id') ?? '';
    const address = await ownReports.addressOf(accountId, id);
    if (address === undefined) return area.refuse(context, 'reports', fail('not_found'));
    if (form.get('sure') !== 'yes') {
      return pageBuilder.show(context, (frame) =>
        takeBackPage(frame, { csrf: context.csrf, id, address }),
      );
    }
    const done = await ownReports.retract(accountId, id);
    if (!done.ok) return area.refuse(context, 'reports', done);
    return area.back(context, 'reports', 'report_taken_back');
  }

  return [
    pageBuilder.page(reportsEndpoints.show, show),
    pageBuilder.form(reportsEndpoints.takeBack, takeBack),
  ];
}
