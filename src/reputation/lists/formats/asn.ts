/**
 * Lists of autonomous systems: Spamhaus ASN-DROP, an object with `asn` a line and one of `"type":"metadata"` at the
 * end, or `AS64500` a line with comments as in plain lists. Each system counts as all networks that the geo tables
 * give it, so a list is in step with them from its next load on. One that has none there is a bad line.
 */

import { parseNetworkGroup } from '../../../geo/network-groups.ts';
import { openSystemIndex, type SystemIndex } from '../../../geo/systems/system-index.ts';
import buildSystems from '../../../geo/systems/systems.worker.ts';
import { BrokenList, type ListFormat, lineReader } from '../import/rows.ts';
import { withoutComment } from './plain.ts';

export const isSystemLine = (line: string): boolean => /^AS\d{1,10}\b/i.test(line);

export const asn: ListFormat = (sink, { confidence, systems }) => {
  let index: SystemIndex | undefined;

  function put(text: string): string | undefined {
    const number = text.startsWith('{') ? numberIn(text) : text;
    if (number === 'metadata') return undefined;
    const group = parseNetworkGroup(
      /^\d/.test(number) ? `AS${number}` : (number.split(/\s/, 1)[0] ?? ''),
    );
    if (typeof group !== 'object' || group.kind !== 'system') return 'no number of a system';
    if (systems === undefined) throw new BrokenList('there is no table of autonomous systems');
    index ??= openSystemIndex(buildSystems(systems));
    const { ranges } = index.rangesOf(group.number);
    for (const range of ranges) sink.range(range, confidence);
    return ranges.length === 0 ? 'no network of the system is known' : undefined;
  }

  return lineReader(sink, {
    line(raw, number) {
      const text = raw.trimStart().startsWith('{') ? raw.trim() : withoutComment(raw);
      const reason = text === '' ? undefined : put(text);
      if (reason !== undefined) sink.bad(number, reason, raw);
    },
  });
};

/** Returns the text of the number, empty for an object without one. */
function numberIn(text: string): string {
  try {
    const { asn: number, type } = JSON.parse(text) as { asn?: unknown; type?: unknown };
    if (typeof number === 'number' || typeof number === 'string') return String(number);
    return type === 'metadata' ? 'metadata' : '';
  } catch {
    return '';
  }
}
