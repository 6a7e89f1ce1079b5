/** GET /admin/reports and its change: reports of an address or of an account, and taking them back. */

import { fail, ok, type Result } from '../../core/result.ts';
import { plainAddress, plainPasted } from '../../core/text.ts';
import type { Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import {
  type ConsoleParts,
  changeForm,
  consoleChange,
  consoleScreen,
  type OperatorRequest,
  viewOf,
} from '../operator-request.route.ts';
import { type ReporterFacts, reportActs, reportsPage, type ShownReport } from './reports.page.tsx';

export const reportScreenEndpoints = {
  show: consoleScreen('/admin/reports'),
  change: consoleChange('reports'),
};

export interface ConsoleReports {
  /** Newest first; undefined for what is no address. */
  ofAddress(text: string, limit: number): Promise<readonly ShownReport[] | undefined>;
  /**
   * A page of them, newest first. `unknown_account`; `invalid_parameter` for a cursor that no page gave.
   * @param name mail address or id
   * @param after `next` of the page before
   */
  ofReporter(
    name: string,
    after: string | undefined,
  ): Promise<
    Result<{
      readonly reporter: ReporterFacts;
      readonly reports: readonly ShownReport[];
      readonly next: string | undefined;
    }>
  >;
}

const shownMax = 100;
const accountIdShape = /^[A-Za-z0-9_-]{16}$/;

export function reportScreens(parts: ConsoleParts, reports: ConsoleReports): PlainRoute[] {
  const { pageBuilder } = parts;
  const at = reportScreenEndpoints;

  async function show(context: OperatorRequest, query: Params): Promise<Reply> {
    const address = plainPasted(query.get('address') ?? '').slice(0, 60);
    const reporter = plainAddress(query.get('reporter') ?? '').slice(0, 320);
    const asked = { ...viewOf(parts, context, query), address, reporter };
    if (reporter !== '') {
      const found = await reports.ofReporter(reporter, query.get('after'));
      if (!found.ok && found.error !== 'unknown_account')
        return pageBuilder.problem(context, found);
      const view = found.ok
        ? {
            ...asked,
            reports: found.value.reports,
            next: found.value.next,
            by: found.value.reporter,
          }
        : { ...asked, wrong: 'reporter' as const };
      return pageBuilder.show(context, (frame) => reportsPage(frame, view));
    }
    const found = address === '' ? undefined : await reports.ofAddress(address, shownMax);
    const isWrong = address !== '' && found === undefined;
    const view = isWrong
      ? { ...asked, wrong: 'address' as const }
      : { ...asked, reports: found, limit: shownMax };
    return pageBuilder.show(context, (frame) => reportsPage(frame, view));
  }

  const change = changeForm(parts, reportActs, async (_, form, does) => {
    const id = form.get('id') ?? '';
    if (does !== 'retract-all') return ok({});
    if (!accountIdShape.test(id)) return fail('invalid_parameter');
    return ok({ back: `/admin/reports?reporter=${id}` });
  });

  return [pageBuilder.page(at.show, show), pageBuilder.form(at.change, change)];
}
