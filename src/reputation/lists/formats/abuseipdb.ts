/**
 * The AbuseIPDB blacklist as the service hands it out, told apart by its beginning: JSON
 * (`{"meta":…,"data":[{"ipAddress","abuseConfidenceScore",…}]}`), CSV with a header, or plain
 * text with one address a line. JSON and CSV bring their own scores; plain text has none, so its
 * rows take the list's confidence.
 */

import { BrokenList, type FormatOptions, type ListFormat } from '../import/format.ts';
import { maxLineBytesDefault, type TextReader } from '../import/lines.ts';
import type { RowSink } from '../import/rows.ts';
import { csv } from './csv.ts';
import { readJsonElements } from './json-elements.ts';
import { plain } from './plain.ts';

export const abuseipdb: ListFormat = (sink, options) => {
  let head = '';
  let reader: TextReader | undefined;

  return {
    push(text) {
      if (reader !== undefined) {
        reader.push(text);
        return;
      }
      head += text;
      reader = chooseReader(head, false, sink, options);
      if (reader === undefined) return;
      reader.push(head);
      head = '';
    },
    end() {
      reader ??= chooseReader(head, true, sink, options);
      if (head !== '') reader?.push(head);
      reader?.end();
    },
  };
};

/** Undefined until the head tells: at the first bracket, or at the end of the first line with text. */
function chooseReader(
  head: string,
  isWhole: boolean,
  sink: RowSink,
  options: FormatOptions,
): TextReader | undefined {
  const text = head.trimStart();
  const isJson = text.startsWith('{') || text.startsWith('[');
  if (isJson) return jsonReader(sink);
  const line = /^[^#\s][^\r\n]*[\r\n]/m.exec(text)?.[0] ?? (isWhole ? text : undefined);
  if (line !== undefined) return line.includes(',') ? csv(sink, options) : plain(sink, options);
  if (head.length > 4 * maxLineBytesDefault) throw new BrokenList('no line of a list at its start');
  return undefined;
}

function jsonReader(sink: RowSink): TextReader {
  return readJsonElements({
    element(text, number) {
      const reason = element(text, sink);
      if (reason !== undefined) sink.bad(number, reason, text);
    },
    overlong: (head, number) => sink.bad(number, 'element too long', head),
  });
}

function element(text: string, sink: RowSink): string | undefined {
  let row: { ipAddress?: unknown; abuseConfidenceScore?: unknown };
  try {
    row = JSON.parse(text);
  } catch {
    return 'not JSON';
  }
  const score = row.abuseConfidenceScore;
  if (typeof row.ipAddress !== 'string') return 'no "ipAddress"';
  if (typeof score !== 'number' || !(score >= 0 && score <= 100)) {
    return '"abuseConfidenceScore" is not a number from 0 to 100';
  }
  return sink.entry(row.ipAddress, Math.round(score));
}
