/** GET /admin/reports and its change: reports of an address or of an account, and taking them back. */

import type { Result } from '../../core/result.ts';
import { plainAddress, plainPasted } from '../../core/text.ts';
import type { Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import {
  type ConsoleParts,
  consoleChange,
  consoleScreen,
  noSuchChange,
  type OperatorRequest,
  perform,
  viewOf,
} from '../operator-request.route.ts';
import { type ReporterFacts, reportsPage, type ShownReport } from './reports.page.tsx';

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

  async function change(context: OperatorRequest, form: Params): Promise<Reply> {
    const what = form.get('do');
    const id = form.get('id') ?? '';
    const act = { section: 'reports', act: 'report retract' } as const;
    if (what === 'retract') return perform(parts, context, { ...act, fields: { id } });
    if (what === 'retract-all' && accountIdShape.test(id)) {
      const back = `/admin/reports?reporter=${id}`;
      return perform(parts, context, { ...act, back, fields: { account: id } });
    }
    return noSuchChange(parts, context);
  }

  return [pageBuilder.page(at.show, show), pageBuilder.form(at.change, change)];
}
