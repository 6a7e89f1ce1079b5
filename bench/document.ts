/**
 * Results as text: the table of one bench, and docs/BENCHMARKS.md out of the newest result of
 * each. All of that page is made here; what people write about it stands in reasons.ts.
 */

import type { Reasons } from './reasons.ts';
import type { BenchRow } from './row.ts';

export interface BenchResult {
  /** 2026-11-21 */
  readonly date: string;
  readonly machine: string;
  readonly node: string;
  readonly commit: string;
  readonly seconds?: number;
  readonly rows: readonly BenchRow[];
}

/** By the bench's name. A file of bench/results/ holds one of these. */
export type Results = Readonly<Record<string, BenchResult>>;

/** Of each bench the newest; of two on one day, that of the later argument. */
export function newestOf(...all: readonly Results[]): Results {
  const newest: Record<string, BenchResult> = {};
  for (const results of all) {
    for (const [name, result] of Object.entries(results)) {
      const before = newest[name];
      if (before === undefined || before.date <= result.date) newest[name] = result;
    }
  }
  return Object.fromEntries(Object.entries(newest).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function figure(value: number | undefined): string {
  if (value === undefined) return '';
  if (value !== 0 && Math.abs(value) < 10) return value.toPrecision(3);
  return Math.round(value).toLocaleString('en-US');
}

const beside = (row: BenchRow) =>
  row.peer === undefined
    ? ''
    : `${row.peer}${row.peerValue === undefined ? '' : `: ${figure(row.peerValue)}`}`;

/** The rows of one bench as a Markdown table; it reads well on a terminal too. */
export function table(name: string, rows: readonly BenchRow[], note = ''): string {
  const cells = rows.map((row) => [
    row.name,
    `${figure(row.ours)} ${row.unit}`,
    beside(row),
    row.ratio === undefined ? '' : `${row.ratio.toPrecision(3)}`,
    row.p50 === undefined && row.p99 === undefined ? '' : `${figure(row.p50)} / ${figure(row.p99)}`,
    row.goal ?? '',
    row.ok === undefined ? '' : row.ok ? 'met' : '**missed**',
    row.note ?? '',
  ]);
  const head = ['What', 'Ours', 'Beside it', 'Ratio', 'p50 / p99', 'Goal', 'Verdict', 'Note'];
  const used = head.map((_, i) => cells.some((row) => row[i] !== ''));
  const line = (row: readonly string[]) => `| ${row.filter((_, i) => used[i]).join(' | ')} |`;
  const rule = line(head.map(() => '---'));
  const intro = note === '' ? [] : [note, ''];
  return [`## ${name}`, '', ...intro, line(head), rule, ...cells.map(line), ''].join('\n');
}

function sectionOf(name: string, { date, machine, node, commit, rows }: BenchResult): string {
  return table(name, rows, `${date}, commit ${commit}, Node ${node}, ${machine}.`);
}

/** Undefined: nobody has written why. */
export function reasonFor(reasons: Reasons, bench: string, { name }: BenchRow): string | undefined {
  return Object.entries(reasons[bench] ?? {}).find(([row]) => name.startsWith(row))?.[1];
}

/** One paragraph a reason, with all rows that it is the reason of. */
function missed(results: Results, reasons: Reasons): string[] {
  const rowsByReason = new Map<string, string[]>();
  for (const [bench, { rows }] of Object.entries(results)) {
    for (const row of rows.filter(({ ok }) => ok === false)) {
      const figures = [`${figure(row.ours)} ${row.unit}`];
      if (row.peer !== undefined) figures.push(`beside ${beside(row)}`);
      if (row.ratio !== undefined) figures.push(`ratio ${row.ratio.toPrecision(3)}`);
      const why = reasonFor(reasons, bench, row) ?? 'The reason is not known yet.';
      const line = `**${row.name}** (goal ${row.goal}): ${figures.join(', ')}.`;
      rowsByReason.set(why, [...(rowsByReason.get(why) ?? []), line]);
    }
  }
  if (rowsByReason.size === 0) return ['All goals of the tables are met.'];
  return [...rowsByReason].map(([why, rows]) => `- ${rows.join('\n  ')}\n  ${why}`);
}

export function document(results: Results, reasons: Reasons, apart: readonly string[]): string {
  return [
    '# Benchmarks',
    '',
    'Written by `npm run bench`; don’t edit it, reasons stand in `bench/reasons.ts`. Every goal is a',
    'ratio or a figure measured beside its peer in the same run, rounds interleaved, the median of at',
    'least five; machines differ, so compare ratios. Each table is that bench’s newest run.',
    '',
    ...Object.entries(results).map(([name, result]) => sectionOf(name, result)),
    '## What falls short, and why',
    '',
    ...missed(results, reasons),
    '',
    'Measured apart:',
    '',
    ...apart.map((text) => `- ${text}`),
    '',
  ].join('\n');
}
