/** A report as it comes in, by whatever way, and how others than its own routes hand some in. */

import type { Result } from '../core/result.ts';

/** Fields as they came, from whatever encoding. */
export interface ReportInput {
  readonly ip: string | undefined;
  /** Text, a number or an array of them; anything else is refused. */
  readonly categories: unknown;
  readonly comment: string | undefined;
  readonly timestamp: string | undefined;
}

export interface ReportSender {
  readonly account: string;
  readonly slot: number;
  readonly clientIp: string;
}

/**
 * Makes a report of each row, durable when it is answered.
 * @returns the id of the report of each row, or why it was not taken; undefined for a row that is none
 */
export type SendReports = (
  rows: readonly (ReportInput | undefined)[],
  sender: ReportSender,
) => Promise<readonly (Result<{ readonly id: string }> | undefined)[]>;
