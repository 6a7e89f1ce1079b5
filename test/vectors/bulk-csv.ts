/**
 * Files of a bulk report as byte strings, and what becomes of each row: the fields that are read,
 * or the beginning of what is said against it. Row numbers are line numbers.
 */

export type ExpectedRow =
  | readonly [row: number, ip: string, categories?: string, date?: string, comment?: string]
  | { readonly row: number; readonly bad: string };

interface BulkCsvVector {
  readonly name: string;
  readonly csv: string;
  /** A text: the file is refused whole, for this. */
  readonly expect: readonly ExpectedRow[] | string;
}

const utf8 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
const date = '2026-11-20T10:00:00Z';

export const bulkCsvVectors: readonly BulkCsvVector[] = [
  {
    name: 'with a header',
    csv: `IP,Categories,ReportDate,Comment\n8.8.8.8,"18,22",${date},hello\n`,
    expect: [[2, '8.8.8.8', '18,22', date, 'hello']],
  },
  {
    name: 'without a header, CRLF, no line end at the end',
    csv: `8.8.8.8,18,${date},a\r\n8.8.4.4,"18,22",${date},b`,
    expect: [
      [1, '8.8.8.8', '18', date, 'a'],
      [2, '8.8.4.4', '18,22', date, 'b'],
    ],
  },
  {
    name: 'a byte order mark before a quoted header',
    csv: `\xef\xbb\xbf"IP","Categories"\r8.8.8.8,18\r`,
    expect: [[2, '8.8.8.8', '18']],
  },
  { name: 'a byte order mark alone', csv: '\xef\xbb\xbf', expect: 'no rows' },
  { name: 'half a byte order mark', csv: '\xef\xbb', expect: [{ row: 1, bad: 'The row is not' }] },
  {
    name: 'columns in another order, an unknown one among them',
    csv: `Comment,Country,IP Address,report_date,category\nhi,FR,8.8.8.8,${date},18\n`,
    expect: [[2, '8.8.8.8', '18', date, 'hi']],
  },
  { name: 'a header without categories', csv: 'IP,Comment\n8.8.8.8,hi\n', expect: 'must name' },
  { name: 'a header alone', csv: 'IP,Categories,ReportDate,Comment\n', expect: 'no rows' },
  { name: 'nothing', csv: '', expect: 'no rows' },
  { name: 'blank lines', csv: '\r\n\n  \n\t\r\n', expect: 'no rows' },
  {
    name: 'quoted delimiters, quotes and line ends; numbers count lines',
    csv: `\n8.8.8.8,18,${date},"a ""b"", c\r\nd"\n8.8.4.4,18\n`,
    expect: [
      [2, '8.8.8.8', '18', date, 'a "b", c\nd'],
      [4, '8.8.4.4', '18'],
    ],
  },
  {
    name: 'a quote that is never closed costs its own row',
    csv: '8.8.8.8,18\n8.8.8.9,"18\n8.8.4.4,18\n8.8.4.5,18\n',
    expect: [
      [1, '8.8.8.8', '18'],
      { row: 2, bad: 'Bad quoting' },
      [3, '8.8.4.4', '18'],
      [4, '8.8.4.5', '18'],
    ],
  },
  {
    name: 'text behind a closing quote',
    csv: '"8.8.8.8"x,18\n8.8.4.4,18\n',
    expect: [{ row: 1, bad: 'Bad quoting' }, [2, '8.8.4.4', '18']],
  },
  {
    name: 'an unquoted comma in a comment',
    csv: `8.8.8.8,18,${date},a, b\n8.8.4.4,18,${date},"a, b"\n`,
    expect: [{ row: 1, bad: 'The row has too many fields' }, [2, '8.8.4.4', '18', date, 'a, b']],
  },
  {
    name: 'one field, and none',
    csv: '8.8.8.8\n,,,\n',
    expect: [
      [1, '8.8.8.8'],
      [2, '', '', '', ''],
    ],
  },
  {
    name: 'UTF-8 in a comment',
    csv: utf8(`8.8.8.8,18,${date},déjà vu 🚪\n`),
    expect: [[1, '8.8.8.8', '18', date, 'déjà vu 🚪']],
  },
  {
    name: 'bytes that are not UTF-8',
    csv: `8.8.8.8,18,${date},\xff\xfe\n8.8.4.4,18\xc3,${date},x\n8.8.4.5,18\n`,
    expect: [
      [1, '8.8.8.8', '18', date, '\ufffd\ufffd'],
      { row: 2, bad: 'The row is not valid UTF-8' },
      [3, '8.8.4.5', '18'],
    ],
  },
  {
    name: 'NULs',
    csv: `8.8.8.8\0,18\n8.8.4.4,18,${date},a\0b\n8.8.4.5,18\n`,
    expect: [
      { row: 1, bad: 'The row holds a NUL' },
      [2, '8.8.4.4', '18', date, 'a\0b'],
      [3, '8.8.4.5', '18'],
    ],
  },
  {
    name: 'UTF-16',
    csv: '\xff\xfeI\0P\0,\0C\0\n\0',
    expect: [
      { row: 1, bad: 'The row holds a NUL' },
      { row: 2, bad: 'The row holds a NUL' },
    ],
  },
  {
    name: 'a line that is too long',
    csv: `8.8.8.8,18,${date},${'x'.repeat(20_000)}\n8.8.4.4,18\n`,
    expect: [{ row: 1, bad: 'The line is longer than 16384 bytes' }, [2, '8.8.4.4', '18']],
  },
  {
    name: 'a second header is a row like another',
    csv: 'IP,Categories\n8.8.8.8,18\nIP,Categories\n',
    expect: [
      [2, '8.8.8.8', '18'],
      [3, 'IP', 'Categories'],
    ],
  },
  {
    name: 'ten thousand rows',
    csv: '8.8.8.8,18\n'.repeat(10_000),
    expect: Array.from({ length: 10_000 }, (_, i) => [i + 1, '8.8.8.8', '18'] as const),
  },
  { name: 'one row too many', csv: '8.8.8.8,18\n'.repeat(10_001), expect: 'at most 10000 rows' },
  { name: 'one bad row too many', csv: '"x"x\n'.repeat(10_001), expect: 'at most 10000 rows' },
];
