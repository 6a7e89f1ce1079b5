/**
 * Runs the benches and prints one table: ours, the peer beside it, their ratio, the goal and
 * whether it is met. `npm run bench` runs all at full size and writes bench/results/<date>.json
 * and docs/BENCHMARKS.md, in 45 minutes at most: what ran longest ago comes first, and what finds no time is named, for a run
 * of its own; names after `--` run those alone and write only with `--save`, which
 * leaves the last results of all others in place; `--tiny` never writes; `--write` only writes
 * docs/BENCHMARKS.md anew from the results that are there.
 */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { pathToFileURL } from 'node:url';
import { type BenchResult, document, newestOf, type Results, table } from './document.ts';
import { apart, reasons } from './reasons.ts';
import type { BenchRow } from './row.ts';

const here = new URL('.', import.meta.url);
const resultsFolder = 'bench/results';
const page = 'docs/BENCHMARKS.md';
const options = ['--save', '--tiny', '--write'];

function benchNames(): string[] {
  return readdirSync(here)
    .filter((file) => file.endsWith('.bench.js'))
    .map((file) => file.replace('.bench.js', ''))
    .sort();
}

function gitCommit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
}

async function main(args: readonly string[]): Promise<void> {
  const odd = args.find((arg) => arg.startsWith('-') && !options.includes(arg));
  if (odd !== undefined) {
    process.stderr.write(`no option '${odd}'; there are: ${options.join(', ')}\n`);
    process.exit(1);
  }
  if (args.includes('--write')) {
    writePage();
    return;
  }
  const size = args.includes('--tiny') ? 'tiny' : 'full';
  const wanted = args.filter((a) => !a.startsWith('--'));
  const known = benchNames();
  const stranger = wanted.find((name) => !known.includes(name));
  if (stranger !== undefined) {
    process.stderr.write(`no bench '${stranger}'; there are: ${known.join(', ')}\n`);
    process.exit(1);
  }
  const isAll = wanted.length === 0;
  const before = savedResults();
  const names = isAll ? oldestFirst(known, before) : wanted;
  const startMs = performance.now();
  const secondsSince = (ms: number) => Math.round((performance.now() - ms) / 1_000);
  const left: string[] = [];
  for (const [i, name] of names.entries()) {
    const expected = before[name]?.seconds ?? unknownSeconds;
    const elapsed = secondsSince(startMs);
    if (isAll && elapsed + expected > runSecondsMax) {
      left.push(name);
      continue;
    }
    const isKnown = before[name]?.seconds !== undefined;
    const about = isKnown ? `, which took ${expected} s the last time` : '';
    const most = isAll ? ` of ${runSecondsMax}` : '';
    process.stderr.write(
      `${i + 1} of ${names.length}, after ${elapsed} s${most}: ${name}${about}\n`,
    );
    const benchMs = performance.now();
    const bench = await import(new URL(`${name}.bench.js`, here).href);
    const rows: BenchRow[] = await bench.run(size);
    const seconds = secondsSince(benchMs);
    process.stdout.write(`${table(name, rows)}\n`);
    process.stderr.write(`${name} took ${seconds} s\n`);
    // After each one: a run that is broken off keeps what it has measured.
    if (size === 'full' && (isAll || args.includes('--save'))) save(name, rows, seconds);
  }
  if (left.length === 0) return;
  const command = `npm run bench -- ${left.join(' ')} --save`;
  process.stderr.write(`no time was left for ${left.join(', ')}: ${command}\n`);
}

/** A run of all takes no longer. */
const runSecondsMax = 45 * 60;
/** What a bench may take whose time was never measured: near the end of a run it is not begun. */
const unknownSeconds = 5 * 60;

/** Returns the names of the benches, those that never ran first, then by the day of their last run. */
export function oldestFirst(names: readonly string[], results: Results): string[] {
  const dayOf = (name: string) => results[name]?.date ?? '';
  return [...names].sort((a, b) => (dayOf(a) < dayOf(b) ? -1 : dayOf(a) > dayOf(b) ? 1 : 0));
}

function save(name: string, rows: readonly BenchRow[], seconds: number): void {
  const cpu = cpus();
  const result: BenchResult = {
    date: new Date().toISOString().slice(0, 10),
    machine: `${cpu.length} × ${cpu[0]?.model.trim() ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    node: process.version,
    commit: gitCommit(),
    seconds,
    rows,
  };
  mkdirSync(resultsFolder, { recursive: true });
  const file = `${resultsFolder}/${result.date}.json`;
  const today = existsSync(file) ? readResults(file) : {};
  writeFileSync(file, `${JSON.stringify(newestOf(today, { [name]: result }), null, 2)}\n`);
  writePage();
}

function readResults(file: string): Results {
  return JSON.parse(readFileSync(file, 'utf8')) as Results;
}

/** Of every bench that there is the newest result in bench/results/. */
export function savedResults(): Results {
  const files = readdirSync(resultsFolder).filter((file) => file.endsWith('.json'));
  const newest = newestOf(...files.sort().map((file) => readResults(`${resultsFolder}/${file}`)));
  const known = benchNames();
  return Object.fromEntries(Object.entries(newest).filter(([name]) => known.includes(name)));
}

function writePage(): void {
  writeFileSync(page, document(savedResults(), reasons, apart));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await main(process.argv.slice(2));
  // Benches start servers and threads; what they left open must not keep the report waiting.
  process.exit(0);
}
