/** Reads a list as it would be loaded, and counts what it would do. Nothing of it is kept. */

import { fail, ok, type Result } from '../../core/result.ts';
import { createSemaphore, createTurns } from '../../core/scheduling.ts';
import { type ScoreBand, scoreBand } from '../../core/score-band.ts';
import { contains, parsePrefix } from '../../ip/prefix.ts';
import type { RowBatch } from '../state/events.ts';
import type { ListFormatName } from './import/parse.ts';
import type { BadLine } from './import/rows.ts';
import { type FetchJob, fetchBounds, fetchInThread } from './subscriptions/refresher.ts';

/** One at a time: a list has its memory in full. */
const previews = createSemaphore({ runningMax: 1, waitingMax: 1 });
/** Rules beyond these are not compared with the list. */
const rulesMax = 500;
const clashesShown = 20;
const bounds = { ...fetchBounds, fetchMsMax: 60_000, waitMsMax: 15_000 };

export interface ListPreview {
  readonly url: string;
  readonly format: ListFormatName;
  readonly rows: number;
  readonly bands: Readonly<Record<ScoreBand, number>>;
  readonly badLines: number;
  /** The first few of them, with the reason. */
  readonly samples: readonly BadLine[];
  /** Private and reserved addresses, which are never loaded. */
  readonly leftOut: number;
  /** Rules of the allowlist that a row lies in, or that lie in a row: they stay allowed. */
  readonly clashes: readonly string[];
}

/** @param allowed the ranges of the allowlist. @returns why it can't be read, in words */
export async function previewList(
  given: {
    readonly url: string;
    readonly format: ListFormatName | 'auto';
    readonly confidence: number;
    readonly allowPrivate: boolean;
    readonly peerHosts: readonly string[];
    readonly systems: FetchJob['systems'];
    readonly credentials: FetchJob['credentials'];
    readonly allowed: readonly string[];
  },
  signal: AbortSignal,
): Promise<Result<ListPreview>> {
  const { url, format, confidence, allowPrivate, peerHosts, systems, credentials } = given;
  const terms = { url, format, confidence, allowDocumentation: false, service: undefined };
  const read = await previews.run(async () => {
    const answer = await fetchInThread(
      { ...bounds, terms, allowPrivate, peerHosts, systems, credentials, known: undefined },
      signal,
    );
    const clashes =
      'fetched' in answer
        ? await clashesOf(answer.fetched.batches, given.allowed.slice(0, rulesMax))
        : [];
    return { answer, clashes };
  });
  if (!read.ok) return read;
  const { answer, clashes } = read.value;
  if ('failed' in answer) return fail('invalid_parameter', answer.failed);
  if ('unchanged' in answer) return fail('invalid_parameter', 'the server sent nothing');
  const { batches, rows, badLines, samples, leftOut } = answer.fetched;
  const bands: Record<ScoreBand, number> = { clean: 0, low: 0, suspect: 0, malicious: 0 };
  for (const { count, scores } of batches) {
    for (let i = 0; i < count; i++) bands[scoreBand(scores[i]!)]++;
  }
  const counts = { rows, bands, badLines, samples, leftOut, clashes };
  return ok({ url, format: answer.fetched.format, ...counts });
}

async function clashesOf(
  batches: readonly RowBatch[],
  allowed: readonly string[],
): Promise<string[]> {
  const rules = allowed.flatMap((text) => {
    const read = parsePrefix(text);
    return read.ok ? [{ text, ...read.value }] : [];
  });
  const found = new Set<string>();
  const turns = createTurns();
  const words = new Uint32Array(4);
  for (const batch of rules.length === 0 ? [] : batches) {
    for (let i = 0; i < batch.count; i++) {
      words.set(batch.words.subarray(4 * i, 4 * i + 4));
      const row = { family: batch.families[i] as 4 | 6, words, length: batch.lengths[i]! };
      for (const rule of rules) {
        const touches = contains(rule, row.family, words) || contains(row, rule.family, rule.words);
        if (touches && found.size < clashesShown) found.add(rule.text);
      }
      if (i % 64 === 0 && turns.isOver()) await turns.next();
    }
  }
  return [...found];
}
