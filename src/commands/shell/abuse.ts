/** Taking back what an account reported, as `account disable` and `report retract` do. */

import { OperatorError } from '../../core/errors.ts';
import { dateIn } from '../../core/names/date-text.ts';
import { createTurns } from '../../core/work/turns.ts';
import { createReportStore } from '../../reputation/reports/store/report-store.ts';
import { type TakenBack, takeBackReports } from '../../reputation/voices/taking-back.ts';
import { expect, type Workspace } from './workspace.ts';

/** `2026-11-21` or with a time, UTC unless it says another. @returns ms since 1970 */
export function sinceOf(text: string | undefined): number {
  if (text === undefined) return 0;
  const at = dateIn(text);
  if (at === undefined) throw new OperatorError('--since takes a date such as 2026-11-21');
  return at;
}

export async function takeBack(
  workspace: Workspace,
  account: string,
  since: number,
  penalty: boolean,
): Promise<TakenBack> {
  const reports = createReportStore(workspace);
  const pace = createTurns();
  const { store } = workspace;
  return expect(await takeBackReports({ store, reports, account, since, penalty, pace }));
}
