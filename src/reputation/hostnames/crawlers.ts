/**
 * The crawlers of search engines by the domain of their host names, as the engines' own pages tell to verify them: the
 * name of the address, confirmed by its own record. Domains of which strangers get names are left out, though an
 * engine names them too: anybody has a machine under googleusercontent.com.
 */

/** Domains whose every name is the engine's. */
const crawlers: readonly (readonly [crawler: string, ...domains: string[]])[] = [
  ['Googlebot', 'googlebot.com', 'google.com'],
  ['Bingbot', 'search.msn.com'],
  ['Applebot', 'applebot.apple.com'],
  ['YandexBot', 'yandex.ru', 'yandex.net', 'yandex.com'],
  ['Baiduspider', 'crawl.baidu.com', 'crawl.baidu.jp'],
  ['PetalBot', 'petalsearch.com'],
  ['SeznamBot', 'seznam.cz'],
  ['Yahoo! Slurp', 'crawl.yahoo.net'],
];

/** @param name confirmed, in lower case */
export function crawlerOf(name: string): string | undefined {
  return crawlers.find(([, ...domains]) =>
    domains.some((domain) => name.endsWith(`.${domain}`)),
  )?.[0];
}
