/** GET /admin/tips and its change: what visitors without a key report of addresses. */

import { ok, type Result } from '../../core/result.ts';
import type { PlainRoute } from '../../http/router.ts';
import {
  addressIn,
  type ConsoleParts,
  consoleChange,
  consoleScreen,
  noSuchChange,
  perform,
  viewOf,
} from '../operator-request.route.ts';
import { anonymousReportsPage, type WaitingAnonymousReport } from './anonymous-reports.page.ts';

export const anonymousReportEndpoints = {
  show: consoleScreen('/admin/tips'),
  change: consoleChange('tips'),
};

/** As `portcullis anonymous reports` does it. */
export interface ConsoleAnonymousReports {
  /** Oldest first. */
  list(): Promise<readonly WaitingAnonymousReport[]>;
  /** `not_found` */
  remove(address: string): Promise<Result<unknown>>;
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
    pageBuilder.form(at.change, (context, form) => {
      const address = addressIn(form);
      if (address === undefined || form.get('do') !== 'remove') return noSuchChange(parts, context);
      const change = { section: 'tips', command: `tips remove ${address}` } as const;
      return perform(parts, context, change, async () => {
        const done = await anonymousReports.remove(address);
        return done.ok ? ok('forgotten') : done;
      });
    }),
  ];
}
