/**
 * Splits text that arrives in pieces into lines ended by LF, CRLF or CR, and lines into records of CSV. A line
 * longer than the bound is reported once by its head and dropped: memory stays bounded whatever arrives.
 *
 * The text is a "byte string" (decoded as latin1): one character per byte, so that a piece
 * may end inside a UTF-8 character and V8 keeps one-byte strings. Addresses are ASCII.
 */

/** Long enough for a CSV row with a comment, short enough to hold many. */
export const maxLineBytesDefault = 16_384;

/** Takes text piece by piece; `end` must be called once after the last piece. */
export interface TextReader {
  push(text: string): void;
  end(): void;
}

export function splitLines(
  sink: {
    /** Receives one line without its end; `number` counts from 1 and counts empty lines too. */
    line(text: string, number: number): void;
    /** Receives the first bytes of a line over the bound. */
    overlong(head: string, number: number): void;
  },
  maxLineBytes = maxLineBytesDefault,
): TextReader {
  let carry = '';
  let dropping = false;
  let lineNumber = 0;
  /** The piece ended in CR: a leading LF in the next one belongs to the same line end. */
  let afterCr = false;

  function emit(tail: string): void {
    lineNumber++;
    if (dropping || carry.length + tail.length > maxLineBytes) {
      sink.overlong(dropping ? carry : (carry + tail).slice(0, maxLineBytes), lineNumber);
    } else {
      sink.line(carry.length === 0 ? tail : carry + tail, lineNumber);
    }
    carry = '';
    dropping = false;
  }

  function keep(tail: string): void {
    if (dropping) return;
    carry += tail;
    if (carry.length > maxLineBytes) {
      carry = carry.slice(0, maxLineBytes);
      dropping = true;
    }
  }

  return {
    push(text) {
      if (text.length === 0) return;
      let start = afterCr && text.charCodeAt(0) === 0x0a ? 1 : 0;
      afterCr = false;
      // Each search goes on from where the last one stopped, so a piece is read twice at most.
      let lf = text.indexOf('\n', start);
      let cr = text.indexOf('\r', start);
      while (lf !== -1 || cr !== -1) {
        const atCr = lf === -1 || (cr !== -1 && cr < lf);
        const end = atCr ? cr : lf;
        emit(text.slice(start, end));
        start = end + 1;
        if (atCr && start === lf) start++;
        else if (atCr && start === text.length) afterCr = true;
        if (lf !== -1 && lf < start) lf = text.indexOf('\n', start);
        if (cr !== -1 && cr < start) cr = text.indexOf('\r', start);
      }
      if (start < text.length) keep(text.slice(start));
    },
    end() {
      if (carry.length > 0) emit('');
    },
  };
}

/** Bounds of a record whose quoted field runs over line ends. */
const recordLinesMax = 32;
const recordBytesMax = 16_384;

/**
 * Makes records (RFC 4180) of lines: a quoted field may span lines. A bad quote costs one row only: the lines after
 * it are read again on their own.
 * @param delimiterFor the delimiter, asked with the first line of each record
 */
export function csvRecords(
  sink: {
    /** `number` is that of the record's first line. */
    record(fields: readonly string[], number: number, raw: string): void;
    malformed(number: number, reason: string, raw: string): void;
    /** Asked for each line that would begin a record; true when it is none, such as a comment. */
    skips?(text: string): boolean;
  },
  delimiterFor: (line: string) => string,
) {
  /** Lines of a record whose quoted field is still open. */
  let open: string[] = [];
  let openNumber = 0;
  let openBytes = 0;

  /** Takes one line without its end. Blank ones between records are passed over. */
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

  function end(): void {
    // Each round makes one line bad, so at most `recordLinesMax` rounds.
    while (open.length > 0) giveUp('quote never closed');
  }

  return { line, end };
}

/**
 * Returns the fields of one record. 'open' when a quoted field runs on behind the end of `text`; 'malformed'
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
