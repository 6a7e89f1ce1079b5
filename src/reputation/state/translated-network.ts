/**
 * Earlier versions let a report of a NAT64 address count for its /64 too, and the /64 of 64:ff9b::/96 has
 * all of IPv4. Reports of that /64 are left out when a state is loaded, so that it is what the journal
 * gives by today's rule, whichever version wrote the pages.
 */

import type { IpIndex } from '../../index/ip-index.ts';
import { reportsOf, setReportedAt, setReports } from '../../index/records.ts';
import { contributionKinds, kindOf } from './contributions.ts';
import type { Entries } from './entries.ts';

/** The /64 of 64:ff9b::/96; no other address of it can be reported. */
const words = Uint32Array.of(0x0064_ff9b, 0, 0, 0);

/** Removes the reports of that /64. @returns true when there were some */
export function forgetTranslatedNetwork(entries: Entries, { records }: IpIndex): boolean {
  const entry = entries.get(6, words, 64);
  if (entry === 0 || reportsOf(records, entry) === 0) return false;
  const { contributions: c } = entries;
  entries.touch(entry);
  for (let node = c.first(entry), next = 0; node !== 0; node = next) {
    next = c.next[node]!;
    if (kindOf(c.tag[node]!) === contributionKinds.reports) c.remove(node);
  }
  setReports(records, entry, 0);
  setReportedAt(records, entry, 0, 0);
  entries.settle(entry);
  return true;
}
