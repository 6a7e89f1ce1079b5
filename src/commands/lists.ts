/**
 * `portcullis seed`, `anon` and `known-good`: a third-party list into the journal.
 *
 * The list is read to its end before anything is written, so a download that breaks off or is
 * no list at all changes nothing.
 */

import { basename } from 'node:path';
import { systemClock } from '../core/clock.ts';
import { OperatorError } from '../core/errors.ts';
import type { OutputOf } from '../operations/catalog.ts';
import { runOperation } from '../operations/client.ts';
import type { OperationProgress } from '../operations/operation.ts';
import { openList } from '../reputation/lists/import/open-list.ts';
import type { ListFormatName } from '../reputation/lists/import/parse.ts';
import {
  createProgress,
  createRowProgress,
  type Progress,
} from '../reputation/lists/import/progress.ts';
import type { ServiceName } from '../reputation/lists/known-services.ts';
import { grouped, type Output } from './shell/output.ts';

export interface ListCommand {
  readonly operation: 'seed' | 'anon' | 'known-good';
  /** The list names services of which reports have no effect; `seed` alone takes it. */
  readonly knownGood?: boolean;
  readonly from: string;
  readonly format: ListFormatName;
  readonly confidence: number;
  /** Undefined: named after the file or the address. */
  readonly source: string | undefined;
  readonly holdDays: number;
  readonly allowDocumentation: boolean;
  /** The kind of service that has the ranges of a known-good list; undefined: not stated. */
  readonly service?: ServiceName | undefined;
}

const sourceNameMax = 64;

type ListResult = OutputOf<'seed'>;

/** Sends the list to whoever has the store; it is read there to its end before anything is written. */
export async function loadListCommand(command: ListCommand, output: Output): Promise<void> {
  const source = sourceName(command.source, command.from);
  const opened = await openList(command.from);
  const bars = createBars(opened, source, output.json);
  const input = {
    source,
    label: opened.label,
    format: command.format,
    confidence: command.confidence,
    service: command.service,
    hold: command.holdDays,
    documentation: command.allowDocumentation,
  };
  try {
    const asking = { input: opened.chunks, onProgress: bars.update };
    const { operation, knownGood } = command;
    const result = await (operation === 'seed'
      ? runOperation('seed', { ...input, knownGood }, asking)
      : runOperation(operation, input, asking));
    bars.stop();
    report(result, output);
  } finally {
    bars.stop();
    await opened.close();
  }
}

/** Two bars, one after the other: the list is read, and its rows are written. */
function createBars(
  opened: { readonly label: string; readonly totalBytes: number | undefined; readBytes(): number },
  source: string,
  silent: boolean,
) {
  const shared = { stream: process.stderr, silent, clock: systemClock() };
  const { label, totalBytes } = opened;
  const reading = createProgress({ ...shared, label, totalBytes });
  let writing: Progress<number> | undefined;
  return {
    update({ verb, done, total = 0, badLines = 0 }: OperationProgress): void {
      if (verb === 'read') {
        reading.update({ readBytes: opened.readBytes(), rows: done, badLines });
        return;
      }
      if (writing === undefined) reading.stop();
      writing ??= createRowProgress({ ...shared, label: source, totalRows: total });
      writing.update(done);
    },
    stop(): void {
      if (writing === undefined) reading.stop();
      else writing.stop();
    },
  };
}

function report(result: ListResult, output: Output): void {
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
  for (const { line, reason, text } of result.samples) {
    output.line(`    line ${grouped(line)}: ${reason}: ${text}`);
  }
  output.result(result);
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
