/** Data for the pages' tests: a frame over the real static files, and addresses of several kinds. */

import type { Language } from '../../src/core/language.ts';
import type { IpPageData } from '../../src/reputation/address/address.page.tsx';
import { feeds } from '../../src/reputation/blocklists/feed-definitions.ts';
import type { FeedLabel, FeedsPageData } from '../../src/reputation/blocklists/feeds.page.tsx';
import { type Assets, loadAssets } from '../../src/web/assets.ts';
import type { PageFrame } from '../../src/web/layout/layout.tsx';

export const dayMs = 86_400_000;
export const nowMs = Date.UTC(2026, 10, 21, 9, 30);

let loaded: Assets | undefined;

/** The tests run from the root of the project. */
export function testAssets(): Assets {
  loaded ??= loadAssets('data/static');
  return loaded;
}

export function testFrame(language: Language = 'en'): PageFrame {
  return {
    language,
    assets: testAssets(),
    links: {
      radar: '/radar',
      home: '/',
      docs: '/docs',
      feeds: '/feeds',
      account: '/account',
      connect: '/connect',
      signIn: '/sign-in',
    },
  };
}

/** Sizes as of a long list; the last feed has none. */
export const feedsData: FeedsPageData = {
  feedsUrl: 'https://secure.example/feeds',
  feeds: [
    ...feeds.map((feed, i) => ({
      name: feed.name as FeedLabel,
      now: {
        entries: 1_234_567 >> i,
        bytes: 36_400_000 >> (2 * i),
        gzipBytes: i % 4 === 3 ? undefined : 5_100_000 >> (2 * i),
        changedAtMs: nowMs - i * 60_000,
      },
    })),
    { name: 'changes.json', now: undefined },
  ],
  licence: 'Free to use for protecting networks and services, without warranty.',
  attribution: {
    name: 'ip-location-db / asn (RouteViews, DB-IP)',
    href: 'https://github.com/sapics/ip-location-db',
    licence: 'CC BY 4.0',
  },
  requestsPerMinute: 60,
  nowMs,
  ready: true,
};

/** 90 days up to today; `countOf` gets 0 for the oldest day. */
export function days(countOf: (index: number) => number): { day: number; count: number }[] {
  const today = Math.floor(nowMs / dayMs) * dayMs;
  return Array.from({ length: 90 }, (_, index) => ({
    day: today - (89 - index) * dayMs,
    count: countOf(index),
  }));
}

export const cleanAddress: IpPageData = {
  address: '192.0.2.10',
  prefix: '192.0.2.0/24',
  score: 0,
  countryCode: 'ZZ',
  provider: '',
  anonymousExit: false,
  allowlisted: false,
  unseen: 'never',
  hostnames: [],
  evidence: {
    decidedBy: undefined,
    lists: [],
    reports: [],
    networks: [],
    peers: [],
    fallsBelowAt: undefined,
  },
  reports: 0,
  listReports: 0,
  distinctReporters: 0,
  reportsPerDay: days(() => 0),
  categories: [],
  comments: [],
  reportHref: '/report?address=192.0.2.10',
  now: nowMs,
};

export const suspectAddress: IpPageData = {
  address: '198.51.100.23',
  prefix: '198.51.100.0/24',
  score: 61,
  countryCode: 'FR',
  provider: 'Opérateur Exemple SAS',
  anonymousExit: true,
  allowlisted: false,
  unseen: undefined,
  hostnames: ['client-23.fibre.exemple.fr', 'mail.exemple.fr'],
  evidence: {
    decidedBy: '198.51.100.23',
    lists: [
      {
        name: 'a <list>',
        confidence: 61,
        kind: 'bad',
        service: undefined,
        category: undefined,
        entry: '198.51.100.0/24',
        since: nowMs - 20 * dayMs,
        loadedAt: nowMs - 2 * dayMs,
        endsAt: nowMs + 5 * dayMs,
      },
    ],
    peers: [],
    networks: [{ entry: '198.51.100.0/24', score: 40, ceiling: 74, hosts: 23, parts: 11 }],
    reports: [
      {
        entry: '198.51.100.23',
        score: 44,
        ceiling: 49,
        reports: 12,
        reporters: 3,
        strength: 30,
        firstReportedAt: nowMs - 40 * dayMs,
        lastReportedAt: nowMs - dayMs,
        parts: [
          { voice: 'member', age: 'day', reporters: 1, score: 30 },
          { voice: 'none', age: 'older', reporters: 2, score: 14 },
        ],
      },
    ],
    fallsBelowAt: nowMs + 9 * dayMs,
  },
  scorePerDay: Array.from({ length: 90 }, (_, day) =>
    day < 69 ? { score: Math.max(0, day - 45), isPart: true } : { score: 61, isPart: false },
  ),
  knownAs: { name: 'Example Scanner', kind: 'scanner' },
  around: {
    network: '198.51.100.0/24',
    worst: [
      { name: '198.51.100.7', score: 99, reports: 4, listReports: 0 },
      { name: '198.51.100.200/30', score: 12, reports: 0, listReports: 0 },
    ],
    cells: Array.from({ length: 256 }, (_, host) => {
      const kind = (['unseen', 'seen', 'good', 'allowed', 'special'] as const)[host % 5] ?? 'seen';
      return { kind, score: kind === 'seen' ? (host % 37) * (host % 3) : 0 };
    }),
  },
  reports: 12,
  listReports: 0,
  distinctReporters: 4,
  firstReportedAt: nowMs - 40 * dayMs,
  lastReportedAt: nowMs - 2 * dayMs,
  reportsPerDay: days((index) => (index > 48 && index % 4 === 0 ? 1 : 0) + (index === 87 ? 2 : 0)),
  categories: [
    { name: 'SSH', count: 9 },
    { name: 'Brute-Force', count: 7 },
    { name: 'Port Scan', count: 2 },
  ],
  comments: [
    {
      text: 'Failed password for root from 198.51.100.23 port 41022 ssh2',
      at: nowMs - 2 * dayMs,
      categories: ['SSH', 'Brute-Force'],
    },
  ],
  reportHref: '/report?address=198.51.100.23',
  attribution: {
    name: 'ip-location-db',
    href: 'https://github.com/sapics/ip-location-db',
    licence: 'CC BY 4.0',
    madeAt: Date.UTC(2026, 5, 17),
  },
  now: nowMs,
};

export const maliciousAddress: IpPageData = {
  ...suspectAddress,
  address: '2001:db8:85a3:1234:5678:8a2e:1370:7334',
  prefix: '2001:db8:85a3::/48',
  score: 97,
  countryCode: 'BQ',
  reportHref: undefined,
  reportUrl: 'https://ip.example/api/v2/report',
  latestReports: 2_000,
  provider:
    'Telekommunikationsgesellschaft-für-Grenzüberschreitende-Datenübertragung-und-Rechenzentrumsbetrieb mbH & Co. KG (Wholesale Backbone Region Nord)',
  scorePrefix: '2001:db8:85a3:1234::/64',
  reports: 12_804,
  listReports: 8,
  listedAt: nowMs - 3_600_000,
  distinctReporters: 1_388,
  firstReportedAt: nowMs - 361 * dayMs,
  lastReportedAt: nowMs - 600_000,
  reportsPerDay: days((index) => Math.round(40 + 35 * Math.sin(index / 7) + (index * index) / 60)),
  categories: [
    { name: 'Brute-Force', count: 6_120 },
    { name: 'SSH', count: 5_870 },
    { name: 'Web App Attack', count: 3_002 },
    { name: 'Bad Web Bot', count: 1_411 },
    { name: 'SQL Injection', count: 610 },
    { name: 'Exploited Host', count: 88 },
    { name: 'IoT Targeted', count: 3 },
  ],
  comments: [
    {
      text: 'Invalid user admin from 2001:db8:85a3:1234:5678:8a2e:1370:7334 port 55212\nInvalid user oracle, then postgres, then git',
      at: nowMs - 600_000,
      categories: ['SSH', 'Brute-Force'],
    },
    {
      text: 'GET /wp-login.php?user=admin&password=hunter2 with "<script>alert(1)</script>" as User-Agent; abuse mail to noc@example.net bounced',
      at: nowMs - 3_600_000,
      categories: ['Web App Attack', 'Bad Web Bot', 'Brute-Force'],
    },
    {
      text: `AAAA${'0123456789abcdef'.repeat(14)} one long token without a space`,
      at: nowMs - 7_200_000,
      categories: ['Hacking'],
    },
    {
      text: 'A story of many words that goes on. '.repeat(28),
      at: nowMs - 8_000_000,
      categories: ['Hacking'],
    },
    { text: 'محاولة دخول متكررة عبر SSH', at: nowMs - 9_000_000, categories: ['SSH'] },
  ],
};

export const allowlistedAddress: IpPageData = {
  ...suspectAddress,
  address: '203.0.113.80',
  score: 0,
  countryCode: 'US',
  provider: 'Example Crawler Inc.',
  anonymousExit: false,
  allowlisted: true,
};
