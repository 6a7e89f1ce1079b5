/** Operations on the service: sites, mails, logs, and the store as a whole. */

import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import * as v from 'valibot';
import { createAuditLog } from '../access/audit-log.ts';
import { type Config, capacities } from '../config.ts';
import {
  expect,
  looksWith,
  type OperationCall,
  type OperationTools,
  operationsOn,
  type Reading,
  refuse,
} from '../contracts/operation.ts';
import { choice, shortText, textOf, wholeNumber } from '../contracts/operation-parameters.ts';
import { dateText } from '../core/dates.ts';
import { OperatorError } from '../core/errors.ts';
import { fail } from '../core/result.ts';
import { createTurns } from '../core/scheduling.ts';
import { columns, columnsOr, grouped } from '../core/text-table.ts';
import { dayMs } from '../core/time.ts';
import type { CountPeriod, ReportCounts, ReportTrait } from '../reputation/counts/report-counts.ts';
import { readFill } from '../reputation/lists/room.ts';
import type { MemoryReading } from '../reputation/operations.ts';
import { categoryNames } from '../reputation/reports/categories.ts';
import { lookAtTls, transportOf } from '../signon/mail/command-mails.ts';
import { mailSender, signature } from '../signon/mail/letter.ts';
import type { Mailer } from '../signon/mail/mailer.ts';
import { mailText } from '../signon/mail/texts.ts';
import { readSignIns } from '../signon/sessions/sign-in-log.ts';
import { blockedSites, siteDomain } from '../signon/sites/operations.ts';
import { createSiteList } from '../signon/sites/site-list.ts';
import { languages, type StoredLanguage } from '../signon/visitor.ts';
import { readCheckpointSeq } from '../storage/journal/projection.ts';
import { listPrefix } from '../storage/keys.ts';
import { readLedger } from '../storage/ledger.ts';
import { activitiesOf, createActivityCounters } from './activity-counters.ts';
import { readSignInCounts, signInsPage } from './counting.ts';
import { loadActivityCounters } from './figures.ts';
import { runTask } from './tasks.ts';

interface ServiceTools extends OperationTools {
  /** The running server's, which tries a mail again. */
  readonly mailer?: Mailer;
}

const operation = operationsOn<ServiceTools>();
const look = looksWith<MemoryReading>();

export const listSites = operation({
  name: 'site list',
  purpose: 'visitors and sign-ins of each lately, and what is blocked',
  parameters: {
    part: {
      schema: v.optional(shortText, ''),
      value: 'part',
      help: 'of the domain',
      isArgument: true,
    },
  },
  async run(w, { part }) {
    const signIns = async (nowMs: number) =>
      (await readSignInCounts(w.store, signInsPage))?.sums(nowMs);
    const list = createSiteList({
      ...w,
      blocked: blockedSites(w),
      signIns,
      pace: () => createTurns(),
    });
    const limit = Number.MAX_SAFE_INTEGER;
    const { sites, isCut } = await list.page({ part: part.trim().toLowerCase(), skip: 0, limit });
    return {
      isCut,
      sites: sites.map(({ signIns, lastUsedAt, blockedBy, ...site }) => ({
        ...site,
        signIns: signIns ?? null,
        lastUsedAt: lastUsedAt === undefined ? null : dateText(lastUsedAt),
        blockedBy: blockedBy ?? null,
      })),
    };
  },
  lines: ({ sites, isCut }) => [
    ...columnsOr(
      'there is no such site',
      ['domain', 'visitors', '24 h', '7 days', 'sign-ins', 'last used', 'state'],
      sites.map(({ domain: name, visitors, day, week, signIns, lastUsedAt, blockedBy }) => [
        name,
        String(visitors),
        String(day),
        String(week),
        signIns === null
          ? 'not known here'
          : `today ${signIns.today}, 7 days ${signIns.week}, 30 days ${signIns.month}`,
        lastUsedAt ?? 'never',
        blockedBy === null ? 'open' : `blocked${blockedBy === name ? '' : ` with ${blockedBy}`}`,
      ]),
    ),
    ...(isCut ? ['there are more sites than are counted'] : []),
  ],
  json: ({ sites }) => sites,
});

export const blockSite = operation({
  name: 'site block',
  purpose: 'a domain gets no code and no profile, from the next request on',
  parameters: { domain: siteDomain },
  audit: 'required',
  async run(w, { domain: name }) {
    const done = expect(await blockedSites(w).block(name));
    return { domain: done.domain, blockedAt: dateText(done.blockedAt) };
  },
  outcome: (done) => `${done.domain} blocked`,
  lines: (done) => [`${done.domain} is blocked, with all names below it`],
});

export const unblockSite = operation({
  name: 'site unblock',
  purpose: 'let a blocked domain work again',
  parameters: { domain: { ...siteDomain, help: 'as it was blocked' } },
  audit: 'required',
  async run(w, { domain: name }) {
    const done = expect(await blockedSites(w).unblock(name));
    return { domain: done.domain };
  },
  outcome: (done) => `${done.domain} unblocked`,
  lines: (done) => [`${done.domain} is not blocked any more`],
});

const byOf = ({ smtpUrl }: Pick<Config, 'smtpUrl'>): string =>
  smtpUrl === undefined ? 'outbox' : new URL(smtpUrl).host;

/** For a mail server's answer; the queue tries longer. */
const mailWaitMs = 3_000;
const mailNotTaken =
  'The mail server has not taken it yet. It is tried again for six minutes; the log has the reason.';
const mailsFull = 'The queue of mails is full: the log says since when.';
const mailsEnough =
  'It was not sent: the mail server refused it each time, or the address had all its mails of this hour.';

/** Sends the test mail by the server's queue, as all others, and waits for a moment only: a page waits for it. */
async function sendByServer(
  { config }: Pick<OperationTools, 'config'>,
  mailer: Mailer,
  to: string,
  language: StoredLanguage,
): Promise<void> {
  const ended = mailer.deliver(to, language, 'test', { link: `${config.baseUrl}/` });
  const late = new AbortController();
  const { signal } = late;
  const wait = sleep(mailWaitMs, 'late' as const, { signal, ref: false }).catch(() => undefined);
  const how = await Promise.race([ended, wait]).finally(() => late.abort());
  if (how === 'sent') return;
  if (how === 'late') refuse(fail('conflict', mailNotTaken));
  refuse(fail('conflict', how === 'not_now' ? mailsFull : mailsEnough));
}

export const testMail = operation({
  name: 'mail test',
  purpose: 'send one mail now and say how it went; without SMTP_URL into the outbox',
  parameters: {
    to: {
      schema: v.pipe(
        textOf(320),
        v.regex(
          /^[^\s<>"@]{1,64}@[^\s<>"@]{1,253}$/,
          ({ input }) => `'${input.slice(0, 80)}' is not a mail address`,
        ),
      ),
      value: 'address',
      help: 'to whom',
      isArgument: true,
      kept: 'account',
    },
    language: {
      schema: v.optional(choice(languages), 'en'),
      value: 'code',
      help: 'of the text',
    },
  },
  audit: 'required',
  async run(w, { to, language }, call) {
    const { config } = w;
    if (call.isOnConsole && w.mailer !== undefined) {
      await sendByServer(w, w.mailer, to, language);
      return { to, language, by: byOf(config), tls: undefined, dataDir: config.dataDir };
    }
    // This opens a connection of its own, with the same TLS rules as the transport.
    const tls = config.smtpUrl === undefined ? undefined : await lookAtTls(config.smtpUrl);
    const link = `${config.baseUrl}/`;
    const text = mailText(language, 'test', { link }, signature(mailSender(config)));
    const transport = transportOf(w);
    try {
      await transport.send({ to, language, link, ...text });
    } catch (error) {
      throw new OperatorError(`the mail was not taken: ${(error as Error).message}`);
    } finally {
      await transport.close();
    }
    return { to, language, by: byOf(config), tls, dataDir: config.dataDir };
  },
  outcome: ({ by }) => (by === 'outbox' ? by : 'sent'),
  lines: ({ to, by, tls, dataDir }) => [
    by === 'outbox'
      ? `written to ${dataDir}/outbox: there is no SMTP_URL`
      : `${by} took the mail to ${to}, ${tls ?? 'TLS unknown'}`,
  ],
  json: ({ dataDir: _, ...done }) => done,
});

const lastDays = {
  days: {
    schema: v.optional(wholeNumber(1, 36_500)),
    value: 'n',
    help: 'only of the last days',
  },
} as const;
const since = (now: number, days: number | undefined): number =>
  days === undefined ? 0 : now - days * dayMs;

export const readAudit = operation({
  name: 'audit',
  purpose: 'what operators changed by command and on the console: when, by whom, the result',
  parameters: lastDays,
  run: async (w, { days }) =>
    (await createAuditLog(w).list(since(w.clock.now(), days))).map((entry) => ({
      ...entry,
      at: dateText(entry.at),
    })),
  lines: (entries) =>
    columnsOr(
      'nothing has been changed yet',
      ['when', 'result', 'who', 'what', 'change', 'from'],
      entries.map(({ at, result, user, command, before, after, address }) => [
        at,
        result,
        user,
        command,
        after === '' ? '-' : `${before || '-'} > ${after}`,
        address,
      ]),
    ),
});

export const readSignInLog = operation({
  name: 'log sign-ins',
  purpose: 'sign-ins, failures, lock-outs and refusals with their addresses, 30 days',
  parameters: lastDays,
  async run(w, { days }) {
    const entries = [];
    for await (const entry of readSignIns(w.store, since(w.clock.now(), days))) {
      entries.push({ ...entry, at: dateText(entry.at) });
    }
    return entries;
  },
  lines: (entries) =>
    columnsOr(
      'nobody has signed in yet',
      ['when', 'event', 'address', 'account', 'path', 'status'],
      entries.map(({ at, event, address, account, path, status }) => [
        at,
        event,
        address,
        account || '-',
        path,
        String(status),
      ]),
    ),
});

export const backupStore = look({
  name: 'backup',
  parameters: {
    /** The path of the backup's file, for the audit log; the caller writes the file. */
    target: { schema: textOf(4_096), isArgument: true, kept: true },
    passphrase: { schema: v.optional(textOf(10_000)) },
    recipients: { schema: v.optional(v.array(textOf(10_000))) },
    /** Hex; goes into an encrypted backup. */
    masterKey: { schema: v.optional(shortText) },
  },
  audit: 'if possible',
  run(reading, { passphrase, recipients, masterKey }, call) {
    const { databaseUrl } = reading.config;
    const place = databaseUrl === undefined ? embeddedOf(reading) : { databaseUrl };
    const sealing = { passphrase, recipients };
    return runTask('backup', { ...place, sealing, masterKey, file: undefined }, call);
  },
});

export const verifyStore = look({
  name: 'verify',
  parameters: {},
  run: (reading, _, call) =>
    runTask('verify', { ...embeddedOf(reading), dataDir: reading.config.dataDir }, call),
});

function embeddedOf({ embedded }: Reading) {
  if (embedded !== undefined) return embedded;
  throw new OperatorError(
    'this command works on the embedded store, and DATABASE_URL is set: use the means of the database',
  );
}

export const readStats = look({
  name: 'stats',
  asksNode: true,
  purpose:
    'reports of 24 hours, 7 and 90 days, what the server did, rows and bytes by kind, journal, bounded tables',
  parameters: {},
  run: (reading, _, call) => statsOf(reading, call),
  // At once, so that nobody who reads the first lines alone breaks it.
  lines: (stats) => [statsLines(stats).join('\n')],
});

type Stats = Awaited<ReturnType<typeof statsOf>>;

async function statsOf(reading: MemoryReading, call: OperationCall) {
  const { clock, store, embedded } = reading;
  const counted = embedded && (await runTask('count', embedded, call));
  const fill = await readFill(store);
  const activity = createActivityCounters(clock.now());
  await loadActivityCounters(store, activity);
  const used = async (table: Parameters<typeof readLedger>[1]) =>
    (await readLedger(store, table)).used;
  return {
    // A damaged projection must not keep the rows from being counted.
    reports: await reading
      .withMemory(({ counts }) => reportsOf(counts, clock.now()))
      .catch(() => null),
    // As of the last minute, of this machine's server alone.
    did: activitiesOf(activity, clock.now()),
    // The size of a PostgreSQL database is read with PostgreSQL's own tools.
    file: embedded && { bytes: statSync(`${embedded.path}/data.mdb`).size },
    journal: {
      first: counted?.firstSeq,
      last: Number(await store.lastSeq()),
      checkpoint: Number(await readCheckpointSeq(store)),
    },
    tables: counted?.totals,
    kinds: counted?.kinds,
    // As the server left word of them; /metrics has these and more while it runs.
    bounds: [
      { name: 'accounts', used: await used('account_slots'), limit: capacities.accounts },
      { name: 'entries', used: fill.entries, limit: capacities.entries },
      {
        name: 'contributions',
        used: fill.contributions,
        limit: capacities.entries * capacities.contributionsPerEntry,
      },
      { name: 'lists', used: await used('lists'), limit: capacities.sources },
      { name: 'allow_rules', used: await used('allow_rules'), limit: capacities.allowRules },
      { name: 'own_entries', used: await used('own_entries'), limit: capacities.ownEntries },
    ],
  };
}

interface RowCount {
  readonly rows: number;
  readonly bytes: number;
}

function statsLines(stats: Stats): string[] {
  const { file, journal, tables = {}, kinds = {}, bounds } = stats;
  const counts = (of: Readonly<Record<string, RowCount>>) =>
    Object.entries(of).map(([name, { rows, bytes }]) => [name, grouped(rows), grouped(bytes)]);
  const { first, last, checkpoint } = journal;
  const stored = [
    ['table', 'rows', 'bytes'],
    ...counts(tables),
    ['kind of entry', 'rows', 'bytes'],
    ...counts(kinds),
  ];
  return [
    ...columns(reportRows(stats)),
    ...(file === undefined ? [] : [`file ${grouped(file.bytes)} bytes`]),
    `journal ${first === undefined ? 'up' : grouped(first)} to ${grouped(last)}, checkpoint at ${grouped(checkpoint)}`,
    ...columns([
      ...(file === undefined ? [] : stored),
      ['what the server did', '24 hours', 'ever'],
      ...stats.did.map(({ name, day, ever }) => [name, grouped(day), grouped(ever)]),
      ['bounded table', 'used', 'limit'],
      ...bounds.map(({ name, used, limit }) => [name, grouped(used), grouped(limit)]),
    ]),
  ];
}

/** The lines show so many of each at most; the JSON has all. */
const topShown = 5;

function reportRows({ reports, file }: Pick<Stats, 'reports' | 'file'>): string[][] {
  if (reports === null) {
    const next = file === undefined ? 'start a node here' : 'portcullis verify says what is wrong';
    return [['reports', `not counted: ${next}`]];
  }
  const top = (rows: readonly { name: string; reports: number }[]) =>
    rows
      .slice(0, topShown)
      .map(({ name, reports: count }) => `${name} ${grouped(count)}`)
      .join(', ');
  const { total, since: _, ...periods } = reports;
  return [
    ['reports', 'count', 'categories', 'countries', 'networks'],
    ...Object.entries(periods).map(([name, one]) => [
      name,
      grouped(one.reports),
      top(one.categories),
      top(one.countries),
      top(one.networks),
    ]),
    ['ever', grouped(total), '', '', ''],
  ];
}

function reportsOf(counts: ReportCounts, nowMs: number) {
  const { reports, startMs } = counts.inAll();
  const of = (period: CountPeriod) => {
    const sum = counts.sum(period, nowMs);
    const by = (trait: ReportTrait) =>
      sum.by(trait).map(({ name, count }) => ({ name, reports: count }));
    const categories = by('category').map((one) => ({
      ...one,
      name: categoryNames[Number(one.name) - 1] ?? one.name,
    }));
    return {
      reports: sum.reports,
      categories,
      countries: by('country'),
      networks: by('network'),
      lists: by('list'),
      bands: by('band'),
    };
  };
  return {
    total: reports,
    since: startMs === 0 ? null : dateText(startMs),
    last24Hours: of('quarter'),
    last7Days: of('hour'),
    last90Days: of('day'),
  };
}

/** Asked for by a command that wrote to a shared store itself. */
export const waitForJournal = look({
  name: 'journal wait',
  parameters: { seq: { schema: v.pipe(v.string(), v.regex(/^\d{1,19}$/)) } },
  async run(reading, { seq }) {
    const position = BigInt(seq);
    if (position > (await reading.store.lastSeq())) throw new OperatorError('not in the journal');
    await reading.catchUpTo(position);
    return {};
  },
});

/** Reads the end of the journal, the time of its last event, and whether a list is loaded. */
export const describeStore = look({
  name: 'store state',
  parameters: {},
  async run({ store }) {
    const lastSeq = await store.lastSeq();
    const [last] = lastSeq === 0n ? [] : await store.read(lastSeq - 1n, 1).catch(() => []);
    const hasLists = (await store.scan(listPrefix(), { limit: 1 })).length > 0;
    return { lastSeq: Number(lastSeq), lastAt: last?.at ?? 0, hasLists };
  },
});
