/**
 * Why an address has its score: what each list says, what the reports amount to, which entry decided,
 * and when the score falls below the level that blocks if nobody reports it again. Read from the
 * tables of the thread that applies the journal, for one address at a time.
 */

import * as v from 'valibot';
import { isoSeconds } from '../../core/dates.ts';
import { count, dateTime, score } from '../../core/schema.ts';
import { dayMs } from '../../core/time.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import {
  ceilingOf,
  firstReportedAtOf,
  lastReportedAtOf,
  metaOf,
  reportersOf,
  reportsOf,
  strengthOf,
} from '../../index/records.ts';
import { COVERING_MAX } from '../../index/trie/layout.ts';
import type { IpFamily } from '../../ip/address.ts';
import { formatNetwork } from '../../ip/prefix.ts';
import type { Check } from '../check/check.ts';
import {
  communityEvidence,
  entryScore,
  fallsBelowAt,
  halfLivesAt,
  maliciousScore,
} from '../check/score.ts';
import { type ServiceName, serviceNames, serviceOf } from '../lists/import/rows.ts';
import { foreverDays, groupOfList, type Sources } from '../lists/sources.ts';
import { categoriesOf } from '../reports/categories.ts';
import { category } from '../reports/report.ts';
import {
  type Contributions,
  contributionKinds,
  isOfLists,
  kindOf,
  refOf,
  unitsIn,
} from '../state/contributions.ts';
import { risenCounts } from '../votes/network-rise.ts';
import { type PeerVotesTable, uncountedReasons } from '../votes/peer-votes.ts';
import { unitsOf } from '../votes/quorum.ts';

/** One list's row of the address, or of a network around it. */
export interface ListEvidence {
  readonly name: string;
  /** 0 to 100; undefined for a list that gives no score. */
  readonly confidence: number | undefined;
  /** `own`: the operator's manual entry, which has no name; `allow`: a group of networks on the allowlist. */
  readonly kind: 'bad' | 'anon' | 'good' | 'own' | 'allow';
  /** The autonomous system or country that the operator named: the entry is a network of it. */
  readonly group?: string | undefined;
  /** Number of a report's category, of a manual entry that has one. */
  readonly category: number | undefined;
  /** Service that the range belongs to, if a known-good list says so. */
  readonly service: ServiceName | undefined;
  /** The entry that it names. */
  readonly entry: string;
  /** Time from which the list is known to name it, ms since 1970. Former values are not kept. */
  readonly since: number;
  /**
   * Times of the list's last load and of its end unless it is loaded again, ms since 1970. For a manual
   * entry, the time when it was set, and its end if it has one.
   */
  readonly loadedAt: number;
  readonly endsAt: number | undefined;
}

export interface ReportEvidence {
  readonly entry: string;
  /** 0 to 100, before lists. */
  readonly score: number;
  /** Highest score that reports may give at present. */
  readonly ceiling: number;
  readonly reports: number;
  readonly reporters: number;
  /** Strength of its evidence, see score.ts. */
  readonly strength: number;
  /** Ms since 1970. */
  readonly firstReportedAt: number;
  readonly lastReportedAt: number;
  readonly parts: readonly ReportPart[];
}

/** A network around the address that has risen by its hosts. */
export interface NetworkEvidence {
  readonly entry: string;
  /** Score of its reports, 0 to 100: of an IPv4 /24 what the hosts make of it. */
  readonly score: number;
  readonly ceiling: number;
  /** Hosts that count. */
  readonly hosts: number;
  /** Parts of an IPv4 /24, of sixteen, that have such a host; undefined: of an IPv6 /64. */
  readonly parts: number | undefined;
}

export interface Evidence {
  /** The entry that made the score; undefined: none. */
  readonly decidedBy: string | undefined;
  /** The strongest first. */
  readonly lists: readonly ListEvidence[];
  readonly reports: readonly ReportEvidence[];
  readonly networks: readonly NetworkEvidence[];
  readonly peers: readonly PeerEvidence[];
  /**
   * Ms since 1970: without new reports, and with lists as they are, the score is below 75 from then
   * on. Undefined: it is below already, or a list keeps it up.
   */
  readonly fallsBelowAt: number | undefined;
}

/** The word of peers on one entry, servers of other owners. */
export interface PeerEvidence {
  readonly entry: string;
  /** The part of the entry's score that it gives, 0 to 100. */
  readonly score: number;
  /** Groups that vote, and their units. */
  readonly groups: number;
  readonly units: number;
  /** Ms since 1970. */
  readonly lastSeenAt: number;
  readonly categories: number[];
  /** The reason why it lifts nothing; undefined: it counts. */
  readonly reason: (typeof uncountedReasons)[number] | undefined;
}

/** A group ends on the day on which its list does, at the latest. */
function endOf({ holdDays, holdUntilMs }: ReturnType<Sources['list']>[number]): number | undefined {
  return holdDays === foreverDays ? undefined : Math.floor(holdUntilMs / dayMs) * dayMs;
}

export type EvidenceReader = ReturnType<typeof createEvidence>;

/** In JSON; a page has words for it. */
const manualEntryName = 'operator';

const listKinds: Readonly<Record<number, ListEvidence['kind']>> = {
  [contributionKinds.seed]: 'bad',
  [contributionKinds.anon]: 'anon',
  [contributionKinds.good]: 'good',
  [contributionKinds.allow]: 'allow',
};

export function createEvidence(options: {
  index: Pick<IpIndex, 'covering' | 'records' | 'prefixOf'>;
  contributions: Parameters<typeof partsOf>[0] & Pick<Contributions, 'listed'>;
  sources: Pick<Sources, 'list'>;
  check: Pick<Check, 'judge'>;
  /** Absent: there are none. */
  peers?: Pick<PeerVotesTable, 'size' | 'describe' | 'evidenceOf'>;
}) {
  const { index, contributions, sources, check, peers } = options;
  const { records } = index;
  const covering = new Int32Array(COVERING_MAX);

  function nameOf(entry: number): string {
    const prefix = index.prefixOf(entry);
    return prefix === undefined ? '' : formatNetwork(prefix);
  }

  function listsOf(entry: number): ListEvidence[] {
    const known = new Map(sources.list().map((source) => [source.number, source]));
    const found: ListEvidence[] = [];
    for (let node = contributions.first(entry); node !== 0; node = contributions.next[node]!) {
      const tag = contributions.tag[node]!;
      // Nodes of reports stand behind them, as many as accounts.
      if (!isOfLists(tag)) break;
      if (kindOf(tag) === contributionKinds.manual) found.push(manualEntry(node, nameOf(entry)));
      const kind = listKinds[kindOf(tag)];
      const source = kind && known.get(refOf(tag));
      if (kind === undefined || source === undefined) continue;
      const group = groupOfList(source);
      found.push({
        name: group ?? source.source,
        confidence: kind === 'bad' ? contributions.listed[node]! & 0xff : undefined,
        kind: group !== undefined && kind === 'bad' ? 'own' : kind,
        group,
        category: undefined,
        service: kind === 'good' ? serviceOf(1 + contributions.detail[node]!) : undefined,
        entry: nameOf(entry),
        since: contributions.newest[node]! * 1_000 || source.refreshedAtMs,
        loadedAt: source.refreshedAtMs,
        endsAt: group === undefined ? source.holdUntilMs : endOf(source),
      });
    }
    return found;
  }

  function manualEntry(node: number, entry: string): ListEvidence {
    const listed = contributions.listed[node]!;
    const end = contributions.detail[node]!;
    const setAt = contributions.newest[node]! * 1_000;
    return {
      name: manualEntryName,
      kind: 'own',
      group: undefined,
      entry,
      service: undefined,
      confidence: listed & 0xff,
      category: listed >>> 8 || undefined,
      since: setAt,
      loadedAt: setAt,
      endsAt: end === 0 ? undefined : end * 1_000,
    };
  }

  function reportsIn(entry: number, nowMs: number): ReportEvidence[] {
    const reports = reportsOf(records, entry);
    if (reports === 0) return [];
    const now = { ms: nowMs, halfLives: halfLivesAt(nowMs) };
    const ceiling = ceilingOf(metaOf(records, entry));
    const strength = strengthOf(records, entry);
    const whole = entryScore(0, ceiling, strength, now.halfLives);
    const score = whole - (peersIn(entry, now.halfLives)[0]?.score ?? 0);
    return [
      {
        entry: nameOf(entry),
        score,
        ceiling,
        reports,
        reporters: reportersOf(records, entry),
        strength,
        firstReportedAt: firstReportedAtOf(records, entry) * 1_000,
        lastReportedAt: lastReportedAtOf(records, entry) * 1_000,
        parts: partsOf(contributions, entry, score, now),
      },
    ];
  }

  function peersIn(entry: number, nowHalfLives: number) {
    if (peers === undefined || peers.size() === 0) return [];
    const found = peers.describe(entry, lastReportedAtOf(records, entry));
    if (found === undefined) return [];
    const { lastSeen, categories, groups, units, reason } = found;
    const strength = strengthOf(records, entry);
    const whole = entryScore(0, ceilingOf(metaOf(records, entry)), strength, nowHalfLives);
    const part = 2 ** Math.min(0, peers.evidenceOf(entry) - strength);
    const score = Number.isNaN(part) ? 0 : Math.round(whole * part);
    const said = {
      groups,
      units,
      lastSeenAt: 1_000 * lastSeen,
      categories: categoriesOf(categories),
    };
    return [{ entry: nameOf(entry), score, ...said, reason }];
  }

  function networkIn(entry: number, nowHalfLives: number) {
    for (let node = contributions.first(entry); node !== 0; node = contributions.next[node]!) {
      if (kindOf(contributions.tag[node]!) !== contributionKinds.rise) continue;
      const { hosts, parts } = risenCounts(contributions.detail[node]!);
      const ceiling = ceilingOf(metaOf(records, entry));
      const score = entryScore(0, ceiling, strengthOf(records, entry), nowHalfLives);
      // Its hosts are long ago: it lifts nothing any more.
      if (score === 0) return [];
      return [{ entry: nameOf(entry), score, ceiling, hosts, parts: parts || undefined }];
    }
    return [];
  }

  /** Returns true for a network that nothing but hosts of long ago lifted. */
  function hasDecayed(entry: number, nowHalfLives: number): boolean {
    const first = contributions.first(entry);
    const isRiseAlone =
      first !== 0 &&
      contributions.next[first] === 0 &&
      kindOf(contributions.tag[first]!) === contributionKinds.rise;
    return isRiseAlone && networkIn(entry, nowHalfLives).length === 0;
  }

  function of(family: IpFamily, words: Uint32Array, nowMs: number): Evidence {
    const count = index.covering(family, words, covering);
    const entries = [...covering.subarray(0, count)];
    const { decidedBy, malicious, knownGood } = check.judge(family, words, nowMs);
    const lists = entries.flatMap(listsOf);
    lists.sort((a, b) => (b.confidence ?? -1) - (a.confidence ?? -1));
    const nowHalfLives = halfLivesAt(nowMs);
    const isNone = decidedBy === 0 || hasDecayed(decidedBy, nowHalfLives);
    const isHeldByList = lists.some(({ confidence }) => (confidence ?? 0) >= maliciousScore);
    const times = entries.map((entry) =>
      fallsBelowAt(strengthOf(records, entry), ceilingOf(metaOf(records, entry)), maliciousScore),
    );
    return {
      decidedBy: isNone ? undefined : nameOf(decidedBy),
      lists,
      reports: entries.flatMap((entry) => reportsIn(entry, nowMs)),
      networks: entries.flatMap((entry) => networkIn(entry, nowHalfLives)),
      peers: entries.flatMap((entry) => peersIn(entry, nowHalfLives)),
      fallsBelowAt:
        malicious && !isHeldByList && !knownGood ? Math.max(...times, nowMs) : undefined,
    };
  }

  return { of };
}

/** Standing of an account at its newest vote; `none`: its reports carry no vote. */
const voteKinds = ['staff', 'member', 'earned', 'none'] as const;
type VoteKind = (typeof voteKinds)[number];
/** Age of an account's newest report: within 24 hours, 7 days, 30 days, or older. */
const reportAges = ['day', 'week', 'month', 'older'] as const;
type ReportAge = (typeof reportAges)[number];

/** The evidence as it is shown. */
export const shownEvidence = v.strictObject({
  decidedBy: v.nullable(v.string()),
  fallsBelowAt: v.nullable(dateTime),
  lists: v.array(
    v.strictObject({
      name: v.string(),
      kind: v.picklist(['bad', 'anon', 'good', 'own', 'allow']),
      group: v.nullable(v.string()),
      service: v.nullable(v.picklist(serviceNames)),
      category: v.nullable(category),
      confidence: v.nullable(score),
      entry: v.string(),
      since: dateTime,
      loadedAt: dateTime,
      endsAt: v.nullable(dateTime),
    }),
  ),
  reports: v.array(
    v.strictObject({
      entry: v.string(),
      score,
      ceiling: score,
      totalReports: count,
      numDistinctUsers: count,
      lastReportedAt: dateTime,
      parts: v.array(
        v.strictObject({
          voice: v.picklist(voteKinds),
          age: v.picklist(reportAges),
          numDistinctUsers: count,
          score,
        }),
      ),
    }),
  ),
  networks: v.array(
    v.strictObject({
      entry: v.string(),
      score,
      ceiling: score,
      hosts: count,
      parts: v.nullable(count),
    }),
  ),
  /** Absent where no peer names it. */
  peers: v.optional(
    v.array(
      v.strictObject({
        entry: v.string(),
        score,
        groups: count,
        units: v.number(),
        lastSeenAt: dateTime,
        categories: v.array(category),
        reason: v.nullable(v.picklist(uncountedReasons)),
      }),
    ),
  ),
});

export function whyJson({
  decidedBy,
  fallsBelowAt,
  lists,
  reports,
  networks,
  peers,
}: Evidence): v.InferOutput<typeof shownEvidence> {
  const date = (ms: number) => isoSeconds(Math.floor(ms / 1_000));
  return {
    decidedBy: decidedBy ?? null,
    fallsBelowAt: fallsBelowAt === undefined ? null : date(fallsBelowAt),
    lists: lists.map(({ service, category, confidence, since, loadedAt, endsAt, ...named }) => ({
      name: named.name,
      kind: named.kind,
      group: named.group ?? null,
      service: service ?? null,
      category: category ?? null,
      confidence: confidence ?? null,
      entry: named.entry,
      since: date(since),
      loadedAt: date(loadedAt),
      endsAt: endsAt === undefined ? null : date(endsAt),
    })),
    reports: reports.map(
      ({ entry, score, ceiling, reports: total, reporters, lastReportedAt, parts }) => ({
        entry,
        score,
        ceiling,
        totalReports: total,
        numDistinctUsers: reporters,
        lastReportedAt: date(lastReportedAt),
        parts: parts.map((part) => ({
          voice: part.voice,
          age: part.age,
          numDistinctUsers: part.reporters,
          score: part.score,
        })),
      }),
    ),
    networks: networks.map((one) => ({ ...one, parts: one.parts ?? null })),
    ...(peers.length === 0
      ? {}
      : {
          peers: peers.map((one) => ({
            ...one,
            lastSeenAt: date(one.lastSeenAt),
            reason: one.reason ?? null,
          })),
        }),
  };
}

interface ReportPart {
  readonly voice: VoteKind;
  readonly age: ReportAge;
  readonly reporters: number;
  /** Part of the score that the reports give, 0 to 100; the parts add up to it. */
  readonly score: number;
}

/** The last age of a report of each kind but the last, ms. */
const ageEnds = [dayMs, 7 * dayMs, 30 * dayMs] as const;

/** @returns its place in `voteKinds` */
function voteKindOf(units: number): number {
  if (units >= unitsOf.staff) return 0;
  if (units >= unitsOf.member) return 1;
  return units >= unitsOf.earned ? 2 : 3;
}

/** @returns its place in `reportAges` */
function ageOf(ageMs: number): number {
  if (ageMs <= ageEnds[0]) return 0;
  if (ageMs <= ageEnds[1]) return 1;
  return ageMs <= ageEnds[2] ? 2 : 3;
}

/**
 * Divides the score of an entry's reports by the standing of the accounts and the age of the reports. Each part
 * has the fraction of the score that it has of the evidence.
 * @param score what the entry's reports give together, 0 to 100
 * @returns the largest share first
 */
export function partsOf(
  contributions: Pick<Contributions, 'first' | 'next' | 'tag' | 'strength' | 'newest' | 'detail'>,
  entry: number,
  score: number,
  now: { readonly ms: number; readonly halfLives: number },
): ReportPart[] {
  // An address may have as many reporters as there are accounts: a report costs no object and no text.
  const ages = reportAges.length;
  const reporters = new Uint32Array(voteKinds.length * ages);
  const evidence = new Float64Array(reporters.length);
  for (let node = contributions.first(entry); node !== 0; node = contributions.next[node]!) {
    if (kindOf(contributions.tag[node]!) !== contributionKinds.reports) continue;
    const voice = voteKindOf(unitsIn(contributions.detail[node]!));
    const part = voice * ages + ageOf(now.ms - contributions.newest[node]! * 1_000);
    reporters[part]!++;
    evidence[part]! += communityEvidence(contributions.strength[node]!, now.halfLives);
  }
  const whole = evidence.reduce((sum, one) => sum + one, 0);
  let before = 0;
  return [...reporters.keys()]
    .filter((part) => reporters[part]! > 0)
    .sort((a, b) => evidence[b]! - evidence[a]!)
    .map((part) => {
      // Rounded where parts meet, so that all of them are the whole.
      const from = Math.round((score * before) / (whole || 1));
      before += evidence[part]!;
      const to = Math.round((score * before) / (whole || 1));
      return {
        voice: voteKinds[Math.floor(part / ages)]!,
        age: reportAges[part % ages]!,
        reporters: reporters[part]!,
        score: to - from,
      };
    });
}
