/** Operations on the store as a whole: backup, verification, figures, the journal, the audit log. */

import { statSync } from 'node:fs';
import * as v from 'valibot';
import { createAuditLog } from '../access/audit-log.ts';
import { capacities } from '../config.ts';
import {
  type OperationCall,
  type OperationTools,
  operationsOn,
  queriesOn,
  type Reading,
} from '../contracts/operation.ts';
import { lastDays, shortText, sinceDays, textOf } from '../contracts/operation-parameters.ts';
import { dateText } from '../core/dates.ts';
import { OperatorError } from '../core/errors.ts';
import { columns, columnsOr, grouped } from '../core/text-table.ts';
import type { MemoryReading } from '../reputation/check/operations.ts';
import type { CountPeriod, ReportCounts, ReportTrait } from '../reputation/counts/report-counts.ts';
import { readFill } from '../reputation/lists/capacity.ts';
import { categoryNames } from '../reputation/reports/categories.ts';
import { readCheckpointSeq } from '../storage/journal/projection.ts';
import { listPrefix } from '../storage/keys.ts';
import { readLedger } from '../storage/ledger.ts';
import { activitiesOf, createActivityCounters } from './activity-counters.ts';
import { loadActivityCounters } from './figures.ts';
import { runTask } from './tasks.ts';

const query = queriesOn<MemoryReading>();

export const backupStore = query({
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
    const source = databaseUrl === undefined ? embeddedOf(reading) : { databaseUrl };
    const sealing = { passphrase, recipients };
    return runTask('backup', { ...source, sealing, masterKey, file: undefined }, call);
  },
});

export const verifyStore = query({
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

export const readStats = query({
  name: 'stats',
  asksNode: true,
  purpose:
    'reports of 24 hours, 7 and 90 days, what the server did, rows and bytes by kind, journal, bounded tables',
  parameters: {},
  run: (reading, _, call) => statsOf(reading, call),
  // All lines are one text, so that a reader of the first lines alone (`| head`) does not break the output.
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
    // Counted up to the last full minute, by the server of this machine.
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
    // The server stores these figures now and then. While it runs, /metrics has these and more.
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
      { name: 'own_entries', used: await used('own_entries'), limit: capacities.manualEntries },
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

/** The text shows this many of each at most; the JSON has all. */
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

/** Waits until the server has applied an event. A command that wrote to a shared store itself asks for it. */
export const waitForJournal = query({
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
export const describeStore = query({
  name: 'store state',
  parameters: {},
  async run({ store }) {
    const lastSeq = await store.lastSeq();
    const [last] = lastSeq === 0n ? [] : await store.read(lastSeq - 1n, 1).catch(() => []);
    const hasLists = (await store.scan(listPrefix(), { limit: 1 })).length > 0;
    return { lastSeq: Number(lastSeq), lastAt: last?.at ?? 0, hasLists };
  },
});

export const readAudit = operationsOn<OperationTools>()({
  name: 'audit',
  purpose: 'what operators changed by command and on the console: when, by whom, the result',
  parameters: lastDays,
  run: async (tools, { days }) =>
    (await createAuditLog(tools).list(sinceDays(tools.clock.now(), days))).map((entry) => ({
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
