/**
 * Plain lists: one address, CIDR or range `first-last` a line; `#` and `;` begin a comment, also
 * behind an entry. Every row has the score given for the list, and its service.
 */

import { type ListFormat, lineReader } from '../import/format.ts';
import { serviceNumber } from '../known-services.ts';

export const plain: ListFormat = (sink, { confidence, service }) =>
  lineReader(sink, {
    line(raw, number) {
      const text = withoutComment(raw);
      if (text.length === 0) return;
      const reason = sink.entry(text, confidence, serviceNumber(service));
      if (reason !== undefined) sink.bad(number, reason, raw);
    },
  });

/** The entry in front of a `#` or `;` comment, trimmed. */
export function withoutComment(line: string): string {
  const hash = line.indexOf('#');
  const text = hash === -1 ? line : line.slice(0, hash);
  const semicolon = text.indexOf(';');
  return (semicolon === -1 ? text : text.slice(0, semicolon)).trim();
}
