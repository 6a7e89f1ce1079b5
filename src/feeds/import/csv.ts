/**
 * Any CSV with an address column and perhaps a score column (RFC 4180 quoting; comma, semicolon
 * or tab). A header names the columns; without one they are found by the first row: the first
 * field that is an address, and the first other one that is a number 0..100. Scores are 0..100,
 * never fractions of 1. A score column that is empty or out of bounds makes its row bad: a
 * missing score must not become the default one.
 */

import { parseIp } from '../../ip/address.ts';
import { parsePrefix } from '../../ip/prefix.ts';
import { type ListFormat, lineReader, parseScore } from './format.ts';
import type { RowSink } from './rows.ts';

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

/** Bounds of a record whose quoted field runs over line ends; a stray quote costs one row only. */
const recordLinesMax = 32;
const recordBytesMax = 16_384;

interface Columns {
  address: number;
  /** -1: none, every row has the list's confidence. */
  score: number;
}

export const csv: ListFormat = (sink, { confidence }) => {
  let delimiter = '';
  let columns: Columns | undefined;
  /** Lines of a record whose quoted field is still open. */
  let open: string[] = [];
  let openNumber = 0;
  let openBytes = 0;

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

  function line(text: string, number: number): void {
    if (open.length > 0) {
      more(text);
      return;
    }
    const trimmed = text.trim();
    if (trimmed.length === 0) return;
    if (trimmed.charCodeAt(0) === 0x23) {
      comment(trimmed);
      return;
    }
    if (delimiter === '') delimiter = delimiterOf(text);
    const fields = splitRecord(text, delimiter);
    if (fields === 'malformed') {
      sink.bad(number, 'text behind a closing quote', text);
    } else if (fields === 'open') {
      open = [text];
      openNumber = number;
      openBytes = text.length;
    } else {
      record(fields, number, text);
    }
  }

  function more(text: string): void {
    open.push(text);
    openBytes += text.length + 1;
    if (open.length > recordLinesMax || openBytes > recordBytesMax) {
      giveUp('quote never closed');
      return;
    }
    if (!text.includes('"')) return;
    const joined = open.join('\n');
    const fields = splitRecord(joined, delimiter);
    if (fields === 'open') return;
    if (fields === 'malformed') {
      giveUp('text behind a closing quote');
      return;
    }
    open = [];
    record(fields, openNumber, joined);
  }

  /** The first line of the open record is bad; those behind it are read again on their own. */
  function giveUp(reason: string): void {
    const [first = '', ...rest] = open;
    const number = openNumber;
    open = [];
    sink.bad(number, reason, first);
    for (const [i, text] of rest.entries()) line(text, number + 1 + i);
  }

  return lineReader(sink, {
    line,
    end() {
      // Each round makes one line bad, so at most `recordLinesMax` rounds.
      while (open.length > 0) giveUp('quote never closed');
    },
  });
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

/**
 * Fields of one record. 'open' when a quoted field runs on behind the end of `text`; 'malformed'
 * when something other than a delimiter follows a closing quote. A quote inside an unquoted
 * field is an ordinary character.
 */
export function splitRecord(text: string, delimiter: string): string[] | 'open' | 'malformed' {
  if (!text.includes('"')) return text.split(delimiter);
  const fields: string[] = [];
  let at = 0;
  for (;;) {
    if (text[at] !== '"') {
      const end = text.indexOf(delimiter, at);
      fields.push(end === -1 ? text.slice(at) : text.slice(at, end));
      if (end === -1) return fields;
      at = end + 1;
      continue;
    }
    let close = text.indexOf('"', at + 1);
    while (close !== -1 && text[close + 1] === '"') close = text.indexOf('"', close + 2);
    if (close === -1) return 'open';
    fields.push(text.slice(at + 1, close).replaceAll('""', '"'));
    if (close + 1 === text.length) return fields;
    if (text[close + 1] !== delimiter) return 'malformed';
    at = close + 2;
  }
}
