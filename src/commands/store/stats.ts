/** `portcullis stats`: reports of a day, a week and 90 days, what was done, what lies in the store, how full tables are. */

import { Command } from 'commander';
import type { OutputOf } from '../../operations/catalog.ts';
import { runOperation } from '../../operations/client.ts';
import { columns, createOutput, grouped } from '../shell/output.ts';

interface Count {
  readonly rows: number;
  /** Keys and values, without what LMDB adds. */
  readonly bytes: number;
}

export function statsCommand(): Command {
  return new Command('stats')
    .description(
      'reports of 24 hours, 7 and 90 days, what the server did, rows and bytes by kind, journal, bounded tables',
    )
    .option('--json', 'print the result as JSON')
    .action(async (flags: { json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const stats = await runOperation('stats', {});
      const { file, journal, tables = {}, kinds = {}, bounds } = stats;
      const tallies = (counts: Readonly<Record<string, Count>>) =>
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

/** The lines show so many of each at most; the JSON has all. */
const topShown = 5;

type Stats = OutputOf<'stats'>;

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
