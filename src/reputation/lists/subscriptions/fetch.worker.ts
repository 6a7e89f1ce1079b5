/** Downloads one list to its end and hands its rows over, sorted; nothing is kept here. */

import { createHash } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { OperatorError } from '../../../core/errors.ts';
import type { RowBatch } from '../../state/events.ts';
import { collectRows } from '../import/collect.ts';
import { openList } from '../import/open-list.ts';
import { parseList } from '../import/parse.ts';
import { openDestinations } from './destinations.ts';
import type { Fetched, FetchJob } from './fetching.ts';

const job = workerData as FetchJob;
const port = parentPort!;
const ending = new AbortController();
port.on('message', () => ending.abort());

async function fetchRows(): Promise<Fetched> {
  const { url, format, confidence, allowDocumentation, service } = job.terms;
  const opened = await openList(url, {
    signal: ending.signal,
    maxBytes: job.bytesMax,
    timeoutMs: job.waitMsMax,
    deadlineMs: job.fetchMsMax,
    destinations: openDestinations(job),
    known: job.known,
  });
  try {
    if (opened.isUnchanged) return { unchanged: true };
    const { label, validators } = opened;
    const how = { format, confidence, allowDocumentation, service, label };
    const parse = parseList(opened.chunks, how);
    const { batches, rows } = await collectRows(parse, { label, maxRows: job.rowsMax });
    const { badLines, samples, notPublic, rented } = parse.stats;
    const leftOut = notPublic + rented;
    return {
      fetched: { batches, rows, digest: digestOf(batches), badLines, samples, leftOut, validators },
    };
  } finally {
    await opened.close();
  }
}

const fieldsOf = (batch: RowBatch): Uint8Array[] => {
  const { words, reports } = batch;
  const bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
  const fields = [batch.families, bytes, batch.lengths, batch.scores];
  return reports === undefined ? fields : [...fields, reports];
};

function digestOf(batches: readonly RowBatch[]): string {
  const hash = createHash('sha256');
  for (const batch of batches) for (const field of fieldsOf(batch)) hash.update(field);
  return hash.digest('base64url');
}

const answer = await fetchRows().catch((error: unknown): Fetched => {
  // Any other error is of a bug, and ends the thread with its stack.
  if (error instanceof OperatorError) return { failed: error.message };
  throw error;
});
const moved =
  'fetched' in answer
    ? answer.fetched.batches.flatMap((batch) =>
        fieldsOf(batch).map(({ buffer }) => buffer as ArrayBuffer),
      )
    : [];
port.postMessage(answer, moved);
// Nothing else keeps the thread: it ends.
port.close();
