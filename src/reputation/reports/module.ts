/**
 * Reports: by API key, one or many at once, from the alerts of agents, and the account's own, as its page shows
 * them and takes them back.
 */

import { scopeBitsFor } from '../../access/keys/key-format.ts';
import type { RecordRefusal } from '../../access/keys/refused-keys.ts';
import { secondsLeftOfDay } from '../../access/quota/points.ts';
import { type QuotaGuard, quotaKind } from '../../access/quota/quota.ts';
import type { AccountOf, CatchUpTo, SlotOf } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import type { ErrorCode } from '../../core/errors.ts';
import { every } from '../../core/every.ts';
import type { Language } from '../../core/language.ts';
import type { Log } from '../../core/log.ts';
import { createTotals, type Metrics } from '../../core/metrics.ts';
import type { Preparation } from '../../core/preparation.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok } from '../../core/result.ts';
import { createScheduler, createSemaphore, type SliceScheduler } from '../../core/scheduling.ts';
import type { GeoReader } from '../../geo/reader.ts';
import { formatIp } from '../../ip/address.ts';
import { asRemoval, type Maintenance } from '../../storage/maintenance.ts';
import type { Store } from '../../storage/store.ts';
import type { Endpoint } from '../../web/guard/endpoint.ts';
import { type Guard, quotaDetail } from '../../web/guard/guard.ts';
import type { Check } from '../check/check.ts';
import type { Entries } from '../state/entries.ts';
import { translationsFor } from '../words.ts';
import { bulkReportEndpoint, bulkReportRoute } from './bulk-report.route.ts';
import { openSendReports } from './bulk-reports.ts';
import { categoriesOf } from './categories.ts';
import { reportEndpoint, reportRoute } from './report.route.ts';
import { type AccountReports, createAccountReports } from './store/account-reports.ts';
import { startDetailsBound } from './store/details-bound.ts';
import { createReportAdmission } from './store/report-guards.ts';
import { createReportStore } from './store/report-store.ts';

const walksMax = { runningMax: 2, waitingMax: 100 };
const expiryMs = 30_000;

export const reportEndpoints: readonly Endpoint[] = [reportEndpoint, bulkReportEndpoint];

export function openReports(needs: {
  readonly store: Store;
  /** The lease under which one of several nodes lets reports expire. */
  readonly maintenance: Maintenance;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly scheduler: SliceScheduler;
  readonly guard: Guard;
  readonly quotaGuard: QuotaGuard;
  readonly check: Check;
  readonly geo: GeoReader;
  readonly entries: Pick<Entries, 'hasRoomFor' | 'get'>;
  /** Returns the new addresses that an account may add on the UTC day of `at`, and those that it has added. */
  readonly newAddresses: (slot: number, at: number) => { limit: number; used: number };
  readonly accountOf: AccountOf;
  /** Returns undefined before the account's first key. */
  readonly slotOf: SlotOf;
  /** Returns a number that no other holder of the slot has. */
  readonly generationOf: (slot: number) => number;
  readonly catchUpTo: CatchUpTo;
  /** Calls back with the addresses that have very many reports. */
  readonly onSurvey: Parameters<typeof startDetailsBound>[0];
  /** Canonical addresses of this server. */
  readonly serverAddresses: readonly string[];
  readonly allowDocumentation: boolean;
  readonly recordRefusal: RecordRefusal;
}) {
  const { maintenance, clock, random, log, quotaGuard, catchUpTo } = needs;
  const admission = createReportAdmission({
    clock,
    entries: needs.entries,
    newAddresses: needs.newAddresses,
    catchUpTo,
    secondsLeftOfDay,
  });
  const reports = createReportStore({
    store: needs.store,
    clock,
    random,
    generationOf: needs.generationOf,
    admission,
  });
  const expiringReports = createReportStore({ store: maintenance.store, clock, random });
  const expiring = every(
    expiryMs,
    async ({ signal }) => {
      if (!maintenance.store.writeState().available) return;
      await asRemoval(maintenance, () => expiringReports.expire(signal));
    },
    { onFailure: (err) => log.warn({ err }, 'reports: not expired, will retry') },
  );
  const stopBounding = startDetailsBound(needs.onSurvey, maintenance, log);
  const refused = createTotals<ErrorCode>();
  const routeParts = { ...needs, reports, onRefused: refused.count };
  const walks = createSemaphore(walksMax);
  const bulk = bulkReportRoute({
    ...routeParts,
    slotOf: (text) => quotaGuard.authenticate(text, scopeBitsFor('write')),
  });
  const accountReports = createAccountReports({
    store: needs.store,
    clock,
    walks,
    scheduler: () => createScheduler(),
  });

  async function find(account: string, id: string) {
    const found = await reports.find(id);
    return found?.account === account ? found : undefined;
  }

  return {
    routes: [reportRoute(routeParts), bulk.route],
    tables: [walks.table('own_report_walks'), ...reports.tables, bulk.table],
    /** If the store is out of reach then, the first report, or the first request for a page, begins again. */
    preparations: [
      () => reports.readAhead().catch(() => {}),
      () => accountReports.begin().catch(() => {}),
    ] as readonly Preparation[],
    /** For those who read reports. */
    reports,
    counts: { reports_refused: refused.read },
    metrics: (metrics: Metrics): void =>
      metrics.counterBy(
        'portcullis_reports_refused_total',
        'Reports that were not taken, rows of bulk reports among them, by reason.',
        ['reason'],
        function* () {
          for (const [reason, count] of refused.read()) yield [{ reason }, count];
        },
      ),
    async close(): Promise<void> {
      await stopBounding();
      await expiring.stop();
    },
    sendReports: openSendReports(routeParts),
    ofAccount: accountReports.page,
    /** For the account's page. */
    accountAreaReports: {
      categoryNames: (language: Language) => translationsFor(language).categories,
      async page(account: Parameters<AccountReports['page']>[0], after?: string) {
        const page = await accountReports.page(account, after);
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
        if (slot !== undefined && !quotaGuard.spend(slot, quotaKind.write, 1)) {
          return fail('quota_exceeded', quotaDetail(quotaGuard.quotas, 'write'));
        }
        // A person's second thought costs no trust.
        const { family, words } = found;
        const done = await walks.run(() => reports.withdraw(account, family, words, false));
        const gone = done.ok ? done.value : done;
        if (!gone.ok) return gone;
        await catchUpTo(gone.value.seq);
        return ok(undefined);
      },
    },
  };
}
