/**
 * The crawlers of search engines by their host names. The table is kept by hand and short: it holds names that an
 * engine gives to machines that crawl, and to nothing else as far as is known. An engine whose offices, mail servers or
 * customers have names alike is left out: an address without a crawler's name is only shown without one.
 */

/**
 * Names of machines that crawl, as each engine's own page has them: all in a domain, or those that begin so in one
 * that the engine uses for other machines too.
 */
const crawlers: readonly (readonly [crawler: string, ...names: string[]])[] = [
  ['Googlebot', '.googlebot.com'],
  ['Bingbot', '.search.msn.com'],
  ['Applebot', '.applebot.apple.com'],
  ['YandexBot', '.spider.yandex.com', '.spider.yandex.net', '.spider.yandex.ru'],
  ['Baiduspider', '.crawl.baidu.com', '.crawl.baidu.jp'],
  ['PetalBot', 'petalbot-*.petalsearch.com'],
  ['Qwantbot', 'qwantbot-*.qwant.com'],
  ['SeznamBot', 'fulltextrobot-*.seznam.cz'],
  ['Amazonbot', '.crawl.amazonbot.amazon'],
  ['Yahoo! Slurp', '.crawl.yahoo.net'],
];

function isNamedSo(name: string, pattern: string): boolean {
  const [start = '', domain] = pattern.split('*');
  if (domain === undefined) return name.endsWith(pattern);
  // The star stands for a part of one label.
  const isOneLabel = name.length - domain.length === name.indexOf('.');
  return name.startsWith(start) && name.endsWith(domain) && isOneLabel;
}

/** @param name confirmed, in lower case */
export function crawlerOf(name: string): string | undefined {
  return crawlers.find(([, ...patterns]) => patterns.some((one) => isNamedSo(name, one)))?.[0];
}
