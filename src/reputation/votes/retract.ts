/**
 * Withdraws everything that an account reported: the evidence, the account's votes, and the confirmations that nobody
 * else supports leave the scores, and the rows are removed. Each address is one commit; an interrupted run continues
 * where it ended when it is started again.
 */

import { fail, ok, type Result } from '../../core/result.ts';
import type { Scheduler } from '../../core/scheduling.ts';
import { formatIp } from '../../ip/address.ts';
import type { Store } from '../../storage/store.ts';
import { reportsOfAccount } from '../reports/store/account-reports.ts';
import { addressOf } from '../reports/store/report-rows.ts';
import type { ReportStore } from '../reports/store/report-store.ts';
import { tailAddresses } from '../reports/store/tails.ts';

export interface RetractedReports {
  readonly reports: number;
  readonly addresses: number;
}

/** A report that was under way while its account was disabled is found by another round. */
const roundsMax = 3;

export async function retractReports(options: {
  store: Store;
  reports: Pick<ReportStore, 'withdraw'>;
  account: string;
  /** Reports dated earlier stay, ms since 1970. */
  since: number;
  /** True when each address costs trust. */
  penalty: boolean;
  scheduler: Scheduler;
}): Promise<Result<RetractedReports>> {
  const { store, reports, account, since, penalty, scheduler } = options;
  let removedReports = 0;
  let addresses = 0;
  for (let round = 0; round < roundsMax; round++) {
    const before = addresses;
    for await (const { family, words } of addressesOf(store, account, since, scheduler)) {
      const gone = await reports.withdraw(account, family, words, penalty, since);
      if (!gone.ok) return fail(gone.error, gone.detail);
      // The row was read before its report was withdrawn with an earlier one of the same address.
      if (gone.value.removed === 0) continue;
      removedReports += gone.value.removed;
      addresses++;
    }
    if (addresses === before) break;
  }
  return ok({ reports: removedReports, addresses });
}

/** Yields the addresses that the account may have reported since then, some of them more than once. */
async function* addressesOf(store: Store, account: string, since: number, scheduler: Scheduler) {
  for await (const report of reportsOfAccount(store, account, scheduler)) {
    if (report.reportedAt >= since) yield report;
  }
  for await (const page of tailAddresses(store, account)) {
    for (const address of page) yield addressOf(address);
    if (scheduler.shouldYield()) await scheduler.yield();
  }
}

/** Withdraws all reports of a report's address by its account, which loses trust. Fails with `not_found`. */
export async function retractReport(
  reports: Pick<ReportStore, 'find' | 'withdraw'>,
  id: string,
): Promise<Result<{ account: string; address: string; removed: number }>> {
  const found = await reports.find(id);
  if (found === undefined) return fail('not_found', 'there is no such report');
  const { account, family, words } = found;
  const gone = await reports.withdraw(account, family, words, true);
  if (!gone.ok) return gone;
  return ok({ account, address: formatIp(family, words), removed: gone.value.removed });
}
