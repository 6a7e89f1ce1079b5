/** Alerts of agents as reports: by the rules of a single one, and in the score when they are answered. */

import type { SendReports } from '../../contracts/reputation.ts';
import type { ErrorCode } from '../../core/errors.ts';
import { clientCountry, type GeoReader } from '../../geo/reader.ts';
import type { Check } from '../check/check.ts';
import { clientNetwork } from '../votes/client-network.ts';
import { type BulkSaveOptions, saveReports } from './bulk/bulk-save.ts';

export interface AlertReportOptions extends BulkSaveOptions {
  readonly geo: GeoReader;
  readonly check: Pick<Check, 'judge'>;
  /** Resolves when the journal event is in memory. */
  readonly catchUpTo: (seq: bigint) => Promise<void>;
  /** Canonical addresses of this server. */
  readonly serverAddresses: readonly string[];
  /** Called with the error of each report that was not taken. */
  readonly onRefused: (reason: ErrorCode) => void;
}

export function openAlertReports(options: AlertReportOptions): SendReports {
  return async (rows, { account, slot, clientIp }) => {
    const country = clientCountry(options.geo, clientIp);
    const reporter = { account, slot, country, network: clientNetwork(options, clientIp) };
    const own = new Set([...options.serverAddresses, clientIp]);
    const results = await saveReports(rows, reporter, own, options);
    let last = 0n;
    for (const result of results) {
      if (result === undefined) continue;
      if (!result.ok) options.onRefused(result.error);
      else if (result.value.seq > last) last = result.value.seq;
    }
    await options.catchUpTo(last);
    return results;
  };
}
