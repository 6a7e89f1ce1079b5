/**
 * Many reports at once: a CSV file, or the alerts of an agent.
 *
 * The CSV is read piece by piece to rows: IP, Categories, ReportDate, Comment. A row
 * that can't be read takes its place in the list as what is wrong with it. Bounded by the number
 * of rows; their text is bounded by the body.
 */

import type {
  AddressName,
  CatchUpTo,
  ReportInput,
  SendReports,
} from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import type { ErrorCode } from '../../core/errors.ts';
import { type Failure, fail, ok, type Result } from '../../core/result.ts';
import type { SliceScheduler } from '../../core/scheduling.ts';
import { decodeUtf8, repairUtf8 } from '../../core/text.ts';
import { clientCountry, type GeoReader } from '../../geo/reader.ts';
import type { Check } from '../check/check.ts';
import { csvRecords, maxLineBytesDefault, splitLines } from '../lists/import/lines.ts';
import { clientNetwork, duplicateDetail, type ReportRules, readReport } from './report.ts';
import type { Reporter } from './store/report-rows.ts';
import type { ReportStore } from './store/report-store.ts';

export const bulkRowsMax = 10_000;

/** As the answer shows it. */
export interface InvalidRow {
  readonly error: string;
  /** The address, or the beginning of the row. */
  readonly input: string;
  /** Line of the file in which the row begins, from 1. */
  readonly rowNumber: number;
}

export interface BulkRow {
  readonly rowNumber: number;
  readonly input: ReportInput;
}

const byteOrderMark = '\xef\xbb\xbf';
const shownCharactersMax = 60;

type Column = 'ip' | 'categories' | 'timestamp' | 'comment';
const columnsInOrder: readonly Column[] = ['ip', 'categories', 'timestamp', 'comment'];
/** Names in a header, without case and punctuation. */
const columnNames: ReadonlyMap<string, Column> = new Map([
  ['ip', 'ip'],
  ['ipaddress', 'ip'],
  ['categories', 'categories'],
  ['category', 'categories'],
  ['reportdate', 'timestamp'],
  ['timestamp', 'timestamp'],
  ['date', 'timestamp'],
  ['comment', 'comment'],
]);

export function createBulkReader() {
  const rows: (BulkRow | InvalidRow)[] = [];
  let columns: readonly (Column | undefined)[] | undefined;
  let addressName: AddressName = 'ip';
  let refusal: Failure | undefined;
  /** The first bytes, until it is known whether they are a byte order mark. */
  let head: string | undefined = '';

  function add(row: BulkRow | InvalidRow): void {
    if (rows.length < bulkRowsMax) rows.push(row);
    else refusal ??= tooManyRows;
  }
  function bad(rowNumber: number, error: string, raw: string): void {
    add({ error, input: shown(raw), rowNumber });
  }
  function record(fields: readonly string[], number: number, raw: string): void {
    if (refusal !== undefined) return;
    if (columns === undefined) {
      // Not the header that it may look like: a file in UTF-16.
      if (fields.slice(0, 3).some((field) => field.includes('\0'))) {
        bad(number, 'The row holds a NUL character.', raw);
        return;
      }
      const header = headerOf(fields);
      columns = header ?? columnsInOrder;
      if (header !== undefined) {
        if (!header.includes('ip') || !header.includes('categories')) refusal = poorHeader;
        if (plainName(fields[header.indexOf('ip')] ?? '') !== 'ip') addressName = 'ipAddress';
        return;
      }
    }
    if (fields.length > columns.length) {
      bad(number, 'The row has too many fields. A comment with a comma must be quoted.', raw);
    } else {
      const input = inputOf(fields, columns);
      if (input === 'nul') bad(number, 'The row holds a NUL character.', raw);
      else if (input === undefined) bad(number, 'The row is not valid UTF-8.', raw);
      else add({ rowNumber: number, input: { ...input, addressName } });
    }
  }

  const records = csvRecords(
    { record, malformed: (number, reason, raw) => bad(number, `Bad quoting: ${reason}.`, raw) },
    () => ',',
  );
  const lines = splitLines({
    line: (text, number) => {
      if (refusal === undefined) records.line(text, number);
    },
    overlong: (text, number) =>
      bad(number, `The line is longer than ${maxLineBytesDefault} bytes.`, text),
  });

  function start(text: string): void {
    head = undefined;
    lines.push(text.startsWith(byteOrderMark) ? text.slice(byteOrderMark.length) : text);
  }

  return {
    push(bytes: Uint8Array): void {
      const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
      if (head === undefined) lines.push(text);
      else if (head.length + text.length < byteOrderMark.length) head += text;
      else start(head + text);
    },
    /** After the last piece. */
    end(): Result<readonly (BulkRow | InvalidRow)[]> {
      if (head !== undefined) start(head);
      lines.end();
      records.end();
      if (refusal !== undefined) return refusal;
      if (rows.length === 0) return fail('invalid_parameter', 'The csv holds no rows.', 'csv');
      return ok(rows);
    },
  };
}

export type BulkReader = ReturnType<typeof createBulkReader>;

const tooManyRows = fail(
  'invalid_parameter',
  `The csv may hold at most ${bulkRowsMax} rows; nothing was saved.`,
  'csv',
);
const poorHeader = fail(
  'invalid_parameter',
  'The header of the csv must name the columns IP and Categories.',
  'csv',
);

/** Returns the name of a column as `columnNames` has it. */
function plainName(field: string): string {
  return field.toLowerCase().replace(/[^a-z0-9]/g, '');
}

/** Undefined when the first row is none. Columns with other names are passed over. */
function headerOf(fields: readonly string[]): (Column | undefined)[] | undefined {
  const names = fields.map((field) => columnNames.get(plainName(field)));
  return names.includes('ip') || names.includes('categories') ? names : undefined;
}

/**
 * Undefined when a field is not UTF-8. A comment is repaired: log lines that are cut at a number of
 * bytes end inside a character, and what stands in them is up to an attacker.
 */
function inputOf(
  fields: readonly string[],
  columns: readonly (Column | undefined)[],
): ReportInput | 'nul' | undefined {
  const input: Record<Column, string | undefined> = {
    ip: undefined,
    categories: undefined,
    timestamp: undefined,
    comment: undefined,
  };
  for (const [i, field] of fields.entries()) {
    const column = columns[i];
    const text = column === 'comment' ? repaired(field) : textOf(field);
    if (text === undefined) return undefined;
    if (column !== 'comment' && text.includes('\0')) return 'nul';
    if (column !== undefined) input[column] ??= text;
  }
  return input;
}

/** The lines are byte strings: one character for each byte. */
function textOf(bytes: string): string | undefined {
  return /[\x80-\xff]/.test(bytes) ? decodeUtf8(Buffer.from(bytes, 'latin1')) : bytes;
}

function repaired(bytes: string): string {
  return repairUtf8(Buffer.from(bytes, 'latin1'));
}

/** Whatever the row holds, cut, with marks for what is not UTF-8. */
function shown(raw: string): string {
  const bytes = Buffer.from(raw.slice(0, 4 * shownCharactersMax), 'latin1');
  return shownText(bytes.toString('utf8'));
}

/** For the `input` of an answer. */
function shownText(text: string): string {
  return Array.from(text.slice(0, 2 * shownCharactersMax))
    .slice(0, shownCharactersMax)
    .join('');
}

// The rows of a bulk report into the store, a batch at a time. Each is a report of its own, with
// the rules of a single one, so a bad row costs no other. Within a file the first row about an
// address counts: those behind it fall under the 15 minutes.

/** Begun in one turn of the event loop. */
const rowsPerBatch = 128;
/** Rows under way share syncs of the disk; few enough that single reports fit in between. */
const batchesInFlight = 6;

interface BulkOutcome {
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
  readonly scheduler: SliceScheduler;
  readonly allowDocumentation: boolean;
  /** Called with the error of each row that was not saved. */
  readonly onRefused: (reason: ErrorCode) => void;
}

interface SavedReport {
  /** Empty: of the address in examples, of which nothing is kept. */
  readonly id: string;
  readonly seq: bigint;
}

/**
 * Each row as a report of its own.
 * @param ownAddresses canonical addresses of the sender and of this server
 * @returns what became of each row, in their order; undefined for what is no row
 */
async function saveReports(
  rows: readonly (ReportInput | undefined)[],
  reporter: Reporter,
  ownAddresses: ReadonlySet<string>,
  options: BulkSaveOptions,
): Promise<(Result<SavedReport> | undefined)[]> {
  const { reports, clock, scheduler, allowDocumentation } = options;
  let isStoreDown = false;

  async function saveRow(input: ReportInput, rules: ReportRules): Promise<Result<SavedReport>> {
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

  function startBatch(at: number): Promise<(Result<SavedReport> | undefined)[]> {
    const rules = { now: clock.now(), allowDocumentation, ownAddresses };
    const batch = rows.slice(at, at + rowsPerBatch);
    return Promise.all(batch.map((row) => row && saveRow(row, rules)));
  }

  const batches: ReturnType<typeof startBatch>[] = [];
  for (let at = 0; at < rows.length; at += rowsPerBatch) {
    await batches[batches.length - batchesInFlight];
    await scheduler.yield();
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
    if (i % rowsPerBatch === 0 && options.scheduler.shouldYield()) await options.scheduler.yield();
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

interface AlertReportOptions extends BulkSaveOptions {
  readonly geo: GeoReader;
  readonly check: Pick<Check, 'judge'>;
  readonly catchUpTo: CatchUpTo;
  /** Canonical addresses of this server. */
  readonly serverAddresses: readonly string[];
  /** Called with the error of each report that was not taken. */
  readonly onRefused: (reason: ErrorCode) => void;
}

/** Takes alerts of agents as reports: by the rules of a single one, and in the score when they are answered. */
export function openSendReports(options: AlertReportOptions): SendReports {
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
