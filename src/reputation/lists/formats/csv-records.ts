/**
 * Lines to the records of a CSV (RFC 4180): a quoted field may run over line ends. However the
 * quotes stand, a bad one costs one row: the lines behind it are read again on their own.
 */

/** Bounds of a record whose quoted field runs over line ends. */
const recordLinesMax = 32;
const recordBytesMax = 16_384;

export interface CsvRecordSink {
  /** `number` is that of the record's first line. */
  record(fields: readonly string[], number: number, raw: string): void;
  malformed(number: number, reason: string, raw: string): void;
  /** Asked for each line that would begin a record; true when it is none, such as a comment. */
  skips?(text: string): boolean;
}

export interface CsvRecords {
  /** One line without its end. Blank ones between records are passed over. */
  line(text: string, number: number): void;
  /** After the last line. */
  end(): void;
}

/** @param delimiterFor the delimiter, asked with the first line of each record */
export function csvRecords(
  sink: CsvRecordSink,
  delimiterFor: (line: string) => string,
): CsvRecords {
  /** Lines of a record whose quoted field is still open. */
  let open: string[] = [];
  let openNumber = 0;
  let openBytes = 0;

  function line(text: string, number: number): void {
    if (open.length > 0) {
      more(text);
      return;
    }
    if (text.trim().length === 0 || sink.skips?.(text) === true) return;
    const fields = splitRecord(text, delimiterFor(text));
    if (fields === 'malformed') {
      sink.malformed(number, 'text behind a closing quote', text);
    } else if (fields === 'open') {
      open = [text];
      openNumber = number;
      openBytes = text.length;
    } else {
      sink.record(fields, number, text);
    }
  }

  function more(text: string): void {
    open.push(text);
    openBytes += text.length + 1;
    if (open.length > recordLinesMax || openBytes > recordBytesMax) {
      giveUp('quote never closed');
      return;
    }
    if (!text.includes('"')) return;
    const joined = open.join('\n');
    const fields = splitRecord(joined, delimiterFor(joined));
    if (fields === 'open') return;
    if (fields === 'malformed') {
      giveUp('text behind a closing quote');
      return;
    }
    open = [];
    sink.record(fields, openNumber, joined);
  }

  /** The first line of the open record is bad; those behind it are read again on their own. */
  function giveUp(reason: string): void {
    const [first = '', ...rest] = open;
    const number = openNumber;
    open = [];
    sink.malformed(number, reason, first);
    for (const [i, text] of rest.entries()) line(text, number + 1 + i);
  }

  return {
    line,
    end() {
      // Each round makes one line bad, so at most `recordLinesMax` rounds.
      while (open.length > 0) giveUp('quote never closed');
    },
  };
}

/**
 * Fields of one record. 'open' when a quoted field runs on behind the end of `text`; 'malformed'
 * when something other than a delimiter follows a closing quote. A quote inside an unquoted
 * field is an ordinary character.
 */
export function splitRecord(text: string, delimiter: string): string[] | 'open' | 'malformed' {
  if (!text.includes('"')) return text.split(delimiter);
  const fields: string[] = [];
  let at = 0;
  for (;;) {
    if (text[at] !== '"') {
      const end = text.indexOf(delimiter, at);
      fields.push(end === -1 ? text.slice(at) : text.slice(at, end));
      if (end === -1) return fields;
      at = end + 1;
      continue;
    }
    let close = text.indexOf('"', at + 1);
    while (close !== -1 && text[close + 1] === '"') close = text.indexOf('"', close + 2);
    if (close === -1) return 'open';
    fields.push(text.slice(at + 1, close).replaceAll('""', '"'));
    if (close + 1 === text.length) return fields;
    if (text[close + 1] !== delimiter) return 'malformed';
    at = close + 2;
  }
}
