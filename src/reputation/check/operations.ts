/** The operation that says what is known of an address. */

import { queriesOn, type Reading } from '../../contracts/operation.ts';
import { anyAddress, flag } from '../../contracts/operation-parameters.ts';
import { type ScoreBand, scoreBand } from '../../contracts/reputation.ts';
import { dateText } from '../../core/dates.ts';
import { columns, counted, grouped } from '../../core/text-table.ts';
import { readJudgedIp } from '../../ip/embedded-ipv4.ts';
import { type Evidence, type EvidenceReader, whyJson } from '../address/evidence.ts';
import type { ReportCounts } from '../counts/report-counts.ts';
import type { PeerMemory } from '../federation/subscribe/compare.ts';
import type { Hostnames } from '../hostnames.ts';
import type { Check } from './check.ts';

/** The memory that a server answers from. */
export interface Memory {
  readonly check: Check;
  readonly evidence: EvidenceReader;
  readonly counts: ReportCounts;
  readonly peers: PeerMemory;
}

/** A reading with the memory that the journal adds up to. The memory is valid until `read` returns. */
export interface MemoryReading extends Reading {
  withMemory<T>(read: (memory: Memory) => T | Promise<T>): Promise<T>;
  /** Present in a server: asks for the host names of an address, if its settings let it. */
  readonly hostOf?: Hostnames['ask'];
}

export const checkAddress = queriesOn<MemoryReading>()({
  name: 'check',
  asksNode: true,
  purpose: 'the score of an address and what is known of it, as GET /api/v2/check says it',
  parameters: {
    address: anyAddress,
    verbose: {
      schema: flag,
      help: 'also why: lists, reports, the entry that decided, and until when',
    },
  },
  async run(reading, { address: text, verbose }) {
    const { family, words } = readJudgedIp(text)!;
    const host = await reading.hostOf?.(family, words);
    return reading.withMemory(({ check, evidence: reader }) => {
      const now = reading.clock.now();
      const plain = JSON.parse(check.toJson(text, now)!) as CheckFacts;
      const facts = { ...plain, hostnames: host?.names ?? [] };
      const crawler = host?.crawler ?? null;
      const isAllowed = check.judge(family, words, now).allowlisted;
      const evidence = reader.of(family, words, now);
      return { facts, isAllowed, crawler, evidence, isVerbose: verbose };
    });
  },
  lines: ({ facts, isAllowed, crawler, evidence, isVerbose }) => [
    verdictLine(facts, isAllowed, evidence),
    ...factLines(facts, isAllowed, crawler, evidence),
    ...(isVerbose ? ['', ...evidenceLines(evidence)] : []),
  ],
  json: ({ facts, crawler, evidence, isVerbose }) =>
    isVerbose ? { ...facts, crawler, why: whyJson(evidence) } : facts,
});

/** The fields of a check's answer that a person reads. */
interface CheckFacts {
  readonly ipAddress: string;
  readonly abuseConfidenceScore: number;
  readonly countryCode: string;
  readonly isp: string;
  readonly isAnon: boolean;
  readonly isTor: boolean;
  readonly isPublic: boolean;
  readonly isWhitelisted: boolean;
  readonly malicious: boolean;
  readonly usageType: string;
  readonly domain: string | null;
  readonly hostnames: readonly string[];
}

const bandWords: Readonly<Record<ScoreBand, string>> = {
  clean: 'clean',
  low: 'low',
  suspect: 'suspect, not blocked',
  malicious: 'malicious, blocked',
};

/** Says first what somebody who asks wants to know. */
function verdictLine(facts: CheckFacts, isAllowed: boolean, evidence: Evidence): string {
  const { ipAddress, abuseConfidenceScore: score, isWhitelisted, malicious } = facts;
  const band = malicious ? 'malicious' : scoreBand(score);
  const good = isWhitelisted && !malicious ? ', known good' : '';
  const { lists, reports } = evidence;
  const unseen = lists.length + reports.length === 0 && !isAllowed ? ', never seen' : '';
  const allowed = isAllowed ? ', on the allowlist' : good;
  return `${ipAddress}: ${score} of 100, ${bandWords[band]}${allowed}${unseen}`;
}

/** Says each fact on a line of its own, and nothing of what is not known. */
function factLines(
  facts: CheckFacts,
  isAllowed: boolean,
  crawler: string | null,
  { lists, reports }: Evidence,
): readonly string[] {
  const names = [
    ...new Set(lists.map((one) => (one.kind === 'own' ? manualRuleName(one) : one.name))),
  ].join(', ');
  const count = reports.reduce((sum, one) => sum + one.reports, 0);
  const last = Math.max(0, ...reports.map(({ lastReportedAt }) => lastReportedAt));
  const rows: [string, string | null | false][] = [
    ['Country', facts.countryCode !== 'ZZ' && facts.countryCode],
    ['Network', facts.isp !== 'Unknown' && facts.isp],
    ['Usage', facts.usageType !== 'Unknown' && facts.usageType],
    ['Domain', facts.domain],
    ['Host names', facts.hostnames.join(', ')],
    ['Crawler', crawler && `${crawler}, confirmed by its host name`],
    ['Anonymous exit', facts.isAnon && (facts.isTor ? 'yes, of Tor' : 'yes')],
    ['Public', !facts.isPublic && 'no'],
    ['Allowlist', isAllowed && 'yes: neither reports nor lists block it'],
    [
      'Known good',
      facts.isWhitelisted && !isAllowed && 'yes: reports have no effect; a list may still block it',
    ],
    ['Lists', names],
    ['Reports', count > 0 && `${grouped(count)}, the last ${dateText(last)}`],
  ];
  return columns(
    rows.flatMap(([name, value]) =>
      value === false || value === null || value === '' ? [] : [[`  ${name}`, value]],
    ),
  );
}

function manualRuleName({ group }: Evidence['lists'][number]): string {
  return group === undefined ? 'manual rule' : `manual rule ${group}`;
}

function evidenceLines(evidence: Evidence): string[] {
  const { decidedBy, lists, reports, networks, peers, fallsBelowAt } = evidence;
  return [
    ...lists.map((list) => {
      const { name, kind, confidence, entry, since, loadedAt, endsAt } = list;
      const score = confidence === undefined ? kind : `confidence ${confidence}`;
      const end = endsAt === undefined ? 'does not end' : `ends ${dateText(endsAt)}`;
      if (kind === 'own') {
        const of =
          list.group === undefined
            ? `manual rule ${entry}`
            : `${manualRuleName(list)} holds ${entry}`;
        return `${of}: score ${confidence}, set ${dateText(loadedAt)}, ${end}`;
      }
      if (kind === 'allow') return `the allowlist has ${name}, which holds ${entry}`;
      const times = `known since ${dateText(since)}, loaded ${dateText(loadedAt)}, ${end}`;
      return `list ${name} names ${entry}: ${score}, ${times}`;
    }),
    ...reports.map(({ entry, score, reports: count, reporters, lastReportedAt }) => {
      const who = `${grouped(count)} by ${counted(reporters, 'account')}`;
      return `reports of ${entry}: ${who}, the last ${dateText(lastReportedAt)}: ${score}`;
    }),
    ...networks.map(({ entry, score, ceiling, hosts, parts }) => {
      const where = parts === undefined ? '' : ` in ${parts} of its 16 parts`;
      const most = parts === undefined ? 'its reports count whole' : `at most ${ceiling}`;
      return `network ${entry}: ${counted(hosts, 'reported host')}${where}: ${score}, ${most}`;
    }),
    ...peers.map(({ entry, score, groups, units, lastSeenAt, reason }) => {
      const votes = `${counted(groups, 'group of peers votes', 'groups of peers vote')} with ${counted(units, 'unit')}`;
      const counts = reason === undefined ? 'counted' : `not counted: ${reason}`;
      return `peers name ${entry}: ${votes}, seen ${dateText(lastSeenAt)}: ${score}, ${counts}`;
    }),
    decidedBy === undefined ? 'no entry decides: not observed' : `decided by ${decidedBy}`,
    ...(fallsBelowAt === undefined
      ? []
      : [`without new reports below 75 from ${dateText(fallsBelowAt)} on`]),
  ];
}
