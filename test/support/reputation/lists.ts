/** Feeds list text to the importer in chosen pieces and shows rows as "address/length score". */

import type { GeoSource } from '../../../src/geo/sources.ts';
import type { IpFamily } from '../../../src/ip/address.ts';
import { formatPrefix } from '../../../src/ip/prefix.ts';
import { type ListFormatName, parseList } from '../../../src/reputation/lists/import/parse.ts';
import type { ImportStats } from '../../../src/reputation/lists/import/rows.ts';
import type { RowBatch } from '../../../src/reputation/state/events.ts';

export interface ParsedList {
  readonly rows: string[];
  readonly stats: ImportStats;
  readonly batches: RowBatch[];
}

interface ListTextOptions {
  readonly confidence?: number;
  readonly allowDocumentation?: boolean;
  readonly systems?: GeoSource;
  /** Size of the pieces, bytes; the whole at once when left out. */
  readonly pieceBytes?: number;
}

export async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

export function batchRows(batch: RowBatch): string[] {
  return Array.from({ length: batch.count }, (_, i) => {
    const prefix = {
      family: batch.families[i] as IpFamily,
      words: batch.words.subarray(4 * i, 4 * i + 4),
      length: batch.lengths[i]!,
    };
    return `${formatPrefix(prefix)} ${batch.scores[i]}`;
  });
}

/** Parses a whole list; documentation ranges pass unless told otherwise. */
export async function parseText(
  format: ListFormatName,
  text: string | Uint8Array,
  options: ListTextOptions = {},
): Promise<ParsedList> {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  const { confidence = 75, allowDocumentation = true, pieceBytes = bytes.length || 1 } = options;
  const chunks = pieces(bytes, pieceBytes);
  const { systems } = options;
  const how = { format, confidence, allowDocumentation, systems, label: 'list' };
  const parse = parseList(chunks, how);
  const batches: RowBatch[] = [];
  for await (const batch of parse) batches.push(batch);
  return { rows: batches.flatMap(batchRows), stats: parse.stats, batches };
}
