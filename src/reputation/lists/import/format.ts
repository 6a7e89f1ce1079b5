/** A list format as the import sees it: a reader of text that fills a row sink. */

import type { ServiceName } from '../known-services.ts';
import { splitLines, type TextReader } from './lines.ts';
import type { RowSink } from './rows.ts';

export interface FormatOptions {
  /** Score 0..100 of a row that brings none. */
  readonly confidence: number;
  /** Service that the ranges of a known-good list belong to. */
  readonly service?: ServiceName | undefined;
}

/**
 * Makes a reader for one list. It reports bad lines to the sink and goes on; it throws
 * `BrokenList` when the rest can't be made sense of.
 */
export type ListFormat = (sink: RowSink, options: FormatOptions) => TextReader;

/** The list as a whole is unusable; the message completes "<list>: …". */
export class BrokenList extends Error {
  override readonly name = 'BrokenList';
}

export interface LineParser {
  line(text: string, number: number): void;
  /** After the last line. */
  end?(): void;
}

/** A reader for a format whose rows are lines. */
export function lineReader(sink: RowSink, parser: LineParser): TextReader {
  const lines = splitLines({
    line: (text, number) => parser.line(text, number),
    overlong: (head, number) => sink.bad(number, 'line too long', head),
  });
  return {
    push: lines.push,
    end() {
      lines.end();
      parser.end?.();
    },
  };
}

/** A decimal number 0..100, rounded; -1 when the text is anything else. */
export function parseScore(text: string): number {
  if (!/^\d{1,3}(?:\.\d{1,9})?$/.test(text)) return -1;
  const value = Number(text);
  return value <= 100 ? Math.round(value) : -1;
}
