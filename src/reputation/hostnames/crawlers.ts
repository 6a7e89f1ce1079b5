/**
 * The crawlers of search engines by the domain of their host names. The table is kept by hand and short: it holds
 * domains in which an engine names machines that crawl, and nothing else as far as is known. A domain in which an
 * engine also names offices, mail servers or the machines of customers is left out, and so is one of which it is not
 * sure: an address without a crawler's name is only shown without one.
 */

/** Domains in which machines that crawl have their names. */
const crawlers: readonly (readonly [crawler: string, ...domains: string[]])[] = [
  ['Googlebot', 'googlebot.com'],
  ['Bingbot', 'search.msn.com'],
  ['Applebot', 'applebot.apple.com'],
  ['Baiduspider', 'crawl.baidu.com', 'crawl.baidu.jp'],
  ['Yahoo! Slurp', 'crawl.yahoo.net'],
];

/** @param name confirmed, in lower case */
export function crawlerOf(name: string): string | undefined {
  return crawlers.find(([, ...domains]) =>
    domains.some((domain) => name.endsWith(`.${domain}`)),
  )?.[0];
}
