/**
 * Plain lists: one address, CIDR, network with mask, or range `first-last` a line, or a line of DShield's; `#` and `;` begin a comment, also
 * behind an entry. Every row has the score given for the list, and its service.
 */

import { type ListFormat, lineReader } from '../import/format.ts';
import { serviceNumber } from '../known-services.ts';
import { spanOf } from './columns.ts';

export const plain: ListFormat = (sink, { confidence, service }) =>
  lineReader(sink, {
    line(raw, number) {
      const text = withoutComment(raw);
      if (text.length === 0) return;
      const reason = sink.entry(networkIn(text), confidence, serviceNumber(service));
      if (reason !== undefined) sink.bad(number, reason, raw);
    },
  });

/** `20.1.1.0 20.1.1.255 24 …`, as DShield writes networks, is one where the three agree. */
function networkIn(text: string): string {
  const [start = '', end = '', length = ''] = text.split(/[ \t]+/, 3);
  if (length === '' || !/^\d{1,3}$/.test(length)) return text;
  const named = spanOf(start, end, length, false);
  return typeof named === 'string' ? text : named.text;
}

/** The entry in front of a `#` or `;` comment, trimmed. */
export function withoutComment(line: string): string {
  const hash = line.indexOf('#');
  const text = hash === -1 ? line : line.slice(0, hash);
  const semicolon = text.indexOf(';');
  return (semicolon === -1 ? text : text.slice(0, semicolon)).trim();
}
