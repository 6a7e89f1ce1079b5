/** `portcullis stats`: reports of a day, a week and 90 days, what was done, what lies in the store, how full tables are. */

import { statSync } from 'node:fs';
import { Command } from 'commander';
import { capacities } from '../../config.ts';
import type { ReportTrait } from '../../reputation/counts/bucket.ts';
import type { CountPeriod, ReportCounts } from '../../reputation/counts/report-counts.ts';
import { readFill } from '../../reputation/lists/room.ts';
import { categoryNames } from '../../reputation/reports/categories.ts';
import { namespaces } from '../../store/keys.ts';
import { readLedger } from '../../store/ledger.ts';
import { tableNames } from '../../store/lmdb-tables.ts';
import { readCheckpointSeq } from '../../store/projection.ts';
import { batchesOf, type View } from '../../store/view.ts';
import { columns, createOutput, dateText, grouped } from '../shell/output.ts';
import { withReading } from '../shell/workspace.ts';

interface Count {
  rows: number;
  /** Keys and values, without what LMDB adds. */
  bytes: number;
}

const batchBytes = 1024 * 1024;
const names = new Map(Object.entries(namespaces).map(([name, byte]) => [byte as number, name]));

export function statsCommand(): Command {
  return new Command('stats')
    .description(
      'reports of 24 hours, 7 and 90 days, what the server did, rows and bytes by kind, journal, bounded tables; beside a running server too',
    )
    .option('--json', 'print the result as JSON')
    .action(async (flags: { json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const stats = await collect();
      const { file, journal, tables = {}, kinds = {}, bounds } = stats;
      const tallies = (counts: Record<string, Count>) =>
        Object.entries(counts).map(([name, { rows, bytes }]) => [
          name,
          grouped(rows),
          grouped(bytes),
        ]);
      const full = bounds.map(({ name, used, limit }) => [name, grouped(used), grouped(limit)]);
      const { first, last, checkpoint } = journal;
      const from = first === undefined ? 'up' : grouped(first);
      const lines = [
        ...columns(reportRows(stats)).map((line) => line.trimEnd()),
        ...(file === undefined ? [] : [`file ${grouped(file.bytes)} bytes`]),
        `journal ${from} to ${grouped(last)}, checkpoint at ${grouped(checkpoint)}`,
        ...columns([
          ...(file === undefined
            ? []
            : [
                ['table', 'rows', 'bytes'],
                ...tallies(tables),
                ['kind of entry', 'rows', 'bytes'],
                ...tallies(kinds),
              ]),
          ['what the server did', '24 hours', 'ever'],
          ...stats.did.map(({ name, day, ever }) => [name, grouped(day), grouped(ever)]),
          ['bounded table', 'used', 'limit'],
          ...full,
        ]),
      ];
      // At once, so that nobody who reads the first lines alone breaks it.
      output.line(lines.join('\n'));
      output.result(stats);
    });
}

/** How many of each the lines show; the JSON has all. */
const topShown = 5;

type Stats = Awaited<ReturnType<typeof collect>>;

function reportRows({ reports, file }: Stats): string[][] {
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
      ...[name, grouped(one.reports), top(one.categories), top(one.countries)],
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
      ...{ categories, countries: by('country'), networks: by('network') },
      ...{ lists: by('list'), bands: by('band') },
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

async function collect() {
  // Loaded here, because it brings most of the server with it.
  const { withMemory } = await import('../../server/verify/beside.ts');
  const { createTallies, deedsOf } = await import('../../server/figures/tallies.ts');
  const { loadTallies } = await import('../../server/figures/sampling.ts');
  return await withReading(async (reading) => {
    const { clock, store, lastSeq, embedded } = reading;
    const counted = embedded && count(embedded.view);
    const fill = await readFill(store);
    const tallies = createTallies(clock.now());
    await loadTallies(store, tallies);
    const used = async (table: Parameters<typeof readLedger>[1]) =>
      (await readLedger(store, table)).used;
    return {
      // Of a damaged projection the rows are counted all the same.
      reports: await withMemory(reading, ({ counts }) => reportsOf(counts, clock.now())).catch(
        () => null,
      ),
      // As of the last minute, of this machine's server alone.
      did: deedsOf(tallies, clock.now()),
      // Of a database its own means tell.
      file: embedded && { bytes: statSync(`${embedded.path}/data.mdb`).size },
      journal: {
        first: embedded && embedded.view.counters.prunedThrough + 1,
        last: Number(lastSeq),
        checkpoint: Number(await readCheckpointSeq(store)),
      },
      tables: counted?.totals,
      kinds: counted?.kinds,
      // As the server left word of them; /metrics has these and more while it runs.
      bounds: [
        { name: 'accounts', used: await used('account_slots'), limit: capacities.accounts },
        { name: 'entries', used: fill?.entries ?? 0, limit: capacities.entries },
        {
          name: 'contributions',
          used: fill?.contributions ?? 0,
          limit: capacities.entries * capacities.contributionsPerEntry,
        },
        { name: 'lists', used: await used('lists'), limit: capacities.sources },
        { name: 'allow_rules', used: await used('allow_rules'), limit: capacities.allowRules },
        { name: 'own_entries', used: await used('own_entries'), limit: capacities.ownEntries },
      ],
    };
  });
}

function count(view: View) {
  const kinds: Record<string, Count> = {};
  const totals: Record<string, Count> = {};
  for (const table of tableNames) {
    const total = { rows: 0, bytes: 0 };
    totals[table] = total;
    for (const batch of batchesOf(view, table, batchBytes)) {
      for (const { key, value } of batch) {
        const bytes = key.length + value.length;
        total.rows += 1;
        total.bytes += bytes;
        if (table !== 'entries') continue;
        const name = names.get(key[0]!) ?? `unknown ${key[0]}`;
        kinds[name] ??= { rows: 0, bytes: 0 };
        kinds[name].rows += 1;
        kinds[name].bytes += bytes;
      }
    }
  }
  return { kinds, totals };
}
