/** /account/reports: what the account reported, page by page, and taking it back. */

import { fail } from '../../core/result.ts';
import type { Reply } from '../../http/message.ts';
import type { Params } from '../../http/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { deskForm, deskPage } from '../../web/guard/desk-endpoint.ts';
import { reportsPage, takeBackPage } from './pages/reports.page.ts';
import type { OwnVisit, Space } from './space.route.ts';

export const reportsEndpoints = {
  show: deskPage('/account/reports', 'verified', {
    errors: ['invalid_parameter', 'overloaded', 'store_unavailable'],
  }),
  takeBack: deskForm('/account/reports/take-back', 'verified', {
    errors: ['not_found', 'quota_exceeded', 'overloaded'],
  }),
};

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
