/**
 * The client's part of `portcullis seed`, `anon` and `known-good`: it opens the list, sends its bytes to
 * whoever has the store, and shows the progress.
 */

import type { OperationProgress } from '../contracts/operation.ts';
import { systemClock } from '../core/clock.ts';
import { listNameOf } from '../core/text.ts';
import { openList } from '../reputation/lists/import/open-list.ts';
import { runAndPrint, type TypedInput } from './operation-command.ts';
import { createProgress, createRowProgress, type Progress } from './progress.ts';

/** The list is read there to its end before anything is written. */
export async function loadListFrom(
  operation: string,
  typed: TypedInput,
  isJson: boolean,
): Promise<void> {
  const from = String(typed.label);
  const { source = listNameOf(from) } = typed;
  const opened = await openList(from);
  const bars = createBars(opened, String(source), isJson);
  const input = { ...typed, source, label: opened.label };
  const asking = { input: opened.chunks, onProgress: bars.update, onDone: bars.stop };
  try {
    await runAndPrint(operation, input, isJson, asking);
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
