/**
 * Lists that an operator may switch on. Each comes from its own publisher, with its own terms, which the
 * operator reads first; nothing of a list comes with this program.
 */

import type { ListFormatName } from './import/parse.ts';

interface OfferedList {
  /** The name under which its rows stand. */
  readonly name: string;
  readonly title: string;
  readonly url: string;
  readonly format: ListFormatName;
  /** Score of its rows, where it brings none: 75 and more is blocked. */
  readonly confidence: number;
  readonly every: string;
  /** The page of the publisher that says how it may be used. */
  readonly terms: string;
  /** The share of its rows that did nothing, as its publishers and users say. */
  readonly falsePositives: 'fewest' | 'few' | 'some' | 'many';
  /** The rough number of its rows, for who decides before loading it; absent where that is not known. */
  readonly rowsAbout?: number;
}

export const offeredLists: readonly OfferedList[] = [
  {
    name: 'spamhaus-drop',
    title: 'Spamhaus DROP',
    url: 'https://www.spamhaus.org/drop/drop_v4.json',
    format: 'drop',
    confidence: 95,
    every: '1d',
    terms: 'https://www.spamhaus.org/blocklists/drop-fair-use-policy/',
    falsePositives: 'fewest',
    rowsAbout: 1_500,
  },
  {
    name: 'spamhaus-dropv6',
    title: 'Spamhaus DROPv6',
    url: 'https://www.spamhaus.org/drop/drop_v6.json',
    format: 'drop',
    confidence: 95,
    every: '1d',
    terms: 'https://www.spamhaus.org/blocklists/drop-fair-use-policy/',
    falsePositives: 'fewest',
    rowsAbout: 80,
  },
  {
    name: 'spamhaus-asndrop',
    title: 'Spamhaus ASN-DROP',
    url: 'https://www.spamhaus.org/drop/asndrop.json',
    format: 'asn',
    confidence: 90,
    every: '1d',
    terms: 'https://www.spamhaus.org/blocklists/drop-fair-use-policy/',
    falsePositives: 'few',
  },
  {
    name: 'ipsum',
    title: 'IPsum',
    url: 'https://raw.githubusercontent.com/stamparm/ipsum/master/ipsum.txt',
    format: 'ipsum',
    confidence: 75,
    every: '1d',
    terms: 'https://github.com/stamparm/ipsum',
    falsePositives: 'few',
    rowsAbout: 120_000,
  },
  {
    name: 'firehol-level1',
    title: 'FireHOL level 1',
    url: 'https://iplists.firehol.org/files/firehol_level1.netset',
    format: 'plain',
    confidence: 90,
    every: '1d',
    terms: 'https://iplists.firehol.org/?ipset=firehol_level1',
    falsePositives: 'few',
    rowsAbout: 4_000,
  },
  {
    name: 'firehol-level2',
    title: 'FireHOL level 2',
    url: 'https://iplists.firehol.org/files/firehol_level2.netset',
    format: 'plain',
    confidence: 70,
    every: '1d',
    terms: 'https://iplists.firehol.org/?ipset=firehol_level2',
    falsePositives: 'some',
  },
  {
    name: 'firehol-level3',
    title: 'FireHOL level 3',
    url: 'https://iplists.firehol.org/files/firehol_level3.netset',
    format: 'plain',
    confidence: 60,
    every: '1d',
    terms: 'https://iplists.firehol.org/?ipset=firehol_level3',
    falsePositives: 'many',
  },
  {
    name: 'cins-army',
    title: 'CINS Army',
    url: 'https://cinsscore.com/list/ci-badguys.txt',
    format: 'plain',
    confidence: 80,
    every: '6h',
    terms: 'https://cinsscore.com/',
    falsePositives: 'few',
    rowsAbout: 15_000,
  },
  {
    name: 'blocklist-de',
    title: 'blocklist.de',
    url: 'https://lists.blocklist.de/lists/all.txt',
    format: 'plain',
    confidence: 75,
    every: '6h',
    terms: 'https://www.blocklist.de/en/',
    falsePositives: 'some',
    rowsAbout: 20_000,
  },
  {
    name: 'emerging-threats',
    title: 'Emerging Threats',
    url: 'https://rules.emergingthreats.net/blockrules/compromised-ips.txt',
    format: 'plain',
    confidence: 80,
    every: '1d',
    terms: 'https://rules.emergingthreats.net/',
    falsePositives: 'few',
    rowsAbout: 500,
  },
  {
    name: 'dshield',
    title: 'DShield',
    url: 'https://feeds.dshield.org/block.txt',
    format: 'plain',
    confidence: 80,
    every: '6h',
    terms: 'https://www.dshield.org/xml.html',
    falsePositives: 'few',
    rowsAbout: 20,
  },
  {
    name: 'tor-exits',
    title: 'Tor exits',
    url: 'https://check.torproject.org/torbulkexitlist',
    format: 'anon',
    confidence: 75,
    every: '6h',
    terms: 'https://check.torproject.org/',
    falsePositives: 'many',
    rowsAbout: 1_200,
  },
];
