/**
 * The CSV of a bulk report, piece by piece, to rows: IP, Categories, ReportDate, Comment. A row
 * that can't be read takes its place in the list as what is wrong with it. Bounded by the number
 * of rows; their text is bounded by the body.
 */

import type { ReportInput } from '../../../contracts/reputation.ts';
import { type Failure, fail, ok, type Result } from '../../../core/result.ts';
import { decodeUtf8, repairUtf8 } from '../../../core/text.ts';
import { csvRecords } from '../../lists/formats/csv-records.ts';
import { maxLineBytesDefault, splitLines } from '../../lists/import/lines.ts';

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

export interface BulkReader {
  push(bytes: Uint8Array): void;
  /** After the last piece. */
  end(): Result<readonly (BulkRow | InvalidRow)[]>;
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

export function createBulkReader(): BulkReader {
  const rows: (BulkRow | InvalidRow)[] = [];
  let columns: readonly (Column | undefined)[] | undefined;
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
        return;
      }
    }
    if (fields.length > columns.length) {
      bad(number, 'The row has too many fields. A comment with a comma must be quoted.', raw);
    } else {
      const input = inputOf(fields, columns);
      if (input === 'nul') bad(number, 'The row holds a NUL character.', raw);
      else if (input === undefined) bad(number, 'The row is not valid UTF-8.', raw);
      else add({ rowNumber: number, input });
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
    push(bytes) {
      const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
      if (head === undefined) lines.push(text);
      else if (head.length + text.length < byteOrderMark.length) head += text;
      else start(head + text);
    },
    end() {
      if (head !== undefined) start(head);
      lines.end();
      records.end();
      if (refusal !== undefined) return refusal;
      if (rows.length === 0) return fail('invalid_parameter', 'The csv holds no rows.', 'csv');
      return ok(rows);
    },
  };
}

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

/** Undefined when the first row is none. Columns with other names are passed over. */
function headerOf(fields: readonly string[]): (Column | undefined)[] | undefined {
  const names = fields.map((field) =>
    columnNames.get(field.toLowerCase().replace(/[^a-z0-9]/g, '')),
  );
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
export function shownText(text: string): string {
  return Array.from(text.slice(0, 2 * shownCharactersMax))
    .slice(0, shownCharactersMax)
    .join('');
}
