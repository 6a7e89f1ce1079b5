/**
 * IPsum: `IP<TAB>number of blacklists that hold it`, `#` comment lines.
 * https://github.com/stamparm/ipsum
 */

import { type ListFormat, lineReader } from '../import/format.ts';

/** Score by number of lists: one list alone is weak evidence, eight agree about certainly. */
const scoreByLists = [0, 25, 50, 70, 80, 88, 93, 96, 99] as const;

/** `lists` ≥ 1. */
export function ipsumScore(lists: number): number {
  return scoreByLists[Math.min(lists, 8)]!;
}

export const ipsum: ListFormat = (sink) =>
  lineReader(sink, {
    line(raw, number) {
      const text = raw.trim();
      if (text.length === 0 || text.charCodeAt(0) === 0x23) return;
      const tab = text.indexOf('\t');
      const gap = tab === -1 ? text.indexOf(' ') : tab;
      if (gap === -1) {
        sink.bad(number, 'no number of lists after the address', raw);
        return;
      }
      const count = text.slice(gap + 1).trim();
      if (!/^[1-9]\d{0,5}$/.test(count)) {
        sink.bad(number, 'the number of lists is not a count', raw);
        return;
      }
      const lists = Number(count);
      const reason = sink.entry(text.slice(0, gap).trim(), ipsumScore(lists), lists);
      if (reason !== undefined) sink.bad(number, reason, raw);
    },
  });
