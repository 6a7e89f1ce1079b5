/**
 * Reads Tor exits, both lists of the Tor Project, recognised line by line: the bulk list (one address
 * a line) and `exit-addresses` (`ExitNode`, `Published`, `LastStatus`, `ExitAddress IP date time`).
 * Rows carry score 0: to be an exit is a property, not an offence.
 * https://check.torproject.org/torbulkexitlist, https://check.torproject.org/exit-addresses
 */

import { type ListFormat, lineReader } from '../import/format.ts';
import { withoutComment } from './plain.ts';

const exitAddress = /^ExitAddress[ \t]+(\S+)(?:[ \t]|$)/;
const otherKeyword = /^(?:ExitNode|Published|LastStatus)(?:[ \t]|$)/;

export const anon: ListFormat = (sink) =>
  lineReader(sink, {
    line(raw, number) {
      const text = withoutComment(raw);
      if (text.length === 0 || otherKeyword.test(text)) return;
      const reason = sink.entry(exitAddress.exec(text)?.[1] ?? text, 0);
      if (reason !== undefined) sink.bad(number, reason, raw);
    },
  });
