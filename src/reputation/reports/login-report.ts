/** Brute force at a mail server as a report, by the rules of one that its operator sends. */

import type { Clock } from '../../core/clock.ts';
import type { ErrorCode } from '../../core/errors.ts';
import { clientCountry, type GeoReader } from '../../geo/reader.ts';
import type { Check } from '../check/check.ts';
import { clientNetwork } from '../voices/client-network.ts';
import { readReport } from './report.ts';
import type { ReportStore } from './store/report-store.ts';

export interface LoginReportOptions {
  readonly geo: GeoReader;
  readonly check: Pick<Check, 'judge'>;
  readonly clock: Clock;
  readonly reports: Pick<ReportStore, 'add'>;
  /** Account id by slot. */
  readonly accountOf: (slot: number) => string | undefined;
  readonly allowDocumentation: boolean;
  /** Canonical addresses of this server. */
  readonly serverAddresses: readonly string[];
  /** Told of each report that was not taken. */
  readonly onRefused: (reason: ErrorCode) => void;
}

const bruteForce = '18';

/** What can't be reported is not: the mail server has nobody to tell. */
export function openLoginReports(options: LoginReportOptions) {
  const serverAddresses = new Set(options.serverAddresses);
  return async (
    ip: string,
    { slot, clientIp }: { readonly slot: number; readonly clientIp: string },
  ): Promise<void> => {
    const account = options.accountOf(slot);
    if (account === undefined) return;
    const comment = 'Failed logins at a mail server';
    const report = readReport(
      { ip, categories: bruteForce, comment, timestamp: undefined },
      {
        now: options.clock.now(),
        allowDocumentation: options.allowDocumentation,
        ownAddresses: { has: (own) => own === clientIp || serverAddresses.has(own) },
      },
    );
    if (report.ok && report.value.isExample) return;
    const country = clientCountry(options.geo, clientIp);
    const reporter = { account, slot, country, network: clientNetwork(options, clientIp) };
    const saved = report.ok ? await options.reports.add(reporter, report.value) : report;
    if (!saved.ok) options.onRefused(saved.error);
  };
}
