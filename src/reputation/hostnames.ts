/**
 * Finds the host names of addresses by reverse DNS. A name counts only if its own A or AAAA records hold the address,
 * since whoever runs an address can write any name into its reverse zone. A confirmed name in the domain of a search
 * engine marks the address as its crawler. Neither changes a score.
 *
 * A check never waits for DNS: `known` answers from memory and starts a look-up if it has nothing. Only public
 * addresses are looked up, a limited number at a time and a second; others wait for a later check. Answers are
 * untrusted: a name that is no host name is dropped, and only the first few names count.
 */

import { Resolver } from 'node:dns/promises';
import type { BoundedTable } from '../core/bounded-tables.ts';
import type { Clock } from '../core/clock.ts';
import { hourMs, minuteMs } from '../core/time.ts';
import { canonicalIp, formatIp, type IpFamily } from '../ip/address.ts';
import { replaceByEmbedded } from '../ip/embedded-ipv4.ts';
import { isPublic } from '../ip/special.ts';

interface KnownHost {
  /** Confirmed names in lower case, without a dot at the end; empty: there is none, or none is known yet. */
  readonly names: readonly string[];
  /** Name of the crawler that the address is, by its confirmed name. */
  readonly crawler: string | undefined;
}

export type Hostnames = ReturnType<typeof createHostnames>;

/** The part of a resolver of Node that is used. */
export interface NameResolver {
  resolvePtr(name: string): Promise<string[]>;
  resolve4(name: string, options: { ttl: true }): Promise<{ address: string; ttl: number }[]>;
  resolve6(name: string, options: { ttl: true }): Promise<{ address: string; ttl: number }[]>;
  cancel(): void;
}

/** Names of one address that are looked at. */
const hostNamesMax = 4;
const runningMax = 16;
/** Look-ups a second, and at once after a quiet time. */
export const askedPerSecond = 10;
const askedBurst = 30;
const entriesMax = 20_000;
const keptMs = { least: 5 * minuteMs, most: 6 * hourMs, without: hourMs, failed: 5 * minuteMs };
const timeoutMs = 2_000;
/** Whoever runs a zone may answer late each time: no further name is asked about after this long. */
const patienceMs = 5_000;
const unknownHost: KnownHost = { names: [], crawler: undefined };

/** @param servers addresses of resolvers, with or without a port; empty: those of the system */
export function systemResolver(servers: readonly string[]): NameResolver {
  const resolver = new Resolver({ timeout: timeoutMs, tries: 2 });
  if (servers.length > 0) resolver.setServers(servers);
  return resolver;
}

export function createHostnames(options: {
  /** Absent: names are not looked up. */
  readonly resolver: NameResolver | undefined;
  readonly clock: Clock;
  /** True when verbose checks name hosts, too. */
  readonly isInChecks?: boolean;
}) {
  const { resolver, clock, isInChecks = false } = options;
  /** The oldest answer first. */
  const answers = new Map<string, KnownHost & { readonly untilMs: number }>();
  const asking = new Map<string, Promise<KnownHost>>();
  let allowance = askedBurst;
  let countedAtMs = clock.monotonicMs();
  let asked = 0;
  let isClosed = false;

  function takeAllowance(): boolean {
    const now = clock.monotonicMs();
    const grown = ((now - countedAtMs) / 1_000) * askedPerSecond;
    allowance = Math.min(askedBurst, allowance + grown);
    countedAtMs = now;
    if (asking.size >= runningMax || allowance < 1) return false;
    allowance--;
    asked++;
    return true;
  }

  function keep(text: string, host: KnownHost, forMs: number): KnownHost {
    answers.delete(text);
    answers.set(text, { ...host, untilMs: clock.monotonicMs() + forMs });
    if (answers.size > entriesMax) answers.delete(answers.keys().next().value!);
    return host;
  }

  async function lookUp(from: NameResolver, text: string, words: Uint32Array): Promise<KnownHost> {
    const family = text.includes(':') ? 6 : 4;
    const lastMs = clock.monotonicMs() + patienceMs;
    try {
      const pointed = await from.resolvePtr(reverseName(family, words));
      const candidates = [...new Set(pointed.map(readableHostName))].filter(
        (name) => name !== undefined,
      );
      const shown: string[] = [];
      let ttlMs: number = keptMs.most;
      for (const name of candidates.slice(0, hostNamesMax)) {
        if (clock.monotonicMs() > lastMs) break;
        const ttl = await confirm(from, name, family, text);
        if (ttl === undefined) continue;
        shown.push(name);
        ttlMs = Math.min(ttlMs, ttl * 1_000);
      }
      const crawler = shown.map(crawlerOf).find((one) => one !== undefined);
      const forMs = shown.length === 0 ? keptMs.without : Math.max(keptMs.least, ttlMs);
      return keep(text, { names: shown, crawler }, forMs);
    } catch (error) {
      return keep(text, unknownHost, isAbsence(error) ? keptMs.without : keptMs.failed);
    } finally {
      asking.delete(text);
    }
  }

  /** Asks, unless the answer is there or too much is asked. Resolves with what is known then. */
  async function ask(family: IpFamily, given: Uint32Array): Promise<KnownHost> {
    const words = Uint32Array.from(given);
    const embedded = replaceByEmbedded(family, words);
    const text = formatIp(embedded, words);
    const found = answers.get(text);
    if (found !== undefined && found.untilMs > clock.monotonicMs()) return found;
    if (resolver === undefined || isClosed || !isPublic(embedded, words)) return unknownHost;
    const running = asking.get(text);
    if (running !== undefined) return running;
    if (!takeAllowance()) return unknownHost;
    const answer = lookUp(resolver, text, words);
    asking.set(text, answer);
    return answer;
  }

  /** Returns what is known now; where nothing is, it is asked for, and a later call has it. */
  function known(family: IpFamily, given: Uint32Array): KnownHost {
    if (resolver === undefined) return unknownHost;
    const words = Uint32Array.from(given);
    const found = answers.get(formatIp(replaceByEmbedded(family, words), words));
    if (found !== undefined && found.untilMs > clock.monotonicMs()) return found;
    void ask(family, given);
    return unknownHost;
  }

  const tables: readonly BoundedTable[] =
    resolver === undefined
      ? []
      : [
          { name: 'host_names', used: () => answers.size, limit: entriesMax },
          { name: 'host_name_questions', used: () => asking.size, limit: runningMax },
        ];

  return {
    known,
    ask,
    isInChecks,
    tables,
    /** Returns how many addresses were asked about since the start. */
    asked: () => asked,
    close(): void {
      isClosed = true;
      resolver?.cancel();
    },
  };
}

/** Returns the time to live of the record that holds the address, in seconds; undefined: none does. */
async function confirm(
  resolver: NameResolver,
  name: string,
  family: IpFamily,
  text: string,
): Promise<number | undefined> {
  try {
    const withTtl = { ttl: true } as const;
    const records =
      family === 4
        ? await resolver.resolve4(name, withTtl)
        : await resolver.resolve6(name, withTtl);
    return records.find(({ address }) => canonicalIp(address) === text)?.ttl;
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

/** The server says that there is no such name or record; all else may be otherwise in a moment. */
function isAbsence(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === 'ENOTFOUND' || code === 'ENODATA';
}

/** Returns the name of an address in the reverse zone (RFC 1035, RFC 3596). */
export function reverseName(family: IpFamily, words: Uint32Array): string {
  if (family === 4) return `${formatIp(4, words).split('.').reverse().join('.')}.in-addr.arpa`;
  const digits = [...words].map((word) => word.toString(16).padStart(8, '0')).join('');
  return `${[...digits].reverse().join('.')}.ip6.arpa`;
}

const nameCharsMax = 253;
const label = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/**
 * Returns a host name as it is shown, undefined for anything else: other characters than letters of ASCII, digits,
 * `-` and `_`, one label alone, or an address in the place of a name.
 */
export function readableHostName(given: string): string | undefined {
  if (given.length > nameCharsMax + 1) return undefined;
  const name = given.toLowerCase().replace(/\.$/, '');
  const labels = name.split('.');
  if (name.length > nameCharsMax || labels.length < 2) return undefined;
  const isText = labels.every((one) => label.test(one)) && /[a-z]/.test(labels.at(-1)!);
  return isText ? name : undefined;
}

// The crawlers of search engines by their host names. The table is kept by hand and short: it holds names that an
// engine gives to machines that crawl, and to nothing else as far as is known. An engine whose offices, mail
// servers or customers have names alike is left out: an address without a crawler's name is only shown without
// one.

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

function matchesPattern(name: string, pattern: string): boolean {
  const [start = '', domain] = pattern.split('*');
  if (domain === undefined) return name.endsWith(pattern);
  // The star stands for a part of one label.
  const isOneLabel = name.length - domain.length === name.indexOf('.');
  return name.startsWith(start) && name.endsWith(domain) && isOneLabel;
}

/** @param name confirmed, in lower case */
export function crawlerOf(name: string): string | undefined {
  return crawlers.find(([, ...patterns]) => patterns.some((one) => matchesPattern(name, one)))?.[0];
}
