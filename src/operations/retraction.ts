/** Taking back what an account reported, as `account disable` and `report retract` do. */

import { createTurns } from '../core/scheduling.ts';
import { createReportStore } from '../reputation/reports/store/report-store.ts';
import { retractReports, type TakenBack } from '../reputation/votes/retract.ts';
import { expect, type StoreTools } from './workspace.ts';

export async function retract(
  workspace: StoreTools,
  account: string,
  since: number,
  penalty: boolean,
): Promise<TakenBack> {
  const reports = createReportStore(workspace);
  const pace = createTurns();
  const { store } = workspace;
  return expect(await retractReports({ store, reports, account, since, penalty, pace }));
}
