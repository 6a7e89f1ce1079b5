/** Operations on what is known of addresses: entries, rules, reports, removal requests and anonymous reports. */

import * as v from 'valibot';
import type { Accounts } from '../access/accounts/accounts.ts';
import {
  expect,
  looksWith,
  type OperationTools,
  operationsOn,
  type Reading,
} from '../contracts/operation.ts';
import {
  account,
  address,
  flag,
  rangeOrGroup,
  shortText,
  textOf,
  typedDate,
  wholeNumber,
} from '../contracts/operation-parameters.ts';
import { dateIn, dateText } from '../core/dates.ts';
import { OperatorError } from '../core/errors.ts';
import { createSemaphore, createTurns } from '../core/scheduling.ts';
import { type ScoreBand, scoreBand } from '../core/score-band.ts';
import { columns, columnsOr, grouped } from '../core/text-table.ts';
import { formatIp, parseIp } from '../ip/address.ts';
import { lookBehind, textBehind } from '../ip/behind.ts';
import { type Evidence, type EvidenceReader, whyJson } from './address/evidence.ts';
import type { Check } from './check/check.ts';
import type { ReportCounts } from './counts/report-counts.ts';
import type { Hostnames } from './hostnames/hostnames.ts';
import { findList } from './lists/load-list.ts';
import {
  type AllowRule,
  createAllowlist,
  createOwnEntries,
  isGroup,
  type OwnEntry,
} from './lists/operator-ranges.ts';
import { listOfGroup } from './lists/sources.ts';
import { categoriesOf, categoryMax, categoryNames } from './reports/categories.ts';
import { createOwnReports } from './reports/store/account-reports.ts';
import type { OwnReport, StoredReport } from './reports/store/report-rows.ts';
import { createReportStore, restoreReports } from './reports/store/report-store.ts';
import {
  type AnonymousReport,
  acceptRemoval,
  createAnonymousReports,
  createRemovals,
  type Removal,
  retractAll,
  standingOf,
  unknownNetwork,
} from './requests/queue.ts';
import { retractReport, retractReports, type TakenBack } from './votes/retract.ts';

/** The memory that a server answers from. */
export interface Memory {
  readonly check: Check;
  readonly evidence: EvidenceReader;
  readonly counts: ReportCounts;
}

/** Reading with the memory as of the journal's end. It may be looked at until `read` returns. */
export interface MemoryReading extends Reading {
  withMemory<T>(read: (memory: Memory) => T): Promise<T>;
  /** Present in a server: asks for the host names of an address, if its settings let it. */
  readonly hostOf?: Hostnames['ask'];
}

interface ReputationTools extends OperationTools {
  readonly accounts: Accounts;
}

const operation = operationsOn<ReputationTools>();

const note = {
  schema: v.optional(textOf(10_000), ''),
  value: 'text',
  control: { maxLength: 200 },
} as const;

const isAddress = { ...address, help: 'IPv4 or IPv6' };

/** @param text canonical, as the schema of an address gives it */
function partsOf(text: string) {
  const words = new Uint32Array(4);
  const family = lookBehind(parseIp(text, words) as 4 | 6, words);
  return { family, words };
}

export const checkAddress = looksWith<MemoryReading>()({
  name: 'check',
  asksNode: true,
  purpose: 'the score of an address and what is known of it, as GET /api/v2/check says it',
  parameters: {
    address: isAddress,
    verbose: {
      schema: flag,
      help: 'also why: lists, reports, the entry that decided, and until when',
    },
  },
  async run(reading, { address: text, verbose }) {
    const { family, words } = partsOf(text);
    const host = await reading.hostOf?.(family, words);
    return reading.withMemory(({ check, evidence: reader }) => {
      const now = reading.clock.now();
      const plain = JSON.parse(check.toJson(text, now)!) as CheckFacts;
      const facts = { ...plain, hostnames: host?.names ?? [] };
      const crawler = host?.crawler ?? null;
      return { facts, crawler, evidence: reader.of(family, words, now), isVerbose: verbose };
    });
  },
  lines: ({ facts, crawler, evidence, isVerbose }) => [
    verdictLine(facts),
    ...factLines(facts, crawler, evidence),
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
function verdictLine(facts: CheckFacts): string {
  const { ipAddress, abuseConfidenceScore: score, isWhitelisted, malicious } = facts;
  const band = malicious ? 'malicious' : scoreBand(score);
  const allowed = isWhitelisted && !malicious ? ', on the allowlist or known good' : '';
  return `${ipAddress}: ${score} of 100, ${bandWords[band]}${allowed}`;
}

/** Says each fact on a line of its own, and nothing of what is not known. */
function factLines(
  facts: CheckFacts,
  crawler: string | null,
  { lists, reports }: Evidence,
): readonly string[] {
  const names = [
    ...new Set(lists.map((one) => (one.kind === 'own' ? ownName(one) : one.name))),
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
    ['Known good', facts.isWhitelisted && 'yes: reports have no effect; a list may still block it'],
    ['Lists', names],
    ['Reports', count > 0 && `${grouped(count)}, the last ${dateText(last)}`],
  ];
  return columns(
    rows.flatMap(([name, value]) =>
      value === false || value === null || value === '' ? [] : [[`  ${name}`, value]],
    ),
  );
}

function ownName({ group }: Evidence['lists'][number]): string {
  return group === undefined ? 'own entry' : `own entry ${group}`;
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
          list.group === undefined ? `own entry ${entry}` : `${ownName(list)} holds ${entry}`;
        return `${of}: score ${confidence}, set ${dateText(loadedAt)}, ${end}`;
      }
      if (kind === 'allow') return `the allowlist has ${name}, which holds ${entry}`;
      const times = `known since ${dateText(since)}, loaded ${dateText(loadedAt)}, ${end}`;
      return `list ${name} names ${entry}: ${score}, ${times}`;
    }),
    ...reports.map(({ entry, score, reports: count, reporters, lastReportedAt }) => {
      const who = `${grouped(count)} by ${grouped(reporters)} accounts`;
      return `reports of ${entry}: ${who}, the last ${dateText(lastReportedAt)}: ${score}`;
    }),
    ...networks.map(({ entry, score, ceiling, hosts, parts }) => {
      const where = parts === undefined ? '' : ` in ${parts} of its 16 parts`;
      const most = parts === undefined ? 'its reports count whole' : `at most ${ceiling}`;
      return `network ${entry}: ${grouped(hosts)} reported hosts${where}: ${score}, ${most}`;
    }),
    ...peers.map(({ entry, score, groups, units, lastSeenAt, reason }) => {
      const voices = `${groups} groups of peers vote with ${units} units`;
      const counts = reason === undefined ? 'counted' : `not counted: ${reason}`;
      return `peers name ${entry}: ${voices}, seen ${dateText(lastSeenAt)}: ${score}, ${counts}`;
    }),
    decidedBy === undefined ? 'no entry decides: not observed' : `decided by ${decidedBy}`,
    ...(fallsBelowAt === undefined
      ? []
      : [`without new reports below 75 from ${dateText(fallsBelowAt)} on`]),
  ];
}

function shownEntry({ prefix, score, category, note, setAt, endsAt }: OwnEntry) {
  return {
    prefix,
    score,
    category: category || null,
    categoryName: categoryNames[category - 1] ?? null,
    note,
    setAt: dateText(setAt),
    endsAt: endsAt === 0 ? null : dateText(endsAt),
  };
}

/** Returns what sets an entry as it was. */
function entryInput({ prefix, score, category, note, endsAt }: ReturnType<typeof shownEntry>) {
  return {
    prefix,
    score: String(score),
    note,
    ...(category === null ? {} : { category: String(category) }),
    ...(endsAt === null ? {} : { until: endsAt }),
  };
}

const categoryFault = `It must be a number from 1 to ${categoryMax}, or a name.`;

/** Returns the number of a category by its number or its name; NaN if there is none. */
function categoryIn(text: string): number {
  const name = text.trim().toLowerCase();
  const number = categoryNames.findIndex((one) => one.toLowerCase() === name) + 1;
  if (number > 0) return number;
  const typed = /^\d{1,2}$/.test(name) ? Number(name) : Number.NaN;
  return typed >= 1 && typed <= categoryMax ? typed : Number.NaN;
}

export const addEntry = operation({
  name: 'entry add',
  purpose:
    'give an address, a network, an autonomous system or a country a score; one that is there is set anew',
  parameters: {
    prefix: rangeOrGroup,
    score: {
      schema: v.optional(wholeNumber(1, 100), '100'),
      value: 'score',
      help: '1 to 100; from 75 on it is blocked',
      kept: true,
      control: { inputMode: 'numeric', maxLength: 3 },
    },
    category: {
      schema: v.optional(
        v.pipe(
          v.string(),
          v.check((text) => !Number.isNaN(categoryIn(text)), categoryFault),
          v.transform(categoryIn),
        ),
      ),
      value: 'category',
      help: 'of reports: its number, or its name such as "Port Scan"',
      kept: true,
    },
    note: { ...note, help: 'why; operators alone see it' },
    until: {
      schema: v.optional(typedDate),
      value: 'date',
      help: 'when it ends, such as 2026-12-31: as the day begins, in UTC',
      kept: true,
      control: { type: 'date' },
    },
  },
  audit: 'required',
  async run(w, { prefix, score, category = 0, note, until }) {
    const endsAt = until === undefined ? 0 : dateIn(until)!;
    const terms = { score, category, note, endsAt };
    const { former, ...set } = expect(await createOwnEntries(w).add(prefix, terms));
    const before = former && shownEntry({ ...former, prefix: set.prefix });
    return { ...shownEntry(set), before };
  },
  undo: ({ prefix, before }) =>
    before === undefined
      ? { operation: 'entry remove', input: { prefix } }
      : { operation: 'entry add', input: entryInput(before) },
  json: ({ before: _, ...entry }) => entry,
  outcome: (entry) => `${entry.prefix} set`,
  lines: (entry) => [`${entry.prefix} has score ${entry.score} as an own entry`],
});

export const removeEntry = operation({
  name: 'entry remove',
  purpose: 'take an own entry back',
  parameters: { prefix: { ...rangeOrGroup, help: 'as it was added' } },
  audit: 'required',
  run: async (w, { prefix }) => shownEntry(expect(await createOwnEntries(w).remove(prefix))),
  undo: (entry) => ({ operation: 'entry add', input: entryInput(entry) }),
  outcome: (entry) => `${entry.prefix} removed`,
  lines: (entry) => [`${entry.prefix} is no own entry any more`],
});

export const listEntries = operation({
  name: 'entry list',
  purpose: 'own entries: score, category, since when, until when, and the note',
  parameters: {
    part: {
      schema: v.optional(shortText, ''),
      value: 'part',
      help: 'of the range or the note, or an address in the range',
      isArgument: true,
    },
  },
  async run(w, { part }) {
    const entries = await createOwnEntries(w).list(part.trim());
    return withNetworks(w.store, 'seed', entries.map(shownEntry));
  },
  lines: (entries) =>
    columnsOr(
      'there is no such entry',
      ['range', 'score', 'category', 'set', 'ends', 'note'],
      entries.map((one) => [
        namedWith(one),
        String(one.score),
        one.categoryName ?? '-',
        one.setAt,
        one.endsAt ?? 'never',
        one.note,
      ]),
    ),
});

/** @returns the rows, those of groups with the number of their networks; null: the server has not written them yet */
async function withNetworks<Row extends { readonly prefix: string }>(
  store: OperationTools['store'],
  list: 'seed' | 'allow',
  rows: readonly Row[],
) {
  const shown: (Row & { readonly networks?: number | null })[] = [];
  for (const row of rows) {
    if (!isGroup(row.prefix)) shown.push(row);
    else {
      const found = await findList(store, { list, source: listOfGroup(row.prefix) });
      shown.push({ ...row, networks: found.row?.rows ?? null });
    }
  }
  return shown;
}

/** Writes a group with the number of its networks. */
function namedWith(one: { readonly prefix: string; readonly networks?: number | null }): string {
  const { prefix, networks } = one;
  if (networks === undefined) return prefix;
  return networks === null ? `${prefix} (not yet)` : `${prefix} (${grouped(networks)} networks)`;
}

const shownRule = (rule: AllowRule) => ({ ...rule, addedAt: dateText(rule.addedAt) });

export const addRule = operation({
  name: 'allow add',
  purpose: 'put an address, a network, an autonomous system or a country on the allowlist',
  parameters: {
    prefix: rangeOrGroup,
    reason: { ...note, help: 'why; shown by list' },
  },
  audit: 'required',
  async run(w, { prefix, reason }) {
    const { former, ...rule } = expect(await createAllowlist(w).add(prefix, reason));
    return { ...shownRule(rule), reasonBefore: former?.reason };
  },
  undo: ({ prefix, reasonBefore }) =>
    reasonBefore === undefined
      ? { operation: 'allow remove', input: { prefix } }
      : { operation: 'allow add', input: { prefix, reason: reasonBefore } },
  json: ({ reasonBefore: _, ...rule }) => rule,
  outcome: (rule) => `${rule.prefix} on`,
  lines: (rule) => [`${rule.prefix} is on the allowlist`],
});

export const removeRule = operation({
  name: 'allow remove',
  purpose: 'take off the allowlist what was put on it',
  parameters: { prefix: { ...rangeOrGroup, help: 'as it was added' } },
  audit: 'required',
  run: async (w, { prefix }) => shownRule(expect(await createAllowlist(w).remove(prefix))),
  undo: ({ prefix, reason }) => ({ operation: 'allow add', input: { prefix, reason } }),
  outcome: (rule) => `${rule.prefix} off`,
  lines: (rule) => [`${rule.prefix} is off the allowlist`],
});

export const listRules = operation({
  name: 'allow list',
  purpose: 'what is on the allowlist, since when, and why',
  parameters: {},
  async run(w) {
    const rules = await createAllowlist(w).list();
    return withNetworks(w.store, 'allow', rules.map(shownRule));
  },
  lines: (rules) =>
    columnsOr(
      'the allowlist is empty',
      ['range', 'added', 'reason'],
      rules.map((rule) => [namedWith(rule), rule.addedAt, rule.reason]),
    ),
});

const listedMax = 10_000;
/** Newest first; an operator who needs more of one address asks for more. */
const listedDefault = '100';

function shownReport({ id, account: by, reporter, reportedAt, categories, comment }: StoredReport) {
  return {
    id,
    reportedAt: dateText(reportedAt),
    account: by,
    reporterId: reporter,
    categories: categoriesOf(categories),
    comment,
  };
}

export const listReports = operation({
  name: 'report list',
  purpose: 'the reports of an address, or of an account, with their ids, newest first',
  parameters: {
    address: { ...isAddress, schema: v.optional(address.schema) },
    account: {
      schema: v.optional(account.schema),
      value: 'email',
      help: 'in place of an address: what this account reported',
    },
    limit: {
      schema: v.optional(wholeNumber(1, listedMax), listedDefault),
      value: 'n',
      help: 'at most so many',
    },
  },
  async run(w, { address: text, account: email, limit }) {
    if ((text === undefined) === (email === undefined)) {
      throw new OperatorError('name either an address or --account <email>');
    }
    if (text !== undefined) {
      const { family, words } = partsOf(text);
      const found = await createReportStore(w).list(family, words, 0, limit);
      return { of: text, by: false, reports: found.map(shownReport) };
    }
    // By the index that the account's own page reads; it is made where there is none.
    const { id, email: of, createdAt } = expect(await w.accounts.find(email!));
    const walks = createSemaphore({ runningMax: 1, waitingMax: 0 });
    const own = createOwnReports({ ...w, walks, pace: () => createTurns() });
    const found: OwnReport[] = [];
    let after: string | undefined;
    do {
      const page = expect(await own.page({ id, createdAt }, after));
      found.push(...page.reports);
      after = page.next;
    } while (after !== undefined && found.length < limit);
    const reports = found
      .slice(0, limit)
      .map((one) => ({ address: formatIp(one.family, one.words), ...shownReport(one) }));
    return { of, by: true, reports };
  },
  lines: ({ of, by, reports }) =>
    columnsOr(
      `there are no reports ${by ? 'by' : 'of'} ${of}`,
      ['id', 'reported', by ? 'address' : 'account', 'categories', 'comment'],
      reports.map((row) => [
        row.id,
        row.reportedAt,
        'address' in row ? String(row.address) : row.account,
        row.categories.join(),
        row.comment,
      ]),
    ),
  json: ({ reports }) => reports,
});

const storedReports = v.pipe(
  textOf(1_000_000),
  v.parseJson(),
  v.array(
    v.strictObject({
      id: v.pipe(v.string(), v.regex(/^[\w-]{22}$/)),
      account: v.pipe(v.string(), v.maxLength(100)),
      reporter: v.pipe(v.number(), v.integer(), v.minValue(0)),
      country: v.pipe(v.string(), v.maxLength(2)),
      categories: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(0xffff_ffff)),
      comment: v.string(),
      reportedAt: v.pipe(v.number(), v.integer(), v.minValue(0)),
    }),
  ),
);

export const retractOperation = operation({
  name: 'report retract',
  purpose: "take back all that a report's account said of its address; it loses trust",
  parameters: {
    id: {
      schema: v.optional(shortText),
      value: 'id',
      help: 'id of the report, as list shows it',
      isArgument: true,
      kept: true,
    },
    account: {
      schema: v.optional(account.schema),
      value: 'email',
      help: 'in place of an id: all that this account reported, of any address',
      kept: 'account',
    },
    address: {
      schema: v.optional(address.schema),
      value: 'address',
      help: 'in place of an id: all reports of this address, at no cost of trust',
      kept: true,
    },
    since: {
      schema: v.optional(typedDate),
      value: 'date',
      help: 'with --account: reports dated earlier stay',
      kept: true,
    },
  },
  audit: 'required',
  async run(w, { id, account: email, address: named, since }) {
    if ([id, email, named].filter((one) => one !== undefined).length !== 1) {
      throw new OperatorError('name the id of a report, --account <email> or --address <address>');
    }
    if (since !== undefined && email === undefined) {
      throw new OperatorError('--since goes with --account <email>');
    }
    if (named !== undefined) {
      const ofAddress = textBehind(named);
      return { ofAddress: { address: ofAddress, ...expect(await retractAll(w, ofAddress)) } };
    }
    if (email !== undefined) {
      const found = expect(await w.accounts.find(email));
      const from = since === undefined ? 0 : dateIn(since)!;
      const gone = await retract(w, found.id, from, true);
      return { ofAccount: { email: found.email, account: found.id, ...gone } };
    }
    const {
      address: of,
      account: by,
      removed,
    } = expect(await retractReport(createReportStore(w), id!));
    return { ofReport: { address: of, account: by, removed } };
  },
  undo: ({ ofAddress }) =>
    ofAddress?.reports && {
      operation: 'report restore',
      input: { address: ofAddress.address, reports: JSON.stringify(ofAddress.reports) },
    },
  outcome: ({ ofAccount, ofReport, ofAddress }) =>
    ofAddress !== undefined
      ? `${ofAddress.removed} reports of ${ofAddress.address} taken back`
      : ofReport === undefined
        ? `${ofAccount.reports} reports of ${ofAccount.addresses} addresses taken back`
        : `${ofReport.removed} reports of ${ofReport.address} by ${ofReport.account} taken back`,
  lines: ({ ofAccount, ofReport, ofAddress }) => [
    ofAddress !== undefined
      ? `${ofAddress.removed} reports of ${ofAddress.address} are taken back`
      : ofReport === undefined
        ? `${ofAccount.reports} reports of ${ofAccount.addresses} addresses by ${ofAccount.email} are taken back`
        : `${ofReport.removed} reports of ${ofReport.address} by account ${ofReport.account} are taken back`,
  ],
  json({ ofAccount, ofReport, ofAddress }) {
    if (ofAddress !== undefined) return { address: ofAddress.address, removed: ofAddress.removed };
    if (ofReport !== undefined) return ofReport;
    const { email: _, ...gone } = ofAccount;
    return gone;
  },
});

/** The way back from a retraction; it is no command. */
export const restoreOperation = operation({
  name: 'report restore',
  parameters: { address, reports: { schema: storedReports } },
  audit: 'required',
  async run(w, { address: of, reports }) {
    expect(await restoreReports(w, partsOf(of), reports));
    return { address: of, restored: reports.length };
  },
  outcome: ({ restored }) => `${restored} reports put back`,
});

export const listRemovals = operation({
  name: 'removals list',
  purpose: 'what is asked for, the oldest first',
  parameters: {},
  run: async (w) =>
    (await createRemovals(w).list()).map((one) => ({ ...one, at: dateText(one.at) })),
  lines: (rows) =>
    columnsOr(
      'nobody asks for a removal',
      ['address', 'asked', 'asked from it', 'account', 'reason'],
      rows.map(({ address: of, at, fromAddress, signedIn, reason }) => [
        of,
        at,
        fromAddress ? 'yes' : 'no',
        signedIn ? 'signed in' : '-',
        reason,
      ]),
    ),
});

export const acceptRemovalOf = operation({
  name: 'removals accept',
  purpose: 'take back all reports of the address, at no cost of trust; lists stay',
  parameters: {
    address,
    allow: {
      schema: flag,
      help: 'put it on the allowlist too, so that no list blocks it',
      kept: true,
    },
  },
  audit: 'required',
  async run(w, { address: of, allow }) {
    const accepted = expect(await acceptRemoval(w, of, allow));
    const { removed, request, reports, isNewRule } = accepted;
    return { address: of, removed, allowed: allow, request: asked(request), reports, isNewRule };
  },
  undo: ({ address: of, request, reports, isNewRule }) =>
    reports && {
      operation: 'removals reopen',
      input: {
        ...reopenInput(of, request),
        ...(isNewRule ? { disallow: true } : {}),
        reports: JSON.stringify(reports),
      },
    },
  json: ({ address: of, removed, allowed }) => ({ address: of, removed, allowed }),
  outcome: ({ removed }) => `${removed} reports taken back`,
  lines: (done) => [`${done.removed} reports of ${done.address} are taken back`],
});

/** Leaves out the mark of the network. */
function asked({ reason, at, fromAddress, signedIn }: Removal) {
  return { reason, at, fromAddress, signedIn };
}

function reopenInput(of: string, { reason, at, fromAddress, signedIn }: ReturnType<typeof asked>) {
  return { address: of, reason, at: String(at), fromAddress, signedIn };
}

export const refuseRemoval = operation({
  name: 'removals refuse',
  purpose: 'leave everything as it is; the address may be asked for again',
  parameters: { address },
  audit: 'required',
  async run(w, { address: of }) {
    return { address: of, request: asked(expect(await createRemovals(w).remove(of))) };
  },
  undo: ({ address: of, request }) => ({
    operation: 'removals reopen',
    input: reopenInput(of, request),
  }),
  json: ({ address: of }) => ({ address: of }),
  outcome: () => 'refused',
  lines: (done) => [`the request for ${done.address} is refused`],
});

/** Milliseconds since 1970, in digits. */
const waitsSince = {
  schema: v.optional(v.pipe(v.string(), v.regex(/^\d{1,15}$/), v.transform(Number))),
  value: 'ms',
  help: 'since when it waits, in milliseconds since 1970 (default: now)',
} as const;

export const reopenRemoval = operation({
  name: 'removals reopen',
  purpose: 'put a request into the queue, as it was before it was decided',
  parameters: {
    address,
    reason: { ...note, help: 'in the words of who asked', schema: textOf(10_000) },
    at: waitsSince,
    fromAddress: { schema: flag, help: 'it was asked for from the address itself' },
    signedIn: { schema: flag, help: 'it was asked for by somebody with an account' },
    disallow: { schema: flag, help: 'take the address off the allowlist', kept: true },
    reports: {
      schema: v.optional(storedReports),
      value: 'json',
      help: 'reports that were retracted, with all fields of their rows: they count again',
    },
  },
  audit: 'required',
  async run(w, { address: of, reason, at, fromAddress, signedIn, disallow, reports = [] }) {
    if (disallow) {
      const gone = await createAllowlist(w).remove(of);
      if (!gone.ok && gone.error !== 'not_found') expect(gone);
    }
    if (reports.length > 0) expect(await restoreReports(w, partsOf(of), reports));
    const from = { fromAddress, signedIn };
    const asker = { standing: standingOf(from), network: unknownNetwork };
    expect(await createRemovals(w).add(of, { reason, ...from }, asker, at));
    return { address: of, restored: reports.length };
  },
  outcome: ({ restored }) => `waits again, ${restored} reports put back`,
  lines: (done) => [`the request for ${done.address} waits for a decision`],
});

export const listAnonymousReports = operation({
  name: 'tips list',
  purpose: 'what waits for you, the oldest first; a tip counts for nothing until you report',
  parameters: {},
  run: async (w) =>
    (await createAnonymousReports(w).list()).map(({ at, categories, ...report }) => ({
      ...report,
      at: dateText(at),
      categories: categoriesOf(categories),
    })),
  lines: (rows) =>
    columnsOr(
      'no tip waits',
      ['address', 'sent', 'categories', 'comment'],
      rows.map(({ address: of, at, categories, comment }) => [of, at, categories.join(), comment]),
    ),
});

/** Leaves out the mark of the network. */
function told({ at, categories, comment }: AnonymousReport) {
  return { at: String(at), categories: categoriesOf(categories).join(), comment };
}

export const removeAnonymousReport = operation({
  name: 'tips remove',
  purpose: 'forget a tip, once you have reported the address or decided otherwise',
  parameters: { address },
  audit: 'required',
  async run(w, { address: of }) {
    return { address: of, tip: told(expect(await createAnonymousReports(w).remove(of))) };
  },
  undo: ({ address: of, tip }) => ({
    operation: 'tips reopen',
    input: { address: of, ...tip },
  }),
  json: ({ address: of }) => ({ address: of }),
  outcome: () => 'forgotten',
  lines: (done) => [`the tip about ${done.address} is removed`],
});

export const acceptAnonymousReport = operation({
  name: 'tips accept',
  purpose: 'believe a tip: the address gets a score of your own, and the tip is forgotten',
  parameters: {
    address,
    score: { ...addEntry.parameters.score, help: '1 to 100; from 75 on it is blocked' },
  },
  audit: 'required',
  async run(w, { address: of, score }) {
    const tips = createAnonymousReports(w);
    const tip = await tips.find(of);
    if (tip === undefined) throw new OperatorError(`nothing waits for ${of}`);
    const [category = 0] = categoriesOf(tip.categories);
    const terms = { score, category, note: 'by an anonymous report', endsAt: 0 };
    const { former, ...set } = expect(await createOwnEntries(w).add(of, terms));
    expect(await tips.remove(of));
    return { address: of, score: set.score, tip: told(tip), hadEntry: former !== undefined };
  },
  // An entry of before is not known well enough to be set again.
  undo: ({ address: of, tip, hadEntry }) =>
    hadEntry
      ? undefined
      : { operation: 'tips reopen', input: { address: of, ...tip, unset: true } },
  json: ({ address: of, score }) => ({ address: of, score }),
  outcome: ({ score }) => `score ${score}`,
  lines: (done) => [`${done.address} has score ${done.score} as an own entry`],
});

export const reopenAnonymousReport = operation({
  name: 'tips reopen',
  purpose: 'put a tip into the queue, as it was before it was decided',
  parameters: {
    address,
    categories: {
      schema: v.pipe(
        v.string(),
        v.regex(/^\d{1,2}(?:,\d{1,2})*$/, 'It must be numbers such as 18,22.'),
        v.transform((text) => text.split(',').map(Number)),
        v.check((all) => all.every((one) => one >= 1 && one <= categoryMax), categoryFault),
      ),
      value: 'numbers',
      help: 'of the categories, such as 18,22',
      kept: (numbers: readonly number[]) => numbers.join(),
    },
    comment: { ...note, help: 'in the words of who reported' },
    at: waitsSince,
    unset: { schema: flag, help: 'take your own entry for the address back', kept: true },
  },
  audit: 'required',
  async run(w, { address: of, categories, comment, at, unset }) {
    if (unset) {
      const gone = await createOwnEntries(w).remove(of);
      if (!gone.ok && gone.error !== 'not_found') expect(gone);
    }
    const mask = categories.reduce((bits, one) => bits | (1 << one), 0) >>> 0;
    const tips = createAnonymousReports(w);
    expect(await tips.add(of, { categories: mask, comment }, undefined, at));
    return { address: of };
  },
  outcome: () => 'waits again',
  lines: (done) => [`the tip about ${done.address} waits for a decision`],
});

/** Takes back what an account reported, as `account disable` and `report retract` do. */
export async function retract(
  workspace: OperationTools,
  account: string,
  since: number,
  penalty: boolean,
): Promise<TakenBack> {
  const reports = createReportStore(workspace);
  const pace = createTurns();
  const { store } = workspace;
  return expect(await retractReports({ store, reports, account, since, penalty, pace }));
}
