/** Personal data in reports, for the export and for the deletion of an account. */

import { dateText, type PersonalData } from '../../contracts/personal-data.ts';
import { dayMs } from '../../core/time.ts';
import { formatIp } from '../../ip/address.ts';
import type { Store } from '../../storage/store.ts';
import { removeOwnReportsIndex } from './store/own-reports.ts';
import { blankComments, reportsOfAccount } from './store/report-erasure.ts';
import { addressOf } from './store/report-rows.ts';
import { tailAddresses, tailOf } from './store/tails.ts';

export function reportPersonalData(store: Store): PersonalData {
  return {
    name: 'reports',
    async exportOf(accountId, _email, pace) {
      const reports: unknown[] = [];
      for await (const report of reportsOfAccount(store, accountId, pace)) {
        const { id, reportedAt, categories, comment, family, words } = report;
        const address = formatIp(family, words);
        const numbers = Array.from({ length: 32 }, (_, n) => n).filter(
          (n) => (categories >>> n) & 1,
        );
        reports.push({ id, address, at: dateText(reportedAt), categories: numbers, comment });
      }
      for await (const page of tailAddresses(store, accountId)) {
        for (const bytes of page) {
          const { tail } = await tailOf(store, accountId, bytes);
          if (tail === undefined) continue;
          const { family, words } = addressOf(bytes);
          const days = [...tail.days].map(([day, count]) => [dateText(day * dayMs), count]);
          // Older reports are kept as counts by day only.
          reports.push({
            address: formatIp(family, words),
            reportsByDay: Object.fromEntries(days),
          });
        }
        if (pace.isOver()) await pace.next();
      }
      return reports;
    },
    async erase(accountId, _email, pace) {
      await blankComments(store, accountId, pace);
      await removeOwnReportsIndex(store, accountId);
    },
  };
}
