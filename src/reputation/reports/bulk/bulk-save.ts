/**
 * The rows of a bulk report into the store, a batch at a time. Each is a report of its own, with
 * the rules of a single one, so a bad row costs no other. Within a file the first row about an
 * address counts: those behind it fall under the 15 minutes.
 */

import type { ReportInput } from '../../../contracts/reputation.ts';
import type { Clock } from '../../../core/clock.ts';
import type { ErrorCode } from '../../../core/errors.ts';
import { type Failure, fail, ok, type Result } from '../../../core/result.ts';
import type { Turns } from '../../../core/scheduling.ts';
import { duplicateDetail, type ReportRules, readReport } from '../report.ts';
import type { Reporter } from '../store/report-rows.ts';
import type { ReportStore } from '../store/report-store.ts';
import { type BulkRow, type InvalidRow, shownText } from './bulk-rows.ts';

/** Begun in one turn of the event loop. */
const rowsPerBatch = 128;
/** Rows under way share syncs of the disk; few enough that single reports fit in between. */
const batchesInFlight = 6;

export interface BulkOutcome {
  readonly saved: number;
  /** In the order of the file; rows that the store didn't take are among them. */
  readonly invalid: readonly InvalidRow[];
  /** True when the store can't write: nothing is tried after the first row that it refused. */
  readonly isStoreDown: boolean;
  /** Sequence number of the last event; 0n when there was none. */
  readonly seq: bigint;
}

export interface BulkSaveOptions {
  readonly reports: ReportStore;
  readonly clock: Clock;
  readonly turns: Turns;
  readonly allowDocumentation: boolean;
  /** Called with the error of each row that was not saved. */
  readonly onRefused: (reason: ErrorCode) => void;
}

interface Saved {
  /** Empty: of the address in examples, of which nothing is kept. */
  readonly id: string;
  readonly seq: bigint;
}

/**
 * Each row as a report of its own.
 * @param ownAddresses canonical addresses of the sender and of this server
 * @returns what became of each row, in their order; undefined for one that is none
 */
export async function saveReports(
  rows: readonly (ReportInput | undefined)[],
  reporter: Reporter,
  ownAddresses: ReadonlySet<string>,
  options: Omit<BulkSaveOptions, 'onRefused'>,
): Promise<(Result<Saved> | undefined)[]> {
  const { reports, clock, turns, allowDocumentation } = options;
  let isStoreDown = false;

  async function saveRow(input: ReportInput, rules: ReportRules): Promise<Result<Saved>> {
    if (isStoreDown) return fail('store_unavailable');
    const report = readReport(input, rules);
    if (!report.ok) return report;
    const { ip, isExample } = report.value;
    if (isExample) return ok({ id: '', seq: 0n });
    const duplicate = fail('duplicate_report', duplicateDetail(ip), 'ip');
    const added = await reports.add(reporter, report.value);
    if (added.ok) return added;
    if (added.error === 'store_unavailable') isStoreDown = true;
    return added.error === 'duplicate_report' ? duplicate : added;
  }

  function startBatch(at: number): Promise<(Result<Saved> | undefined)[]> {
    const rules = { now: clock.now(), allowDocumentation, ownAddresses };
    const batch = rows.slice(at, at + rowsPerBatch);
    return Promise.all(batch.map((row) => row && saveRow(row, rules)));
  }

  const batches: ReturnType<typeof startBatch>[] = [];
  for (let at = 0; at < rows.length; at += rowsPerBatch) {
    await batches[batches.length - batchesInFlight];
    await turns.next();
    batches.push(startBatch(at));
  }
  return (await Promise.all(batches)).flat();
}

/** @param ownAddresses as in `saveReports` */
export async function saveBulk(
  rows: readonly (BulkRow | InvalidRow)[],
  reporter: Reporter,
  ownAddresses: ReadonlySet<string>,
  options: BulkSaveOptions,
): Promise<BulkOutcome> {
  const inputs = rows.map((row) => ('error' in row ? undefined : row.input));
  const results = await saveReports(inputs, reporter, ownAddresses, options);
  const invalid: InvalidRow[] = [];
  let saved = 0;
  let seq = 0n;
  for (const [i, row] of rows.entries()) {
    const result = results[i];
    if ('error' in row) {
      invalid.push(row);
      options.onRefused('invalid_parameter');
    } else if (result?.ok === true) {
      saved++;
      if (result.value.seq > seq) seq = result.value.seq;
    } else if (result !== undefined) {
      invalid.push(invalidRow(row, result));
      options.onRefused(result.error);
    }
  }
  const isStoreDown = results.some((one) => one?.ok === false && one.error === 'store_unavailable');
  return { saved, invalid, isStoreDown, seq };
}

/** The first words are those that clients of AbuseIPDB know. */
function invalidRow(row: BulkRow, failure: Failure): InvalidRow {
  const detail = failure.detail ?? 'Nothing can be saved at the moment. Send this row again later.';
  return {
    error: `${headline(failure)}: ${detail}`,
    input: shownText(row.input.ip ?? ''),
    rowNumber: row.rowNumber,
  };
}

function headline({ error, parameter }: Failure): string {
  if (error === 'duplicate_report') return 'Duplicate IP';
  if (error !== 'invalid_parameter') return 'Not saved';
  if (parameter === 'categories') return 'Invalid Category';
  return parameter === 'timestamp' ? 'Invalid Date' : 'Invalid IP';
}
