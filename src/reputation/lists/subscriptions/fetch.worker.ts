/** Downloads one list to its end and hands its rows over, sorted; nothing is kept here. */

import { createHash } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { OperatorError } from '../../../core/errors.ts';
import type { RowBatch } from '../../state/events.ts';
import { BusyServerError, openDestinations } from '../import/download.ts';
import { openList } from '../import/open-list.ts';
import { collectRows, joinRows, parseList } from '../import/parse.ts';
import type { FetchJob, SentRows } from './refresher.ts';

const job = workerData as FetchJob;
const port = parentPort!;
const ending = new AbortController();
port.on('message', () => ending.abort());

async function fetchRows(): Promise<SentRows | { readonly unchanged: true }> {
  const { url, format, confidence, allowDocumentation, service } = job.terms;
  const opened = await openList(url, {
    signal: ending.signal,
    maxBytes: job.bytesMax,
    timeoutMs: job.waitMsMax,
    deadlineMs: job.fetchMsMax,
    destinations: openDestinations(job),
    known: job.known,
    credentials: job.credentials,
  });
  try {
    if (opened.isUnchanged) return { unchanged: true };
    const { label, validators } = opened;
    const { systems } = job;
    const how = { format, confidence, allowDocumentation, service, systems, label };
    const parse = parseList(opened.chunks, how);
    const { batches, rows } = await collectRows(parse, { label, maxRows: job.rowsMax });
    const { badLines, samples, notPublic, rented } = parse.stats;
    const leftOut = notPublic + rented;
    const all = joinRows(batches, rows);
    const sent = { rows, digest: digestOf(all), badLines, samples, leftOut, validators };
    return { all, sent: { ...sent, format: parse.format()! } };
  } finally {
    await opened.close();
  }
}

function fieldsOf({ families, words, lengths, scores, reports }: RowBatch) {
  return [families, words, lengths, scores, ...(reports === undefined ? [] : [reports])];
}

function digestOf(all: RowBatch): string {
  const hash = createHash('sha256');
  for (const { buffer } of fieldsOf(all)) hash.update(new Uint8Array(buffer));
  return hash.digest('base64url');
}

const answer = await fetchRows().catch((error: unknown) => {
  // Any other error is of a bug, and ends the thread with its stack.
  if (error instanceof BusyServerError) return { failed: error.message, waitMs: error.waitMs };
  if (error instanceof OperatorError) return { failed: error.message };
  throw error;
});
const moved =
  'all' in answer ? fieldsOf(answer.all).map(({ buffer }) => buffer as ArrayBuffer) : [];
port.postMessage(answer, moved);
// Nothing else keeps the thread: it ends.
port.close();
