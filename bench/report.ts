/**
 * Runs the benches and prints one table: ours, the peer beside it, their ratio, the goal.
 * `npm run bench` runs all at full size and writes bench/results/<date>.json and
 * docs/BENCHMARKS.md; names after `--` run those alone and write only with `--save`;
 * `--tiny` never writes.
 */

import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { pathToFileURL } from 'node:url';
import type { BenchRow } from './row.ts';

export interface BenchReport {
  readonly date: string;
  readonly machine: string;
  readonly node: string;
  readonly commit: string;
  readonly benches: Readonly<Record<string, readonly BenchRow[]>>;
}

const here = new URL('.', import.meta.url);

function benchNames(): string[] {
  return readdirSync(here)
    .filter((file) => file.endsWith('.bench.js'))
    .map((file) => file.replace('.bench.js', ''))
    .sort();
}

function figure(value: number | undefined): string {
  if (value === undefined) return '';
  if (value !== 0 && Math.abs(value) < 10) return value.toPrecision(3);
  return Math.round(value).toLocaleString('en-US');
}

/** The rows of one bench as a Markdown table; it reads well on a terminal too. */
export function table(name: string, rows: readonly BenchRow[]): string {
  const cells = rows.map((row) => [
    row.name,
    `${figure(row.ours)} ${row.unit}`,
    row.peer === undefined
      ? ''
      : `${row.peer}${row.peerValue === undefined ? '' : `: ${figure(row.peerValue)}`}`,
    row.ratio === undefined ? '' : `${row.ratio.toPrecision(3)}`,
    row.p50 === undefined && row.p99 === undefined ? '' : `${figure(row.p50)} / ${figure(row.p99)}`,
    row.goal ?? '',
    row.ok === undefined ? '' : row.ok ? 'met' : '**missed**',
    row.note ?? '',
  ]);
  const head = ['What', 'Ours', 'Beside it', 'Ratio', 'p50 / p99', 'Goal', '', 'Note'];
  const used = head.map((_, i) => cells.some((row) => row[i] !== ''));
  const line = (row: readonly string[]) => `| ${row.filter((_, i) => used[i]).join(' | ')} |`;
  const rule = line(head.map(() => '---'));
  return [`## ${name}`, '', line(head), rule, ...cells.map(line), ''].join('\n');
}

function gitCommit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
}

function document(report: BenchReport): string {
  const tables = Object.entries(report.benches).map(([name, rows]) => table(name, rows));
  return [
    '# Benchmarks',
    '',
    'Written by `npm run bench`. Every goal is a ratio or a figure measured beside its peer in the',
    'same run, rounds interleaved, the median of at least five; machines differ, so compare ratios.',
    '',
    `- Date: ${report.date}`,
    `- Machine: ${report.machine}`,
    `- Node: ${report.node}`,
    `- Commit: ${report.commit}`,
    '',
    ...tables,
  ].join('\n');
}

async function main(args: readonly string[]): Promise<void> {
  const size = args.includes('--tiny') ? 'tiny' : 'full';
  const wanted = args.filter((a) => !a.startsWith('--'));
  const known = benchNames();
  const stranger = wanted.find((name) => !known.includes(name));
  if (stranger !== undefined) {
    process.stderr.write(`no bench '${stranger}'; there are: ${known.join(', ')}\n`);
    process.exit(1);
  }
  const benches: Record<string, readonly BenchRow[]> = {};
  for (const name of wanted.length > 0 ? wanted : known) {
    const bench = await import(new URL(`${name}.bench.js`, here).href);
    const rows: BenchRow[] = await bench.run(size);
    benches[name] = rows;
    process.stdout.write(`${table(name, rows)}\n`);
    // After each one: a run that is broken off keeps what it has measured.
    if (size === 'full' && (wanted.length === 0 || args.includes('--save'))) save(benches);
  }
}

function save(benches: BenchReport['benches']): void {
  const cpu = cpus();
  const report: BenchReport = {
    date: new Date().toISOString().slice(0, 10),
    machine: `${cpu.length} × ${cpu[0]?.model.trim() ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    node: process.version,
    commit: gitCommit(),
    benches,
  };
  mkdirSync('bench/results', { recursive: true });
  writeFileSync(`bench/results/${report.date}.json`, `${JSON.stringify(report, null, 2)}\n`);
  writeFileSync('docs/BENCHMARKS.md', document(report));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await main(process.argv.slice(2));
  // Benches start servers and threads; what they left open must not keep the report waiting.
  process.exit(0);
}
