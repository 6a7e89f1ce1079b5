/**
 * A third-party list as bytes → batches of rows, one pass, in bounded memory.
 *
 * The contract with whoever stores the rows: **nothing is final until the iteration has ended
 * without a throw.** A download may break off, gzip data may be cut short, and a page of HTML may
 * come instead of a list; all of them throw, perhaps after rows were yielded. So collect the rows
 * (`collectRows`) or stage them, and let them replace the source's former rows only at the end.
 */

import { OperatorError } from '../../../core/errors.ts';
import type { RowBatch } from '../../state/events.ts';
import { abuseipdb } from '../formats/abuseipdb.ts';
import { csv } from '../formats/csv.ts';
import { anon, drop, ipsum, plain } from '../formats/plain.ts';
import { amazon, cloudflare, google, microsoft } from '../formats/published-ranges.ts';
import type { ServiceName } from '../known-services.ts';
import type { TextReader } from './lines.ts';
import {
  BrokenList,
  createRowSink,
  type ImportStats,
  type ListFormat,
  type RowSink,
} from './rows.ts';

/** Formats of blocklists, as `portcullis seed --format` names them. */
export const seedFormats = ['ipsum', 'plain', 'csv', 'abuseipdb', 'drop'] as const;
export type SeedFormat = (typeof seedFormats)[number];
/** Formats of known-good lists. */
export const goodFormats = ['plain', 'google', 'amazon', 'microsoft', 'cloudflare'] as const;
export type GoodFormat = (typeof goodFormats)[number];
export type ListFormatName = SeedFormat | GoodFormat | 'anon';

/** Score of a row that brings none, unless the operator says otherwise. */
export const confidenceDefault = 75;

const formats: Readonly<Record<ListFormatName, ListFormat>> = {
  ipsum,
  plain,
  csv,
  abuseipdb,
  drop,
  google,
  amazon,
  microsoft,
  cloudflare,
  anon,
};

export interface ParseOptions {
  readonly format: ListFormatName;
  /** Whole number 0..100: the score of rows that bring none. */
  readonly confidence: number;
  /** Service that the ranges of a known-good list belong to, where the format does not say. */
  readonly service?: ServiceName | undefined;
  /** Take documentation ranges, which the demo data live in. */
  readonly allowDocumentation: boolean;
  /** Name of the list in messages. */
  readonly label: string;
}

export interface ListParse extends AsyncIterable<RowBatch> {
  /** Grows while the batches are read; final once the iteration has ended. */
  readonly stats: Readonly<ImportStats>;
}

/** Bound on what is parsed between two batches being handed over, bytes. */
const pieceBytes = 65_536;

/**
 * `chunks` is UTF-8 text as `openList` gives it. Iterate once. The iteration throws `OperatorError`
 * when the source fails, when the list is broken as a whole, or when it ends without a usable row.
 */
export function parseList(chunks: AsyncIterable<Uint8Array>, options: ParseOptions): ListParse {
  const { confidence, label } = options;
  if (!(Number.isInteger(confidence) && confidence >= 0 && confidence <= 100)) {
    throw new RangeError(`confidence ${confidence} is not a whole number from 0 to 100`);
  }
  const sink = createRowSink(options);
  const reader = formats[options.format](sink, { confidence, service: options.service });
  return {
    stats: sink.stats,
    [Symbol.asyncIterator]: () => readBatches(chunks, reader, sink, label),
  };
}

async function* readBatches(
  chunks: AsyncIterable<Uint8Array>,
  reader: TextReader,
  sink: RowSink,
  label: string,
): AsyncGenerator<RowBatch, void, undefined> {
  try {
    let begun = false;
    for await (const chunk of chunks) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      for (let at = 0; at < bytes.length; at += pieceBytes) {
        const text = bytes.toString('latin1', at, at + pieceBytes);
        if (!begun) begun = isListStart(text);
        reader.push(text);
        yield* sink.take(false);
      }
    }
    reader.end();
  } catch (error) {
    if (error instanceof BrokenList) throw new OperatorError(`${label}: ${error.message}`);
    throw error;
  }
  if (sink.stats.rows === 0) throw new OperatorError(`${label}: ${nothingUsable(sink.stats)}`);
  yield* sink.take(true);
}

/** True at the first text. No list begins with "<"; error pages and sign-in pages do. */
function isListStart(text: string): boolean {
  const first = /\S/.exec(text)?.[0];
  if (first === '<') throw new BrokenList('is a page of HTML or XML, not a list');
  return first !== undefined;
}

function nothingUsable({ badLines, notPublic, rented, samples: [first] }: ImportStats): string {
  const sample = first === undefined ? '' : `; line ${first.line}: ${first.reason}: ${first.text}`;
  const left = rented === 0 ? '' : `, ${rented} of rented machines or of nobody named`;
  return `no usable row; is --format right? (${badLines} bad lines, ${notPublic} not public${left}${sample})`;
}
