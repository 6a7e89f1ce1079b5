/**
 * Reports: by API key, one or many at once, from the alerts of agents, and the account's own, as its page shows
 * them and takes them back.
 */

import { bitsFor } from '../../access/keys/key-format.ts';
import { type QuotaGuard, quotaKind } from '../../access/quota/quota.ts';
import type { BoundedTable } from '../../core/bounded-tables.ts';
import type { Clock } from '../../core/clock.ts';
import { fail, ok } from '../../core/result.ts';
import { createSemaphore, createTurns, type Turns } from '../../core/scheduling.ts';
import type { GeoReader } from '../../geo/reader.ts';
import { formatIp } from '../../ip/address.ts';
import type { Store } from '../../storage/store.ts';
import type { Guard } from '../../web/guard/guard.ts';
import { quotaDetail } from '../../web/guard/quota-headers.ts';
import type { Language } from '../../web/language.ts';
import type { Check } from '../check/check.ts';
import { catalogueFor } from '../words.ts';
import { bulkReportRoute } from './bulk-report.route.ts';
import { openAlertReports } from './bulk-reports.ts';
import { categoriesOf } from './categories.ts';
import { type ReportRouteOptions, reportRoute } from './report.route.ts';
import { createOwnReports, type OwnReports } from './store/account-reports.ts';
import type { ReportStore } from './store/report-store.ts';

const walksMax = { runningMax: 2, waitingMax: 100 };

export function openReports(needs: {
  readonly store: Store;
  readonly clock: Clock;
  readonly turns: Turns;
  readonly guard: Guard;
  readonly gate: QuotaGuard;
  readonly check: Check;
  readonly geo: GeoReader;
  readonly reports: ReportStore;
  /** Returns undefined before the account's first key. */
  readonly slotOf: (account: string) => number | undefined;
  /** Account id by slot. */
  readonly accountOf: (slot: number) => string | undefined;
  /** Resolves when the journal event is in memory. */
  readonly catchUpTo: (seq: bigint) => Promise<void>;
  readonly allowDocumentation: boolean;
  /** Canonical addresses of this server. */
  readonly serverAddresses: readonly string[];
  /** Called with the error of each report that was not taken. */
  readonly onRefused: ReportRouteOptions['onRefused'];
}) {
  const { reports, gate } = needs;
  const walks = createSemaphore(walksMax);
  const tables: BoundedTable[] = [walks.table('own_report_walks')];
  const own = createOwnReports({ ...needs, walks, pace: () => createTurns() });
  // If the store is out of reach now, the first request for a page begins again.
  own.begin().catch(() => {});

  async function find(account: string, id: string) {
    const found = await reports.find(id);
    return found?.account === account ? found : undefined;
  }

  return {
    routes: [
      reportRoute(needs),
      bulkReportRoute({
        ...needs,
        tables: { add: (...more) => void tables.push(...more) },
        slotOf: (text) => gate.authenticate(text, bitsFor('write')),
      }),
    ],
    tables,
    sendAlerts: openAlertReports(needs),
    ofAccount: own.page,
    /** For the account's page. */
    own: {
      categoryNames: (language: Language) => catalogueFor(language).categories,
      async page(account: Parameters<OwnReports['page']>[0], after?: string) {
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
      async addressOf(account: string, id: string) {
        const found = await find(account, id);
        return found && formatIp(found.family, found.words);
      },
      async retract(account: string, id: string) {
        const found = await find(account, id);
        if (found === undefined) return fail('not_found');
        const slot = needs.slotOf(account);
        if (slot !== undefined && !gate.spend(slot, quotaKind.write, 1)) {
          return fail('quota_exceeded', quotaDetail(gate.quotas, 'write'));
        }
        // A person's second thought costs no trust.
        const { family, words } = found;
        const done = await walks.run(() => reports.withdraw(account, family, words, false));
        const gone = done.ok ? done.value : done;
        if (!gone.ok) return gone;
        await needs.catchUpTo(gone.value.seq);
        return ok(undefined);
      },
    },
  };
}
