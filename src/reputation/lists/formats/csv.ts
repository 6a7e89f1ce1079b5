/**
 * Any CSV with an address column and perhaps a score column (RFC 4180 quoting; comma, semicolon
 * or tab). A header names the columns; without one they are found by the first row: the first
 * field that is an address, and the first other one that is a number 0..100. Scores are 0..100,
 * never fractions of 1. A score column that is empty or out of bounds makes its row bad: a
 * missing score must not become the default one.
 */

import { parseIp } from '../../../ip/address.ts';
import { parsePrefix } from '../../../ip/prefix.ts';
import { type ListFormat, lineReader, parseScore } from '../import/format.ts';
import type { RowSink } from '../import/rows.ts';
import { csvRecords, splitRecord } from './csv-records.ts';

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

interface Columns {
  address: number;
  /** -1: none, every row has the list's confidence. */
  score: number;
}

export const csv: ListFormat = (sink, { confidence }) => {
  let delimiter = '';
  let columns: Columns | undefined;

  function record(fields: readonly string[], number: number, raw: string): void {
    if (columns === undefined) {
      columns = columnsOfHeader(fields);
      if (columns !== undefined) return;
      columns = columnsOfRow(fields);
    }
    const reason = columns === undefined ? 'no address' : row(fields, columns, sink, confidence);
    if (reason !== undefined) sink.bad(number, reason, raw);
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

  return lineReader(sink, records);
};

function row(
  fields: readonly string[],
  columns: Columns,
  sink: RowSink,
  confidence: number,
): string | undefined {
  const address = fields[columns.address]?.trim() ?? '';
  if (address === '') return 'no address';
  if (columns.score === -1) return sink.entry(address, confidence);
  const score = parseScore(fields[columns.score]?.trim() ?? '');
  if (score === -1) return 'the score is not a number from 0 to 100';
  return sink.entry(address, score);
}

function columnsOfHeader(fields: readonly string[]): Columns | undefined {
  const names = fields.map((field) => field.toLowerCase().replace(/[^a-z0-9]/g, ''));
  const address = names.findIndex((name) => addressNames.has(name));
  if (address === -1) return undefined;
  return { address, score: names.findIndex((name) => scoreNames.has(name)) };
}

function columnsOfRow(fields: readonly string[]): Columns | undefined {
  const address = fields.findIndex((field) => isAddress(field.trim()));
  if (address === -1) return undefined;
  const score = fields.findIndex((field, i) => i !== address && parseScore(field.trim()) !== -1);
  return { address, score };
}

function isAddress(text: string): boolean {
  return parseIp(text, new Uint32Array(4)) !== 0 || parsePrefix(text, 'mask').ok;
}

/** The candidate that occurs most often in the line; a comma when none does. */
function delimiterOf(line: string): string {
  let best = ',';
  let bestCount = line.split(',').length;
  for (const candidate of [';', '\t']) {
    const count = line.split(candidate).length;
    if (count > bestCount) {
      best = candidate;
      bestCount = count;
    }
  }
  return best;
}
