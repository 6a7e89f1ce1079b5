/**
 * Any CSV with an address column and perhaps a score column (RFC 4180 quoting; comma, semicolon,
 * tab or bar). A header names the columns, those of a range's end and of a mask among them; without one they are
 * found by the first rows (plain.ts). Scores are 0..100, never fractions of 1. A score column that is empty
 * or out of bounds makes its row bad: a missing score must not become the default one.
 */

import { csvRecords, splitRecord } from '../import/lines.ts';
import { type ListFormat, lineReader, parseScore, type RowSink } from '../import/rows.ts';
import { type Columns, columnsOfRows, isAddress, namedIn } from './plain.ts';

/** Usual names, without case and punctuation: "IP Address", "ip_address" and "ipAddress" are one. */
const addressNames = new Set(
  'ip ips ipaddress ipaddr ipaddresses ipv4 ipv6 ipv4address ipv6address address addr network netblock subnet prefix cidr ipcidr ipnetwork iprange range host srcip sourceip dstip destinationip indicator'.split(
    ' ',
  ),
);
const scoreNames = new Set(
  'score abuseconfidencescore abusescore confidence confidencescore confidencelevel risk riskscore threatscore threat fraudscore severityscore'.split(
    ' ',
  ),
);

const startNames = new Set(
  'start startip startaddress ipstart rangestart first firstip firstaddress ipfrom fromip from begin beginip'.split(
    ' ',
  ),
);
const endNames = new Set(
  'end endip endaddress ipend rangeend last lastip lastaddress ipto toip to'.split(' '),
);
const maskNames = new Set(
  'netmask mask subnetmask masklen masklength prefixlen prefixlength cidrlen prefix cidr bits'.split(
    ' ',
  ),
);

/** Rows of a table without a header by which its columns are found. */
const sampleMax = 100;

interface FoundColumns extends Columns {
  /** A header says so. */
  readonly isNamed: boolean;
  /**
   * The columns where the header's own start and end turn out to be addresses, and what it calls a network its
   * length.
   */
  readonly asRange?: FoundColumns | undefined;
}

interface HeldLine {
  readonly fields: readonly string[];
  readonly number: number;
  readonly raw: string;
}

export const csv: ListFormat = (sink, { confidence }) => {
  let delimiter = '';
  let columns: FoundColumns | undefined;
  let sample: HeldLine[] = [];

  function put({ fields, number, raw }: HeldLine): void {
    const reason = columns === undefined ? 'no address' : row(fields, columns, sink, confidence);
    if (reason !== undefined) sink.bad(number, reason, raw);
  }

  /** The rows so far tell where the columns are. */
  function settle(): void {
    const found = columns ?? columnsOfRows(sample.map(({ fields }) => fields));
    columns ??= found && { ...found, isNamed: false };
    const first = sample.findIndex(({ fields }) => isAddress(fields[columns?.address ?? -1] ?? ''));
    for (const [i, one] of sample.entries()) {
      // A header that says nothing.
      if (i < first) sink.bad(one.number, 'no address', one.raw);
      else put(one);
    }
    sample = [];
  }

  function record(fields: readonly string[], number: number, raw: string): void {
    if (columns?.asRange !== undefined) columns = columnsBy(fields, columns, columns.asRange);
    if (columns === undefined) {
      columns = columnsOfHeader(fields);
      if (columns === undefined) {
        if (sample.push({ fields, number, raw }) === sampleMax) settle();
        return;
      }
      // Lines before the header have no address.
      for (const one of sample) sink.bad(one.number, 'no address', one.raw);
      sample = [];
      return;
    }
    put({ fields, number, raw });
  }

  function comment(text: string): void {
    // Some lists hide their header in a comment.
    if (columns !== undefined) return;
    const header = text.replace(/^[\s#]+/, '');
    const fields = splitRecord(header, delimiterOf(header));
    if (fields === 'open' || fields === 'malformed' || fields.length < 2) return;
    columns = columnsOfHeader(fields);
    if (columns !== undefined) delimiter = delimiterOf(header);
  }

  const records = csvRecords(
    {
      record,
      malformed: (number, reason, raw) => sink.bad(number, reason, raw),
      skips(text) {
        const isComment = text.trimStart().startsWith('#');
        if (isComment) comment(text.trim());
        return isComment;
      },
    },
    (text) => {
      if (delimiter === '') delimiter = delimiterOf(text);
      return delimiter;
    },
  );

  return lineReader(sink, {
    line: records.line,
    end() {
      records.end();
      settle();
    },
  });
};

function row(
  fields: readonly string[],
  columns: FoundColumns,
  sink: RowSink,
  confidence: number,
): string | undefined {
  const named = namedIn(fields, columns, columns.isNamed);
  if (typeof named === 'string') return named;
  const address = named.text;
  if (columns.score === -1) return sink.entry(address, confidence);
  const score = parseScore(fields[columns.score]?.trim() ?? '');
  if (score === -1) return 'the score is not a number from 0 to 100';
  return sink.entry(address, score);
}

function plainName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

/** Says whether a field or member of this name holds an address. */
export const namesAddress = (name: string) => addressNames.has(plainName(name));
export const namesScore = (name: string) => scoreNames.has(plainName(name));

function columnsOfHeader(fields: readonly string[]): FoundColumns | undefined {
  const names = fields.map(plainName);
  const column = (wanted: ReadonlySet<string>, but = -1) =>
    names.findIndex((name, at) => at !== but && wanted.has(name));
  const named = column(addressNames);
  const start = column(startNames);
  const end = start === -1 ? -1 : column(endNames);
  // Next to a column of addresses, plain "start" and "end" are times.
  const isRange = end !== -1 && (named === -1 || /ip|addr|range/.test(names[start]!));
  const address = isRange ? start : named;
  if (address === -1) return undefined;
  const mask = column(maskNames, address);
  const score = column(scoreNames);
  const found = { address, end: isRange ? end : -1, mask, score, isNamed: true };
  // DShield's table has the length under "Netblock".
  return isRange || end === -1
    ? found
    : { ...found, asRange: { ...found, address: start, end, mask: named } };
}

/** The first row with an address tells whether "start" and "end" are times or addresses. */
function columnsBy(
  fields: readonly string[],
  found: FoundColumns,
  asRange: FoundColumns,
): FoundColumns {
  const isOne = (at: number) => isAddress(fields[at] ?? '');
  if (isOne(found.address)) return { ...found, asRange: undefined };
  return isOne(asRange.address) && isOne(asRange.end) ? asRange : found;
}

/**
 * Returns the candidate that occurs most often, of those that leave an address or the name of a column of addresses
 * alone in a field: a text in the row may have more bars than the row has commas. A comma when none does.
 */
function delimiterOf(line: string): string {
  const counts = [',', ';', '\t', '|'].map((delimiter) => {
    const fields = splitRecord(line, delimiter);
    const isRow =
      typeof fields !== 'string' &&
      fields.length > 1 &&
      (fields.some((field) => isAddress(field.trim())) || columnsOfHeader(fields) !== undefined);
    return { delimiter, count: line.split(delimiter).length, isRow };
  });
  const most = counts.sort((a, b) => Number(b.isRow) - Number(a.isRow) || b.count - a.count);
  return most[0]!.delimiter;
}
