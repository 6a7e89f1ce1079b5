/** The account's own reports, as its page shows them and takes them back. */

import { type QuotaGuard, quotaKind } from '../../../access/quota/quota-guard.ts';
import type { BoundedTables } from '../../../core/bounded-tables.ts';
import type { Clock } from '../../../core/clock.ts';
import { fail, ok } from '../../../core/result.ts';
import { createSemaphore, createTurns } from '../../../core/scheduling.ts';
import { formatIp } from '../../../ip/address.ts';
import { categoriesOf } from '../../../reputation/reports/categories.ts';
import {
  createOwnReports,
  type OwnReports,
} from '../../../reputation/reports/store/account-reports.ts';
import type { ReportStore } from '../../../reputation/reports/store/report-store.ts';
import { catalogueFor } from '../../../reputation/words.ts';
import type { AccountAreaReports } from '../../../signon/account/account-area.route.ts';
import type { Store } from '../../../storage/store.ts';
import { quotaDetail } from '../../../web/guard/quota-headers.ts';

const walksMax = { runningMax: 2, waitingMax: 100 };

export function openOwnReports(parts: {
  readonly store: Store;
  readonly clock: Clock;
  readonly tables: Pick<BoundedTables, 'add'>;
  readonly reports: Pick<ReportStore, 'find' | 'withdraw'>;
  readonly gate: QuotaGuard;
  readonly slotOf: (account: string) => number | undefined;
  readonly catchUpTo: (seq: bigint) => Promise<void>;
}): AccountAreaReports & { readonly ofAccount: OwnReports['page'] } {
  const { reports, gate } = parts;
  const walks = createSemaphore(walksMax);
  parts.tables.add(walks.table('own_report_walks'));
  const own = createOwnReports({ ...parts, walks, pace: () => createTurns() });
  // If the store is out of reach now, the first request for a page begins again.
  own.begin().catch(() => {});

  async function find(account: string, id: string) {
    const found = await reports.find(id);
    return found?.account === account ? found : undefined;
  }

  return {
    ofAccount: own.page,
    categoryNames: (language) => catalogueFor(language).categories,
    async page(account, after) {
      const page = await own.page(account, after);
      if (!page.ok) return page;
      const shown = page.value.reports.map((one) => ({
        id: one.id,
        reportedAt: one.reportedAt,
        comment: one.comment,
        address: formatIp(one.family, one.words),
        categories: categoriesOf(one.categories),
      }));
      return ok({ reports: shown, next: page.value.next });
    },
    async addressOf(account, id) {
      const found = await find(account, id);
      return found && formatIp(found.family, found.words);
    },
    async retract(account, id) {
      const found = await find(account, id);
      if (found === undefined) return fail('not_found');
      const slot = parts.slotOf(account);
      if (slot !== undefined && !gate.spend(slot, quotaKind.write, 1)) {
        return fail('quota_exceeded', quotaDetail(gate.quotas, 'write'));
      }
      // A person's second thought costs no trust.
      const { family, words } = found;
      const done = await walks.run(() => reports.withdraw(account, family, words, false));
      const gone = done.ok ? done.value : done;
      if (!gone.ok) return gone;
      await parts.catchUpTo(gone.value.seq);
      return ok(undefined);
    },
  };
}
