/**
 * Reads both editions of Spamhaus DROP, recognised line by line. Text: `CIDR ; SBLn`, `;` comments.
 * NDJSON: `{"cidr":"…","sblid":"…",…}` a line and one `{"type":"metadata",…}` line at the end.
 * https://www.spamhaus.org/blocklists/do-not-route-or-peer/
 */

import { type ListFormat, lineReader } from '../import/format.ts';
import type { RowSink } from '../import/rows.ts';
import { withoutComment } from './plain.ts';

export const drop: ListFormat = (sink, { confidence }) =>
  lineReader(sink, {
    line(raw, number) {
      const json = raw.trimStart().startsWith('{');
      const text = json ? raw : withoutComment(raw);
      if (text.length === 0) return;
      const reason = json ? jsonLine(text, sink, confidence) : sink.entry(text, confidence);
      if (reason !== undefined) sink.bad(number, reason, raw);
    },
  });

function jsonLine(text: string, sink: RowSink, confidence: number): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'not JSON';
  }
  const row = value as { cidr?: unknown; type?: unknown };
  if (typeof row.cidr === 'string') return sink.entry(row.cidr, confidence);
  return row.type === 'metadata' ? undefined : 'no "cidr"';
}
