/** GET /admin/tips and its change: what visitors without a key report of addresses. */

import type { PlainRoute } from '../../http/router.ts';
import {
  type ConsoleParts,
  changeForm,
  consoleChange,
  consoleScreen,
  viewOf,
} from '../operator-request.route.ts';
import {
  anonymousReportActs,
  anonymousReportsPage,
  type WaitingAnonymousReport,
} from './anonymous-reports.page.tsx';

export const anonymousReportEndpoints = {
  show: consoleScreen('/admin/tips'),
  change: consoleChange('tips'),
};

export interface ConsoleAnonymousReports {
  /** Oldest first. */
  list(): Promise<readonly WaitingAnonymousReport[]>;
}

export function anonymousReportScreens(
  parts: ConsoleParts,
  anonymousReports: ConsoleAnonymousReports,
): PlainRoute[] {
  const { pageBuilder } = parts;
  const at = anonymousReportEndpoints;
  return [
    pageBuilder.page(at.show, async (context, query) => {
      const view = {
        ...viewOf(parts, context, query),
        anonymousReports: await anonymousReports.list(),
      };
      return pageBuilder.show(context, (frame) => anonymousReportsPage(frame, view));
    }),
    pageBuilder.form(at.change, changeForm(parts, anonymousReportActs)),
  ];
}
