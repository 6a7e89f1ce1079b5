/**
 * `portcullis seed`, `anon` and `known-good`: a third-party list into the journal.
 *
 * The list is read to its end before anything is written, so a download that breaks off or is
 * no list at all changes nothing.
 */

import { basename } from 'node:path';
import { OperatorError } from '../core/errors.ts';
import { collectRows } from '../reputation/lists/import/collect.ts';
import { openList } from '../reputation/lists/import/open-list.ts';
import { type ListFormatName, parseList } from '../reputation/lists/import/parse.ts';
import { createProgress, createRowProgress } from '../reputation/lists/import/progress.ts';
import type { ImportStats } from '../reputation/lists/import/rows.ts';
import type { ServiceName } from '../reputation/lists/known-services.ts';
import { loadList } from '../reputation/lists/load-list.ts';
import type { ListKind } from '../reputation/state/events.ts';
import { grouped, type Output } from './shell/output.ts';
import { expect, type Workspace } from './shell/workspace.ts';

export interface ListCommand {
  readonly list: ListKind;
  readonly from: string;
  readonly format: ListFormatName;
  readonly confidence: number;
  /** Undefined: named after the file or the address. */
  readonly source: string | undefined;
  readonly holdDays: number;
  readonly allowDocumentation: boolean;
  /** Of a known-good list. */
  readonly service?: ServiceName | undefined;
}

export interface ListResult {
  readonly source: string;
  readonly rows: number;
  readonly duplicates: number;
  readonly badLines: number;
  readonly notPublic: number;
  readonly rented: number;
  readonly normalised: number;
  readonly seconds: number;
  readonly seq: string;
}

const sourceNameMax = 64;

export async function loadListCommand(
  workspace: Workspace,
  command: ListCommand,
  output: Output,
): Promise<ListResult> {
  const { clock } = workspace;
  const source = sourceName(command.source, command.from);
  const startMs = clock.monotonicMs();
  const { collected, stats } = await read(workspace, command, output);
  const progress = createRowProgress({
    stream: process.stderr,
    silent: output.json,
    label: source,
    totalRows: collected.rows,
    clock,
  });
  try {
    const seq = expect(
      await loadList({
        ...workspace,
        list: command.list,
        source,
        holdDays: command.holdDays,
        batches: collected.batches,
        onRows: (rows) => progress.update(rows),
      }),
    );
    progress.stop();
    const seconds = (clock.monotonicMs() - startMs) / 1_000;
    const result = {
      source,
      rows: collected.rows,
      duplicates: collected.duplicates,
      badLines: stats.badLines,
      notPublic: stats.notPublic,
      rented: stats.rented,
      normalised: stats.normalised,
      seconds: Math.round(seconds * 100) / 100,
      seq: String(seq),
    };
    report(result, stats, output);
    return result;
  } finally {
    progress.stop();
  }
}

async function read(workspace: Workspace, command: ListCommand, output: Output) {
  const opened = await openList(command.from);
  const parse = parseList(opened.chunks, {
    format: command.format,
    confidence: command.confidence,
    allowDocumentation: command.allowDocumentation,
    service: command.service,
    label: opened.label,
  });
  const progress = createProgress({
    stream: process.stderr,
    silent: output.json,
    label: opened.label,
    totalBytes: opened.totalBytes,
    clock: workspace.clock,
  });
  async function* watched() {
    for await (const batch of parse) {
      yield batch;
      const { rows, badLines } = parse.stats;
      progress.update({ readBytes: opened.readBytes(), rows, badLines });
    }
  }
  try {
    const rows = { stats: parse.stats, [Symbol.asyncIterator]: watched };
    const collected = await collectRows(rows, { label: opened.label });
    return { collected, stats: parse.stats };
  } finally {
    progress.stop();
    await opened.close();
  }
}

function report(result: ListResult, stats: Readonly<ImportStats>, output: Output): void {
  output.line(
    `${result.source}: ${grouped(result.rows)} ${result.rows === 1 ? 'row' : 'rows'} loaded in ${result.seconds.toFixed(1)} s`,
  );
  const asides = [
    [result.badLines, result.badLines === 1 ? 'line skipped' : 'lines skipped'],
    [result.duplicates, result.duplicates === 1 ? 'duplicate' : 'duplicates'],
    [result.notPublic, 'not public, left out'],
    [result.rented, 'of rented machines or of nobody named, left out'],
    [result.normalised, 'with host bits cleared'],
  ] as const;
  for (const [count, what] of asides) if (count > 0) output.line(`  ${grouped(count)} ${what}`);
  for (const { line, reason, text } of stats.samples) {
    output.line(`    line ${grouped(line)}: ${reason}: ${text}`);
  }
  output.result({ ...result, samples: stats.samples });
}

/**
 * The name that was given, or one of the address: `https://host/path/ipsum.txt.gz?key=…` and
 * `/tmp/ipsum.txt` are both `ipsum.txt`.
 */
export function sourceName(given: string | undefined, from: string): string {
  if (given !== undefined) {
    if (/^[\w.:@+-]{1,64}$/.test(given)) return given;
    throw new OperatorError(
      `--source '${given.slice(0, sourceNameMax)}' may hold letters, digits and . : @ + - _, at most ${sourceNameMax}`,
    );
  }
  const path = URL.canParse(from) ? new URL(from).pathname : from;
  const name = basename(path)
    .replace(/\.gz$/i, '')
    .replace(/[^\w.:@+-]/g, '-');
  return name.slice(0, sourceNameMax) || 'list';
}
